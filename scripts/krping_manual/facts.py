# SPDX-License-Identifier: GPL-2.0
"""What there is to be documented: the options of commands, and the arguments of subcommands."""

import argparse
import dataclasses
import importlib.machinery
import importlib.util
import json
import os
import pathlib
from typing import Any, Self

from krping_front import paths

# The tables of a module that happens to be loaded here do not matter.
paths.OPTIONS = os.devnull
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "krping"


@dataclasses.dataclass
class Argument:
	"""An argument of a subcommand."""

	# Those of an option, such as -o; none of a positional one.
	flags: list[str]
	# What stands for its value; "" where it takes none.
	value: str
	help: str
	choices: list[str]
	# Whether it may be given more than once, or has several values.
	many: bool
	required: bool

	@classmethod
	def of(cls, action: argparse.Action) -> Self:
		"""That of argparse's ACTION."""
		takes = not action.option_strings or action.nargs != 0
		metavar = action.metavar if isinstance(action.metavar, str) else None
		choices = [str(each) for each in action.choices or ()]
		value = metavar or (action.dest.upper() if action.option_strings else action.dest)
		return cls(flags=list(action.option_strings), value=value if takes else "",
			   help=(action.help or "") % {"default": action.default, "prog": "krping"},
			   choices=choices, many=action.nargs in ("*", "+"), required=action.required)

	@property
	def is_file(self) -> bool:
		"""Whether its value is the name of a file."""
		return self.value in ("FILE", "OUT", "PATH")


@dataclasses.dataclass
class Subcommand:
	"""A subcommand of the program."""

	name: str
	summary: str
	description: str
	# Examples and exit statuses, as --help shows them.
	epilog: str
	usage: str
	arguments: list[Argument]

	@property
	def options(self) -> list[Argument]:
		"""The arguments that have a flag."""
		return [each for each in self.arguments if each.flags]

	@property
	def positional(self) -> list[Argument]:
		"""The others."""
		return [each for each in self.arguments if not each.flags]


@dataclasses.dataclass
class Facts:
	"""All of it."""

	version: str
	# Rows of the tables.
	options: list[dict[str, Any]]
	tests: list[dict[str, Any]]
	subcommands: list[Subcommand]

	@classmethod
	def load(cls) -> Self:
		"""Those of this checkout."""
		with open(paths.SHIPPED, encoding="utf-8") as file:
			tables = json.load(file)
		program = load_program()
		return cls(tables["version"], tables["options"], tables["tests"],
			   [subcommand(name, *where) for name, where in program.SUBCOMMANDS.items()])


def load_program() -> Any:
	"""scripts/krping as a module."""
	loader = importlib.machinery.SourceFileLoader("krping_program", str(PROGRAM))
	spec = importlib.util.spec_from_loader("krping_program", loader)
	assert spec is not None
	module = importlib.util.module_from_spec(spec)
	loader.exec_module(module)
	return module


def subcommand(name: str, path: str, summary: str) -> Subcommand:
	"""The subcommand NAME, whose module is PATH."""
	module = importlib.import_module(f"krping_front.{path}")
	parser = argparse.ArgumentParser(prog=f"krping {name}")
	module.add_arguments(parser)
	# argparse has no other way to list them.
	actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
	usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
	return Subcommand(name, summary, module.DESCRIPTION, module.EXAMPLES, usage,
			  [Argument.of(action) for action in actions])
