#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
# guest: --icount
"""Compare a disk of krping's with one of nvme-rdma, by fio, in one guest boot.

Both serve memory, krping's own and a brd, through the same soft-RoCE device, with one
queue of 128 requests. Both have no I/O scheduler, and nvme no multipath. fio runs
without the page cache, on one disk after the other, A B A B; each ratio is of one turn,
and the median of the ratios is what counts. PAIRS in the environment is how many turns.

With two CPUs, what counts are I/Os per second and how long 99% of them take. With one
CPU whose clock counts instructions, it is the instructions for each I/O: fio, block
layer, both ends and the device together. Packets are those that soft-RoCE sends.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import block
import krping

PAIRS = int(os.environ.get("PAIRS", "7"))
MIB = 64
WORKLOADS = [(rw, size, depth) for size in (4096, 65536) for rw in ("randread", "randwrite")
	     for depth in (1, 16)]
# Of each run, with two CPUs.
SECONDS, RAMP = 1.5, 0.2
# With one: so many I/Os by size, in so many turns.
COUNTS = {4096: 3000, 65536: 400}
TURNS = 3

SUBSYSTEM = "/sys/kernel/config/nvmet/subsystems/bench"
PORT = "/sys/kernel/config/nvmet/ports/1"
SENT = f"/sys/class/infiniband/{krping.DEVICE}/ports/1/hw_counters/sent_pkts"


def put(path, text):
	"""Write TEXT to PATH."""
	with open(path, "w", encoding="ascii") as file:
		file.write(text)


def get(path):
	"""What PATH holds."""
	with open(path, encoding="ascii") as file:
		return file.read().strip()


@contextlib.contextmanager
def nvme():
	"""Within, a disk of nvme-rdma whose blocks are in a brd here: its name."""
	block.call("modprobe", "nvme-core", "multipath=N")
	block.call("modprobe", "-a", "nvme-rdma", "nvmet-rdma")
	block.call("modprobe", "brd", "rd_nr=1", f"rd_size={MIB << 10}")
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


def prepare(name):
	"""Make sure that the disk NAME is as the other one, and fill it."""
	put(f"/sys/block/{name}/queue/scheduler", "none")
	assert get(f"/sys/block/{name}/queue/scheduler").split()[0] == "[none]", name
	assert int(get(f"/sys/block/{name}/size")) == MIB * 2048, name
	queues = os.listdir(f"/sys/block/{name}/mq")
	assert len(queues) == 1, f"{name} has the queues {queues}"
	block.call("dd", "if=/dev/urandom", f"of=/dev/{name}", "bs=1M", f"count={MIB}",
		   "oflag=direct")


def fio(disks, turns, rw, size, depth, *options):
	"""A job of fio for each of TURNS and DISKS, one after the other; their figures, by
	disk."""
	words = ["fio", "--output-format=json", "--ioengine=libaio", "--direct=1", "--thread",
		 "--invalidate=0", "--norandommap", f"--rw={rw}", f"--bs={size}",
		 f"--iodepth={depth}", f"--size={MIB}M", *options]
	for turn in range(turns):
		for disk in disks:
			words += [f"--name={disk}", f"--filename=/dev/{disk}", f"--randseed={turn}",
				  "--stonewall"]
	done = subprocess.run(words, capture_output=True, text=True, check=False)
	assert done.returncode == 0, done
	found = {disk: [] for disk in disks}
	for job in json.loads(done.stdout)["jobs"]:
		found[job["jobname"]].append(job[rw.removeprefix("rand")])
	assert all(len(jobs) == turns for jobs in found.values()), found.keys()
	return found


def median(values):
	"""The median of VALUES, which may be any iterable."""
	return statistics.median(list(values))


def label(rw, size, depth):
	"""The beginning of a line."""
	return f"{rw:10}{size >> 10:4} KiB{depth:6}"


def compare(theirs, ours):
	"""I/Os per second, and the latency that 99% do not exceed."""
	print(f"{PAIRS} turns of {SECONDS} s, medians; ratio: how many times as good as nvme-rdma\n")
	print(f"{'':24}{'nvme-rdma':>18}{'krping':>20}")
	print(f"{'':19}depth{'IOPS':>9}{'p99 us':>9}{'IOPS':>11}{'p99 us':>9}"
	      f"{'IOPS ratio':>12}{'range':>13}{'p99 ratio':>11}")
	for workload in WORKLOADS:
		found = fio((theirs, ours), PAIRS, *workload, "--time_based",
			    f"--runtime={round(SECONDS * 1000)}ms", f"--ramp_time={round(RAMP * 1000)}ms")
		turns = [[(job["iops"], job["clat_ns"]["percentile"]["99.000000"] / 1000)
			  for job in found[disk]] for disk in (theirs, ours)]
		line = label(*workload)
		for each, width in zip(turns, (9, 11)):
			line += f"{median(iops for iops, _ in each):{width}.0f}" \
				f"{median(p99 for _, p99 in each):9.0f}"
		rates = sorted(our[0] / their[0] for their, our in zip(*turns))
		line += f"{median(rates):12.2f}{rates[0]:7.2f}..{rates[-1]:.2f}"
		line += f"{median(their[1] / our[1] for their, our in zip(*turns)):11.2f}"
		print(line, flush=True)


def instructions(theirs, ours):
	"""Instructions and packets for each I/O."""
	print(f"{TURNS} turns, medians; for each I/O; ratio: nvme-rdma's instructions by krping's\n")
	print(f"{'':24}{'nvme-rdma':>20}{'krping':>20}")
	print(f"{'':19}depth{'instructions':>13}{'packets':>9}{'instructions':>13}{'packets':>9}"
	      f"{'ratio':>8}")
	for rw, size, depth in WORKLOADS:
		count = COUNTS[size]
		costs, packets = [], []
		for disk in (theirs, ours):
			before = int(get(SENT))
			jobs = fio((disk,), TURNS, rw, size, depth, f"--number_ios={count}",
				   f"--io_size={count * size}")[disk]
			assert all(job["total_ios"] == count for job in jobs), jobs
			packets.append((int(get(SENT)) - before) / count / TURNS)
			costs.append(median(1e9 / job["iops"] for job in jobs))
		line = label(rw, size, depth)
		for cost, sent in zip(costs, packets):
			line += f"{cost:13.0f}{sent:9.1f}"
		print(f"{line}{costs[0] / costs[1]:8.2f}", flush=True)


def main():
	measure = instructions if os.cpu_count() == 1 else compare
	with nvme() as theirs, block.loopback(f"size={MIB}M,store=ram", "queues=1") as disk:
		for each in (theirs, disk.name):
			prepare(each)
		measure(theirs, disk.name)


if __name__ == "__main__":
	main()
