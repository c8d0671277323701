# SPDX-License-Identifier: GPL-2.0
# debug: yes
# oldest: yes
"""Conformance tests of the device: what each case comes to on soft-RoCE, the result and
the log, what is refused, and that nothing is left, whatever ends the command."""

import errno
import re
import threading
import time

import age
import krping
import network
from conformance import CASES, FAMILIES, assert_cases, assert_log, failing, family, run
from krping import ADDR, ADDR6, SOON, Command, new_port, new_tag, wait_for
from ktap import Suite, diag

ACCESS_EVENT = "event at the responder: QP access error; " if age.has("access_event") else ""
REFUSED = (r"remote access error \(10\); requester ERR, responder ERR; "
	   rf"{ACCESS_EVENT}other requests: 2 posted, 2 flushed; .*")
GOES_ON = (r"; requester RTS, responder RTS; other requests: ([0-9]+) posted, \1 done; "
	   r"(receives: ([0-9]+) posted, \3 done; )?goes on")

# A datagram behind one that has arrived.
ASTRAY = (r"success \(0\); requester RTS, responder RTS; receives: 2 posted, %s"
	  "; goes on")

# What is seen on soft-RoCE, up to the new connection that works.
PASS = {
	"stale_rkey": REFUSED,
	"read_of_write_only": REFUSED,
	"write_of_read_only": REFUSED,
	"length_past_mr": REFUSED,
	"wrong_pd": REFUSED,
	"invalidated_mr": REFUSED,
	"double_invalidate": r"success \(0\)" + GOES_ON,
	# It acknowledges a message before it looks at the key.
	"send_inv_stale": r"success \(0\); receive: remote invalid request error \(9\); "
			  r"requester (RTS|ERR), responder ERR; .*",
	"rnr": r"RNR retry counter exceeded \(13\); requester ERR, responder RTS; "
	       r"other requests: 2 posted, 2 flushed",
	"unsupported_opcode": "refused with EINVAL" + GOES_ON,
	"zero_length": r"success \(0\)" + GOES_ON,
	"sq_full": "refused with ENOMEM" + GOES_ON,
	"cq_exact": r"success \(0\)" + GOES_ON,
	"cq_overrun": r"(success \(0\)|no completion); requester RTS, responder RTS; "
		      r"event at the requester: CQ error; other requests: [0-9]+ posted, "
		      r"[0-9]+ done, [0-9]+ not completed",
	"retry_exhausted": r"transport retry counter exceeded \(12\); requester ERR, "
			   r"responder ERR; other requests: 2 posted, 2 flushed",
	"flush_order": r"remote access error \(10\); requester ERR, responder ERR; "
		       rf"{ACCESS_EVENT}"
		       r"other requests: 16 posted, 16 flushed; receives: 8 posted, 8 flushed",
	"drain": r"success \(0\); requester ERR, responder RTS; "
		 r"other requests: 16 posted(, [0-9]+ done)?(, [0-9]+ flushed)?; "
		 r"receives: 4 posted, 4 flushed",
	# It looks at the address when the request is posted.
	"atomic_misaligned": "refused with EINVAL" + GOES_ON,
	"atomic_no_right": REFUSED,
	"reads_beyond_depth": r"success \(0\)" + GOES_ON,
	"read_after_write": r"success \(0\)" + GOES_ON,
	"read_fence": r"success \(0\); receive: success \(0\)" + GOES_ON,
	"reads_fence": r"success \(0\); receive: success \(0\)" + GOES_ON,
	# It waits for ever.
	"read_without_depth": r"no completion; requester RTS, responder RTS; "
			      r"other requests: 2 posted, 2 not completed; "
			      r"receives: 2 posted, 2 not completed",
	"map_over_gap": "refused with EINVAL" + GOES_ON,
	"private_data": r"the request came as it was sent after [0-9]+ ms; "
			r"requester RTS, responder RTS; goes on",
	"write_then_flag": r"success \(0\)" + GOES_ON,
	"write_psn_wraps": r"success \(0\)" + GOES_ON,
	"read_psn_wraps": r"success \(0\)" + GOES_ON,
	"rnr_psn_wraps": r"success \(0\)" + GOES_ON,
	"list_beyond_queue": r"success \(0\); requester RTS, responder RTS; goes on",
	"rearm": r"success \(0\)" + GOES_ON,
	"solicited": r"success \(0\)" + GOES_ON,
	"srq_empty": r"RNR retry counter exceeded \(13\); requester ERR, responder RTS; "
		     r"other requests: 2 posted, 2 flushed",
	"srq_limit": r"success \(0\)" + GOES_ON,
	"ud_bad_qkey": ASTRAY % "1 done, 1 not completed",
	"ud_above_mtu": ASTRAY % "1 done, 1 not completed",
	"inline_reuse": r"success \(0\)" + GOES_ON,
	"unanswered": r"no answer, withdrawn, and the peer was told after [0-9]+ ms; "
		      r"requester RTS, responder RTS; goes on",
	"stale_connection": r"rejected as a stale connection after [0-9]+ ms; "
			    r"requester ERR, responder ERR",
	"srq_drain": r"success \(0\); requester (RTS|ERR), responder ERR; .*",
}

