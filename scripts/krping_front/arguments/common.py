# SPDX-License-Identifier: GPL-2.0
"""Arguments that several subcommands have."""

import argparse


def quiet(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
	"""Give PARSER --quiet."""
	parser.add_argument("--quiet", action="store_true", help="show no progress")


def gbits(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
	"""Give PARSER --gbits."""
	parser.add_argument("--gbits", action="store_true",
			    help="print bandwidths in Gbit/s, as perftest does on request")
