# SPDX-License-Identifier: GPL-2.0
"""Conformance tests of a device, and what they must come to.

	number, result, lines = conformance.run("all")
	for case in result["cases"]:
		conformance.assert_case(case, PASS, FAIL)
		conformance.assert_log(lines, case)

PASS has, by the case's name, a regular expression of what is seen, up to the new
connection that works. FAIL has pairs: that, and the parts of it that are not as
demanded. SKIPS has the reasons of those that the device cannot be asked for.
"""

import re

import krping
from krping import ADDR, Log, new_tag

# All cases of `all`, in the order in which they run.
CASES = ("stale_rkey", "read_of_write_only", "write_of_read_only", "length_past_mr", "wrong_pd",
	 "invalidated_mr", "double_invalidate", "reg_mr_on_valid", "stale_lkey", "send_too_long",
	 "send_inv_stale", "rnr", "unsupported_opcode", "zero_length", "sq_full", "cq_exact",
	 "cq_overrun", "retry_exhausted", "flush_order", "drain", "atomic_misaligned",
	 "atomic_no_right", "reads_beyond_depth", "read_after_write", "read_fence",
	 "write_then_flag", "handler_polls", "rearm", "solicited", "solicited_error",
	 "srq_empty", "srq_limit", "srq_drain", "ud_bad_qkey", "ud_bad_ah", "ud_above_mtu",
	 "inline_reuse", "unanswered", "stale_connection")

KEYS = {"name", "outcome", "expected", "seen", "reason"}


def run(cases, *options, addr=f"addr={ADDR}"):
	"""Run CASES with OPTIONS. Return the errno, the result, and the lines of the log."""
	tag, log = new_tag(), Log()
	number = krping.run(",".join((f"neg={cases}", addr, f"tag={tag}") + options))
	return number, krping.result(tag, "loopback"), log.lines()


def assert_case(found, passes, fails, skips=None):
	"""The case FOUND came to what it must by the tables PASSES, FAILS and SKIPS."""
	assert set(found) == KEYS, found
	name = found["name"]
	if name in (skips or {}):
		assert (found["outcome"], found["seen"]) == ("skip", ""), found
		assert found["reason"] == skips[name], found
		return
	if name in passes:
		outcome, seen, reason = "pass", passes[name], ""
	else:
		outcome, (seen, reason) = "fail", fails[name]
	assert found["outcome"] == outcome, found
	assert re.fullmatch(seen + "; a new connection works", found["seen"]), found
	assert re.fullmatch(reason, found["reason"]), found
	assert found["expected"], found


def assert_log(lines, found):
	"""The log LINES have one line about the case FOUND."""
	lines = [line for line in lines
		 if re.match(rf"krping: [0-9]+: neg {found['name']}: (pass|fail|skip): ", line)]
	assert len(lines) == 1, lines
	said = f"neg {found['name']}: {found['outcome']}: {found['seen'] or found['reason']}"
	if found["outcome"] == "fail":
		said += f" ({found['reason']}); expected: {found['expected']}"
	assert lines[0].endswith(said), (lines[0], said)
