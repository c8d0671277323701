#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --icount
"""What the measuring itself costs: latencies with and without a clock read for each
operation, in one guest boot.

Made for a guest with --icount, where a nanosecond is an instruction of the one CPU.
Runs with and without take turns; each ratio is of one turn.
"""

import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping
import microbench

PAIRS = int(os.environ.get("PAIRS", "7"))
COUNT = 2000


def mean(options):
	"""Nanoseconds for each operation of a loopback."""
	tag = krping.new_tag()
	krping.run_ok(f"loopback,addr={krping.ADDR},count={COUNT},tag={tag},{options}")
	found = krping.result(tag, "client")
	return found["elapsed_ns"] / COUNT


def main():
	print(f"64 bytes, {COUNT} operations, {PAIRS} turns, medians; nanoseconds for each "
	      "operation,\nwhich of wlat and slat is there and back\n")
	print(f"{'':12}{'timed':>10}{'untimed':>10}{'ratio':>8}{'range':>16}")
	for test in microbench.LATENCY + tuple(f"{test},poll" for test in microbench.LATENCY):
		turns = [(mean(test), mean(f"{test},untimed")) for _ in range(PAIRS)]
		timed, untimed = (statistics.median(each) for each in zip(*turns))
		ratios = sorted(one / other for one, other in turns)
		print(f"{test.replace(',', ' '):12}{timed:10.0f}{untimed:10.0f}"
		      f"{statistics.median(ratios):8.3f}{ratios[0]:9.3f}..{ratios[-1]:.3f}", flush=True)


if __name__ == "__main__":
	main()
