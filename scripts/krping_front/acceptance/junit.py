# SPDX-License-Identifier: GPL-2.0
"""A report as JUnit XML, in the form that CI systems have in common."""

import re
from xml.etree import ElementTree

from .report import Report, Suite
from .session import Done

# What XML cannot have.
OTHERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(report: Report, started: str, host: str) -> str:
	"""The file of REPORT, of a set that was STARTED then (ISO 8601) on HOST."""
	suites = [_suite(suite, report, started, host) for suite in report.suites]
	if report.reason:
		suites.append(_ended_early(report.reason, started, host))
	top = ElementTree.Element("testsuites", name="krping")
	for name in ("tests", "failures", "errors", "skipped"):
		top.set(name, str(sum(int(each.get(name, "0")) for each in suites)))
	top.set("time", f"{sum(float(each.get('time', '0')) for each in suites):.3f}")
	top.extend(suites)
	ElementTree.indent(top)
	return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"


def _suite(suite: Suite, report: Report, started: str, host: str) -> ElementTree.Element:
	outcomes = [each.case.outcome for each in suite.done]
	found = ElementTree.Element("testsuite", {
		"name": suite.name, "tests": str(len(outcomes)),
		"failures": str(outcomes.count("fail")), "errors": "0",
		# A failure that is known is none; JUnit has no other word for it.
		"skipped": str(outcomes.count("skip") + outcomes.count("xfail")),
		"time": f"{sum(each.seconds for each in suite.done):.3f}",
		"timestamp": started, "hostname": host})
	properties = ElementTree.SubElement(found, "properties")
	for name, value in report.facts.items():
		ElementTree.SubElement(properties, "property", name=name, value=_plain(value))
	found.extend(_case(report, suite.name, each) for each in suite.done)
	return found


def _case(report: Report, group: str, done: Done) -> ElementTree.Element:
	case = done.case
	found = ElementTree.Element("testcase", classname=f"krping.{group}", name=case.name,
				    time=f"{done.seconds:.3f}")
	reason = _plain(case.reason)
	if case.outcome == "fail":
		kind = "limit" if done.missed else "failed"
		why = _plain(case.why)
		ElementTree.SubElement(found, "failure", message=why, type=kind).text = why
	elif case.outcome == "skip":
		ElementTree.SubElement(found, "skipped", message=reason)
	elif case.outcome == "xfail":
		ElementTree.SubElement(found, "skipped", message=f"known to fail: {reason}")
	notes = {"command": done.command, "expected": case.expected, "seen": case.seen,
		 "known": "; ".join(case.known),
		 "report": report.bug(done) if case.outcome == "fail" and done.command else ""}
	lines = [f"{name}: {_plain(value)}" for name, value in notes.items() if value]
	if lines:
		ElementTree.SubElement(found, "system-out").text = "\n".join(lines)
	return found


def _ended_early(reason: str, started: str, host: str) -> ElementTree.Element:
	"""A suite whose only case says why no others follow."""
	found = ElementTree.Element("testsuite", {
		"name": "end", "tests": "1", "failures": "0", "errors": "1", "skipped": "0",
		"time": "0.000", "timestamp": started, "hostname": host})
	case = ElementTree.SubElement(found, "testcase", classname="krping.end", name="completed",
				      time="0.000")
	said = _plain(reason)
	ElementTree.SubElement(case, "error", message=said, type="ended early").text = said
	return found


def _plain(words: str) -> str:
	return OTHERS.sub("?", words)
