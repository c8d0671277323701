# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping test."""

import argparse

from krping_front import options
from krping_front.acceptance import cases
from krping_front.acceptance.limits import MAX_P99, MIN_BW, takes
from krping_front.address import add_argument, add_source
from krping_front.arguments import common

DESCRIPTION = """\
Run a standard set of cases against an RDMA device, and print KTAP: what the
device can do, ping/pong in all modes, microbenchmarks, conformance. Both sides
run on this host, unless --client says that a server runs at the address.
Without --device and ADDR it is the only RDMA device of this host.
"""
EXAMPLES = """\
examples:
  krping test
  krping test --device rxe0 --known rxe
  krping test 192.0.2.2 --junit krping.xml --json results.json
  krping test --max-p99 20us --max-p99 rlat=40us --min-bw 10G --duration 5
  krping test --only caps,pingpong,microbench.wlat
  krping test --client 192.0.2.1
  krping test --client 192.0.2.1 --device mlx5_1
  krping test --list

exit status:
  0    no case failed, but for those of --known; those that the device cannot do
       are skipped
  1    a case failed
  2    it could not be run: usage, the module is not loaded, not root, no such
       device
  3    nothing but limits of --max-p99 and --min-bw was missed
  130  interrupted
Whatever the end, what there is until then is written to --junit and --json.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	add_argument(parser.add_mutually_exclusive_group(),
		     "an address of the device, or with --client the server's; or a host")
	add_source(parser, "the RDMA device of this host, such as mlx5_0; without --client in place of "
			   "ADDR")
	parser.add_argument("--client", dest="role", action="store_const", const="client",
			    default="loopback", help="a server runs at ADDR; nothing of conform is run")
	parser.add_argument("--port", metavar="P", type=options.number_of("port"),
			    help="the server's port")
	parser.add_argument("--only", metavar="GROUP,...",
			    help=f"groups ({', '.join(cases.GROUPS)}) and cases, such as pingpong.dma")
	parser.add_argument("--max-p99", metavar="[CASE=]TIME", type=MAX_P99, action="append", default=[],
			    help="the limit of the 99th percentile of latencies, such as 20us, of one of "
				 f"{', '.join(takes('max_p99'))}, or of all; may be repeated")
	parser.add_argument("--min-bw", metavar="[CASE=]BYTES", type=MIN_BW, action="append", default=[],
			    help="the limit of bandwidths, in bytes per second, such as 10G, of one of "
				 f"{', '.join(takes('min_bw'))}, or of all but atomic operations; may be "
				 "repeated")
	parser.add_argument("--duration", metavar="S", type=options.number_of("duration"),
			    help="seconds of each microbenchmark (default: a number of operations)")
	parser.add_argument("--timeout", metavar="MS", type=options.number_of("timeout"),
			    help="the deadline of each wait (default: the module's)")
	parser.add_argument("--known", metavar="FILE",
			    help="conformance cases that are known to fail; rxe and siw are there")
	parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML there")
	parser.add_argument("--json", metavar="FILE", help="write the module's results there, one a line")
	parser.add_argument("--list", action="store_true", help="list the cases with their commands")
	common.quiet(parser)
