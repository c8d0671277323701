# SPDX-License-Identifier: GPL-2.0
"""Guests read programs and modules from memory of the machine's (scripts/guest-image): while one
waited for the machine's disk, a clock that counts instructions would go on from timer to timer."""

import os
import subprocess
from pathlib import Path

import block
import krping
from ktap import Suite

suite = Suite(check=krping.check)


def bytes_read(disk):
	"""What has been read from DISK."""
	return 512 * block.stat(disk)[2]


def size_of(file):
	"""The size of FILE, once it is read from where it lies."""
	Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
	return len(file.read_bytes())


@suite.test("programs, modules and the checkout are read from persistent memory")
def from_memory():
	module = next(Path(f"/lib/modules/{os.uname().release}").rglob("nvme-rdma.ko*"))
	for label, file in (("root", Path("/usr/bin/perl")), ("modules", module),
			    ("krping", Path("/krping/README.md"))):
		found = subprocess.run(["findfs", f"LABEL={label}"], check=True, capture_output=True)
		disk = Path(found.stdout.decode().strip()).name
		assert disk.startswith("pmem"), (label, disk)
		Path(f"/sys/block/{disk}/queue/iostats").write_text("1", encoding="ascii")
		before = bytes_read(disk)
		size = size_of(file)
		assert bytes_read(disk) - before >= size > 0, (disk, before, bytes_read(disk), size)


suite.main()
