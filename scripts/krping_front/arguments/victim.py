# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping victim."""

import argparse

from krping_front import options
from krping_front.arguments import common
from krping_front.kinds import SIZED
from krping_front.tables import BYTES

DESCRIPTION = """\
Measure a latency test alone, and then beside aggressors, which are threads of a
bandwidth test, and print both and by how much it became slower. With --client a
server must run at the address (krping run server,persist); with --loopback both
sides are here.
"""
EXAMPLES = """\
examples:
  krping victim 192.0.2.1
  krping victim 192.0.2.1 --test rlat --option poll --aggressors 16
  krping victim 192.0.2.1 --aggressor-test rbw --aggressor-size 1M
  krping victim 192.0.2.1 --option tos=104 --max-slower 100% --json
  krping victim --loopback 192.0.2.2

The aggressors run until the victim has ended. The victim begins when each of
them has moved data.

exit status:
  0    both were measured
  1    a run failed, or the aggressors did
  2    nothing was run, or a run was refused: usage, the module is not loaded,
       not root, debugfs is not mounted
  3    the 99th percentile became longer by more than --max-slower
  130  interrupted
"""
# The most that size= takes.
LARGEST = (1 << 32) - 1
VICTIMS = [name for name, kind in SIZED.items() if kind.measure == "latency"]
AGGRESSORS = [name for name, kind in SIZED.items() if kind.measure == "bandwidth" and not kind.apart]


def share(text: str) -> float:
	"""A type for shares such as 50%."""
	number, percent, rest = text.partition("%")
	try:
		found = float(number)
	except ValueError:
		found = -1
	if not 0 <= found < float("inf") or not percent or rest:
		raise argparse.ArgumentTypeError(f"{text!r} is no share such as 50%")
	return found / 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("addr", metavar="ADDR", help="an address, IPv4 or IPv6, or the name of a host")
	common.sides(parser)
	parser.add_argument("--test", choices=VICTIMS, default="wlat", metavar="TEST",
			    help=f"the victim: {', '.join(VICTIMS)} (default wlat)")
	parser.add_argument("--size", metavar="N", type=options.whole(1, LARGEST, BYTES), default=64,
			    help="its bytes (default 64)")
	parser.add_argument("--option", metavar="OPTION", action="append", default=[],
			    help="an option for it, such as poll; may be repeated")
	parser.add_argument("--duration", metavar="S", type=options.number_of("duration"), default=5,
			    help="seconds of each of its two runs (default 5)")
	parser.add_argument("--aggressors", metavar="N", type=options.number_of("threads"), default=4,
			    help="threads beside it (default 4)")
	parser.add_argument("--aggressor-test", choices=AGGRESSORS, default="bw", metavar="TEST",
			    help=f"what these do: {', '.join(AGGRESSORS)} (default bw)")
	parser.add_argument("--aggressor-size", metavar="N", type=options.whole(1, LARGEST, BYTES),
			    default=64 << 10, help="their bytes (default 64K)")
	parser.add_argument("--aggressor-option", metavar="OPTION", action="append", default=[],
			    help="an option for them, such as qps=4; may be repeated")
	parser.add_argument("--max-slower", metavar="SHARE", type=share,
			    help="fail if the 99th percentile becomes longer by more, such as 50%%")
	parser.add_argument("--json", action="store_true",
			    help="print the results as JSON in place of tables")
	common.gbits(parser)
	common.quiet(parser)
