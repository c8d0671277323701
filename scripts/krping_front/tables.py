# SPDX-License-Identifier: GPL-2.0
"""The module's tables of tests and options."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .paths import OPTIONS, SHIPPED, open_debugfs


class Units(NamedTuple):
	"""The units that may follow a number."""

	# Each with its value in the smallest one.
	suffixes: Mapping[str, int]
	# The unit of a number without one.
	base: int = 1


NO_UNITS = Units({})
BYTES = Units({name: 1 << shift for shift, both in ((10, "Kk"), (20, "Mm"), (30, "Gg"))
	       for name in both})


def load() -> dict[str, Any]:
	"""The tables of the module that is loaded; where they cannot be read, as without a
	module or without rights, those that this front came with."""
	found: dict[str, Any]
	try:
		with open_debugfs(OPTIONS) as file:
			found = json.load(file)
	except (OSError, ValueError):
		with open(SHIPPED, encoding="utf-8") as file:
			found = json.load(file)
	return found


TABLES = load()
TESTS = TABLES["tests"]


def names(*families: str) -> tuple[str, ...]:
	"""The names of the tests of FAMILIES."""
	return tuple(test["name"] for test in TESTS if test["family"] in families)


def of_verb(verb: str) -> tuple[str, ...]:
	"""The names of the tests whose operation is VERB."""
	return tuple(test["name"] for test in TESTS if test.get("verb") == verb)


def option(name: str) -> dict[str, Any]:
	"""The row of the option NAME; without anything where the module has none."""
	return next((row for row in TABLES["options"] if row["name"] == name), {})


def units_of(name: str) -> Units:
	"""The units that a number of the option NAME may have."""
	row = option(name)
	suffixes = row.get("suffixes", {})
	# An older module only lists them.
	return Units(suffixes, row.get("base", 1)) if isinstance(suffixes, dict) else NO_UNITS
