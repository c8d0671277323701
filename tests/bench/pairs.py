#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --icount
"""Compare what microbenchmarks with many queue pairs say with what they cost.

Made for a guest with --icount, where a nanosecond is an instruction of the one CPU. While
every queue pair has work the CPU is never idle, so what a run says that an operation
takes is what it costs. That is counted apart, as what more operations make a command
longer. A bandwidth is measured to the last operation, so it is compared with a command
that has next to none. A latency is measured until the first queue pair ends, and what the
others then do alone is the same in longer commands: it is compared with such a one.

WORKLOADS in the environment are the tests to run, and QPS the numbers of queue pairs.
"""

import functools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping
from turns import median

TESTS = os.environ.get("WORKLOADS", "slat wlat rlat bw sbw rbw "
		       "bw,duplex sbw,duplex rbw,duplex").split()
QPS = [int(each) for each in os.environ.get("QPS", "1 4 16 64").split()]
# Operations of each queue pair.
COUNTS = (50, 100, 200)
# Those of a run that has next to none.
LEAST = 10
# How many times as many a longer run has.
LONGER = 3
# Runs of each, of which the median counts.
TURNS = 3


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


@functools.cache
def runs(test, pairs, count):
	"""The medians of what run() says, of several."""
	return [median(each) for each in zip(*(run(test, pairs, count) for _ in range(TURNS)))]


def compare(test, pairs, count):
	"""Instructions that an operation costs, and what a run of COUNT says of it."""
	whole, said = runs(test, pairs, count)
	other = LONGER * count if test.endswith("lat") else LEAST
	more = runs(test, pairs, other)[0] - whole
	ways = 2 if "duplex" in test else 1
	return more / (other - count) / pairs / ways, said


def main():
	print("instructions for each operation, which of slat and wlat is there and back\n")
	print(f"{'':12}{'pairs':>6}" + "".join(
		f"{f'{count}: counted':>15}{'said':>8}{'ratio':>7}" for count in COUNTS))
	for test in TESTS:
		for pairs in QPS:
			line = f"{test.replace(',', ' '):12}{pairs:6}"
			for count in COUNTS:
				counted, said = compare(test, pairs, count)
				line += f"{counted:15.0f}{said:8.0f}{said / counted:7.3f}"
			print(line, flush=True)


if __name__ == "__main__":
	main()
