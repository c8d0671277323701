# SPDX-License-Identifier: GPL-2.0
"""krping report: results as perftest prints them, of files or of the module."""

import argparse
import sys

from . import compare, counters, moved, provenance, regression, repeats, results, rows, run, table
from .errors import FAILED, MISSED, OK, Quit, printing
from .result import Result, Stopped
from .results import Loaded
from .rows import Row


def sources(arguments: argparse.Namespace) -> list[Loaded]:
	"""The results.Loaded of each file that ARGUMENTS name, or of the module, with only
	what they ask for."""
	if arguments.files.count("-") > 1:
		raise Quit("stdin can be read only once")
	loaded = [each._replace(results=[found for found in each.results if _matches(found, arguments)],
				stopped=[end for end in each.stopped if _names(end, arguments)])
		  for each in [results.load(path) for path in arguments.files] or [_kept()]]
	if not any(each.results for each in loaded):
		complain(loaded)
		where = ", ".join(each.name for each in loaded)
		filtered = arguments.tag is not None or arguments.test or arguments.size
		raise Quit(f"{'no such' if filtered else 'no'} results in {where}", FAILED)
	return loaded


def _kept() -> Loaded:
	"""What the module of this host keeps."""
	found = results.kept()
	provenance.add(found.results)
	return found


def _names(found: Result | Stopped, arguments: argparse.Namespace) -> bool:
	"""Whether FOUND has a test that ARGUMENTS ask for."""
	return not arguments.test or found["test"] in [kind.name for kind in arguments.test]


def _matches(found: Result, arguments: argparse.Namespace) -> bool:
	return (_names(found, arguments)
		and (arguments.tag is None or found["tag"] == arguments.tag)
		and (not arguments.size or found["size"] in arguments.size))


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.fail_above and len(arguments.files) != 2:
		raise Quit("--fail-above compares two files")
	loaded = sources(arguments)
	worse = False
	if len(loaded) == 2:
		first, second = loaded
		text = compare.lines(first, second, arguments.gbits)
		if arguments.fail_above:
			worse, judged = regression.judge(first, second, arguments.fail_above)
			text += [""] + judged
	else:
		text = []
		for each in loaded:
			if len(loaded) > 1:
				text += [f"## {each.name}", ""]
			text += lines(each, arguments.counters, arguments.gbits) + [""]
		text.pop()
	with printing():
		sys.stdout.write("".join(f"{line}\n" for line in text))
	return MISSED if worse else complain(loaded)


def complain(loaded: list[Loaded]) -> int:
	"""Say on stderr what of LOADED is no result, and what results lack, and return the exit status
	that goes with it."""
	for text in [text for each in loaded for text in [*each.complaints, *each.remarks]]:
		print(f"krping: {text}", file=sys.stderr)
	return FAILED if any(each.complaints for each in loaded) else OK


def lines(loaded: Loaded, with_counters: bool = False, gbits: bool = False) -> list[str]:
	"""The tables of one results.Loaded, and of its counters if WITH_COUNTERS."""
	groups: dict[tuple[str, str, str, str, str, bool], list[Row]] = {}
	style = table.Style(loaded.axes, loaded.repeated, gbits)
	found = [row for row in rows.by_command(loaded.shown) if row.has_figures]
	if loaded.repeated:
		found = [repeats.together(group) for group in repeats.groups(found)]
	for row in found:
		key = (row.kind.name, row.measure, row.role, row.device,
		       row.variant_without(style.axes), row.duplex)
		groups.setdefault(key, []).append(row)
	text = []
	for group in groups.values():
		text += [f"# {table.title(group[0], style=style)}"]
		text += table.lines(group, style=style) + [""]
		if with_counters:
			total = counters.total(row.counters for row in group)
			text += moved.lines({"moved": total}) + [""] * bool(total)
	for result in loaded.shown:
		for table_lines in run.others(result):
			text += table_lines + [""]
	text += _ends(loaded)
	while text and not text[-1]:
		text.pop()
	return text or ["nothing was measured"]


def _with(end: Stopped) -> str:
	"""The place of END along the axes of its sweep."""
	found = ", ".join(f"{name}={value}" for name, value in end.get("settings", {}).items())
	return f" with {found}" if found else ""


def _ends(loaded: Loaded) -> list[str]:
	"""Where a sweep ended early, and what failed."""
	text = [f"{each['test']} ended before {each['size']} bytes{_with(each)}: {each['reason']}"
		for each in loaded.stopped]
	commands: dict[tuple[int, str], list[Result]] = {}
	for found in loaded.results:
		if found["status"] == "failed":
			commands.setdefault((found["id"], found["options"]), []).append(found)
	for (number, command), failed in commands.items():
		text += [f"failed: {number}: {command}: {each}"
			 for each in results.failures(failed)]
	return text
