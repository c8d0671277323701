# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping run."""

import argparse

from krping_front.arguments import common

DESCRIPTION = """\
Run a command of krping to its end, show how far it has come (on stderr, if that
is a terminal), and print its results. COMMAND is what would be written to
/proc/krping; its options may be words of their own, and addr= may be an IPv4 or
IPv6 address or the name of a host.
"""
EXAMPLES = """\
examples:
  krping run loopback,addr=192.0.2.2,wlat,count=10000
  krping run client addr=server.example bw size=64K duration=10 qps=4
  krping run server,persist
  krping run client,addr=192.0.2.1,slat,poll,count=100000 --json >a.json
  krping run server,blk,size=1G,store=ram
  krping run client,blk,addr=192.0.2.1,detach
  krping run stop=0

exit status:
  0    the command succeeded
  1    it failed; the errno and the reason are on stderr
  2    nothing was run: usage, the module is not loaded, not root, or the
       command was refused (as for an option that does not exist, or a size
       that is above the device's limit)
  3    it missed a limit that it set with max_p99=, min_bw= or expect=
  130  interrupted, by Ctrl-C or another signal
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("command", metavar="COMMAND", nargs="+",
			    help="options of krping, with commas or as words")
	parser.add_argument("--json", action="store_true",
			    help="print the results as JSON, one object a line, in place of a "
			    "table")
	common.gbits(parser)
	common.quiet(parser)
	parser.add_argument("--help-options", action=HelpOptions, nargs=0,
			    help="list the options that COMMAND may have, and exit")


class HelpOptions(argparse.Action):
	"""Lists the options of commands, and ends the program."""

	def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
		     values: object, option_string: str | None = None) -> None:
		from krping_front import option_help  # noqa: PLC0415
		option_help.show_all()
		parser.exit()
