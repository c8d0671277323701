# SPDX-License-Identifier: GPL-2.0
"""Conformance tests of a device, and what they must come to.

	number, result, lines = conformance.run("all")
	conformance.assert_cases(result["cases"], SEEN, FAIL, SKIP)
	conformance.assert_log(lines, result["cases"][0])

SEEN has, by the case's name, a regular expression of what is seen where it passes, up to the new
connection that works; of others that is not looked at. FAIL is a list of what the driver is known
to do otherwise: such a case must fail, and just so. SKIP has the reasons of those that the device
cannot be asked for. All others must pass.
"""

import json
import os
import re

import krping
from krping import ADDR, Log, new_tag
from krping_front import known
from krping_front.cases import Case

with open(os.path.join(krping.SCRIPTS, "krping_front", "options.json"), encoding="ascii") as file:
	TABLES = json.load(file)

# All cases of `all`, in the order in which they run, and their families.
CASES = {row["name"]: row for row in TABLES["cases"] if "by_name" not in row}
FAMILIES = TABLES["families"]

KEYS = {"name", "outcome", "expected", "seen", "reason"}
# Those of a case that was tried more than once.
SUMS = {"times", "requests", "receives"}


def family(name):
	"""The names of the cases of the family NAME."""
	return [case for case, row in CASES.items() if row["family"] == name]


def failing(name):
	"""What the driver of the shipped list NAME is known to do otherwise, but for what runs only
	where it is named."""
	found = known.load(os.path.join(krping.SCRIPTS, "known", name))
	return {case: each for case, each in found.items() if case in CASES}


def run(cases, *options, addr=f"addr={ADDR}"):
	"""Run CASES with OPTIONS. Return the errno, the result, and the lines of the log."""
	tag, log = new_tag(), Log()
	number = krping.run(",".join((f"neg={cases}", addr, f"tag={tag}") + options))
	return number, krping.result(tag, "loopback"), log.lines()


def assert_cases(found, *tables):
	"""All cases FOUND came to what they must by the TABLES of assert_case()."""
	wrong = []
	for case in found:
		try:
			assert_case(case, *tables)
		except AssertionError as error:
			wrong.append(f"{case['name']}: {error}")
	assert not wrong, "\n".join(wrong)


def assert_case(found, passes, fails, skips=None):
	"""The case FOUND came to what it must by the tables PASSES, FAILS and SKIPS."""
	assert set(found) in (KEYS, KEYS | SUMS), found
	name = found["name"]
	if name in (skips or {}):
		assert (found["outcome"], found["seen"]) == ("skip", ""), found
		assert found["reason"] == skips[name], found
		return
	assert found["expected"], found
	assert found["seen"].endswith("; a new connection works"), found
	if name in fails:
		judged = known.judge(Case(*(found[key] for key in Case._fields if key in KEYS)), fails)
		assert judged.outcome == "xfail", (found, fails[name])
		assert found["reason"] == "; ".join(fails[name].parts), (found, fails[name])
		return
	assert (found["outcome"], found["reason"]) == ("pass", ""), found
	assert re.fullmatch(passes.get(name, ".*") + "; a new connection works", found["seen"]), found


def assert_log(lines, found):
	"""The log LINES have one line about the case FOUND."""
	lines = [line for line in lines
		 if re.match(rf"krping: [0-9]+: neg {found['name']}: (pass|fail|skip): ", line)]
	assert len(lines) == 1, lines
	said = f"neg {found['name']}: {found['outcome']}: {found['seen'] or found['reason']}"
	if found["outcome"] == "fail":
		said += f" ({found['reason']}); expected: {found['expected']}"
	assert lines[0].endswith(said), (lines[0], said)
