# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping caps."""

import argparse

from krping_front import options
from krping_front.address import add_source

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
