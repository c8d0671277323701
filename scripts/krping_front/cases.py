# SPDX-License-Identifier: GPL-2.0
"""Conformance: the results of neg, as text and as KTAP."""

import typing
from collections.abc import Iterable, Sequence

from .result import Result
from .rows import device

OUTCOMES = ("pass", "fail", "skip")
# With those of cases that are known to fail, as kselftest counts them.
TOTALS = ("pass", "fail", "xfail", "xpass", "skip")


class Case(typing.NamedTuple):
	"""What became of one case."""

	name: str
	# One of TOTALS.
	outcome: str
	# What a device may do, what this one did, and why it was not asked.
	expected: str = ""
	seen: str = ""
	reason: str = ""
	# The parts in which it is known to fail.
	known: Sequence[str] = ()

	@property
	def why(self) -> str:
		"""Why it failed, with what was expected and seen, in one line."""
		notes = [f"{name} {text}" for name in ("expected", "seen") if (text := getattr(self, name))]
		return _plain("; ".join(part for part in (self.reason, *notes) if part)) or "no reason"

	def ktap(self, number: int) -> list[str]:
		"""Its lines in KTAP, as test NUMBER: what is to be said of it comes first."""
		if self.outcome == "skip":
			return [f"ok {number} {self.name} # SKIP {_plain(self.reason)}".rstrip()]
		notes = [(name, getattr(self, name)) for name in ("expected", "seen", "reason")]
		notes.append(("known", "; ".join(self.known)))
		result = "not ok" if self.outcome == "fail" else "ok"
		directive = {"xfail": f" # XFAIL {_plain(self.reason)}",
			     "xpass": " # XPASS it is known to fail, and did not"}
		return [f"# {self.name}: {name}: {_plain(text)}" for name, text in notes if text] + [
			f"{result} {number} {self.name}{directive.get(self.outcome, '')}"]


def _plain(text: str) -> str:
	"""TEXT in one line, without what KTAP would read as a directive."""
	return " ".join(text.replace("#", " ").split())


def of(result: Result) -> list[Case]:
	"""The Cases of RESULT."""
	return [Case(each["name"], each["outcome"], each.get("expected", ""), each.get("seen", ""),
		     each.get("reason", "")) for each in result.get("cases", [])]


def totals(cases: list[Case], outcomes: tuple[str, ...] = OUTCOMES) -> str:
	"""How many of CASES ended how, for each of OUTCOMES, in KTAP's words."""
	count = {outcome: sum(case.outcome == outcome for case in cases) for outcome in outcomes}
	return " ".join(f"{outcome}:{count[outcome]}" for outcome in outcomes)


def failed(named: Iterable[tuple[str, Case]]) -> list[str]:
	"""The list of those of NAMED, pairs of a name and a Case, that failed: comments of KTAP, none
	where all is well."""
	found = [f"#   {name}: {case.why}" for name, case in named if case.outcome == "fail"]
	return ["# Failed:", *found] if found else []


def lines(result: Result) -> list[str]:
	"""A line for each case of RESULT, with a title."""
	found = of(result)
	width = max([len(case.name) for case in found], default=0)
	return [f"# neg: conformance of {device(result)}; {totals(found)}"] + [
		f"  {case.outcome}  {case.name:{width}}  {_plain(case.seen or case.reason)}".rstrip()
		for case in found]
