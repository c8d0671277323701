# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping node."""

import argparse
import os

DESCRIPTION = """\
Be a host of a mesh: read JSON lines on stdin, run the commands that they ask
for, and write JSON lines on stdout. 'krping mesh' starts this on each host,
over ssh and the like. When stdin ends, when nothing has come for a minute, or
at SIGTERM, SIGHUP or SIGINT all commands that were begun here are ended.
"""
EXAMPLES = """\
examples:
  krping node </dev/null          print what this host says of itself, and end
  krping node --name node7

exit status:
  0    stdin has ended, the controller has said so, or it says nothing any more
  2    usage
  130  a signal ended it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("--name", metavar="NAME", default=os.uname().nodename,
			    help="what the controller calls this host (default: its own name)")
