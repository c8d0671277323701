# SPDX-License-Identifier: GPL-2.0
"""krping caps: what a device says of itself, what it does, and what commands can ask."""

import argparse
import json

from . import device, options, pair, provenance, run, runner
from .address import add_source, place, source
from .command import Command
from .errors import FAILED, Quit, printing
from .result import Result

DESCRIPTION = """\
Print what the RDMA device of an address can do: what it says of itself, what
became of making queues and regions on it, and what commands can ask for. The
address is one of this host, or one that the device leads to; nothing is
connected. With --client a server runs there, and the pair is checked: what
both ends have, and whether messages of the path's MTU get through both ways.
"""
EXAMPLES = """\
examples:
  krping caps 192.0.2.2
  krping caps fe80::1%eth0
  krping caps 192.0.2.2 --json | jq .caps.limits
  krping caps --client 192.0.2.1
  krping caps --client 192.0.2.1 --device mlx5_1

exit status:
  0    all works that a run needs
  1    something does not, or no device leads to the address; messages of the
       path's MTU do not get through
  2    nothing was tried: usage, the module is not loaded, not root
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("addr", metavar="ADDR", help="an address, IPv4 or IPv6, or the name of a host")
	parser.add_argument("--client", action="store_true",
			    help="check the pair, too: a server runs at ADDR, such as 'krping run "
			    "server,persist'")
	parser.add_argument("--port", metavar="P", type=options.number_of("port"),
			    help="the server's port")
	add_source(parser)
	parser.add_argument("--json", action="store_true",
			    help="print the result as JSON in place of tables")


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.port is not None and not arguments.client:
		raise Quit("--port is for --client")
	where = ",".join([place(arguments.addr), *source(arguments)])
	outcome = runner.run(Command(f"caps,{where}"))
	provenance.add(outcome.results)
	trouble = None
	if arguments.client and outcome.errno == 0 and outcome.results:
		trouble = check(pair.Server(where, arguments.port), outcome.results[0])
	with printing():
		for found in outcome.results:
			if arguments.json:
				print(json.dumps(found, separators=(",", ":")))
			elif "caps" in found:
				print("\n".join(device.lines(found)))
	status = run.finish(outcome)
	if trouble:
		raise trouble
	return status


def check(server: pair.Server, here: Result) -> Quit | None:
	"""Add the pair of SERVER and this host to the result HERE. Returns what is wrong, or None."""
	try:
		here["pair"] = pair.check(server, here)
	except Quit as trouble:
		return trouble
	reason = here["pair"].get("reason")
	return Quit(reason, FAILED) if reason else None