# What soft-RoCE does otherwise.
FAIL = failing(age.KNOWN)

# What cannot be tried here.
SKIP = {}

# Older ones.
if not age.has("flushed_locally"):
	PASS["reg_mr_on_valid"] = r"local QP operation error \(2\); requester ERR, .*"
if not age.has("softirq_event"):
	SKIP["handler_polls"] = "no event came on another CPU than the one that waits for it"

suite = Suite(check=krping.check)


def add_families():
	"""A test for each family by itself."""
	def test(name):
		number, result, lines = run(name)
		names = [case["name"] for case in result["cases"]]
		assert names == family(name), (names, family(name))
		for case in result["cases"]:
			diag(f"{case['name']}: {case['seen']}")
			assert_log(lines, case)
		assert_cases(result["cases"], PASS, FAIL, SKIP)
		wrong = any(case in FAIL for case in names)
		assert (number, result["status"]) == ((errno.EBADE, "failed") if wrong else (0, "ok")), \
			(number, result)
		assert result["options"].startswith(f"neg={name},addr="), result

	for name in FAMILIES:
		suite.test(f"{name} on soft-RoCE")(lambda name=name: test(name))


add_families()


@suite.test("all cases: one result, a line of the log for each, and EBADE")
def all_cases():
	start = time.monotonic()
	number, result, lines = run("all")
	taken = time.monotonic() - start
	diag(f"{taken:.1f} s")
	assert number == errno.EBADE, krping.name(number)
	assert [case["name"] for case in result["cases"]] == list(CASES), result
	assert_cases(result["cases"], PASS, FAIL, SKIP)
	for case in result["cases"]:
		assert_log(lines, case)
	sentence = f"the device did not do as expected in {len(FAIL)} of {len(CASES) - len(SKIP)} " \
		   "conformance tests"
	assert (result["test"], result["role"]) == ("neg", "loopback"), result
	assert (result["device"], result["transport"]) == ("rxe0", "RoCE"), result
	assert (result["peer"], result["size"]) == (ADDR, 0), result
	assert (result["errno"], result["reason"]) == ("EBADE", sentence), result
	assert result["iterations"] == len(CASES) - len(SKIP) and "partial" not in result, result
	assert 0 < result["elapsed_ns"] <= taken * 1e9, result
	assert re.search(rf"EBADE \({errno.EBADE}\): {sentence}$", lines[-1]), lines[-1]


@suite.test("several cases, in any order and twice in a row: theirs, and only they")
def several():
	for _ in range(2):
		number, result, _ = run("drain+rnr+stale_rkey", "loopback")
		assert number == 0, result
		names = [case["name"] for case in result["cases"]]
		assert names == ["stale_rkey", "rnr", "drain"], names
		assert result["options"].startswith("neg=stale_rkey+rnr+drain,addr="), result


@suite.test("IPv6, a port, verbose and expect=")
def options():
	port = new_port()
	number, result, lines = run("rnr+stale_lkey", f"port={port}", "verbose", "expect=EBADE",
				    addr=f"addr6={ADDR6}")
	assert number == 0, result
	assert (result["peer"], result["peer_port"]) == (ADDR6, port), result
	# The result is what it is; the command is judged by what was expected.
	assert (result["status"], result["errno"]) == ("failed", "EBADE"), result
	said = [line for line in lines if "neg rnr: expected: RNR retry counter exceeded" in line]
	assert len(said) == 1, lines
	assert "as expected: the device did not do as expected in 1 of 2" in lines[-1], lines
	number, _, _ = run("rnr", "expect=EBADE")
	assert number == errno.ERANGE, krping.name(number)


@suite.test("for a time: what passes runs again and again, and each request is counted")
def again_and_again():
	number, result, lines = run("rnr+stale_rkey+race_requester_error", "duration=3")
	assert number == 0 and len(result["cases"]) == 3, result
	assert_cases(result["cases"], PASS, FAIL)
	# A new connection each time; those of the race are 4 for each run.
	for case in result["cases"]:
		times, done = case["times"], case["requests"]
		assert times >= (8 if case["name"].startswith("race") else 2), case
		assert done["posted"] == done["done"] + done["flushed"] + done["failed"], case
		assert sum(f"neg {case['name']}: " in line for line in lines) == 1, lines
	race = next(case for case in result["cases"] if case["name"].startswith("race"))
	assert race["requests"]["done"] and race["requests"]["flushed"], race
	assert race["requests"]["posted"] > 2 * race["times"], race


