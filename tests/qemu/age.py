# SPDX-License-Identifier: GPL-2.0
"""What kernels have that older ones lack, as far as tests depend on it: found by running them on
Linux 6.1, 6.12 and 7.2. The module itself asks no kernel for its version."""

import os
import re

from ktap import Skip

# By name: the first series that has it, of those that were tried, and what its lack is called.
SINCE = {
	"namespaces": ((7, 2), "soft-RoCE has no network namespaces"),
	"access_event": ((7, 2), "soft-RoCE tells no responder of a refused access"),
	"bio_vecs": ((7, 2), "rdma_rw takes scatterlists only"),
	"even_cost": ((7, 2), "soft-RoCE's latency of several queue pairs is not that of one, 0.77 of it"),
	"port_speed": ((7, 2), "the core does not say how fast a port is"),
	"io_start": ((6, 12), "no tracepoint tells which program begins a request"),
	"null_blk_fua": ((6, 12), "null_blk's FUA cannot be chosen"),
	"subvolumes": ((6, 12), "the core does not say which subvolume a file is in"),
	"flushed_locally": ((6, 12), "soft-RoCE has a status of its own for bad local keys"),
	"srq_drained": ((6, 12), "soft-RoCE has no event of the last shared receive"),
	"softirq_event": ((6, 12), "soft-RoCE has all events on the CPU that sends"),
	"flush_opcode": ((6, 12), "soft-RoCE has neither FLUSH nor ATOMIC WRITE"),
	"trace_files": ((6, 12), "it crashes on files of tracepoints whose module is gone"),
	"resets": ((6, 12), "its timers stand still after the reset of an emulated machine"),
	"workqueue": ((6, 12), "soft-RoCE works in tasklets, beside which an emulated CPU does little"),
	"dead_is_told": ((6, 12), "ext4 may say nothing of direct writes to a device that has gone"),
	"lost_is_told": ((6, 12), "ext4's fsync() says nothing of delayed data that could not be written"),
}


SERIES = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))


def has(name: str) -> bool:
	"""Whether this kernel has it."""
	return SINCE[name][0] <= SERIES


def needs(name: str) -> None:
	"""Skip the test on a kernel without it."""
	if not has(name):
		raise Skip(f"Linux {os.uname().release}: {SINCE[name][1]}")


# The list of what soft-RoCE is known to do wrong, by its name.
KNOWN = "rxe" if has("access_event") else "rxe-6.12" if has("srq_drained") else "rxe-6.1"
