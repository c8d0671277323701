# SPDX-License-Identifier: GPL-2.0
"""Completion for zsh."""

import re
from collections.abc import Mapping

from krping_front.option_help import Option

from .beside import Beside
from .facts import DIRECTORIES, Argument, Facts, Subcommand
from .shell import filled, quoted

TEMPLATE = r"""#compdef krping
# Made by scripts/manual from the tables of krping @VERSION@.

# _krping_list DIRECTORY: print the names of what is in it.
_krping_list() {
	print -l -- $1/*(N:t)
}

# _krping_here OPTION... DIRECTORY: add these, with options of compadd.
_krping_here() {
	compadd "${(@)argv[1,-2]}" -- ${(f)"$(_krping_list $argv[-1])"}
}

# Conformance tests, with + between them, with options of compadd.
_krping_cases() {
	compset -P '*+'
	# Another may follow.
	compadd "$@" -S '' -- @CASES_OF_NEG@
}

# What --known takes.
_krping_known() {
	_alternative 'drivers:driver:(@KNOWN@)' 'files:file:_files'
}

# Options of a command, each with its place among the sets of roles and tests below, the test that it
# asks for, and what it takes for itself.
typeset -ga _krping_values _krping_sets
typeset -gA _krping_places _krping_tests _krping_taken
_krping_values=(
@VALUES@
)
_krping_sets=(
@SETS@
)
_krping_places=(@PLACES@)
_krping_tests=(@TESTS@)
_krping_taken=(@TAKEN@)

# Options of a command, with commas between them: those that may stand beside the ones that are there.
_krping_command() {
	local each name role= test= taken=' ' mine here=",${PREFIX%,*},"
	local -a given offered
	[[ $PREFIX = *,* ]] || here=,
	given=(${(s:,:)${(j:,:)words[2,CURRENT-1]}} ${(s:,:)here})
	for each in $given; do
		name=${each%%=*}
		taken+="$name ${_krping_taken[$name]-} "
		[[ ${_krping_taken[$name]-} != @role* ]] || role=$name
		test=${_krping_tests[$name]-$test}
	done
	for each in $_krping_values; do
		name=${each%%\[*}
		# The ones of this word are known to _values.
		if [[ $here != *,${name}[,=]* ]]; then
			mine=${_krping_sets[${_krping_places[$name]} + 1]}
			[[ $mine = *${role:+ $role}:${test:+$test }* && $taken != *" $name "* ]] || continue
			mine=${_krping_taken[$name]-}
			[[ $mine != @* || $taken != *" ${mine%% *} "* ]] || continue
		fi
		offered+=("$each")
	done
	_values -s , option $offered
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
	beside = Beside.of(facts)
	parts = {
		"VERSION": facts.version,
		"VALUES": lines([value(option) for option in facts.options]),
		"SETS": lines(beside.sets),
		"PLACES": array(beside.places),
		"TESTS": array(beside.tests),
		"TAKEN": array(beside.taken),
		"CASES_OF_NEG": " ".join(["all", *facts.families, *facts.cases]),
		"KNOWN": " ".join(facts.known),
		"NAMES": " ".join(option["name"] for option in facts.options),
		"SUBCOMMANDS": lines([f"{each.name}:{each.summary}" for each in facts.subcommands]),
		"CASES": "\n".join(case(each) for each in facts.subcommands),
	}
	return filled(TEMPLATE, parts)


def lines(words: list[str]) -> str:
	"""WORDS, each as a line of an array."""
	return "\n".join(f"\t\t{quoted(word)}" for word in words)


def array(values: Mapping[str, str | int]) -> str:
	"""The elements of an associative array of VALUES."""
	return " ".join(f"{name} {quoted(str(value))}" for name, value in values.items())


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
	directory = DIRECTORIES.get(option["name"])
	if directory:
		return f"{name}:value:_krping_here -qS , {directory}"
	if option["name"] == "neg":
		return f"{name}:value:_krping_cases"
	return f"{name}:value:({words})" if words else f"{name}:value: "


def case(each: Subcommand) -> str:
	"""The case of a subcommand."""
	words = [quoted(spec) for argument in each.arguments for spec in specs(each, argument)]
	return f"\t\t{each.name}) _arguments {' '.join(words)} ;;"


def action(argument: Argument) -> str:
	"""What completes the value of ARGUMENT."""
	words = " ".join(argument.words)
	if argument.directory:
		return f"_krping_here {argument.directory}"
	if argument.words and argument.is_file:
		return "_krping_known"
	if argument.words and argument.is_list:
		return f" _values -s , word {words}"
	return f"({words})" if words else "_files" if argument.is_file else " "


def specs(each: Subcommand, argument: Argument) -> list[str]:
	"""ARGUMENT of a subcommand for _arguments."""
	message = described(argument.value)
	if argument.flags:
		tail = f":{message}:{action(argument)}" if argument.value else ""
		return [f"{flag}[{described(argument.help)}]{tail}" for flag in argument.flags]
	found = POSITIONAL.get(each.name, action(argument))
	return [f"*:{message}:{found}" if argument.many else f":{message}:{found}"]
