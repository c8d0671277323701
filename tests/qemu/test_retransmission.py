# SPDX-License-Identifier: GPL-2.0
"""When requests are repeated, and how often: ack_timeout=, retry=, rnr_retry=, min_rnr=."""

import errno
import time

import krping
import network
from krping import ADDR, Command, new_port, new_tag, run, run_fails, run_ok
from ktap import Suite
from microbench import moving

suite = Suite(check=krping.check)

# What comes of no option: as often as the transport lets it, a moment after an RNR NAK.
USUAL = {"retry_cnt": 7, "rnr_retry": 7, "min_rnr_timer": 6}
TESTS = ("", "fr", "wlat", "bw", "sbw,qp=ud", "rwread", "stream", "messenger")
# The time of min_rnr=24, in seconds.
WAIT_24 = 0.04096


def attributes(tag, role="client"):
	"""What the device says of the queue pair of the result with TAG."""
	return krping.result(tag, role)["qp_attr"]


def told(client, served, test):
	"""The attributes at both ends of a run of TEST, each with options."""
	port, tag = new_port(), new_tag()
	own = test.split(",")[0] if test.split(",")[0] in ("stream", "messenger") else ""
	server = krping.serve(f"server,addr={ADDR},port={port},tag={tag},{own},{served}".replace(",,", ",")
			      .strip(","))
	run_ok(f"client,addr={ADDR},port={port},tag={tag},count=20,{test},{client}".replace(",,", ",")
	       .strip(","))
	assert server.wait() == 0
	if own == "messenger":
		return attributes(tag), None
	return attributes(tag), attributes(tag, "server")


@suite.test("each test tells the device what either side asks for")
def each_side():
	for test in TESTS:
		near, far = told("ack_timeout=15,retry=2,rnr_retry=3,min_rnr=9",
				 "ack_timeout=17,rnr_retry=4,min_rnr=11", test)
		assert near == {"timeout": 15, "retry_cnt": 2, "rnr_retry": 4,
				"min_rnr_timer": 9}, (test, near)
		if far:
			assert far == {"timeout": 17, "retry_cnt": 2, "rnr_retry": 3,
				       "min_rnr_timer": 11}, (test, far)
	for test in TESTS:
		for found in filter(None, told("", "", test)):
			assert USUAL.items() <= found.items(), (test, found)


@suite.test("the ends of their ranges, and registrations, which need patience otherwise")
def extremes():
	for text, expected in (
			("ack_timeout=0,retry=0,rnr_retry=0,min_rnr=0", (0, 0, 0, 0)),
			("ack_timeout=31,retry=7,rnr_retry=7,min_rnr=31", (31, 7, 7, 31)),
			("mem_mode=reg", (20, 7, 7, 6)),
			("mem_mode=reg,ack_timeout=19", (19, 7, 7, 6))):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},count=10,tag={tag},{text}")
		for role in ("client", "server"):
			assert tuple(attributes(tag, role).values()) == expected, (text, role)


@suite.test("a cut cable: few and short repetitions fail the queue pair, many long ones do not")
def cut_cable():
	for options, fails in (("ack_timeout=8,retry=1,timeout=60000", True),
			       ("ack_timeout=22,retry=7,timeout=2000", False)):
		with network.Lab() as lab:
			port = new_port()
			server = lab.command(f"server,addr={lab.FAR},port={port},timeout=2000")
			krping.wait_for(krping.lines)
			log = krping.Log()
			client = Command(f"client,addr={lab.FAR},port={port},bw,{options}")
			krping.wait_for(lambda: moving(1, 100))
			lab.cut()
			try:
				begun = time.monotonic()
				found = client.wait()
				assert found == errno.ETIMEDOUT, (options, krping.name(found), log.text())
				assert time.monotonic() - begun < 30, options
				told_so = "transport retry counter exceeded (12" in log.text()
				assert told_so == fails, (options, log.text())
				server.wait()
			finally:
				lab.mend()


@suite.test("a server without receives: as many repetitions as it says, and each after as long")
def no_receives():
	# So few receives that a client finds none.
	words = f"loopback,addr={ADDR},sbw,txdepth=64,srq=2"
	run_ok(f"{words},count=500")
	run_fails(f"{words},rnr_retry=0", errno.EREMOTEIO, r"RNR retry counter exceeded \(13")
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},srq=2,rnr_retry=0")
	assert run(f"client,addr={ADDR},port={port},sbw,rnr_retry=7") == errno.EREMOTEIO
	assert server.wait() != 0
	tag, begun = new_tag(), time.monotonic()
	run_ok(f"{words},count=30,min_rnr=24,tag={tag}")
	taken = time.monotonic() - begun
	# Of the warm-up, too; what several messages wait for at once counts for each.
	waits = krping.result(tag, "client")["hw_counters"].get("rcvd_rnr_err", 0)
	assert waits > 0 and taken > WAIT_24, (waits, taken)
	begun = time.monotonic()
	run_ok(f"{words},count=30,min_rnr=1")
	assert time.monotonic() - begun < taken, taken


@suite.test("other numbers, a server's retry=, disks, conformance tests and tcp: refused by name")
def refused():
	client = f"client,addr={ADDR}"
	for text, number, sentence in (
			(f"{client},ack_timeout=32", errno.ERANGE, "ack_timeout=32: must be from 0 to 31"),
			(f"{client},min_rnr=32", errno.ERANGE, "min_rnr=32: must be from 0 to 31"),
			(f"{client},retry=8", errno.ERANGE, "retry=8: must be from 0 to 7"),
			(f"{client},rnr_retry=8", errno.ERANGE, "rnr_retry=8: must be from 0 to 7"),
			(f"{client},ack_timeout=67ms", errno.EINVAL, "ack_timeout=67ms"),
			("server,retry=7", errno.EINVAL, "retry is for the client or loopback"),
			(f"{client},blk,retry=7", errno.EINVAL, "retry does not go with blk"),
			(f"neg=rnr,addr={ADDR},rnr_retry=7", errno.EINVAL, "rnr_retry"),
			(f"{client},messenger,tcp,min_rnr=7", errno.EINVAL,
			 "min_rnr and tcp are both given; give one of them")):
		run_fails(text, number, sentence)


if __name__ == "__main__":
	suite.main()
