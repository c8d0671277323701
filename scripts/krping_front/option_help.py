# SPDX-License-Identifier: GPL-2.0
"""krping options: the options of commands, all or one."""

import argparse
import textwrap
from typing import Any

from . import meant
from .errors import OK, Quit, printing
from .tables import TABLES, TESTS

Option = dict[str, Any]
ROLES = ("client", "server", "loopback")
# Columns of the text of an option behind its name.
INDENT = 26
WIDTH = 96


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	options: list[Option] = TABLES["options"]
	if arguments.test is not None:
		known(arguments.test, [test["name"] for test in TESTS], "test")
		options = [option for option in options if arguments.test in tests_of(option)]
	if arguments.name is None:
		lines = [line for option in options for line in listed(option)]
	else:
		# A name may come as it stands in a command.
		name = arguments.name.partition("=")[0]
		by_name = {each: option for option in options for each in names(option)}
		known(name, list(by_name), "option")
		lines = explained(by_name[name])
	with printing():
		print("\n".join(lines))
	return OK


def show_all() -> None:
	"""Print the list of all options."""
	with printing():
		print("\n".join(line for option in TABLES["options"] for line in listed(option)))


def known(name: str, names_of_all: list[str], what: str) -> None:
	"""Check that NAME is among those of all WHAT."""
	if name in names_of_all:
		return
	other = meant.translated(name)
	if other not in names_of_all and not other.startswith("krping "):
		other = meant.near(name, names_of_all)
	hint = f"did you mean {other}?" if other else f"there are {', '.join(names_of_all)}"
	raise Quit(f"{name!r} is no {what}; {meant.needless(name) or hint}")


def names(option: Option) -> list[str]:
	"""The names of OPTION."""
	return [option["name"], *option.get("aliases", [])]


def tests_of(option: Option) -> list[str]:
	"""The tests that OPTION goes with, in any role."""
	return [test["name"] for test in TESTS
		if any(test["name"] in tests for tests in option["goes"].values())]


def form(option: Option) -> str:
	"""OPTION as it stands in a command."""
	name, words = option["name"], "|".join(option.get("words", []))
	if option["kind"] == "flag":
		return f"{name}[={words}]" if words else name
	return f"{name}={words or value(option)}"


def value(option: Option) -> str:
	"""What stands for a value of OPTION."""
	return "N" if option["kind"] == "number" else "TEXT"


def wrapped(text: str, start: str, indent: int) -> list[str]:
	"""TEXT behind START, in lines that go on below its column INDENT. A START that reaches so
	far has a line of its own."""
	above = [start] if len(start) >= indent else []
	return above + textwrap.wrap(text, WIDTH, initial_indent=("" if above else start).ljust(indent),
				     subsequent_indent=" " * indent, break_on_hyphens=False)


def listed(option: Option) -> list[str]:
	"""OPTION in a list of many."""
	text = option["help"]
	if option.get("default", "") != "":
		text += f" (default {option['default']})"
	return wrapped(text, form(option), INDENT)


def explained(option: Option) -> list[str]:
	"""All that the tables say of OPTION."""
	lines = [form(option), *wrapped(option["help"], "", 2)]
	for name, text in facts(option).items():
		if text:
			lines += wrapped(text, f"  {name}", 20)
	return lines


def facts(option: Option) -> dict[str, str]:
	"""What the tables say of OPTION beside its help, by what it is; "" where there is nothing."""
	found = {"value": values(option)}
	if option["kind"] != "flag":
		found["example"] = f"{option['name']}={option['example']}" if "example" in option else ""
	found["default"] = str(option.get("default", ""))
	found["also"] = ", ".join(option.get("aliases", []))
	found["needs"] = option.get("needs", "")
	found["not with"] = ", ".join(rivals(option))
	return found | goes_with(option)


def values(option: Option) -> str:
	"""The values that OPTION takes."""
	if option["kind"] == "number":
		text = f"{option['min']} to {option['max']} {option['unit']}".rstrip()
		both = option.get("suffixes", {})
		suffixes = [each for each in both if each.isupper() or each.upper() not in both]
		return text + (f"; {', '.join(suffixes)} may follow" if suffixes else "")
	words = ", ".join(option.get("words", []))
	if option["kind"] == "flag":
		return f"none, or {words}" if words else "none"
	return words


def rivals(option: Option) -> list[str]:
	"""The options that may not stand beside OPTION."""
	group = option.get("group")
	same = [other["name"] for other in TABLES["options"]
		if group is not None and other.get("group") == group and other["name"] != option["name"]]
	return [each for each in [option.get("excludes"), *same] if each]


def goes_with(option: Option) -> dict[str, str]:
	"""The tests that OPTION goes with, by roles that have the same ones."""
	roles: dict[str, str] = {}
	for role in ROLES:
		tests = ", ".join(option["goes"].get(role, []))
		roles[tests] = f"{roles[tests]}, {role}" if tests in roles else role
	return {these: tests for tests, these in roles.items()}
