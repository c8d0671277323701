#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --icount
"""Compare what microbenchmarks with many queue pairs say with what they cost.

Made for a guest with --icount, where a nanosecond is an instruction of the one CPU. While
every queue pair has work the CPU is never idle, so what a run says that an operation
takes is what it costs. That is counted apart: how much longer a command takes that does
more of the same. WORKLOADS in the environment are the tests to run, and QPS the numbers of
queue pairs.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping

TESTS = os.environ.get("WORKLOADS", "slat wlat rlat bw bw,duplex").split()
QPS = [int(each) for each in os.environ.get("QPS", "1 4 16 64").split()]
# Operations of each queue pair in the runs whose figures are judged.
COUNTS = (50, 200)
# Operations of all queue pairs in the two runs whose difference is counted.
SHORT, LONG = 6400, 19200


def run(test, pairs, count):
	"""Nanoseconds that the command takes, and what it says of an operation."""
	tag = krping.new_tag()
	start = time.monotonic_ns()
	krping.run_ok(f"loopback,addr={krping.ADDR},{test},qps={pairs},count={count},"
		      f"timeout=60000,tag={tag}")
	whole = time.monotonic_ns() - start
	found = krping.result(tag, "client")
	rate = found.get("total_bytes_per_s", found["bytes_per_s"])
	return whole, found["size"] * 1e9 / rate


def main():
	print("instructions for each operation, which of slat and wlat is there and back\n")
	print(f"{'':12}{'pairs':>6}{'counted':>10}" + "".join(
		f"{f'of {count}':>10}{'ratio':>8}" for count in COUNTS))
	for test in TESTS:
		for pairs in QPS:
			counts = [total // pairs for total in (SHORT, LONG)]
			short, long = (run(test, pairs, count)[0] for count in counts)
			ways = 2 if "duplex" in test else 1
			counted = (long - short) / (counts[1] - counts[0]) / pairs / ways
			line = f"{test.replace(',', ' '):12}{pairs:6}{counted:10.0f}"
			for count in COUNTS:
				said = run(test, pairs, count)[1]
				line += f"{said:10.0f}{said / counted:8.3f}"
			print(line, flush=True)


if __name__ == "__main__":
	main()
