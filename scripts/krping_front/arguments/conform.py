# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping conform."""

import argparse

from krping_front import options
from krping_front.arguments import common

DESCRIPTION = """\
Drive the RDMA device of an address of this host into documented errors, with a
connection to itself for each case, and check how it reports them and what it
does next. Prints KTAP. --list says what each case is, and what is demanded.
"""
EXAMPLES = """\
examples:
  krping conform 192.0.2.2
  krping conform 192.0.2.2 ranges stale_rkey
  krping conform --list ranges
  krping conform --timeout 30000 fe80::1%eth0 >conform.tap
  krping conform --known rxe 192.0.2.2
  krping conform --link eth0 192.0.2.2 port_down

exit status:
  0    no case failed, but for those of --known; those that the device cannot be
       asked are skipped
  1    a case failed
  2    it could not be run to its end: usage, the module is not loaded, not
       root, no such case, no device has the address
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("addr", metavar="ADDR", nargs="?", help="an address or a name of this host")
	parser.add_argument("cases", metavar="CASE", nargs="*",
			    help="cases, or families of them (default: all but port_down)")
	parser.add_argument("--timeout", metavar="MS", type=options.number_of("timeout"),
			    help="the deadline of each wait (default: the module's)")
	parser.add_argument("--known", metavar="FILE",
			    help="cases that are known to fail; rxe and siw are there")
	parser.add_argument("--list", action="store_true",
			    help="list the cases, or say of those that are named what is demanded")
	parser.add_argument("--link", metavar="NETDEV",
			    help="take this interface down and up as port_down asks for it")
	parser.add_argument("--json", action="store_true",
			    help="print the result as JSON in place of KTAP")
	common.quiet(parser)
