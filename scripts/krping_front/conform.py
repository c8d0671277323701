# SPDX-License-Identifier: GPL-2.0
"""krping conform: a device's errors, case by case, as KTAP."""

import argparse
import contextlib
import errno
import json
import textwrap
from collections.abc import Sequence

from . import bug, cases, known, link, progress, results, run, runner
from .address import place
from .cases import Case
from .command import Command
from .errors import FAILED, INTERRUPTED, OK, REFUSED, Quit, printing
from .kmsg import Watch
from .result import Result
from .rows import device
from .runner import Outcome
from .tables import TABLES


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.list:
		with printing():
			print("\n".join(listed([*filter(None, [arguments.addr]), *arguments.cases])))
		return OK
	if arguments.addr is None:
		raise Quit("give an address of this host")
	asked = list(dict.fromkeys(arguments.cases)) or ["all"]
	for name in asked:
		if not name or set(name) & set(",+= \t\n"):
			raise Quit(f"{name!r} is no name of a case")
	text = f"neg={'+'.join(asked)},{place(arguments.addr)}"
	if arguments.timeout is not None:
		text += f",timeout={arguments.timeout}"
	expected = known.load(arguments.known) if arguments.known is not None else {}
	show = progress.wanted(arguments.quiet)
	with following(arguments.link, asked) as watch:
		outcome = runner.run(Command(text), show, watch=watch)
	found = next((each for each in outcome.results if "cases" in each), None)
	judged = [known.judge(case, expected) for case in judge(found, asked)]
	with printing():
		if arguments.json:
			for each in outcome.results:
				print(json.dumps(each, separators=(",", ":")))
		elif found:
			print("\n".join(ktap(found, judged, outcome)))
	return status(outcome, judged)


def following(netdev: str | None,
	      asked: list[str]) -> contextlib.AbstractContextManager[Watch | None]:
	"""What follows the case that wants the link down, if it is among those ASKED."""
	if link.CASE in asked:
		return link.following(netdev)
	if netdev is not None:
		raise Quit(f"--link is for {link.CASE}: name that case, too")
	return contextlib.nullcontext()


def judge(found: Result | None, asked: list[str]) -> list[Case]:
	"""The Cases of the result FOUND, and failed ones for those of ASKED that it does not
	have though it came to its end."""
	if not found:
		return []
	judged = cases.of(found)
	if found.get("errno", "EBADE") == "EBADE":
		names = [*(case.name for case in judged), *TABLES.get("families", {}), "all"]
		judged += [Case(name, "fail", reason="the module says nothing of it")
			   for name in asked if name not in names]
	return judged


def listed(wanted: Sequence[str]) -> list[str]:
	"""The lines of --list: of all cases, or of those WANTED, by their names or families."""
	for name in wanted:
		if not any(name in (row["name"], row["family"]) for row in TABLES["cases"]):
			raise Quit(f"{name!r} is no case, and no family of them")
	rows = [row for row in TABLES["cases"]
		if not wanted or {row["name"], row["family"]} & {*wanted}]
	lines: list[str] = []
	family = None
	for row in rows:
		if row["family"] != family:
			family = row["family"]
			lines += ["", f"{family}: {TABLES['families'][family]}"]
		lines.append(f"  {row['name']}: {row['does']}")
		if wanted:
			lines += told(row)
	return lines[1:]


def told(row: dict[str, str]) -> list[str]:
	"""The lines of what is demanded in the case of ROW."""
	iwarp = f"not tried: {row['not_iwarp']}" if "not_iwarp" in row else row.get("iwarp")
	notes = (("demanded", row["rule"]), ("on iWARP", iwarp), ("source", row["source"]))
	return [line for name, text in notes if text
		for line in textwrap.wrap(f"{name}: {text}", 80, initial_indent="    ",
					  subsequent_indent="      ")]


def again(options: str, name: str) -> str:
	"""The command that repeats the case NAME of one with OPTIONS."""
	kept = [each for each in options.split(",") if each.partition("=")[0] not in ("neg", "tag")]
	return ",".join([f"neg={name}", *kept])


def ended(outcome: Outcome, judged: list[Case]) -> bool:
	"""Whether the run came to its end: what failed is a case, and nothing else."""
	failed = any(case.outcome in ("fail", "xfail") for case in judged)
	return bool(judged) and (outcome.errno == 0 or (outcome.errno == errno.EBADE and failed))


def ktap(found: Result, judged: list[Case], outcome: Outcome) -> list[str]:
	"""The lines for the Cases JUDGED of the result FOUND."""
	lines = ["KTAP version 1", f"1..{len(judged)}",
		 f"# {device(found)}, Linux {results.host()[1]}"]
	for number, case in enumerate(judged, 1):
		if case.outcome == "fail":
			command = again(found["options"], case.name)
			lines += [f"# {case.name}: report: {bug.line(found, command)}",
				  f"# {case.name}: command: {command}"]
		lines += case.ktap(number)
	if not ended(outcome, judged):
		lines.append(f"Bail out! {outcome.message}")
	lines += cases.failed((case.name, case) for case in judged)
	lines.append(f"# Totals: {cases.totals(judged, cases.TOTALS)} error:0")
	return lines


def status(outcome: Outcome, judged: list[Case]) -> int:
	"""The exit status."""
	if ended(outcome, judged):
		return FAILED if any(case.outcome == "fail" for case in judged) else OK
	if run.finish(outcome) == INTERRUPTED:
		return INTERRUPTED
	if outcome.errno == 0:
		raise Quit("the module says of no case how it ended")
	return REFUSED
