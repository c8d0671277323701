# SPDX-License-Identifier: GPL-2.0
"""krping run: one command, with its progress, its results and why it failed."""

import argparse
import json
import sys
from typing import Any

from . import cases, device, disks, progress, provenance, results, rows, runner, table, validation
from .command import Command
from .errors import INTERRUPTED, Quit, printing
from .kinds import SIZED
from .result import Result
from .rows import Row
from .runner import Outcome

DESCRIPTION = """\
Run a command of krping to its end, show how far it has come (on stderr, if that
is a terminal), and print its results. COMMAND is what would be written to
/proc/krping; its options may be words of their own, and addr= may be an IPv4 or
IPv6 address or the name of a host.
"""
EXAMPLES = """\
examples:
  krping run loopback,addr=192.0.2.2,wlat,count=10000
  krping run client addr=server.example bw size=64K duration=10 qps=4
  krping run server,persist
  krping run client,addr=192.0.2.1,slat,poll,count=100000 --json >a.json
  krping run server,blk,size=1G,store=ram
  krping run client,blk,addr=192.0.2.1,detach
  krping run stop=0

exit status:
  0    the command succeeded
  1    it failed; the errno and the reason are on stderr
  2    nothing was run: usage, the module is not loaded, not root, or the
       command was refused (as for an option that does not exist, or a size
       that is above the device's limit)
  3    it missed a limit that it set with max_p99=, min_bw= or expect=
  130  interrupted, by Ctrl-C or another signal
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("command", metavar="COMMAND", nargs="+",
			    help="options of krping, with commas or as words")
	parser.add_argument("--json", action="store_true",
			    help="print the results as JSON, one object a line, in place of a "
			    "table")
	parser.add_argument("--gbits", action="store_true",
			    help="print bandwidths in Gbit/s, as perftest does on request")
	parser.add_argument("--quiet", action="store_true", help="show no progress")
	parser.add_argument("--help-options", action=HelpOptions, nargs=0,
			    help="list the options that COMMAND may have, and exit")


class HelpOptions(argparse.Action):
	"""Lists the options of commands, and ends the program."""

	def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
		     values: Any, option_string: str | None = None) -> None:
		from . import option_help  # noqa: PLC0415
		option_help.show_all()
		parser.exit()


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
