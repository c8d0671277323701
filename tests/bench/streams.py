#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
# guest: --icount
"""Compare streams of krping with rstream's, with plain RDMA WRITEs and with TCP, in one guest boot.

Both hosts of each run are in the guest, the far one in a network namespace, with a soft-RoCE device
at either end of a veth pair; TCP takes the same pair. All ways take turns, A B C A B C; each ratio
is of one turn, and the median of the ratios is what counts. PAIRS in the environment is how many
turns, TESTS the tables to print: bandwidth, latency.

	rstream		nonblocking: it spins; -T b blocks. With -T a, which polls for what is ready, it
			does not get along with itself here (POLLHUP)
	TCP		rstream -T s, blocking
	krping bw	plain RDMA WRITEs, of which no byte is compared

All bytes of streams are compared as they come (rstream: -T v).

With --icount there is one CPU, whose nanoseconds are instructions. There loopbacks of krping's are
laid beside plain RDMA WRITEs: what a stream costs more, and what direct writes do (iomap).
"""

import dataclasses
import os
import re
import subprocess
import sys
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping
import network
from writing import Writer

PAIRS = int(os.environ.get("PAIRS", "7"))
TESTS = os.environ.get("TESTS", "bandwidth latency").split()
# Transfers by size.
BANDWIDTH = {64: 20000, 4096: 5000, 65536: 500, 1048576: 40}
LATENCY = {64: 1000, 4096: 500, 65536: 200}
COSTS = {64: 10000, 4096: 2000, 65536: 300, 1048576: 30}
MIB = 1 << 20
# Bytes of each buffer, at both ends of all.
BUFFER = 1 << 19
KRPING = f"stream,validate,sbuf={BUFFER},rbuf={BUFFER}"


