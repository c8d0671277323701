# SPDX-License-Identifier: GPL-2.0
"""krping report: results as perftest prints them, of files or of the module."""

import argparse
import sys

from . import compare, counters, moved, options, provenance, regression, repeats, results, rows, run, table
from .errors import FAILED, MISSED, OK, Quit, printing
from .kinds import KINDS
from .result import Result, Stopped
from .results import Loaded
from .rows import Row

DESCRIPTION = """\
Print results as tables with perftest's columns: those of FILEs, or else those
that the module keeps (the last 256, in debugfs). A FILE has what 'run --json'
or debugfs prints, what 'sweep --json' writes, or what perftest's programs print
or write as JSON; "-" is stdin. Two files are
compared: side by side, with differences of the second from the first. Each
command has a row; the threads of one are put together. Below a comparison, and
with --counters below each table, are the counters that moved in its runs.
"""
EXAMPLES = """\
examples:
  krping report
  krping report --tag before
  krping report monday.json
  krping report monday.json --counters
  krping report monday.json friday.json --test wlat,bw
  krping report monday.json friday.json --fail-above p99=10% --fail-above bw=5%

exit status:
  0    printed
  1    there are no such results; or a FILE has a failed run of perftest's, or
       figures that are none, as stderr says, and all else was printed
  2    usage, a file that cannot be read or is no result, or (without FILE) the
       module is not loaded, not root, or debugfs is not mounted; too few
       repetitions for --fail-above
  3    a figure of the second file is worse than --fail-above allows
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	add_sources(parser)
	parser.add_argument("--counters", action="store_true",
			    help="of one file, too: the counters of devices and ports that moved, "
			    "and what the runs used of the CPUs")
	parser.add_argument("--gbits", action="store_true",
			    help="print bandwidths in Gbit/s, as perftest does on request")
	parser.add_argument("--fail-above", metavar="LIMIT", type=regression.limit, action="append",
			    help="of two files: status 3 where a figure of the second is worse by more "
			    "than that, and by more than chance: p99=10%%; of "
			    f"{', '.join(regression.FIGURES)}; may be repeated")


def add_sources(parser: argparse.ArgumentParser) -> None:
	"""Add to PARSER what says which results are meant."""
	parser.add_argument("files", metavar="FILE", nargs="*",
			    help="results (default: those that the module keeps)")
	parser.add_argument("--tag", help="only results with this tag=")
	parser.add_argument("--test", metavar="TEST,...", type=options.kinds(KINDS),
			    help="only results of these tests")
	parser.add_argument("--size", metavar="SIZES", type=options.sizes,
			    help="only results with these sizes: 64,4K or 2..1M")


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
