# SPDX-License-Identifier: GPL-2.0
"""Completion for zsh."""

import re

from krping_front.option_help import Option

from .facts import Argument, Facts, Subcommand
from .shell import filled, quoted

TEMPLATE = r"""#compdef krping
# Made by scripts/manual from the tables of krping @VERSION@.

# Options of a command, with commas between them.
_krping_command() {
	_values -s , option \
@VALUES@
}

# Their names.
_krping_names() {
	compadd -- @NAMES@
}

_krping() {
	local curcontext=$curcontext state line
	local -a subcommands options
	subcommands=(
@SUBCOMMANDS@
	)
	_arguments -C '(- *)--help[print a summary]' '(- *)--version[print versions]' \
		'1:subcommand:->subcommand' '*::argument:->argument' && return
	case $state in
	subcommand) _describe subcommand subcommands ;;
	argument)
		case $words[1] in
@CASES@
		esac
		;;
	esac
}

_krping "$@"
"""


# Functions that complete positional arguments, by subcommand.
POSITIONAL = {"run": "_krping_command", "options": "_krping_names"}


def completion(facts: Facts) -> str:
	"""The file."""
	parts = {
		"VERSION": facts.version,
		"VALUES": " \\\n".join(f"\t\t{quoted(value(option))}" for option in facts.options),
		"NAMES": " ".join(option["name"] for option in facts.options),
		"SUBCOMMANDS": "\n".join(f"\t\t{quoted(f'{each.name}:{each.summary}')}"
					 for each in facts.subcommands),
		"CASES": "\n".join(case(each) for each in facts.subcommands),
	}
	return filled(TEMPLATE, parts)


def described(text: str) -> str:
	"""TEXT as a description within brackets."""
	return re.sub(r"([\[\]:\\])", r"\\\1", " ".join(text.split()))


def value(option: Option) -> str:
	"""OPTION for _values."""
	name = f"{option['name']}[{described(option['help'])}]"
	words = " ".join(option.get("words", []))
	if option["kind"] == "flag":
		# Its word is at will.
		return f"{name}::word:({words})" if words else name
	return f"{name}:value:({words})" if words else f"{name}:value: "


def case(each: Subcommand) -> str:
	"""The case of a subcommand."""
	words = [quoted(spec) for argument in each.arguments for spec in specs(each, argument)]
	return f"\t\t{each.name}) _arguments {' '.join(words)} ;;"


def specs(each: Subcommand, argument: Argument) -> list[str]:
	"""ARGUMENT of a subcommand for _arguments."""
	action = "_files" if argument.is_file else " "
	if argument.choices:
		action = f"({' '.join(argument.choices)})"
	if argument.flags:
		tail = f":{described(argument.value)}:{action}" if argument.value else ""
		return [f"{flag}[{described(argument.help)}]{tail}" for flag in argument.flags]
	action = POSITIONAL.get(each.name, action)
	message = described(argument.value)
	return [f"*:{message}:{action}" if argument.many else f":{message}:{action}"]
