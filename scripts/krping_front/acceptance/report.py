# SPDX-License-Identifier: GPL-2.0
"""All cases that have ended. They are printed as KTAP as they come, nested by groups."""

import dataclasses

from krping_front import bug
from krping_front.cases import TOTALS, failed, totals
from krping_front.errors import FAILED, MISSED, OK
from krping_front.result import Result

from .session import Done

INDENT = "  "


@dataclasses.dataclass
class Suite:
	"""A group, as far as it has been run."""

	name: str
	done: list[Done] = dataclasses.field(default_factory=list)

	@property
	def outcome(self) -> str:
		"""That of all together."""
		outcomes = {each.case.outcome for each in self.done}
		if "fail" in outcomes:
			return "fail"
		return "skip" if outcomes == {"skip"} else "pass"


class Report:
	"""What became of the cases."""

	def __init__(self, groups: int) -> None:
		"""There are to be so many GROUPS."""
		self.suites: list[Suite] = []
		# What is tested, by name.
		self.facts: dict[str, str] = {}
		# The result of caps of the device, once that is known.
		self.look: Result | None = None
		# Why it ended early; "" if it did not.
		self.reason = ""
		_print("KTAP version 1", f"1..{groups}")

	def about(self, look: Result, **facts: str) -> None:
		"""Say what is tested: the device of the result LOOK, and FACTS."""
		self.look = look
		self.facts = facts
		_print("# " + ", ".join(f"{name} {value}" for name, value in facts.items()))

	def begin(self, name: str, count: int) -> None:
		"""Begin a group of COUNT cases."""
		self.suites.append(Suite(name))
		_print(*(INDENT + line for line in ("KTAP version 1", f"# Subtest: {name}", f"1..{count}")))

	def add(self, done: Done) -> None:
		"""A case of the group has ended."""
		suite = self.suites[-1]
		suite.done.append(done)
		lines = done.case.ktap(len(suite.done))
		if done.case.outcome == "fail" and done.command:
			lines[:0] = [f"# {done.case.name}: report: {self.bug(done)}",
				     f"# {done.case.name}: command: {done.command}"]
		_print(*(INDENT + line for line in lines))

	def bug(self, done: Done) -> str:
		"""What a bug report must say of DONE."""
		assert self.look
		return bug.line(self.look, done.command)

	def end(self) -> None:
		"""All cases of the group have ended."""
		suite = self.suites[-1]
		word = "not ok" if suite.outcome == "fail" else "ok"
		skip = " # SKIP all of its cases were" if suite.outcome == "skip" else ""
		_print(f"{word} {len(self.suites)} {suite.name}{skip}")

	def bail(self, reason: str) -> None:
		"""Nothing more is run, for REASON."""
		self.reason = reason
		_print(f"Bail out! {reason}")

	def close(self) -> None:
		"""Print what failed, and how many cases ended how."""
		named = [(f"{suite.name}.{each.case.name}", each.case)
			 for suite in self.suites for each in suite.done]
		_print(*failed(named),
		       f"# Totals: {totals([each.case for each in self.done], TOTALS)} error:0")

	@property
	def done(self) -> list[Done]:
		"""All cases that have ended."""
		return [each for suite in self.suites for each in suite.done]

	@property
	def status(self) -> int:
		"""The exit status of a set that was run to its end."""
		failed = [each for each in self.done if each.case.outcome == "fail"]
		if not failed:
			return OK
		return MISSED if all(each.missed for each in failed) else FAILED


def _print(*lines: str) -> None:
	print("\n".join(lines), flush=True)
