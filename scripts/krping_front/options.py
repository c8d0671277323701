# SPDX-License-Identifier: GPL-2.0
"""What the values of the front's own options may be, for argparse."""

import argparse
import math
import string
from collections.abc import Callable

from .command import number
from .kinds import KINDS, Kind
from .tables import BYTES, Units, option, units_of

# The units of numbers that have none of their own.
COUNTS = units_of("count")
TIMES = units_of("duration").suffixes


def whole(least: int, most: int | None = None, units: Units = COUNTS) -> Callable[[str], int]:
	"""A type for whole numbers from LEAST to MOST, which may have one of UNITS."""
	def take(text: str) -> int:
		found = number(text, units)
		if found is None or found < least or (most is not None and found > most):
			upto = "" if most is None else f" to {most}"
			raise argparse.ArgumentTypeError(
				f"{text!r} is no whole number from {least}{upto}")
		return found
	return take


def number_of(name: str) -> Callable[[str], int]:
	"""A type for the numbers that the option NAME of a command takes."""
	row = option(name)
	return whole(row.get("min", 0), row.get("max"), units_of(name))


def seconds(least: float, most: float) -> Callable[[str], float]:
	"""A type for times from LEAST to MOST seconds, such as 500ms or 0.5, which is in seconds."""
	def take(text: str) -> float:
		digits = text.rstrip(string.ascii_lowercase)
		unit = TIMES.get(text[len(digits):] or "s")
		try:
			found = float(digits) * unit / TIMES["s"] if unit else math.nan
		except ValueError:
			found = math.nan
		if not least <= found <= most:
			raise argparse.ArgumentTypeError(
				f"{text!r} is no time from {least} to {most} seconds, such as 5s or "
				"500ms")
		return found
	return take


def time_ns(text: str) -> int:
	"""A type for times such as 20us, without a unit in ns."""
	found = number(text, units_of("max_p99"))
	if not found:
		raise argparse.ArgumentTypeError(f"{text!r} is no time such as 20us or 1ms")
	return found


def bandwidth(text: str) -> int:
	"""A type for bandwidths such as 10G, in bytes per second."""
	found = number(text, BYTES)
	if not found:
		raise argparse.ArgumentTypeError(f"{text!r} is no bandwidth such as 10G, in bytes per "
						 "second")
	return found


def sizes(text: str) -> list[int]:
	"""Sizes as in "2..8M" (doubling), "64,4K,1M", or both: a list, ascending."""
	return _doubled(text, 1, (1 << 32) - 1, BYTES, "size such as 64, 4K or 1M", "2..8M")


def rates(text: str) -> list[int]:
	"""Rates as in "1000..64000" (doubling), "500,2000", or both: a list, ascending."""
	most = option("rate").get("max", 0)
	return _doubled(text, 1, most, units_of("rate"), f"rate from 1 to {most} per second", "1000..64000")


def numbers(name: str, text: str) -> list[int]:
	"""Values of the option NAME of a command as in "1..64" (doubling), "1,3,8", or both: a list,
	ascending."""
	row = option(name)
	least, most = row.get("min", 0), row.get("max", 0)
	return _doubled(text, least, most, units_of(name), f"number from {least} to {most}", "1..8")


def _doubled(text: str, least: int, most: int, units: Units, what: str, example: str) -> list[int]:
	"""The numbers of TEXT from LEAST to MOST, each WHAT or a range such as EXAMPLE, which doubles: a
	list, ascending. They may have one of UNITS."""
	found = set()
	for part in text.split(","):
		first, *rest = (number(end.strip(), units) for end in part.split(".."))
		last = rest[0] if rest else first
		# Nothing doubles from 0 on.
		if (len(rest) > 1 or first is None or last is None or not least <= first <= last <= most
		    or (rest and first == 0)):
			raise argparse.ArgumentTypeError(
				f"{part!r} is no {what}, and no range such as {example}")
		found |= {first << bit for bit in range((last // first).bit_length())} if first else {0}
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
