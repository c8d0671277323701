# SPDX-License-Identifier: GPL-2.0
"""max_p99=, min_bw= and expect=: what a run must be like to succeed."""

import errno

import krping
from krping import ADDR, Command, Log, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite
from microbench import BANDWIDTH, LATENCY, TESTS

suite = Suite(check=krping.check)

TIMED = ("pingpong",) + LATENCY


def loopback(test, options):
	"""A short loopback's command, and its tag."""
	tag = new_tag()
	name = "" if test == "pingpong" else f",{test}"
	return f"loopback,addr={ADDR},count=50,tag={tag},{options}{name}", tag


@suite.test("max_p99= that holds")
def fast_enough():
	for test in TIMED:
		for limit in ("1000s", "1000000000000", "900000ms", "900000000us", "900000000000ns"):
			text, tag = loopback(test, f"max_p99={limit}")
			run_ok(text)
			assert krping.result(tag, "client")["status"] == "ok"


@suite.test("max_p99= that does not hold: ERANGE, and the figures are there")
def too_slow():
	for test in TIMED:
		for limit, ns in (("1", 1), ("1ns", 1), ("2us", 2000)):
			text, tag = loopback(test, f"max_p99={limit}")
			run_fails(text, errno.ERANGE, f"ERANGE .*: the 99th percentile is \\d+ ns, "
				  f"above the {ns} ns of max_p99")
			client = krping.result(tag, "client")
			assert (client["status"], client["errno"]) == ("failed", "ERANGE"), client
			assert client["reason"] == f"the 99th percentile is {client['p99_ns']} ns, " \
				f"above the {ns} ns of max_p99", client
			assert client["iterations"] == 50 and client["p99_ns"] > ns, client
			# The other side has done its part.
			assert krping.result(tag, "server")["status"] == "ok"


@suite.test("min_bw= that holds")
def wide_enough():
	for test in BANDWIDTH:
		for limit in ("1", "1K", "0x10"):
			text, tag = loopback(test, f"size=4K,min_bw={limit}")
			run_ok(text)
			assert krping.result(tag, "client")["bytes_per_s"] > 1024


@suite.test("min_bw= that does not hold: ERANGE, and the figures are there")
def too_narrow():
	for test in BANDWIDTH:
		for limit, number in (("1000G", 1000 << 30), ("999999M", 999999 << 20)):
			text, tag = loopback(test, f"size=4K,min_bw={limit}")
			run_fails(text, errno.ERANGE, f"ERANGE .*: the bandwidth is \\d+ bytes per "
				  f"second, below the {number} of min_bw")
			client = krping.result(tag, "client")
			assert client["reason"] == f"the bandwidth is {client['bytes_per_s']} bytes " \
				f"per second, below the {number} of min_bw", client
			assert client["iterations"] == 50, client
			assert krping.result(tag, "server")["status"] == "ok"


@suite.test("with several threads one that misses its limit is enough")
def several():
	text, tag = loopback("slat", "threads=3,max_p99=1")
	assert krping.run(text) == errno.ERANGE
	found = [each for each in krping.results(tag) if each["role"] == "client"]
	assert len(found) == 3 and "ERANGE" in {each.get("errno") for each in found}, found
	text, tag = loopback("sbw", "qps=3,min_bw=1")
	run_ok(text)


@suite.test("expect=ok changes nothing")
def expect_ok():
	for test in TIMED + BANDWIDTH:
		run_ok(loopback(test, "expect=ok")[0])
	run_fails(f"client,addr={ADDR},port={new_port()},expect=ok", errno.ECONNREFUSED,
		  "nothing listens on that port")


@suite.test("expect= an errno: the run succeeds where it fails so")
def expected():
	port = new_port()
	for test in ("", ",bw", ",rlat"):
		tag, log = new_tag(), Log()
		run_ok(f"client,addr={ADDR},port={port},expect=ECONNREFUSED,tag={tag}{test}")
		# What happened is still told.
		found = krping.result(tag, "client")
		assert found["errno"] == "ECONNREFUSED", found
		log.wait("ECONNREFUSED")
	run_ok(f"server,port={port},timeout=100,expect=ETIMEDOUT")
	run_ok(f"loopback,addr={ADDR},slat,count=20,max_p99=1,expect=ERANGE")
	command = Command(f"loopback,addr={ADDR},sbw,expect=EINTR")
	wait_for(krping.lines)
	# Nobody is left to be told of success.
	assert command.interrupt() in (0, errno.EINTR)


@suite.test("expect= an errno: success is ERANGE, another failure itself")
def unexpected():
	for test in TESTS:
		text, _ = loopback(test, "expect=ETIMEDOUT")
		run_fails(text, errno.ERANGE, "the run succeeded, though ETIMEDOUT was expected")
	run_fails(f"client,addr={ADDR},port={new_port()},expect=ETIMEDOUT", errno.ECONNREFUSED,
		  "nothing listens on that port")
	run_fails(f"server,port={new_port()},timeout=100,expect=ECONNRESET", errno.ETIMEDOUT,
		  "waiting for a client")


suite.main()
