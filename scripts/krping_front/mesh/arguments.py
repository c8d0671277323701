# SPDX-License-Identifier: GPL-2.0
"""What the arguments of krping mesh come to."""

import argparse

from krping_front import sweep
from krping_front.errors import Quit
from krping_front.kinds import KINDS

from . import plan, rails
from .plan import Plan, Step
from .rails import Wish

# Options that the mesh itself sets.
TAKEN = frozenset(("start_at", "wait", "threads", "persist", "detach", "stop", "max_p99",
		   "min_bw"))


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
