#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# guest: --smp 2
# guest: --icount
"""Compare krping's microbenchmarks with perftest's, in one guest boot.

Both ends of each run are in the guest, on its soft-RoCE device, and so share its
two CPUs with the device's own work. All ways to run a test take turns, A B C A B C;
each ratio is of one turn, and the median of the ratios is what counts. PAIRS in the
environment is how many turns, TESTS the names of those to run ('wlat slat,qp=ud'), else all.

perftest connects with -R, through the RDMA CM, as krping does, so it has no unreliable
connected queue pairs (UC). Else it has its defaults; in the tables, of its options:

	-e	sleeps until a completion comes, instead of spinning
	-N	no clock read for each completion
	-Q N	each N-th request asks for a completion (default 100)
	-l N	posts lists of N requests

krping runs as a loopback: with `poll` whoever waits for completions spins. "CPU 1" has
both sides on that one, which leaves the other to the device's work. Where two
numbers are given, they are postlist= and signal_every=; a queue has 128 requests, as
perftest's.

With --icount there is one CPU, whose nanoseconds are instructions: there only what sleeps is
compared, as others would measure the scheduler.
"""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import krping

PAIRS = int(os.environ.get("PAIRS", "7"))
TESTS = os.environ.get("TESTS", "").split()
# On one CPU whoever spins keeps the device's work items from it.
ONE_CPU = os.cpu_count() == 1
DEPTH = 128
# Operations by size. The bandwidths' are multiples of the longest list.
LATENCY = {2: 1000, 64: 1000}
BANDWIDTH = {64: 9600, 65536: 512, 1048576: 48}
# A datagram is one packet.
DATAGRAMS = {64: 9600, 1024: 9600}


@dataclasses.dataclass(frozen=True)
class Row:
	"""A test that both have: krping's name, the tool of perftest's with its options,
	operations by size, and krping's option, if any."""

	test: str
	tool: str
	what: str
	counts: dict
	options: tuple = ()
	own: str = ""

	@property
	def name(self):
		"""The name in TESTS, with krping's option."""
		return f"{self.test},{self.own}" if self.own else self.test

	@property
	def is_latency(self):
		return self.tool.endswith("_lat")

	@property
	def any_size(self):
		"""Whether the size can be chosen: an atomic operation has 8 bytes."""
		return "atomic" not in self.tool

	@property
	def sleeps(self):
		"""Whether the tool has a mode that sleeps until a completion comes."""
		return self.test not in ("wlat", "bw")


ROWS = (
	Row("wlat", "ib_write_lat", "RDMA WRITE latency (half the round trip)", LATENCY),
	Row("rlat", "ib_read_lat", "RDMA READ latency", LATENCY),
	Row("slat", "ib_send_lat", "SEND latency (half the round trip)", LATENCY),
	Row("alat", "ib_atomic_lat", "fetch-and-add latency", {8: 1000}, ("-A", "FETCH_AND_ADD")),
	Row("caslat", "ib_atomic_lat", "compare-and-swap latency", {8: 1000}, ("-A", "CMP_AND_SWAP")),
	Row("slat", "ib_send_lat", "SEND latency with shared receives (half the round trip)", LATENCY,
	    ("--use-srq",), "srq=512"),
	Row("slat", "ib_send_lat", "datagram latency (half the round trip)", LATENCY, ("-c", "UD"),
	    "qp=ud"),
	Row("bw", "ib_write_bw", "RDMA WRITE bandwidth", BANDWIDTH),
	Row("rbw", "ib_read_bw", "RDMA READ bandwidth", BANDWIDTH),
	Row("sbw", "ib_send_bw", "SEND bandwidth", BANDWIDTH),
	Row("sbw", "ib_send_bw", "SEND bandwidth with shared receives", BANDWIDTH, ("--use-srq",),
	    "srq=512"),
	Row("sbw", "ib_send_bw", "datagram bandwidth, as sent", DATAGRAMS, ("-c", "UD"), "qp=ud"),
	Row("abw", "ib_atomic_bw", "fetch-and-add rate", {8: 9600}, ("-A", "FETCH_AND_ADD")),
	Row("casbw", "ib_atomic_bw", "compare-and-swap rate", {8: 9600}, ("-A", "CMP_AND_SWAP")),
)

# perftest's own first port; krping's tests take others.
_ports = itertools.count(18515)


def perftest(row, size, count, *options, prefix=()):
	"""Run client and server of ROW's tool, and return the results."""
	sized = ("-s", str(size)) if row.any_size else ()
	for _ in range(3):
		port = str(next(_ports))
		words = [*prefix, row.tool, "-R", "-F", "-p", port, *sized, "-n", str(count),
			 *row.options, *options]
		client, results = _perftest(words, port)
		if client.returncode == 0:
			return results
	raise AssertionError(client)


def _perftest(words, port):
	# Both say at length that the device has no inline data.
	with tempfile.NamedTemporaryFile() as report, \
	     subprocess.Popen(words, stdout=subprocess.DEVNULL,
			      stderr=subprocess.DEVNULL) as server:
		try:
			krping.wait_for(lambda: krping.awaits_clients(server.pid, port),
					what=f"{words[0]}'s server")
			client = subprocess.run(words + ["--out_json",
							 f"--out_json_file={report.name}",
							 krping.ADDR],
						capture_output=True, text=True, check=False,
						timeout=120)
			if client.returncode != 0:
				return client, None
			assert server.wait(10) == 0, f"the server ended with {server.returncode}"
		finally:
			server.kill()
		with open(report.name, encoding="ascii") as file:
			return client, json.load(file)["results"]


