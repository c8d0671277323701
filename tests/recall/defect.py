# SPDX-License-Identifier: GPL-2.0
"""What a row of table.py says of a defect, and where the sources of drivers are."""

from typing import NamedTuple


class Defect(NamedTuple):
	"""A defect, as a change of one place of a driver."""
	name: str
	# The module, and the file of its source.
	driver: str
	file: str
	# A regular expression, as short as it can be, that is found once in the file; a blank in it is any
	# white space. And what is there instead, where \1 is what its first group has found.
	at: str
	instead: str
	# Of KINDS.
	kind: str
	# The month in which the fix was posted, or the year where no more is known; "" for a defect that is
	# made up.
	mended: str
	# What a good tester names: parts of names of cases or of their families, as a regular expression.
	says: str
	# The subject of the fix in Linux.
	fix: str = ""
	# What drives the device that it is tried with, where that is not the usual one.
	device: str = ""


# Who can see a defect.
KINDS = {"K": "a consumer in the kernel", "P": "a raw packet", "L": "life of objects",
	 "U": "a hostile peer", "N": "nobody"}

RXE = "rdma_rxe"
SIW = "siw"
IB_CORE = "ib_core"
IB_CM = "ib_cm"
RDMA_CM = "rdma_cm"
IW_CM = "iw_cm"
# Drivers, and the folders of their sources.
FOLDERS = {RXE: "drivers/infiniband/sw/rxe", SIW: "drivers/infiniband/sw/siw",
	   **dict.fromkeys((IB_CORE, IB_CM, RDMA_CM, IW_CM), "drivers/infiniband/core")}
# What drives the device that a defect is tried with, where that is not the driver itself.
DEVICES = {IB_CORE: RXE, IB_CM: RXE, RDMA_CM: RXE, IW_CM: SIW}


def split(driver: str) -> tuple[str, str]:
	"""The module of DRIVER, and what drives the device: of MODULE@DEVICE that, or the usual one."""
	module, _, device = driver.partition("@")
	return module, device or DEVICES.get(module, module)
