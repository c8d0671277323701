# SPDX-License-Identifier: GPL-2.0
# guest: --transport siw
# debug: only
"""Conformance tests of the device on soft-iWARP: what each case comes to."""

import errno
import os

import krping
import network
from conformance import CASES, assert_case, assert_log, run
from krping_front import cases, known
from ktap import Suite, diag

# A request is done here when TCP has it, or fails as the connection does.
ENDS = (r"(success \(0\)|WR flushed \(5\)|local QP operation error \(2\)); "
	r"requester ERR, responder ERR; .*")
GOES_ON = (r"; requester RTS, responder RTS; other requests: ([0-9]+) posted, \1 done; "
	   # The last messages may still be on their way.
	   r"(receives: [0-9]+ posted(, [0-9]+ done)?(, [0-9]+ not completed)?; )?goes on")

# What is seen, up to the new connection that works.
PASS = {
	"stale_rkey": ENDS,
	"write_of_read_only": ENDS,
	"length_past_mr": ENDS,
	"wrong_pd": ENDS,
	"invalidated_mr": ENDS,
	"double_invalidate": r"success \(0\)" + GOES_ON,
	"send_too_long": r"[^;]*; receive: local length error \(1\); "
			 r"requester ERR, responder ERR; .*",
	"rnr": ENDS,
	"zero_length": r"success \(0\)" + GOES_ON,
	"sq_full": "refused with ENOMEM" + GOES_ON,
	"cq_exact": r"success \(0\)" + GOES_ON,
	"cq_overrun": r"(success \(0\)|no completion); requester RTS, responder RTS; "
		      r"event at the requester: CQ error; other requests: [0-9]+ posted, "
		      r"[0-9]+ done, [0-9]+ not completed",
	"retry_exhausted": ENDS,
	"flush_order": ENDS,
	"drain": r"success \(0\); requester ERR, responder (RTS|ERR); .*",
	"read_fence": r"success \(0\); receive: success \(0\)" + GOES_ON,
	"handler_polls": r"success \(0\)" + GOES_ON,
	"rearm": r"success \(0\)" + GOES_ON,
	"srq_empty": ENDS,
	"inline_reuse": r"success \(0\)" + GOES_ON,
	"unanswered": r"unreachable: ETIMEDOUT after [0-9]+ ms; "
		      r"requester RTS, responder RTS; goes on",
	"srq_limit": r"success \(0\)" + GOES_ON,
}

# What it cannot be asked for.
SKIP = {
	"atomic_misaligned": "the device has no atomic operations",
	"atomic_no_right": "the device has no atomic operations",
	"ud_bad_qkey": "the transport has no datagrams",
	"ud_bad_ah": "the transport has no datagrams",
	"ud_above_mtu": "the transport has no datagrams",
	"stale_connection": "iWARP connects over TCP",
	"write_then_flag": "iWARP places what arrives in any order until a receive completes",
}

# SENDs behind a READ that is on its way complete before it.
OVERTAKES = (r"success \(0\); requester RTS, responder RTS; other requests: ([0-9]+) posted, "
	     r"\1 done, [0-9]+ out of order; .*", "the order of completions")

# What soft-iWARP does otherwise.
FAIL = {
	# It does not ask whether the region may be read. A READ completes when it wants.
	"read_of_write_only": (r"success \(0\); requester RTS, responder RTS; .*; memory changed",
			       "how the request ended; (the order of completions; )?the requester's "
			       "state; the responder's state; memory is not as it must be"),
	# It says of no receive that it is solicited, and of no error.
	"solicited": ("no completion" + GOES_ON, "how the request ended"),
	"solicited_error": (r"no completion; requester (RTS|ERR), responder ERR; .*",
			    "how the request ended"),
	# It stops working on the send queue, and does not say so.
	"reg_mr_on_valid": (r"local QP operation error \(2\); requester RTS, responder ERR; .*",
			    "how the requester's other requests ended; the requester's state"),
	"stale_lkey": (r"local QP operation error \(2\); requester RTS, responder ERR; .*",
		       "how the request ended; how the requester's other requests ended; "
		       "the requester's state"),
	# It says that the message is good before it looks at the key.
	"send_inv_stale": (r"[^;]*; receive: success \(0\); requester ERR, responder ERR; .*",
			   "how the receive ended"),
	# The place in the send queue stays taken.
	"unsupported_opcode": (r"refused with EINVAL; requester RTS, responder RTS; .*; "
			       r"does not go on", "the connection does not go on"),
	# It has no event of the last receive.
	"srq_drain": (r"no completion; requester (RTS|ERR), responder ERR; .*",
		      "how the request ended"),
	"reads_beyond_depth": OVERTAKES,
	"read_after_write": OVERTAKES,
}

suite = Suite(check=krping.check)
network.distance(5)


@suite.test("all cases on soft-iWARP")
def all_cases():
	number, result, lines = run("all", "timeout=10000")
	for case in result["cases"]:
		diag(f"{case['name']}: {case['outcome']}: {case['seen']}")
	assert [case["name"] for case in result["cases"]] == list(CASES), result
	for case in result["cases"]:
		assert_case(case, PASS, FAIL, SKIP)
		assert_log(lines, case)
	assert (result["device"], result["transport"]) == (krping.DEVICE, "iWARP"), result
	assert number == errno.EBADE, krping.name(number)
	# The shipped list gates a CI.
	shipped = known.load(os.path.join(krping.SCRIPTS, "known", "siw"))
	outcomes = {case.name: known.judge(case, shipped).outcome for case in cases.of(result)}
	expected = {name: "xfail" if name in FAIL else "skip" if name in SKIP else "pass"
		    for name in CASES}
	assert outcomes == expected, outcomes


@suite.test("those that end the connection, three times each: always the same outcome")
def again():
	for _ in range(3):
		number, result, _ = run("stale_rkey+wrong_pd+rnr+flush_order+drain")
		for case in result["cases"]:
			assert_case(case, PASS, FAIL, SKIP)
		assert number == 0, krping.name(number)


@suite.test("the case of a port that is down is skipped")
def port_down():
	number, result, lines = run("port_down")
	case, = result["cases"]
	assert (number, case["outcome"], case["reason"]) == \
		(0, "skip", "iWARP connects over TCP"), result
	assert_log(lines, case)


if __name__ == "__main__":
	suite.main()