def loopback(row, size, count, options):
	"""Run a loopback, and return its client's result."""
	tag = krping.new_tag()
	sized = f",size={size}" if row.any_size else ""
	options = f",{row.own}{options}" if row.own else options
	krping.run_ok(f"loopback,addr={krping.ADDR},{row.test}{sized},count={count},"
		      f"txdepth={DEPTH},tag={tag}{options}")
	return krping.result(tag, "client")


def perftest_latency(row, size, *options, prefix=()):
	found = perftest(row, size, row.counts[size], *options, prefix=prefix)
	return found["t_typical"], found["percentile_99"]


def krping_latency(row, size, options):
	found = loopback(row, size, row.counts[size], options)
	return found["p50_ns"] / 1000, found["p99_ns"] / 1000


def perftest_bandwidth(row, size, *options):
	found = perftest(row, size, row.counts[size], *options)
	# It counts in millions of messages, to six digits, and in 2^20 bytes, to two.
	rate = found["MsgRate"] * 1e6 if size < 1024 else found["BW_average"] * 1048576 / size
	return rate, rate * size / 1e6


def krping_bandwidth(row, size, options):
	found = loopback(row, size, row.counts[size], options)
	return found["iterations_per_s"], found["bytes_per_s"] / 1e6


def latency_ways(row, size):
	"""The ways to measure a latency: those of perftest, and of krping."""
	if ONE_CPU:
		return ({"perftest -e": lambda: perftest_latency(row, size, "-e")},
			{"krping": lambda: krping_latency(row, size, "")})
	theirs = {"perftest": lambda: perftest_latency(row, size)}
	if row.test in ("rlat", "alat", "caslat"):
		# For the others, two that spin on one CPU take turns of milliseconds.
		theirs["perftest, CPU 1"] = lambda: perftest_latency(
			row, size, prefix=("taskset", "-c", "1"))
	if row.sleeps:
		theirs["perftest -e"] = lambda: perftest_latency(row, size, "-e")
	ours = {"krping poll": lambda: krping_latency(row, size, ",poll"),
		"krping poll, CPU 1": lambda: krping_latency(row, size, ",poll,cpu=1"),
		"krping": lambda: krping_latency(row, size, "")}
	return theirs, ours


def bandwidth_ways(row, size):
	"""The ways to measure a bandwidth: those of perftest, and of krping."""
	small = size <= 64
	theirs: dict[str, tuple[str, ...]] = {}
	ours = {}
	if not ONE_CPU:
		theirs["perftest"] = ()
		if small:
			theirs["perftest -N -Q 1"] = ("-N", "-Q", "1")
		theirs["perftest -N -l 16 -Q 16"] = ("-N", "-l", "16", "-Q", "16")
	if row.sleeps:
		theirs["perftest -N -e"] = ("-N", "-e")
	for poll in ("",) if ONE_CPU else ("", ",poll"):
		for batch, every in ((1, 1), (1, 16), (16, 16)) if small else ((1, 16), (16, 16)):
			ours[f"krping{poll.replace(',', ' ')} {batch}/{every}"] = \
				f"{poll},postlist={batch},signal_every={every}"
	return ({name: lambda options=options: perftest_bandwidth(row, size, *options)
		 for name, options in theirs.items()},
		{name: lambda options=options: krping_bandwidth(row, size, options)
		 for name, options in ours.items()})


def measure(ways):
	"""Take turns; return what each way gave."""
	found = {name: [] for name in ways}
	for _ in range(PAIRS):
		for name, run in ways.items():
			found[name].append(run())
	return found


def table(title, heads, theirs, ours, higher_is_better):
	"""Measure, and print medians and ratios; more than 1 is better than perftest."""
	found = measure(theirs | ours)
	first = next(iter(theirs))

	def ratio(name, base):
		pairs = zip(found[name], found[base])
		return median([a[0] / b[0] if higher_is_better else b[0] / a[0] for a, b in pairs])

	best = (max if higher_is_better else min)(
		theirs, key=lambda name: median([turn[0] for turn in found[name]]))
	print(f"\n{title}")
	print(f"{'':26}{heads[0]:>14}{heads[1]:>14}{'range':>20}{'ratio':>8}{'to best':>9}")
	for name, turns in found.items():
		figures = [turn[0] for turn in turns]
		digits = 0 if higher_is_better else 1
		spread = f"{min(figures):.{digits}f}..{max(figures):.{digits}f}"
		print(f"{name:26}{median(figures):14.{digits}f}"
		      f"{median([turn[1] for turn in turns]):14.1f}{spread:>20}"
		      f"{ratio(name, first):8.2f}{ratio(name, best):9.2f}", flush=True)


def compare(row):
	"""One test beside perftest's, at all sizes."""
	for size, count in row.counts.items():
		ways = latency_ways if row.is_latency else bandwidth_ways
		heads = ("median us", "p99 us") if row.is_latency else ("messages/s", "MB/s")
		theirs, ours = ways(row, size)
		table(f"{row.what}, {size} bytes, {count} times", heads, theirs, ours,
		      not row.is_latency)


if __name__ == "__main__":
	# A client of perftest's that is refused crashes, which the kernel need not tell.
	krping.write(b"0", "/proc/sys/debug/exception-trace")
	print(f"{PAIRS} turns, medians; ratio: how many times as good as perftest's first way of the "
	      "table,\nto best: as its best")
	for each in ROWS:
		if (not TESTS or each.name in TESTS) and (each.sleeps or not ONE_CPU):
			compare(each)
