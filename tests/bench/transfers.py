#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --icount
# guest: --icount --kernel debug --transport siw
"""What the kernel's rdma_rw contexts cost a server, beside READs and WRITEs posted by hand.

Made for a guest with --icount, where a nanosecond is an instruction of the one CPU. A request is
rwread's or rwwrite's; by hand, an iteration of the ping/pong with validate is one of either: the
client asks, the server moves the data and answers, and the data is compared. On iWARP both register
the memory of each READ. Requests under way are txdepth= or, by hand, sessions.

What counts is how much longer more requests make a command, so connecting is not in it. The ways
take turns, A B A B; each ratio is of one turn, and the median of the ratios is what counts. PAIRS
in the environment is how many turns.
"""

import os
import sys
import time
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping

PAIRS = int(os.environ.get("PAIRS", "3"))
# Requests of the shorter and the longer command, by size.
COUNTS = {4096: (96, 288), 65536: (48, 144)}
DEPTHS = (1, 16)


def seconds(options):
	"""Run a loopback with OPTIONS; returns how long it takes."""
	start = time.monotonic()
	krping.run_ok(f"loopback,addr={krping.ADDR},timeout=120000,{options}")
	return time.monotonic() - start


def cost(options, size, each):
	"""Nanoseconds of a request of SIZE bytes, of which EACH stand for one of count=."""
	short, long = COUNTS[size]
	one, other = (seconds(f"size={size},count={count // each},{options}")
		      for count in (short, long))
	return (other - one) * 1e9 / (long - short)


def turn(size, depth):
	"""What a READ and a WRITE cost together: by contexts, and by hand."""
	contexts = sum(cost(f"{test},txdepth={depth}", size, 1) for test in ("rwread", "rwwrite"))
	return contexts, cost(f"validate,threads={depth}", size, depth)


def main():
	print(f"instructions for a READ and a WRITE, {PAIRS} turns, medians\n")
	print(f"{'bytes':>10}{'under way':>11}{'by hand':>12}{'contexts':>12}{'ratio':>8}{'range':>14}")
	for size in COUNTS:
		for depth in DEPTHS:
			turns = [turn(size, depth) for _ in range(PAIRS)]
			contexts, hand = (median(each) for each in zip(*turns))
			ratios = sorted(one / other for one, other in turns)
			print(f"{size:10}{depth:11}{hand:12.0f}{contexts:12.0f}{median(ratios):8.2f}"
			      f"{ratios[0]:8.2f}..{ratios[-1]:.2f}", flush=True)


if __name__ == "__main__":
	main()
