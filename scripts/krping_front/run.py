# SPDX-License-Identifier: GPL-2.0
"""krping run: one command, with its progress, its results and why it failed."""

import argparse
import json
import sys

from . import cases, device, disks, progress, provenance, results, rows, runner, table, validation
from .command import Command
from .errors import INTERRUPTED, Quit, printing
from .kinds import SIZED
from .result import Result
from .rows import Row
from .runner import Outcome


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	command = Command.of_words(arguments.command)
	if not command.text.strip():
		raise Quit("the command is empty; give client, server or loopback, or stop=")
	if "help" in command.options:
		raise Quit("help is what 'krping options' prints, and 'krping options NAME' of one option")
	outcome = runner.run(command, progress.wanted(arguments.quiet))
	# How the command ended is to be said in any case.
	with printing():
		if arguments.json:
			provenance.add(outcome.results)
			for found in outcome.results:
				print(json.dumps(found, separators=(",", ":")))
		else:
			show(outcome.results, table.Style(gbits=arguments.gbits))
	return finish(outcome)


def finish(outcome: Outcome) -> int:
	"""Say on stderr what is to be said of OUTCOME, and return the exit status."""
	for warning in outcome.warnings:
		print(f"krping: {warning}", file=sys.stderr)
	complain(outcome)
	return outcome.status


def show(found: list[Result], style: table.Style = table.PLAIN) -> None:
	"""Print the tables of the results FOUND of one command, in STYLE."""
	groups: dict[tuple[str, str, int], list[Row]] = {}
	tables: list[list[str]] = []
	for result in sorted(found, key=lambda result: result["thread"]):
		if results.is_answer(result):
			continue
		if result["test"] not in SIZED:
			tables += others(result)
			continue
		row = rows.of(result)
		if row.has_figures:
			groups.setdefault((row.role, row.kind.name, row.size), []).append(row)
	for group in groups.values():
		named = len(group) > 1
		if named and group[0].role == "client":
			group = group + [rows.together(group)]
		tables.append([f"# {table.title(group[0])}"] + table.lines(group, named, style))
	tables += filter(None, [validation.lines(found)])
	print("\n\n".join("\n".join(lines) for lines in tables), end="\n" * bool(tables))


def others(result: Result) -> list[list[str]]:
	"""The tables of RESULT, which is of no size, in a list: of none where there is
	nothing to be shown."""
	if disks.has_figures(result):
		return [disks.lines(result)]
	if "caps" in result:
		return [device.lines(result)]
	return [cases.lines(result)] if "cases" in result else []


def complain(outcome: Outcome) -> None:
	"""Say why a command failed."""
	if outcome.errno == 0:
		return
	if outcome.status == INTERRUPTED:
		print("krping: interrupted", file=sys.stderr)
		return
	print(f"krping: {outcome.message}", file=sys.stderr)
	# Other threads may have failed in other ways.
	for text in results.failures(outcome.results):
		if not text.endswith(f": {outcome.sentence}"):
			print(f"krping: also {text}", file=sys.stderr)
