# SPDX-License-Identifier: GPL-2.0
"""What the values of the front's own options may be, for argparse."""

import argparse
import math
import re
from collections.abc import Callable

from .command import number
from .kinds import KINDS, Kind
from .tables import option

UNITS = {"": 1, "ns": 1, "us": 1000, "ms": 10 ** 6, "s": 10 ** 9}


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
	"""A type for whole numbers from LEAST to MOST."""
	def take(text: str) -> int:
		found = number(text)
		if found is None or found < least or (most is not None and found > most):
			upto = "" if most is None else f" to {most}"
			raise argparse.ArgumentTypeError(
				f"{text!r} is no whole number from {least}{upto}")
		return found
	return take


def number_of(name: str) -> Callable[[str], int]:
	"""A type for the numbers that the option NAME of a command takes."""
	row = option(name)
	return whole(row.get("min", 0), row.get("max"))


def decimal(least: float, most: float) -> Callable[[str], float]:
	"""A type for numbers from LEAST to MOST."""
	def take(text: str) -> float:
		try:
			found = float(text)
		except ValueError:
			found = math.nan
		if not least <= found <= most:
			raise argparse.ArgumentTypeError(
				f"{text!r} is no number from {least} to {most}")
		return found
	return take


def time_ns(text: str) -> int:
	"""A type for times such as 20us, without a unit in ns."""
	match = re.fullmatch(r"([0-9]+)(ns|us|ms|s|)", text)
	if not match or not int(match[1]):
		raise argparse.ArgumentTypeError(f"{text!r} is no time such as 20us or 1ms")
	return int(match[1]) * UNITS[match[2]]


def bandwidth(text: str) -> int:
	"""A type for bandwidths such as 10G, in bytes per second."""
	found = number(text, scaled=True)
	if not found:
		raise argparse.ArgumentTypeError(f"{text!r} is no bandwidth such as 10G, in bytes per "
						 "second")
	return found


def sizes(text: str) -> list[int]:
	"""Sizes as in "2..8M" (doubling), "64,4K,1M", or both: a list, ascending."""
	return _doubled(text, (1 << 32) - 1, True, "size such as 64, 4K or 1M", "2..8M")


def rates(text: str) -> list[int]:
	"""Rates as in "1000..64000" (doubling), "500,2000", or both: a list, ascending."""
	most = option("rate").get("max", 0)
	return _doubled(text, most, False, f"rate from 1 to {most} per second", "1000..64000")


def _doubled(text: str, most: int, scaled: bool, what: str, example: str) -> list[int]:
	"""The numbers of TEXT, each WHAT or a range such as EXAMPLE, which doubles, and none above
	MOST: a list, ascending. They may have a unit if they are SCALED."""
	found = set()
	for part in text.split(","):
		# What is no number is not in the range either.
		ends = [number(end.strip(), scaled=scaled) or 0 for end in part.split("..")]
		if len(ends) > 2 or not 0 < ends[0] <= ends[-1] <= most:
			raise argparse.ArgumentTypeError(
				f"{part!r} is no {what}, and no range such as {example}")
		found |= {ends[0] << bit for bit in range((ends[-1] // ends[0]).bit_length())}
	return sorted(found)


def kinds(known: dict[str, Kind]) -> Callable[[str], list[Kind]]:
	"""A type for names of tests, with commas, or "all", which are those that one server serves: a
	list of those of KNOWN (a dict of kinds.Kind), each once."""
	def take(text: str) -> list[Kind]:
		if text == "all":
			return [kind for kind in known.values() if not kind.apart]
		names = list(dict.fromkeys(name.strip() for name in text.split(",")))
		for name in names:
			if name not in known:
				what = "is not for this" if name in KINDS else "is no test"
				raise argparse.ArgumentTypeError(
					f"{name!r} {what}; there are {', '.join(known)}")
		return [known[name] for name in names]
	return take
