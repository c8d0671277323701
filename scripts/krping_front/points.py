# SPDX-License-Identifier: GPL-2.0
"""What a sweep runs: its axes, each an option with the values that it is to have, and the points of
all combinations of these."""

import argparse
import itertools
from typing import NamedTuple

from . import options, tables
from .command import PLACE
from .errors import Quit
from .kinds import Kind

# Axes that every sweep may have, with options of its own for them.
SIZE, RATE = "size", "rate"
# Values of an option that has none, in tables: it is given or not.
GIVEN, NOT_GIVEN = "yes", "no"


class Axis(NamedTuple):
	"""An option of commands, and its values."""

	name: str
	values: tuple[str, ...]


class Point(NamedTuple):
	"""What one run measures, and its repetitions."""

	kind: Kind
	size: int
	rate: int | None
	# Names and values of the axes but those.
	settings: tuple[tuple[str, str], ...]

	@property
	def where(self) -> str:
		"""Its place, for messages."""
		settings = "".join(f", {name}={value}" for name, value in self.settings)
		return f"{self.size} bytes{f' at {self.rate}/s' if self.rate else ''}{settings}"

	@property
	def labels(self) -> dict[str, str]:
		"""The values of its axes but the size."""
		return ({RATE: str(self.rate)} if self.rate else {}) | dict(self.settings)

	@property
	def words(self) -> list[str]:
		"""The options of a command that are its place but for the size."""
		found = [f"{RATE}={self.rate}"] if self.rate else []
		for name, value in self.settings:
			if not is_flag(name) or value not in (GIVEN, NOT_GIVEN):
				found.append(f"{name}={value}")
			elif value == GIVEN:
				found.append(name)
		return found


def is_flag(name: str) -> bool:
	"""Whether the option NAME needs no value."""
	return bool(tables.option(name).get("kind") == "flag")


def axis(text: str) -> Axis:
	"""A type for argparse: NAME=VALUES, or the NAME of an option that has none."""
	name, equals, values = text.partition("=")
	row = tables.option(name)
	if not row:
		raise argparse.ArgumentTypeError(f"there is no option {name!r}")
	if name in PLACE - {SIZE, RATE, "timeout"}:
		raise argparse.ArgumentTypeError(f"{name!r} is no axis; the sweep sets that itself")
	if row["kind"] == "flag":
		return Axis(name, _flags(name, row, values) if equals else (NOT_GIVEN, GIVEN))
	if not equals or not values:
		raise argparse.ArgumentTypeError(f"{text!r} has no values, such as {name}="
						 f"{row.get('example', '1')}")
	if name == SIZE:
		return Axis(name, tuple(map(str, options.sizes(values))))
	if name == RATE:
		return Axis(name, tuple(map(str, options.rates(values))))
	if row["kind"] == "number":
		return Axis(name, tuple(map(str, options.numbers(name, values))))
	words = tuple(dict.fromkeys(word.strip() for word in values.split(",")))
	for word in words:
		if not word or word not in row.get("words", (word,)):
			raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(row['words'])}"
							 if word else f"{text!r} has an empty value")
	return Axis(name, words)


def _flags(name: str, row: dict[str, list[str]], values: str) -> tuple[str, ...]:
	known = (NOT_GIVEN, GIVEN, *row.get("words", ()))
	words = tuple(dict.fromkeys(word.strip() for word in values.split(",")))
	for word in words:
		if word not in known:
			raise argparse.ArgumentTypeError(f"{word!r} of {name} is none of "
							 f"{', '.join(known)}")
	return words


def check(axes: list[Axis], kinds: list[Kind], role: str, extra: list[str]) -> None:
	"""Each of AXES is there once, goes with KINDS in ROLE, and is none of the EXTRA options."""
	names = [each.name for each in axes]
	given = [option.partition("=")[0] for option in extra]
	for name in names:
		if names.count(name) > 1:
			raise Quit(f"--axis {name}: it is given twice")
		if name in given:
			raise Quit(f"--axis {name} and --option {name} are both given")
		goes = tables.option(name)["goes"].get(role, ())
		for kind in kinds:
			# A test whose operations have one size is run once.
			if kind.name not in goes and not (name == SIZE and kind.size):
				raise Quit(f"--axis {name}: it does not go with {kind.name}")


def plan(kind: Kind, sizes: list[int], rates: list[int] | None, axes: list[Axis]) -> list[Point]:
	"""The Points of KIND: for each combination of AXES all SIZES, and with each all RATES, if
	there are any."""
	names = [each.name for each in axes]
	due: list[int | None] = [*rates] if rates else [None]
	return [Point(kind, size, rate, tuple(zip(names, values)))
		for values in itertools.product(*(each.values for each in axes))
		for size in (sizes if kind.size is None else [kind.size])
		for rate in due]
