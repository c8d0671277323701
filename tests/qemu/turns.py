# SPDX-License-Identifier: GPL-2.0
"""fio on two disks in turns, A B A B: each ratio is of one turn, and the median of the ratios
is what counts. PAIRS in the environment is how many turns."""

import collections
import json
import os
import subprocess
from statistics import median

import block

PAIRS = int(os.environ.get("PAIRS", "7"))
MIB = 64
KIB = 1024

# What fio does: reads and writes as its option `rw` says, their size in bytes, how many
# are under way in each job, how many jobs, and more of its options.
Workload = collections.namedtuple("Workload", ("name", "rw", "size", "depth", "jobs", "options"),
				  defaults=(1, ()))
# Of each run, with two CPUs.
SECONDS, RAMP = 1.5, 0.2


def put(path, text):
	"""Write TEXT to PATH."""
	with open(path, "w", encoding="ascii") as file:
		file.write(text)


def get(path):
	"""What PATH holds."""
	with open(path, encoding="ascii") as file:
		return file.read().strip()


def prepare(name):
	"""Make sure that the disk NAME is as the other one, and fill it."""
	put(f"/sys/block/{name}/queue/scheduler", "none")
	assert get(f"/sys/block/{name}/queue/scheduler").split()[0] == "[none]", name
	assert int(get(f"/sys/block/{name}/size")) == MIB * 2048, name
	queues = os.listdir(f"/sys/block/{name}/mq")
	assert len(queues) == 1, f"{name} has the queues {queues}"
	block.call("dd", "if=/dev/urandom", f"of=/dev/{name}", "bs=1M", f"count={MIB}",
		   "oflag=direct")


def fio(disks, turns, workload, *options):
	"""A run of fio for each of TURNS and DISKS, one after the other; their figures, by
	disk."""
	words = ["fio", "--output-format=json", "--ioengine=libaio", "--direct=1", "--thread",
		 "--invalidate=0", "--norandommap", "--group_reporting",
		 "--unified_rw_reporting=mixed", f"--rw={workload.rw}", f"--bs={workload.size}",
		 f"--iodepth={workload.depth}", f"--numjobs={workload.jobs}",
		 f"--size={MIB}M", *workload.options, *options]
	for turn in range(turns):
		for disk in disks:
			words += [f"--name={disk}", f"--filename=/dev/{disk}", f"--randseed={turn}",
				  "--stonewall"]
	done = subprocess.run(words, capture_output=True, text=True, check=False)
	assert done.returncode == 0, done
	found = {disk: [] for disk in disks}
	for job in json.loads(done.stdout)["jobs"]:
		found[job["jobname"]].append(job)
	assert all(len(jobs) == turns for jobs in found.values()), found.keys()
	return found


def p99_us(job):
	"""The latency that 99% do not exceed. One who has each write followed by an fsync()
	waits for both."""
	sync = job.get("sync", {}).get("lat_ns", {}).get("percentile", {})
	return (job["mixed"]["clat_ns"]["percentile"]["99.000000"] + sync.get("99.000000", 0)) / 1000


def size_text(size):
	"""SIZE in bytes, as people say it."""
	return f"{size >> 10} KiB" if size >= KIB else f"{size} B"


def label(workload):
	"""The beginning of a line."""
	under_way = f"{workload.jobs}x" if workload.jobs > 1 else ""
	return f"{workload.name:18}{size_text(workload.size):>8}{under_way:>4}{workload.depth:<4}"


HEAD = f"{'':26}{'depth':^8}"


def compare(theirs, ours, names, workloads):
	"""Print, for each of WORKLOADS and the disks THEIRS and OURS, which are called NAMES, the
	I/Os per second and the latency that 99% do not exceed."""
	print(f"{PAIRS} turns of {SECONDS} s, medians; ratio: how many times as good as {names[0]}\n")
	print(f"{'':34}{names[0]:>16}{names[1]:>18}")
	print(f"{HEAD}{'IOPS':>8}{'p99 us':>9}{'IOPS':>9}{'p99 us':>9}"
	      f"{'IOPS ratio':>12}{'range':>13}{'p99 ratio':>11}")
	for workload in workloads:
		found = fio((theirs, ours), PAIRS, workload, "--time_based",
			    f"--runtime={round(SECONDS * 1000)}ms", f"--ramp_time={round(RAMP * 1000)}ms")
		turns = [[(job["mixed"]["iops"], p99_us(job)) for job in found[disk]]
			 for disk in (theirs, ours)]
		line = label(workload)
		for each, width in zip(turns, (8, 9)):
			line += f"{median(iops for iops, _ in each):{width}.0f}" \
				f"{median(p99 for _, p99 in each):9.0f}"
		rates = sorted(our[0] / their[0] for their, our in zip(*turns))
		line += f"{median(rates):12.2f}{rates[0]:7.2f}..{rates[-1]:.2f}"
		line += f"{median(their[1] / our[1] for their, our in zip(*turns)):11.2f}"
		print(line, flush=True)
