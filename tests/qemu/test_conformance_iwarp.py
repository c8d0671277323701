# SPDX-License-Identifier: GPL-2.0
# guest: --transport siw
# debug: only
"""Conformance tests of the device on soft-iWARP: what each case comes to."""

import errno

import krping
import network
from conformance import CASES, assert_cases, assert_log, failing, run
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
	"reads_fence": r"success \(0\); receive: success \(0\)" + GOES_ON,
	"read_without_depth": "refused with EINVAL; requester RTS, responder RTS; "
			      "receives: 2 posted, 2 not completed",
	"map_over_gap": "refused with EINVAL" + GOES_ON,
	"private_data": r"the request came as it was sent after [0-9]+ ms; "
			r"requester RTS, responder RTS; goes on",
	"handler_polls": r"success \(0\)" + GOES_ON,
	"rearm": r"success \(0\)" + GOES_ON,
	"srq_empty": ENDS,
	"inline_reuse": r"success \(0\)" + GOES_ON,
	"unanswered": r"unreachable: ETIMEDOUT after [0-9]+ ms; "
		      r"requester RTS, responder RTS; goes on",
	"srq_limit": r"success \(0\)" + GOES_ON,
}

# What a device that cannot be asked for something lacks.
LACKS = {"atomics": "the device has no atomic operations", "datagrams": "the transport has no datagrams",
	 "multicast": "the device has no multicast groups",
	 "large_pages": "the device has no regions of pages that are larger than the kernel's"}

# What it cannot be asked for.
SKIP = {name: row.get("not_iwarp", LACKS.get(row.get("needs"))) for name, row in CASES.items()
	if "not_iwarp" in row or row.get("needs") in LACKS}

# What soft-iWARP does otherwise.
FAIL = failing("siw")

suite = Suite(check=krping.check)
network.distance(5)


@suite.test("all cases on soft-iWARP")
def all_cases():
	number, result, lines = run("all", "timeout=10000")
	for case in result["cases"]:
		diag(f"{case['name']}: {case['outcome']}: {case['seen']}")
	assert [case["name"] for case in result["cases"]] == list(CASES), result
	assert_cases(result["cases"], PASS, FAIL, SKIP)
	for case in result["cases"]:
		assert_log(lines, case)
	assert (result["device"], result["transport"]) == (krping.DEVICE, "iWARP"), result
	assert number == errno.EBADE, krping.name(number)


@suite.test("those that end the connection, three times each: always the same outcome")
def again():
	for _ in range(3):
		number, result, _ = run("stale_rkey+wrong_pd+rnr+flush_order+drain")
		assert_cases(result["cases"], PASS, FAIL, SKIP)
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
