# SPDX-License-Identifier: GPL-2.0
"""Arguments that several subcommands have."""

import argparse

from krping_front import options
from krping_front.address import add_source


def quiet(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
	"""Give PARSER --quiet."""
	parser.add_argument("--quiet", action="store_true", help="show no progress")


def gbits(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
	"""Give PARSER --gbits."""
	parser.add_argument("--gbits", action="store_true",
			    help="print bandwidths in Gbit/s, as perftest does on request")


def sides(parser: argparse.ArgumentParser) -> None:
	"""Give PARSER what says which sides run here, and how they connect."""
	role = parser.add_mutually_exclusive_group()
	role.add_argument("--client", dest="role", action="store_const", const="client",
			  default="client", help="a server runs at the address (default)")
	role.add_argument("--loopback", dest="role", action="store_const", const="loopback",
			  help="the address is one of this host: run both sides")
	parser.add_argument("--port", metavar="P", type=options.number_of("port"),
			    help="the server's port")
	add_source(parser)
