#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
# guest: --icount
"""What fan-in does to messages: their rate, cost and memory from 1 to 256 connections.

All runs are loopbacks over one soft-RoCE device, in one guest boot, and take turns; each ratio is
of one turn, and the median of the ratios is what counts. PAIRS in the environment is how many turns
there are with two CPUs.

With two CPUs: the rate of messages beside that of sbw, which is one connection that posts one SEND
after the other, and what a connection takes of memory: the device's part is in it.

With --icount there is one CPU, whose nanoseconds are instructions: what a message costs, beside a
SEND of sbw. That is what more messages make a command longer, so connecting is not in it. Each
connection has as many under way, so that acknowledgements of the device are as many for each, too.
"""

import functools
import os
import sys
import time
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping
import messages

PAIRS = int(os.environ.get("PAIRS", "7"))
SIZE = 4096
CONNS = (1, 4, 16, 64, 128, 256)
# Messages of a run, of all its connections together; with --icount of the shorter and the longer.
COUNT = 8192
COSTS = (1024, 3072)
# The most messages that are under way, of all connections together; with --icount of each.
UNDER_WAY = 256
EACH = 8
# Enough for that, of 256 connections.
CHUNKS = ",chunks=8192"
WAYS = {"events": "", "spin=50": ",spin=50", "poll": ",poll"}


def run(options, count):
	"""Run a loopback of COUNT operations of SIZE; returns the time of the command in seconds, and
	the client's result."""
	tag = krping.new_tag()
	begun = time.monotonic_ns()
	krping.run_ok(f"loopback,addr={krping.ADDR},size={SIZE},count={count},timeout=60000,tag={tag},"
		      f"{options}")
	taken = time.monotonic_ns() - begun
	return taken / 1e9, krping.result(tag, "client")


def messenger(conns, count, more="", inflight=EACH):
	"""Run COUNT messages of CONNS connections together."""
	return run(f"messenger,conns={conns},inflight={inflight}{more}", count // conns)


def rate(found):
	"""Operations for each second of a result."""
	return found["iterations"] / found["elapsed_ns"] * 1e9


def fairness(found):
	"""The rate of the slowest connection to that of the fastest."""
	return found["messenger"]["slowest_per_s"] / found["messenger"]["fastest_per_s"]


def batch(found):
	"""Completions that the dispatcher finds at a time."""
	return found["messenger"]["completions"] / found["messenger"]["batches"]


def rates():
	"""Print the rates of messages, beside that of sbw."""
	print(f"{PAIRS} turns, medians; {SIZE} bytes, {UNDER_WAY} messages under way; "
	      "fairness: the slowest connection to the fastest\n")
	print(f"{'':22}{'per s':>10}{'MB/s':>9}{'to sbw':>9}{'range':>14}{'fairness':>10}{'batch':>8}")
	turns = []
	for _ in range(PAIRS):
		turn = {"sbw": run("sbw", COUNT)[1]}
		for conns in CONNS:
			for name, words in WAYS.items():
				found = messenger(conns, COUNT, words, max(1, UNDER_WAY // conns))[1]
				turn[f"messenger {conns:3} {name}"] = found
		turns.append(turn)
	for name in turns[0]:
		found = [turn[name] for turn in turns]
		ratios = sorted(rate(turn[name]) / rate(turn["sbw"]) for turn in turns)
		middle = median(map(rate, found))
		line = (f"{name:22}{middle:10.0f}{middle * SIZE / 1e6:9.1f}{median(ratios):9.2f}"
			f"{ratios[0]:8.2f}..{ratios[-1]:.2f}")
		if name != "sbw":
			line += "".join(f"{median(each(one) for one in found):{width}.2f}"
					for each, width in ((fairness, 10), (batch, 8)))
		print(line, flush=True)


def memory():
	"""Print what a connection takes of the kernel's memory."""
	print("\nKiB of memory for either end of a connection, with the device's part\n")
	print("".join(f"{name:>16}" for name in ("inflight", "median", "range")))
	for inflight in (1, 4, 8, 64):
		found = sorted(messages.memory_of_connection(f",inflight={inflight}") / 1024
			       for _ in range(PAIRS))
		print(f"{inflight:16}{median(found):16.1f}{found[0]:9.1f}..{found[-1]:.1f}", flush=True)


def costs():
	"""Print the instructions for each message."""
	few, many = COSTS

	def cost(measure):
		return (measure(many)[0] - measure(few)[0]) * 1e9 / (many - few)
	print(f"one turn; instructions for each message of {SIZE} bytes, {EACH} under way "
	      "of each connection; to 1: how many times those of one connection\n", flush=True)
	print(f"{'sbw':10}{cost(functools.partial(run, 'sbw')):12.0f}\n")
	print(f"{'':10}" + "".join(f"{name:>12}{'to 1':>7}" for name in ("one-way", "request")))
	ways = {"one-way": CHUNKS, "request": f"{CHUNKS},echo"}
	one = {}
	for conns in CONNS:
		line = f"{conns:10}"
		for name, words in ways.items():
			found = cost(functools.partial(messenger, conns, more=words))
			line += f"{found:12.0f}{found / one.setdefault(name, found):7.2f}"
		print(line, flush=True)


def main():
	if os.cpu_count() == 1:
		costs()
		return
	rates()
	memory()


if __name__ == "__main__":
	main()
