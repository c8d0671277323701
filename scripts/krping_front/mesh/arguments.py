# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping mesh, and what they come to."""

import argparse
import os
import sys

from krping_front import options, sweep
from krping_front.errors import Quit
from krping_front.kinds import KINDS, SIZED

from . import plan, rails
from .plan import Plan, Step
from .rails import Wish

LAUNCHERS = ("clustershell", "srun", "ssh", "netns")
# ClusterShell's own command.
ALIASES = {"clush": "clustershell"}
# Options that the mesh itself sets.
TAKEN = frozenset(("start_at", "wait", "threads", "persist", "detach", "stop", "max_p99",
		   "min_bw"))
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
	then.add_argument("--quiet", action="store_true", help="show no progress")


def extra(words: list[str], name: str) -> list[str]:
	"""The options of WORDS, none of which the mesh itself sets. NAME is that of the argument."""
	found = sweep.extra_options(words) if words else []
	for option in found:
		if option.partition("=")[0] in TAKEN:
			raise Quit(f"{name} {option!r}: the mesh sets that itself"
				   + ("; see --concurrency" if option.startswith("threads") else ""))
	return found


def planned(arguments: argparse.Namespace, hosts: list[str], wishes: list[Wish]) -> Plan:
	"""The Plan of ARGUMENTS for HOSTS, on the rails WISHES."""
	chosen = plan.pattern(arguments.pattern, hosts, arguments.directions)
	if arguments.rounds and chosen.kind != plan.PAIRWISE:
		raise Quit(f"--rounds: {chosen.kind} has only one")
	if arguments.directions != plan.EACH and chosen.kind != plan.PAIRWISE:
		raise Quit(f"--directions: {chosen.kind} says itself who is a client")
	tests = tuple((kind.name, tuple(arguments.sizes) if kind.size is None else (kind.size,))
		      for kind in arguments.test)
	return Plan(chosen, len(hosts), tests, tuple(wanted.text for wanted in wishes),
		    arguments.repeat, arguments.rounds)


def wishes(arguments: argparse.Namespace) -> list[Wish]:
	"""The rails that are asked for; none for the usual one."""
	return [rails.wish(text) for text in dict.fromkeys(arguments.rail)]


def commands(arguments: argparse.Namespace, step: Step) -> tuple[str, str, float]:
	"""The options of servers and clients in STEP, without addresses, and how many seconds it
	takes at least."""
	kind = KINDS[step.test]
	server = ["persist"] + ([kind.option] if kind.apart else [])
	client = [kind.option] if kind.option else []
	client += [f"size={step.size}"] if kind.size is None else []
	count = sweep.iterations(kind, step.size, arguments)
	client += [f"count={count}"] if count else []
	client += [f"duration={arguments.duration}"] if arguments.duration else []
	client += [f"threads={arguments.concurrency}"] if arguments.concurrency > 1 else []
	return (",".join(server + extra(arguments.server_option, "--server-option")),
		",".join(client + extra(arguments.option, "--option")), float(arguments.duration or 0))
