# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping sweep."""

import argparse

from krping_front import options, points
from krping_front.address import add_argument
from krping_front.arguments import common
from krping_front.kinds import SIZED

DESCRIPTION = """\
Run tests over sizes from 2 bytes to 8 MiB, or as far as the device goes, and
print a table with perftest's columns for each. Each --axis adds an option with
the values that it is to have; all combinations are run. With --repeat the table
has medians, and between what they were. With --client a server must run at the
address (krping run server,persist); with --loopback both sides are here.
"""
EXAMPLES = """\
examples:
  krping sweep --loopback 192.0.2.2
  krping sweep 192.0.2.1 --test wlat,rlat --option poll --json poll.json
  krping sweep 192.0.2.1 --device mlx5_1 --test bw
  krping sweep 192.0.2.1 --test bw --sizes 64..1M --duration 5
  krping sweep 192.0.2.1 --test bw,rbw --option qps=4,postlist=8 --csv -
  krping sweep 192.0.2.1 --test all --sizes 64,64K --count 1000
  krping sweep 192.0.2.1 --test rlat,bw --rates 1000..64000
  krping sweep 192.0.2.1 --test bw --sizes 4K --axis qps=1..8 --axis poll
  krping sweep 192.0.2.1 --repeat 5 --json night.json
  krping sweep 192.0.2.1 --repeat 5 --json night.json --resume

Tests whose operations have one size, such as alat, are run once, with that.

With --rates each run is an open loop (rate=): operations are due at so many per
second, and count from when they were. The size is then 64 without --sizes, and
a run takes 5 seconds without --count and --duration.

iterations of other runs, without --count and --duration:
  latency    1000, from 64 KiB on as many as move 64 MiB, at least 20
  bandwidth  5000, from 53 KiB on as many as move 256 MiB, at least 20
  fastreg    1000

exit status:
  0    all runs succeeded, but for sizes that the device does not take
  1    a run failed, and the sweep ended there
  2    nothing was run, or a run was refused: usage, the module is not loaded,
       not root, debugfs is not mounted
  3    a run missed a limit of --option max_p99=... or min_bw=...; all were run
  130  interrupted
What there is until then is printed, and written to --json and --csv. --json is
also written while it runs, so that --resume goes on whatever ended it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	add_argument(parser.add_mutually_exclusive_group(required=True),
		     "the server's address, IPv4 or IPv6, or the name of a host")
	common.sides(parser)
	parser.add_argument("--test", metavar="TEST,...", type=options.kinds(SIZED),
			    default=[SIZED["wlat"], SIZED["bw"]],
			    help=f"{', '.join(SIZED)}, or all that one server "
				 "serves (default wlat,bw)")
	parser.add_argument("--sizes", metavar="SIZES", type=options.sizes,
			    help="2..8M doubles (default), 64,4K,1M is a list")
	parser.add_argument("--rates", metavar="RATES", type=options.rates,
			    help="operations per second: 1000..64000 doubles, 500,2000 is a list")
	parser.add_argument("--axis", metavar="AXIS", type=points.axis, action="append", default=[],
			    help="an option and its values, such as qps=1..64, mem_mode=dma,reg, or "
			    "poll for without and with it; may be repeated")
	parser.add_argument("--repeat", metavar="N", type=options.whole(1, 1000), default=1,
			    help="measure each point so often, in rounds, and print medians")
	parser.add_argument("--option", metavar="OPTION", action="append", default=[],
			    help="an option for each command, such as poll; may be repeated")
	parser.add_argument("--count", metavar="N", type=options.whole(1),
			    help="iterations of each run")
	parser.add_argument("--duration", metavar="S", type=options.number_of("duration"),
			    help="seconds of each run")
	parser.add_argument("--json", metavar="FILE",
			    help="write everything there; - is stdout, without tables")
	parser.add_argument("--resume", action="store_true",
			    help="go on with the sweep of --json FILE: what was measured is not "
			    "measured again")
	parser.add_argument("--csv", metavar="FILE",
			    help="write the tables' figures there; - is stdout, without tables")
	common.gbits(parser)
	common.quiet(parser)
