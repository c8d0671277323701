# SPDX-License-Identifier: GPL-2.0
"""What the tests of krping test share: a device on which all is well, and what was printed and
written."""

import errno
import os
import re
from xml.etree import ElementTree

import canned
import front
from front import Module, krping
from krping_front.acceptance import cases

PASSED = (canned.CASES[0], canned.CASES[2])
ADDR = "192.0.2.1"
RESULT = re.compile(r"(ok|not ok) ([0-9]+) ([a-z0-9_]+)(?: # ([A-Z]+) (.+))?")


def run(module, text, **changes):
	"""The results of a run of TEXT that did all that it must, with CHANGES of fields."""
	count = text.value("count", 0) or 500
	size = text.kind.size or text.value("size", 64)
	values = {"size": size, "iterations": count, "bytes": count * size,
		  "send_msgs": 2 * count, "recv_msgs": 2 * count}
	if text.kind.counter and text.kind.name != "pingpong":
		values[text.kind.counter] = count + 50
	if text.kind.measure == "latency":
		values |= canned.latency(canned.times(count, 20_000))
	for thread in range(text.value("threads", 1)):
		module.result(text, **values | {"thread": module.next + thread + 1} | changes)
	return 0


def device(*others, caps=(), found=PASSED):
	"""A module's answer on a device where all is well. OTHERS, each a name of a case and an
	answer, differ; CAPS are changes of that result, and FOUND conformance cases."""
	different = dict(others)

	def answer(module, text):
		case = name_of(text)
		if case in different:
			return different[case](module, text)
		if "caps" in text.options:
			module.keep(canned.caps(module.next, tag=text.tag, options=text.text, **dict(caps)))
			return dict(caps).get("errno_number", 0)
		if "neg" in text.options:
			made = canned.conformance(found, module.next, tag=text.tag, options=text.text)
			module.keep(made)
			return made.get("errno_number", 0)
		return run(module, text)
	return answer


def name_of(text):
	"""The name of the case whose command is TEXT."""
	own = {name: value for name, value in text.options.items()
	       if name not in ("addr", "src", "dev", "tag", "loopback", "client", "port", "timeout",
			       "max_p99", "min_bw")}
	return next((case.path for case in cases.CASES if not case.look
		     and own == dict(option.partition("=")[::2] for option in case.options.split(","))),
		    None)


def nested(lines, indent=""):
	"""What the KTAP of LINES says: names with an outcome, or for those that are nested a dict
	with all within."""
	lines, found, subtests, number = list(lines), {}, None, 0
	assert lines.pop(0) == f"{indent}KTAP version 1", lines
	inner = f"{indent}  "
	plan = None
	while lines:
		line = lines.pop(0)
		if line == f"{inner}KTAP version 1":
			place = next((at for at, each in enumerate(lines) if not each.startswith(inner)),
				     len(lines))
			subtests, lines = nested([line, *lines[:place]], inner), lines[place:]
			continue
		line = line.removeprefix(indent)
		if line.startswith("#"):
			continue
		if re.fullmatch(r"1\.\.[0-9]+", line):
			assert plan is None and not found
			plan = int(line[3:])
		elif line.startswith("Bail out! "):
			found["Bail out!"] = line.removeprefix("Bail out! ")
		else:
			match = RESULT.fullmatch(line)
			assert match, line
			number += 1
			assert int(match[2]) == number, line
			outcome = (match[4] or {"ok": "pass", "not ok": "fail"}[match[1]]).lower()
			found[match[3]] = outcome if subtests is None else {"": outcome} | subtests
			subtests = None
	if subtests is not None:
		found["cut"] = subtests
	if "Bail out!" not in found and indent == "":
		assert number == plan, (number, plan)
	return found


def of_junit(path):
	"""What the JUnit file PATH says: groups with dicts of cases and their outcomes."""
	top = ElementTree.parse(path).getroot()
	assert top.tag == "testsuites" and top.get("name") == "krping", top.attrib
	found, totals = {}, dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
	for each in top:
		outcomes = {}
		for case in each.iter("testcase"):
			assert case.get("classname") == f"krping.{each.get('name')}", case.attrib
			assert float(case.get("time")) >= 0
			outcomes[case.get("name")] = next(
				(child.tag for child in case if child.tag != "system-out"), "pass")
		said = {name: int(each.get(name)) for name in totals}
		assert said == {"tests": len(outcomes),
				**{name: list(outcomes.values()).count(tag) for name, tag in (
					("failures", "failure"), ("errors", "error"),
					("skipped", "skipped"))}}, (said, outcomes)
		totals = {name: totals[name] + said[name] for name in totals}
		found[each.get("name")] = outcomes
	assert {name: int(top.get(name)) for name in totals} == totals, (top.attrib, totals)
	return found


def accept(answer, *words, status=0):
	"""Run krping test WORDS with a Module that has ANSWER: the module, the lines of stdout,
	stderr, and what the JUnit file has."""
	with front.directory(), Module(answer) as module:
		ended, out, err = krping("test", ADDR, "--junit", "junit.xml", *words)
		assert ended == status, (ended, out, err)
		found = of_junit("junit.xml") if os.path.exists("junit.xml") else None
	return module, out.splitlines(), err, found


def refuses(module, text):
	"""A run that fails."""
	return module.fail(text, errno.ECONNREFUSED, "nothing listens # on that port")