@suite.test("what is refused, by name")
def refused():
	for text, number, sentence in (
			("neg=none", errno.EINVAL, "neg=none: must be all, a case "),
			("neg=rnr+rnr", errno.EINVAL, "neg has rnr twice; give it once"),
			("neg", errno.EINVAL, "neg needs a value, as in neg=all"),
			("client,neg=all", errno.EINVAL, "client does not go with neg, "),
			("server,neg=all", errno.EINVAL, "server does not go with neg, "),
			("neg=all,count=1", errno.EINVAL, "count does not go with neg"),
			("neg=all,wlat", errno.EINVAL, "wlat does not go with neg"),
			("neg=all,threads=1", errno.EINVAL, "threads does not go with neg"),
			("neg=all,timeout=0", errno.ERANGE, "timeout=0: must be from 1 ")):
		krping.run_fails(f"{text},addr={ADDR}", number, "krping: " + re.escape(sentence))
	krping.run_fails("neg=all", errno.EINVAL, "krping: neg needs the server's address")


@suite.test("an address that is not this host's, and a port that is taken")
def addresses():
	krping.run_fails("neg=all,addr=192.0.2.1", errno.EADDRNOTAVAIL, "binding to the address")
	port = new_port()
	server = krping.serve(f"server,port={port}")
	krping.run_fails(f"neg=all,addr={ADDR},port={port}", errno.EADDRINUSE, "binding to")
	assert server.interrupt() == errno.EINTR


@suite.test("another client that comes to its port is refused, and the tests go on")
def intruder():
	port, tag = new_port(), new_tag()
	cases = "rnr+retry_exhausted+drain+stale_rkey+wrong_pd+cq_exact"
	tests = Command(f"neg={cases},addr={ADDR},port={port},tag={tag}")
	wait_for(lambda: krping.listens(port))
	refused_ones = 0
	while tests.is_alive():
		number = krping.run(f"client,addr={ADDR},port={port},count=1,timeout=5000")
		assert number in (errno.ECONNREFUSED, errno.ETIMEDOUT), krping.name(number)
		refused_ones += number == errno.ECONNREFUSED
	assert tests.wait() == 0, krping.result(tag, "loopback")
	diag(f"{refused_ones} refused")
	assert refused_ones > 0


@suite.test("four at once")
def at_once():
	tags = [new_tag() for _ in range(4)]
	commands = [Command(f"neg=rnr+flush_order+retry_exhausted+drain,addr={ADDR},tag={tag}")
		    for tag in tags]
	for command, tag in zip(commands, tags):
		assert command.wait(60) == 0, krping.result(tag, "loopback")


@suite.test("interrupted at any moment: EINTR soon, and what was done is in the result")
def interrupted():
	for delay in (0.01, 0.1, 0.3, 0.6, 1, 1.5):
		tag = new_tag()
		command = Command(f"neg=all,addr={ADDR},tag={tag}")
		wait_for(krping.lines)
		krping.pass_time(delay, "the signal comes at any moment")
		start = time.monotonic()
		number = command.interrupt()
		taken = time.monotonic() - start
		assert number == errno.EINTR, krping.name(number)
		assert taken < SOON, f"took {taken:.2f} s"
		found = krping.result(tag, "loopback")
		assert found["errno"] == "EINTR", found
		assert_cases(found["cases"], PASS, FAIL, SKIP)
		diag(f"after {delay} s: {len(found['cases'])} cases; {taken:.2f} s")


@suite.test("the device is removed in the midst: ENODEV")
def removed():
	tag = new_tag()
	command = Command(f"neg=all,addr={ADDR},tag={tag}")
	wait_for(krping.lines)
	krping.pass_time(0.5, "some cases, of more that take longer")
	try:
		network.unplug()
		assert command.wait() == errno.ENODEV
	finally:
		network.plug()
	found = krping.result(tag, "loopback")
	assert found["errno"] == "ENODEV" and len(found["cases"]) < len(CASES), found
	number, _, _ = run("rnr")
	assert number == 0


@suite.test("beside other commands: these get their data, and all cases come to the same")
def beside():
	stop, numbers = threading.Event(), []

	def others():
		krping.block_signals()
		while not stop.is_set():
			numbers.append(krping.run(f"loopback,addr={ADDR},count=200,validate"))

	thread = threading.Thread(target=others)
	thread.start()
	try:
		number, result, _ = run("all")
	finally:
		stop.set()
		thread.join()
	assert number == errno.EBADE, result
	assert_cases(result["cases"], PASS, FAIL, SKIP)
	assert numbers and not any(numbers), numbers


if __name__ == "__main__":
	suite.main()
