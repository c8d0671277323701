#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
# guest: --icount
"""Compare a disk of krping's with one of nvme-rdma, by fio, in one guest boot.

Both serve memory, krping's own and a brd, through the same soft-RoCE device, with one
queue of 128 requests. Both have no I/O scheduler, and nvme no multipath. fio runs
without the page cache, on one disk after the other, A B A B; each ratio is of one turn,
and the median of the ratios is what counts. PAIRS in the environment is how many turns,
WORKLOADS a part of the names of the workloads to run, by default all.

With two CPUs, what counts are I/Os per second and how long 99% of them take. With one
CPU whose clock counts instructions, it is the instructions for each I/O: fio, block
layer, both ends and the device together. Packets are those that soft-RoCE sends.
"""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import block
import krping
from turns import HEAD, KIB, MIB, Workload, compare, fio, get, label, median, p99_us, prepare, put

WORKLOADS = (
	Workload("random read", "randread", 4 * KIB, 1),
	Workload("random read", "randread", 4 * KIB, 16),
	Workload("random write", "randwrite", 4 * KIB, 1),
	Workload("random write", "randwrite", 4 * KIB, 16),
	Workload("random read", "randread", 16 * KIB, 16),
	Workload("random write", "randwrite", 16 * KIB, 16),
	Workload("random read", "randread", 64 * KIB, 1),
	Workload("random read", "randread", 64 * KIB, 16),
	Workload("random write", "randwrite", 64 * KIB, 1),
	Workload("random write", "randwrite", 64 * KIB, 16),
	Workload("random read", "randread", 4 * KIB, 4, 4),
	Workload("random write", "randwrite", 4 * KIB, 4, 4),
	Workload("70% reads, random", "randrw", 4 * KIB, 16, 1, ("--rwmixread=70",)),
	Workload("70% reads, random", "randrw", 16 * KIB, 16, 1, ("--rwmixread=70",)),
	Workload("write, fsync", "randwrite", 4 * KIB, 1, 1, ("--fsync=1",)),
	Workload("write, O_SYNC", "randwrite", 4 * KIB, 1, 1, ("--sync=1",)),
	Workload("read", "read", 512, 1),
	Workload("write", "write", 512, 1),
	Workload("read", "read", 256 * KIB, 8),
	Workload("write", "write", 256 * KIB, 8),
	Workload("read", "read", 1024 * KIB, 4),
	Workload("write", "write", 1024 * KIB, 4),
	Workload("trim", "trim", 64 * KIB, 16),
)
# With one CPU: so many bytes, in I/Os of at least so many, in so many turns.
BYTES = 8 << 20
LEAST, MOST = 64, 1000
TURNS = 2

SUBSYSTEM = "/sys/kernel/config/nvmet/subsystems/bench"
PORT = "/sys/kernel/config/nvmet/ports/1"
# To load a module, in seconds: where the clock counts instructions it leaps while the guest
# waits for its disk.
LOADED = 3600
SENT = f"/sys/class/infiniband/{krping.DEVICE}/ports/1/hw_counters/sent_pkts"


@contextlib.contextmanager
def nvme():
	"""Within, a disk of nvme-rdma whose blocks are in a brd here: its name."""
	for words in (("nvme-core", "multipath=N"), ("-a", "nvme-rdma", "nvmet-rdma"),
		      ("brd", "rd_nr=1", f"rd_size={MIB << 10}")):
		block.call("modprobe", *words, timeout=LOADED)
	os.mkdir(SUBSYSTEM)
	put(f"{SUBSYSTEM}/attr_allow_any_host", "1")
	os.mkdir(f"{SUBSYSTEM}/namespaces/1")
	put(f"{SUBSYSTEM}/namespaces/1/device_path", "/dev/ram0")
	put(f"{SUBSYSTEM}/namespaces/1/enable", "1")
	os.mkdir(PORT)
	for name, value in (("trtype", "rdma"), ("adrfam", "ipv4"), ("traddr", krping.ADDR),
			    ("trsvcid", "4420")):
		put(f"{PORT}/addr_{name}", value)
	os.symlink(SUBSYSTEM, f"{PORT}/subsystems/bench")
	put("/dev/nvme-fabrics", f"transport=rdma,traddr={krping.ADDR},trsvcid=4420,nqn=bench,"
	    "nr_io_queues=1,queue_size=128")
	krping.wait_for(lambda: os.path.exists("/dev/nvme0n1"), what="/dev/nvme0n1")
	try:
		yield "nvme0n1"
	finally:
		put("/sys/class/nvme/nvme0/delete_controller", "1")
		os.unlink(f"{PORT}/subsystems/bench")
		os.rmdir(PORT)
		os.rmdir(f"{SUBSYSTEM}/namespaces/1")
		os.rmdir(SUBSYSTEM)
		block.call("rmmod", "brd")


def wanted():
	"""The workloads to run."""
	return [each for each in WORKLOADS if os.environ.get("WORKLOADS", "") in label(each)]


def instructions(theirs, ours):
	"""Instructions and packets for each I/O, and the latency that 99% do not exceed, in
	instructions, too."""
	print(f"{TURNS} turns, medians; instructions and packets are for each I/O, p99 is in 1000\n"
	      "instructions; ratio: nvme-rdma's by krping's\n")
	print(f"{'':34}{'nvme-rdma':>23}{'krping':>26}{'ratio of':>16}")
	print(f"{HEAD}{'instructions':>13}{'packets':>8}{'p99':>8}{'instructions':>14}{'packets':>8}"
	      f"{'p99':>8}{'instr.':>9}{'p99':>6}")
	for workload in wanted():
		count = min(max(BYTES // workload.size, LEAST), MOST)
		line, found = label(workload), []
		for disk, width in ((theirs, 13), (ours, 14)):
			before = int(get(SENT))
			jobs = fio((disk,), TURNS, workload, f"--number_ios={count}",
				   f"--io_size={count * workload.size}")[disk]
			done = count * workload.jobs
			assert all(job["mixed"]["total_ios"] == done for job in jobs), jobs
			packets = (int(get(SENT)) - before) / done / TURNS
			cost = median(1e9 / job["mixed"]["iops"] for job in jobs)
			p99 = median(map(p99_us, jobs))
			found.append((cost, p99))
			line += f"{cost:{width}.0f}{packets:8.1f}{p99:8.0f}"
		(their_cost, their_p99), (our_cost, our_p99) = found
		print(f"{line}{their_cost / our_cost:9.2f}{their_p99 / our_p99:6.2f}", flush=True)


def main():
	with nvme() as theirs, block.loopback(f"size={MIB}M,store=ram", "queues=1") as disk:
		for each in (theirs, disk.name):
			prepare(each)
		if os.cpu_count() == 1:
			instructions(theirs, disk.name)
		else:
			compare(theirs, disk.name, ("nvme-rdma", "krping"), wanted())


if __name__ == "__main__":
	main()
