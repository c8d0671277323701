# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping options."""

import argparse

DESCRIPTION = """\
List the options of commands, or explain one. They are those of the module that
is loaded, and without one those of the module that this program came with.
"""
EXAMPLES = """\
examples:
  krping options
  krping options size
  krping options --test wlat

exit status:
  0    printed
  2    there is no such option or test
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("name", metavar="NAME", nargs="?", help="the option to explain")
	parser.add_argument("--test", metavar="TEST", help="list only those that go with TEST")
