# SPDX-License-Identifier: GPL-2.0
"""Words that there are not: what was probably meant, by the words of other tools or by letters."""

import difflib
from collections.abc import Collection, Iterable

from .command import PLACE
from .kinds import OPTIONS
from .tables import TABLES, option

# Commands of their own, and what of the program does the same as an option.
ALONE = ("stop", "help")
PROGRAMS = {"neg": "krping conform", "caps": "krping caps", "help": "krping options"}


def translated(word: str) -> str:
	"""The option or the program that does what WORD of another tool says; "" for none."""
	return _row("words", word)


def needless(word: str) -> str:
	"""Why nothing stands for WORD of another tool; "" where something does."""
	return _row("needless", word)


def _row(table: str, word: str) -> str:
	# An older module has fewer tables.
	rows = TABLES.get(table, {})
	known = word.lower()
	return str(rows.get(known) or rows.get(known.replace("-", "_"), ""))


def near(word: str, names: Iterable[str]) -> str:
	"""The one of NAMES that is nearest to WORD by its letters; "" where none is near."""
	return next(iter(difflib.get_close_matches(word, list(names), 1)), "")


def subcommand(word: str, names: Iterable[str]) -> str:
	"""What is to be said of the subcommand WORD, where there are those of NAMES."""
	meant = translated(word) or (word if option(word) else "")
	if meant:
		command = f"krping run {_command(meant)}" if option(meant) else meant
		return _did(PROGRAMS.get(meant, command))
	if needless(word):
		return needless(word)
	close = near(word, names)
	return _did(f"krping {close}") if close else f"there are {', '.join(names)}"


def argument(given: str, flags: Collection[str], takes_command: bool) -> str:
	"""What is to be said of the argument GIVEN, where there are FLAGS, and the words of a command
	if the subcommand TAKES_COMMAND; "" for nothing."""
	word = given.lstrip("-").partition("=")[0]
	meant = translated(word) or (word if option(word) else "")
	if meant and not option(meant):
		own = meant.split()[-1]
		return _did(own if own in flags else meant)
	if needless(word):
		return needless(word)
	for flag in (f"--{meant}".replace("_", "-"), f"--{meant}s"):
		if meant and flag in flags:
			return _did(flag)
	if meant in OPTIONS and "--test" in flags:
		return _did(f"--test {OPTIONS[meant].name}")
	if meant and takes_command:
		return f"did you mean '{_form(meant)}' in COMMAND?"
	if meant and "--option" in flags and meant not in PLACE:
		return _did(f"--option {_form(meant)}")
	close = "" if meant else near(f"--{word}", flags)
	return _did(close) if close else ""


def _did(meant: str) -> str:
	return f"did you mean '{meant}'?"


def _form(name: str) -> str:
	"""The option NAME as it may stand in a command."""
	row = option(name)
	return name if row["kind"] == "flag" else f"{name}={row['example']}"


def _command(name: str) -> str:
	"""A command that has the option NAME."""
	if name in ALONE:
		return _form(name)
	goes = option(name)["goes"]
	role = name if "role" in option(name) else "client" if "client" in goes else next(iter(goes))
	words = [role, "addr=ADDR"] if role != "server" else [role]
	return ",".join(words + [_form(name)] * (name not in (role, "addr")))