class Rstream:
	"""rstream with some more arguments at either end, which a server of krping's may replace."""

	def __init__(self, lab, *words, server=None):
		self.lab, self.words, self.server = lab, words, server

	def seconds(self, size, count, iterations):
		"""Run it; returns the time of each transfer."""
		port = krping.new_port()
		words = ("rstream", "-p", str(port), "-S", str(size), "-C", str(count),
			 "-I", str(iterations), "-B", str(BUFFER // 2), "-T", "v", *self.words)
		with self._serve(port, words):
			client = subprocess.run((*words, "-s", self.lab.FAR), capture_output=True,
						text=True, check=False, timeout=120)
		found = re.search(r"([\d.]+)\s*$", client.stdout)
		assert client.returncode == 0 and found, client
		return float(found[1]) / 1e6

	def _serve(self, port, words):
		if self.server:
			return Server(self.lab, port, self.server)
		far = subprocess.Popen(("ip", "netns", "exec", self.lab.NAME, *words),
				       stdout=subprocess.DEVNULL)
		if "s" in self.words:
			# It has no identifier of the RDMA CM.
			krping.wait_for(lambda: self.lab.exec("ss", "-Hltn", f"sport = :{port}"),
					what="rstream's server")
		else:
			wait_listener(self.lab, port)
		return far


class Server:
	"""A server of krping's on the far host. Within, it listens."""

	def __init__(self, lab, port, options):
		self.writer = Writer(f"server,port={port}{options and ','}{options}", handle=True,
				     enter=lab.enter)
		krping.wait_for(krping.lines)

	def __enter__(self):
		return self

	def __exit__(self, kind, *_):
		if kind is None:
			assert self.writer.wait(60) == 0


def wait_listener(lab, port):
	"""Wait until something listens on PORT of the far host."""
	krping.wait_for(lambda: f":{port} " in lab.exec("rdma", "resource", "show", "cm_id", "state",
						       "LISTEN"), what="rstream's server")


def run(lab, server, client):
	"""A client of krping's and its server; returns the client's result."""
	port, tag = krping.new_port(), krping.new_tag()
	with Server(lab, port, server):
		krping.run_ok(f"client,addr={lab.FAR},port={port},tag={tag},timeout=60000,{client}")
	return krping.result(tag, "client")


def each(found):
	"""The seconds of each of a client's operations."""
	return found["elapsed_ns"] / found["iterations"] / 1e9


@dataclasses.dataclass(frozen=True)
class Way:
	"""One way to move bytes: a function of size and count, which returns the seconds of each
	transfer."""

	name: str
	measure: object


def bandwidth_ways(lab):
	"""The ways of which the rate is measured, with the transfers of rstream in one direction and then
	in the other."""
	def rstream(*words):
		return lambda size, count: Rstream(lab, *words).seconds(size, count // 2, 1)

	def stream(options):
		def measure(size, count):
			# Which writes go together is the client's alone.
			served = options.replace(",coalesce", "")
			return each(run(lab, KRPING + served,
					f"{KRPING}{options},size={size},count={count}"))
		return measure

	def writes(size, count):
		return each(run(lab, "", f"bw,size={size},count={count}"))
	return (Way("rstream", rstream()), Way("rstream -T b", rstream("-T", "b")),
		Way("krping stream", stream("")),
		Way("krping stream,poll", stream(",poll")),
		Way("krping stream,coalesce", stream(",coalesce")), Way("krping bw", writes),
		Way("TCP", rstream("-T", "s", "-T", "b")))


def latency_ways(lab):
	"""The ways of which half of a round trip is measured."""
	def rstream(*words, server=None):
		return lambda size, count: Rstream(lab, *words, server=server).seconds(size, 1, count)

	def stream(options):
		def measure(size, count):
			found = run(lab, f"{KRPING},echo{options}",
				    f"{KRPING},echo{options},size={size},count={count}")
			return found["mean_ns"] / 1e9
		return measure

	def sends(size, count):
		return run(lab, "", f"slat,size={size},count={count}")["mean_ns"] / 1e9
	return (Way("rstream", rstream()), Way("rstream -T b", rstream("-T", "b")),
		Way("rstream, krping", rstream(server=f"{KRPING},echo")),
		Way("krping stream", stream("")), Way("krping stream,poll", stream(",poll")),
		Way("krping slat", sends), Way("TCP", rstream("-T", "s", "-T", "b")))


def table(title, ways, size, count):
	"""Measure, and print medians and ratios; more than 1 is better than rstream's best."""
	turns = [[way.measure(size, count) for way in ways] for _ in range(PAIRS)]
	by_way = dict(zip((way.name for way in ways), zip(*turns)))
	theirs = [name for name in by_way if name.startswith("rstream") and "krping" not in name]
	best = min(theirs, key=lambda name: median(by_way[name]))
	print(f"\n{title}, {size} bytes, {count} times")
	print(f"{'':24}{'us':>10}{'per s':>10}{'MB/s':>9}{'range us':>22}{'to rstream':>12}")
	for name, found in by_way.items():
		ratios = [base / ours for base, ours in zip(by_way[best], found)]
		mid = median(found)
		span = f"{min(found) * 1e6:.1f}..{max(found) * 1e6:.1f}"
		print(f"{name:24}{mid * 1e6:10.1f}{1 / mid:10.0f}{size / mid / 1e6:9.1f}{span:>22}"
		      f"{median(ratios):12.2f}", flush=True)


def costs():
	"""Print the instructions for each MiB of what moves it."""
	ways = {"bw": "bw", "stream": "stream", "stream, compared": KRPING,
		"stream,coalesce, compared": KRPING + ",coalesce",
		"stream,iomap": "stream,iomap", "stream,iomap, compared": "stream,iomap,validate"}
	print(f"{PAIRS} turns, medians; instructions for each MiB, and how many times those of bw\n")
	print(f"{'':26}" + "".join(f"{size:>12} B{'':>6}" for size in COSTS))
	found = {(name, size): [] for name in ways for size in COSTS}
	for _ in range(PAIRS):
		for (name, size), turns in found.items():
			tag = krping.new_tag()
			krping.run_ok(f"loopback,addr={krping.ADDR},{ways[name]},size={size},"
				      f"count={COSTS[size]},tag={tag}")
			turns.append(each(krping.result(tag, "client")) * 1e9 * MIB / size)
	for name in ways:
		print(f"{name:26}" + "".join(
			f"{median(found[name, size]):14.0f}"
			f"{median(found[name, size]) / median(found['bw', size]):6.2f}" for size in COSTS),
		      flush=True)


def main():
	"""Print both tables, or what all costs."""
	if os.cpu_count() == 1:
		costs()
		return
	print(f"{PAIRS} turns, medians; to rstream: how many times as good as its best way of the table")
	with network.Lab() as lab:
		for name, title, ways, sizes in (
				("bandwidth", "One way", bandwidth_ways(lab), BANDWIDTH),
				("latency", "There and back, half of it", latency_ways(lab), LATENCY)):
			for size, count in sizes.items() if name in TESTS else ():
				table(title, ways, size, count)


if __name__ == "__main__":
	main()
