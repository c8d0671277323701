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
from krping_front.acceptance import cases as acceptance

# Where the names of devices, interfaces and disks are, by what stands for a value.
DIRECTORIES = {"DEV": paths.INFINIBAND, "DEVICE|SUBNET": paths.INFINIBAND, "NETDEV": paths.NET,
	       "dev": paths.INFINIBAND, "tap": paths.BLOCK}
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
	# What completion offers.
	words: list[str]

	@classmethod
	def of(cls, action: argparse.Action) -> Self:
		"""That of argparse's ACTION."""
		takes = not action.option_strings or action.nargs != 0
		metavar = action.metavar if isinstance(action.metavar, str) else None
		choices = [str(each) for each in action.choices or ()]
		value = metavar or (action.dest.upper() if action.option_strings else action.dest)
		return cls(flags=list(action.option_strings), value=value if takes else "",
			   help=(action.help or "") % {"default": action.default, "prog": "krping"},
			   choices=choices, many=action.nargs in ("*", "+"), required=action.required,
			   words=list(choices))

	@property
	def is_file(self) -> bool:
		"""Whether its value is the name of a file."""
		return self.value in ("FILE", "OUT", "PATH")

	@property
	def directory(self) -> str:
		"""The directory whose names are its values; "" for none."""
		return DIRECTORIES.get(self.value, "")

	@property
	def is_list(self) -> bool:
		"""Whether several words may be given, with commas between them."""
		return self.value.endswith(",...")


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
	# Of conformance.
	cases: list[str]
	families: list[str]
	subcommands: list[Subcommand]

	@classmethod
	def load(cls) -> Self:
		"""Those of this checkout."""
		with open(paths.SHIPPED, encoding="utf-8") as file:
			tables = json.load(file)
		program = load_program()
		facts = cls(tables["version"], tables["options"], tables["tests"],
			    [case["name"] for case in tables["cases"]], list(tables["families"]),
			    [subcommand(name, summary)
			     for name, (_, summary) in program.SUBCOMMANDS.items()])
		facts.fill_in()
		return facts

	def fill_in(self) -> None:
		"""Give arguments the words that tables have of them."""
		tests = [test["name"] for test in self.tests]
		paths_of = [case.path for case in acceptance.CASES if case.name]
		words = {"TEST": tests, "TEST,...": tests, "CASE": [*self.families, *self.cases],
			 "GROUP,...": [*acceptance.GROUPS, *paths_of]}
		for each in self.subcommands:
			for argument in each.arguments:
				argument.words += words.get(argument.value, [])
				if "--known" in argument.flags:
					argument.words += self.known

	@property
	def known(self) -> list[str]:
		"""The drivers of whose defects the program has a file."""
		return sorted(os.listdir(paths.KNOWN))

	def words(self, option: dict[str, Any]) -> list[str]:
		"""The values of OPTION that are words."""
		words = ["all", *self.families, *self.cases]
		return words if option["name"] == "neg" else option.get("words", [])


def load_program() -> Any:
	"""scripts/krping as a module."""
	loader = importlib.machinery.SourceFileLoader("krping_program", str(PROGRAM))
	spec = importlib.util.spec_from_loader("krping_program", loader)
	assert spec is not None
	module = importlib.util.module_from_spec(spec)
	loader.exec_module(module)
	return module


def subcommand(name: str, summary: str) -> Subcommand:
	"""The subcommand NAME."""
	module = importlib.import_module(f"krping_front.arguments.{name}")
	parser = argparse.ArgumentParser(prog=f"krping {name}")
	module.add_arguments(parser)
	# argparse has no other way to list them.
	actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
	usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
	return Subcommand(name, summary, module.DESCRIPTION, module.EXAMPLES, usage,
			  [Argument.of(action) for action in actions])
