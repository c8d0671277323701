# SPDX-License-Identifier: GPL-2.0
"""krping caps: what a device says of itself, what it does, and what commands can ask."""

import argparse
import json

from . import device, provenance, run, runner
from .address import place
from .command import Command
from .errors import printing

DESCRIPTION = """\
Print what the RDMA device of an address can do: what it says of itself, what
became of making queues and regions on it, and what commands can ask for. The
address is one of this host, or one that the device leads to; nothing is
connected.
"""
EXAMPLES = """\
examples:
  krping caps 192.0.2.2
  krping caps fe80::1%eth0
  krping caps 192.0.2.2 --json | jq .caps.limits

exit status:
  0    all works that a run needs
  1    something does not, or no device leads to the address
  2    nothing was tried: usage, the module is not loaded, not root
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("addr", metavar="ADDR", help="an address, IPv4 or IPv6, or the name of a host")
	parser.add_argument("--json", action="store_true",
			    help="print the result as JSON in place of tables")


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	outcome = runner.run(Command(f"caps,{place(arguments.addr)}"))
	provenance.add(outcome.results)
	with printing():
		for found in outcome.results:
			if arguments.json:
				print(json.dumps(found, separators=(",", ":")))
			elif "caps" in found:
				print("\n".join(device.lines(found)))
	return run.finish(outcome)
