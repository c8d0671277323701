# SPDX-License-Identifier: GPL-2.0
"""--max-p99 and --min-bw: what the figures of microbenchmarks must be."""

import argparse
from collections.abc import Callable
from typing import NamedTuple

from krping_front import options, tables
from krping_front.command import Command

from .cases import CASES, Case


class Limit(NamedTuple):
	"""A limit of one case or of those that have none of their own."""

	# The name of the case, or "".
	case: str
	# As the command has it.
	value: str


def takes(option: str) -> list[str]:
	"""The names of the cases that OPTION, max_p99 or min_bw, goes with."""
	goes = tables.option(option).get("goes", {}).get("client", ())
	return [case.name for case in CASES if case.group == "microbench" and case.name in goes]


def of(option: str, check: Callable[[str], int]) -> Callable[[str], Limit]:
	"""A type for [CASE=]VALUE, where CASE takes OPTION and VALUE is one that CHECK takes."""
	def take(text: str) -> Limit:
		case, equals, value = text.rpartition("=")
		if equals and case not in takes(option):
			raise argparse.ArgumentTypeError(
				f"{text!r}: {case!r} is none of {', '.join(takes(option))}")
		check(value)
		return Limit(case, value)
	return take


MAX_P99 = of("max_p99", options.time_ns)
MIN_BW = of("min_bw", options.bandwidth)


def added(case: Case, arguments: argparse.Namespace) -> str:
	"""The option for the limit that CASE has by ARGUMENTS, "" for none. A bandwidth for all is
	not for operations of 8 bytes."""
	if case.group != "microbench":
		return ""
	sized = Command(case.options).kind.size is None
	for option, given, general in (("max_p99", arguments.max_p99, True),
				       ("min_bw", arguments.min_bw, sized)):
		if given and case.name in takes(option):
			found = {limit.case: limit.value for limit in given}
			value = found.get(case.name, found.get("", "") if general else "")
			return f"{option}={value}" if value else ""
	return ""
