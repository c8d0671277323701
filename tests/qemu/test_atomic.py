# SPDX-License-Identifier: GPL-2.0
"""Atomic fetch-and-add and compare-and-swap: what they count, and the value in the end."""

import errno

import krping
from krping import ADDR, new_port, new_tag, run_fails, run_ok
from ktap import Suite

# 100 operations of 8 bytes come before those that are measured.
WARMUP = 100

suite = Suite(check=krping.check)


def measured(options):
	"""Run the test of OPTIONS on this host, and return the client's result."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},{options},tag={tag}")
	return krping.result(tag, "client")


@suite.test("each operation is timed and counted, and brings 8 bytes")
def counted():
	for options in ("alat", "alat,poll", "alat,qps=3", "alat,untimed", "caslat", "caslat,poll",
			"caslat,qps=3"):
		found = measured(f"{options},count=200")
		queue_pairs = 3 if "qps" in options else 1
		total = queue_pairs * (200 + WARMUP)
		assert found["iterations"] == queue_pairs * 200 and found["size"] == 8, found
		assert (found["read_msgs"], found["read_bytes"]) == (total, 8 * total), found
		assert found["write_msgs"] == 0, found
		if "untimed" not in options:
			assert 0 < found["min_ns"] <= found["p50_ns"] <= found["max_ns"], found


def check_rate(test, options):
	"""Run it on this host, and compare what it counts with what it was asked for."""
	found = measured(f"{test},count=300{options}")
	queue_pairs = 3 if "qps" in options else 1
	done = queue_pairs * 300 + found["warmup"]
	assert found["iterations"] == queue_pairs * 300 and found["size"] == 8, found
	assert (found["read_msgs"], found["read_bytes"]) == (done, 8 * done), found
	assert found["write_msgs"] == 0 and found["bytes_per_s"] > 0, found


@suite.test("the rate: each operation is counted, and brings 8 bytes")
def rate():
	for options in ("", ",poll", ",qps=3", ",postlist=8,signal_every=32", ",txdepth=1,signal_every=1",
			",duplex"):
		check_rate("abw", options)
		check_rate("casbw", options)


@suite.test("validate: the last value is the number of operations before it")
def validated():
	for options in ("alat", "alat,qps=4", "alat,poll", "abw", "abw,qps=4,duplex",
			"abw,postlist=16,signal_every=64,poll", "caslat", "caslat,qps=4", "casbw",
			"casbw,qps=4,duplex", "casbw,postlist=16,signal_every=64,poll"):
		found = measured(f"{options},count=500,validate")
		assert found["options"].find("validate") > 0, found


@suite.test("a server that is asked for it does it, and serves others after")
def served():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,addr={ADDR},port={port},persist")
	for test in ("alat,validate", "rlat", "abw,validate,duplex", "caslat", "casbw,validate"):
		run_ok(f"client,addr={ADDR},port={port},{test},count=50,tag={tag}")
	server.interrupt()


@suite.test("options that are about data of any size are not for it")
def refused():
	never = ("size=8", "size=64", "sge=2", "pattern=binary", "inline", "imm", "mem_mode=reg",
		 "unsafe_global_rkey")
	for test, options in (
			("alat", (*never, "duplex", "postlist=2", "signal_every=2", "min_bw=1")),
			("caslat", (*never, "duplex", "postlist=2", "signal_every=2", "min_bw=1")),
			("abw", (*never, "untimed", "max_p99=1s")),
			("casbw", (*never, "untimed", "max_p99=1s"))):
		for option in options:
			run_fails(f"loopback,addr={ADDR},{test},count=1,{option}", errno.EINVAL,
				  f"{option.partition('=')[0]}.* does not go with {test}")


if __name__ == "__main__":
	suite.main()
