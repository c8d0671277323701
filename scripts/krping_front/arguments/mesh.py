# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping mesh."""

import argparse
import os
import sys

from krping_front import options
from krping_front.arguments import common
from krping_front.kinds import SIZED
from krping_front.mesh import plan

DESCRIPTION = """\
Run tests between the pairs of many hosts, in rounds: pairs of a round run at
the same time, and begin together. No agent is installed: hosts need the module
and this program, and are reached over ssh, ClusterShell, or srun of Slurm. The
results are matrices; hosts and pairs that are worse than the others are named.
"""
EXAMPLES = """\
examples:
  krping mesh --hosts node[1-16] --check
  krping mesh --hosts node[1-16] --json mesh.json --html mesh.html
  krping mesh --hosts @rack1 --test wlat --sizes 64 --max-p99 20us
  krping mesh --hosts node[1-8] --pattern incast:node1 --test bw --duration 10
  krping mesh --hosts node[1-8] --rail 'mlx5_0' --rail 'mlx5_1' --min-bw 10G
  krping mesh --hosts ns1,ns2 --launcher netns --test wlat

exit status:
  0    all runs succeeded
  1    a run failed, or a host had no part to the end; the others were run
  2    nothing was run: usage, or fewer than two hosts are ready; or a file
       could not be written
  3    a run missed --max-p99 or --min-bw, or with --fail-on-outliers some host
       or pair is worse than the others, or that cannot be told; all were run
  130  interrupted
An interrupted mesh prints the results until then, and writes them to --json and
--html.
"""

LAUNCHERS = ("clustershell", "srun", "ssh", "netns")
# ClusterShell's own command.
ALIASES = {"clush": "clustershell"}
PORT = 18515


def program() -> str:
	"""This program, as hosts with the same file system have it."""
	return os.path.realpath(sys.argv[0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of the subcommand to PARSER."""
	what = parser.add_argument_group("what is run")
	what.add_argument("--hosts", metavar="NODESET", required=True,
			  help="the hosts, such as node[1-16,20]; groups with ClusterShell")
	what.add_argument("--pattern", metavar="PATTERN", default=plan.PAIRWISE,
			  help="pairwise (default), storm, ring, incast:HOST, outcast:HOST or "
			       "distribute:A:B")
	what.add_argument("--directions", choices=plan.DIRECTIONS, default=plan.EACH,
			  help="of the pairs of pairwise: each after the other (default), both at "
			       "once, or one only")
	what.add_argument("--test", metavar="TEST,...", type=options.kinds(SIZED),
			  default=[SIZED["wlat"], SIZED["bw"]],
			  help="tests, as for sweep (default wlat,bw)")
	what.add_argument("--sizes", metavar="SIZES", type=options.sizes,
			  default=options.sizes("64,64K"),
			  help="sizes, as for sweep (default 64,64K)")
	what.add_argument("--count", metavar="N", type=options.whole(1),
			  help="iterations of each run (default as for sweep)")
	what.add_argument("--duration", metavar="S", type=options.number_of("duration"),
			  help="seconds of each run")
	what.add_argument("--option", metavar="OPTION", action="append", default=[],
			  help="an option for each client, such as poll; may be repeated")
	what.add_argument("--server-option", metavar="OPTION", action="append", default=[],
			  help="an option for each server; may be repeated")
	what.add_argument("--concurrency", metavar="N", type=options.number_of("threads"), default=1,
			  help="connections of each pair at the same time (default 1)")
	what.add_argument("--repeat", metavar="N", type=options.whole(1, 1000), default=1,
			  help="run all of it so many times; the median counts")
	what.add_argument("--confirm", metavar="N", type=options.whole(0, 100), default=3,
			  help="run what is worse than the others again, pairs N times, and accuse "
			       "only who is so each time (default 3; 0: never)")
	what.add_argument("--rounds", metavar="N", type=options.whole(1),
			  help="only so many rounds of pairwise, spread over all")
	what.add_argument("--rail", metavar="DEVICE|SUBNET", action="append", default=[],
			  help="RDMA device, with wildcards, or subnet of the addresses; may be "
			       "repeated (default: the subnet that most hosts have)")
	what.add_argument("--port", metavar="P", type=options.number_of("port"), default=PORT,
			  help=f"port of the servers (default {PORT})")

	how = parser.add_argument_group("how hosts are reached")
	how.add_argument("--launcher", choices=LAUNCHERS, type=lambda name: ALIASES.get(name, name),
			 help="default: srun within a Slurm job, else clustershell (or clush) if it "
			      "is installed, else ssh")
	how.add_argument("--krping", metavar="PATH", default=program(),
			 help="this program on the hosts (default: the same path as here)")
	how.add_argument("--sudo", action="store_true", help="run it by 'sudo -n' there")
	how.add_argument("--connect-timeout", metavar="S", type=options.seconds(0.1, 3600),
			 default=30.0, help="seconds for hosts to be ready (default 30)")
	how.add_argument("--timeout", metavar="S", type=options.seconds(0.1, 86400), default=60.0,
			 help="seconds for a run, beyond its --duration (default 60)")
	how.add_argument("--check", action="store_true",
			 help="run nothing, and say what hosts have and lack")

	then = parser.add_argument_group("what becomes of it")
	then.add_argument("--max-p99", metavar="TIME", type=options.time_ns,
			  help="the limit of the 99th percentile of latencies, such as 20us")
	then.add_argument("--min-bw", metavar="BYTES", type=options.bandwidth,
			  help="the limit of bandwidths, in bytes per second, such as 10G")
	then.add_argument("--fail-on-outliers", action="store_true",
			  help="hosts or pairs that are worse than the others are a missed limit, and "
			       "that it cannot be told is one, too")
	then.add_argument("--json", metavar="FILE",
			  help="write everything there; - is stdout, without tables")
	then.add_argument("--html", metavar="FILE", help="write a page for a browser there")
	then.add_argument("--resume", action="store_true",
			  help="go on with the mesh of the same --json that was interrupted")
	common.quiet(then)
