# SPDX-License-Identifier: GPL-2.0
"""The module's tables of tests and options."""

import json
from typing import Any

from .paths import OPTIONS, SHIPPED, open_debugfs


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
