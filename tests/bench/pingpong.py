#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --icount
"""Compare krping's ping/pong with rping's, in one guest boot.

Made for a guest with --icount, where a nanosecond is an instruction of the one
CPU and medians repeat whatever the host does. The peers take turns, A B C A B C;
each ratio is of one turn, and the median of the ratios is what counts.

	per iteration	from the first message to the last; for rping, whose
			set-up cannot be told apart, a run of N + 1 iterations
			less a run of 1
	whole command	set-up and tear-down included, N iterations
"""

import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping

PAIRS = int(os.environ.get("PAIRS", "7"))
COUNT = 500
MODES = ("dma", "reg")


class Rping:
	"""rping against an rping server that stays."""

	def __init__(self):
		self.server = subprocess.Popen(["rping", "-s", "-P", "-a", krping.ADDR],
					       stdout=subprocess.DEVNULL,
					       stderr=subprocess.DEVNULL)
		krping.wait_for(lambda: krping.listens(7174), what="rping's server")

	def seconds(self, count, size):
		start = time.monotonic()
		subprocess.run(["rping", "-c", "-a", krping.ADDR, "-C", str(count),
				"-S", str(size)], check=True,
			       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		return time.monotonic() - start

	def measure(self, count, size):
		"""Seconds for each iteration, and for a whole command's."""
		one = self.seconds(1, size)
		return (self.seconds(count + 1, size) - one) / count, \
			self.seconds(count, size) / count

	def stop(self):
		self.server.kill()
		self.server.wait()


def measure(options, count, size):
	"""Seconds for each iteration, and for a whole command's, of a loopback."""
	tag = krping.new_tag()
	start = time.monotonic()
	krping.run_ok(f"loopback,addr={krping.ADDR},count={count},size={size},"
		      f"tag={tag},{options}")
	whole = (time.monotonic() - start) / count
	client = [r for r in krping.results(tag) if r["role"] == "client"]
	elapsed = sum(r["elapsed_ns"] for r in client) / len(client) / 1e9
	return elapsed / count, whole


def compare():
	rping = Rping()
	turns = []
	for _ in range(PAIRS):
		turn = {"rping": rping.measure(COUNT, 64)}
		for mode in MODES:
			turn[mode] = measure(f"mem_mode={mode}", COUNT, 64)
		turns.append(turn)
	rping.stop()
	print(f"64 bytes, {COUNT} iterations, {PAIRS} turns, medians\n")
	print(f"{'':16}{'us/iteration':>14}{'iterations/s':>14}{'ratio':>8}"
	      f"{'whole us/iter.':>16}{'ratio':>8}")
	for name in ("rping", *MODES):
		line = f"{name if name == 'rping' else 'krping ' + name:16}"
		for kind in (0, 1):
			median = statistics.median(turn[name][kind] for turn in turns)
			ratio = statistics.median(turn["rping"][kind] / turn[name][kind]
						  for turn in turns)
			line += f"{median * 1e6:{14 if kind == 0 else 16}.1f}"
			if kind == 0:
				line += f"{1 / median:14.0f}"
			line += f"{ratio:8.2f}"
		print(line, flush=True)


def together(mode, threads):
	"""Seconds of all CPU time for each iteration of so many sessions at once: what more
	iterations take longer. The sessions' own times say little of that, as not all of
	them run all the time."""
	short, long = (measure(f"mem_mode={mode},threads={threads},timeout=60000", count, 64)[1]
		       * count for count in (100, 300))
	return (long - short) / 200 / threads


def growth():
	print("\nguest nanoseconds (with --icount: instructions) for each iteration, by size\n")
	print(f"{'bytes':>10}{'dma':>12}{'reg':>12}")
	for size in (64, 1024, 4096, 16384, 65536, 262144, 1048576):
		count = max(5, min(500, 4 * 1048576 // size))
		values = [measure(f"mem_mode={mode}", count, size)[0] for mode in MODES]
		print(f"{size:10}" + "".join(f"{v * 1e9:12.0f}" for v in values), flush=True)
	print("\nthe same by concurrent sessions of 64 bytes: of all CPU time, for each iteration\n")
	print(f"{'sessions':>10}{'dma':>12}{'reg':>12}")
	for threads in (1, 4, 16, 64):
		values = [together(mode, threads) for mode in MODES]
		print(f"{threads:10}" + "".join(f"{v * 1e9:12.0f}" for v in values), flush=True)


def validation():
	print("\nwhat making and comparing the data takes of an iteration of 64 KiB\n")
	print(f"{'':28}{'dma':>8}{'reg':>8}")
	plain = {mode: measure(f"mem_mode={mode}", 200, 65536)[0] for mode in MODES}
	for options in ("validate", "pattern=binary", "pattern=binary,validate"):
		line = f"{options:28}"
		for mode in MODES:
			value = measure(f"mem_mode={mode},{options}", 200, 65536)[0]
			line += f"{1 - plain[mode] / value:8.1%}"
		print(line, flush=True)


if __name__ == "__main__":
	compare()
	growth()
	validation()
