#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
"""What a store past the server's page cache (direct) costs, or gains, beside one in it.

Both are a null_blk that keeps its blocks in memory and takes DELAY microseconds for a request, by
default 100, as an SSD may. The disks take turns; see tests/qemu/turns.py.
"""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import block
import tap
from turns import KIB, MIB, Workload, compare, prepare

DELAY = int(os.environ.get("DELAY", "100"))
WORKLOADS = (
	Workload("random read", "randread", 4 * KIB, 1),
	Workload("random read", "randread", 4 * KIB, 16),
	Workload("random write", "randwrite", 4 * KIB, 1),
	Workload("random write", "randwrite", 4 * KIB, 16),
	Workload("write, fsync", "randwrite", 4 * KIB, 1, 1, ("--fsync=1",)),
	Workload("write, O_SYNC", "randwrite", 4 * KIB, 1, 1, ("--sync=1",)),
	Workload("read", "read", 256 * KIB, 8),
	Workload("write", "write", 256 * KIB, 8),
)


@contextlib.contextmanager
def exported(name, options):
	"""Within, a disk whose blocks are on a null_blk, by a server with OPTIONS: its name."""
	with tap.null_blk(name, size=MIB << 20, irqmode=2, completion_nsec=DELAY * 1000) as medium, \
	     block.Server(f"store={medium}{options}") as server, server.disk() as disk:
		prepare(disk.name)
		yield disk.name


def main():
	with exported("cached", "") as cached, exported("direct", ",direct") as direct:
		compare(cached, direct, ("page cache", "direct"), WORKLOADS)


if __name__ == "__main__":
	main()
