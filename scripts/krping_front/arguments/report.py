# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping report."""

import argparse

from krping_front import options, regression
from krping_front.arguments import common
from krping_front.kinds import KINDS

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
	common.gbits(parser)
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
