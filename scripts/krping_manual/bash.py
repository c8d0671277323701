# SPDX-License-Identifier: GPL-2.0
"""Completion for bash."""

from collections.abc import Mapping

from krping_front.option_help import Option

from .beside import Beside
from .facts import DIRECTORIES, Facts, Subcommand
from .shell import filled, quoted

TEMPLATE = r"""# bash completion for krping -*- shell-script -*-
# Made by scripts/manual from the tables of krping @VERSION@.

# _krping_names DIRECTORY: the names of what is in it.
_krping_names() {
	local each
	for each in "$1"/*; do
		[ ! -e "$each" ] || echo "${each##*/}"
	done
}

# _krping_values NAME: the words that the option NAME of a command takes.
_krping_values() {
	case $1 in
@VALUES@
	esac
}

# _krping_flags SUBCOMMAND: its options.
_krping_flags() {
	case $1 in
@FLAGS@
	esac
}

# _krping_choices SUBCOMMAND OPTION: the words that may follow it, "FILE" for files, or "ANY". Behind
# "LIST" several may be given, with commas between them.
_krping_choices() {
	case $1:$2 in
@CHOICES@
	esac
}

# The options of commands. Those with a value end with =.
_krping_options='@OPTIONS@'

# Sets of roles and tests, the place of the set that each option goes with, the test that it asks
# for, and what it takes for itself.
declare -ga _krping_sets=(
@SETS@
)
declare -gA _krping_places=(@PLACES@)
declare -gA _krping_tests=(@TESTS@)
declare -gA _krping_taken=(@TAKEN@)

# _krping_offered OPTIONS: the options that may stand behind these, which have commas between them.
_krping_offered() {
	local each name role='' test='' taken=' ' pattern mine
	local -a given
	IFS=', ' read -ra given <<<"$1"
	for each in "${given[@]}"; do
		name=${each%%=*}
		[ -n "$name" ] || continue
		taken+="$name ${_krping_taken[$name]-} "
		[[ ${_krping_taken[$name]-} != @role* ]] || role=$name
		test=${_krping_tests[$name]-$test}
	done
	pattern="*${role:+ $role}:${test:+$test }*"
	for each in $_krping_options; do
		name=${each%=}
		mine=${_krping_taken[$name]-}
		# shellcheck disable=SC2053 # a pattern
		[[ ${_krping_sets[${_krping_places[$name]}]} = $pattern && $taken != *" $name "* ]] &&
			[[ $mine != @* || $taken != *" ${mine%% *} "* ]] && echo "$each"
	done
}

# _krping_command WORD BEFORE: what WORD, which are options with commas between them, may become
# behind the options BEFORE.
_krping_command() {
	local word=$1 before part name each head
	part=${word##*,}
	before=${word%"$part"}
	case $part in
	*=*)
		name=${part%%=*} head=
		case $part in
		neg=*+*) part=${part#neg=} head=${part%+*}+ ;;
		esac
		for each in $(_krping_values "$name"); do
			echo "$before$name=$head$each"
		done
		;;
	*)
		for each in $(_krping_offered "$2,$before"); do
			echo "$before$each"
		done
		;;
	esac
}

_krping() {
	local line=${COMP_LINE:0:COMP_POINT} word before sub='' each candidates='' found
	local -a words
	word=${line##*[[:space:]]}
	read -ra words <<<"${line%"$word"}"
	before=${words[-1]}
	for each in "${words[@]:1}"; do
		case $each in
		-*) ;;
		*) sub=$each; break ;;
		esac
	done
	COMPREPLY=()
	if [ -z "$sub" ]; then
		candidates='@SUBCOMMANDS@ --help --version'
	else
		found=$(_krping_choices "$sub" "$before")
		case $found in
		'')
			case $sub:$word in
			*:-*) candidates=$(_krping_flags "$sub") ;;
			run:*)
				found=${words[*]:2}
				candidates=$(_krping_command "$word" "${found// /,}")
				# More options may follow.
				compopt -o nospace 2>/dev/null
				;;
			options:*) candidates=${_krping_options//=/} ;;
			conform:*) [ "$before" = conform ] || candidates=$(_krping_values neg) ;;
			report:* | plot:*)
				compopt -o default 2>/dev/null
				return
				;;
			esac
			;;
		FILE)
			compopt -o default 2>/dev/null
			return
			;;
		ANY) return ;;
		'LIST '*)
			compopt -o nospace 2>/dev/null
			for each in ${found#LIST }; do
				candidates+=" ${word%"${word##*,}"}$each"
			done
			;;
		'FILE '*)
			compopt -o default 2>/dev/null
			candidates=${found#FILE }
			;;
		*) candidates=$found ;;
		esac
	fi
	# Readline replaces only what stands behind the last of these in the word.
	each=${COMP_WORDBREAKS//[!=:]/}
	before=${each:+${word%"${word##*[$each]}"}}
	for each in $candidates; do
		[[ $each != "$word"* ]] || COMPREPLY+=("${each#"$before"}")
	done
}

complete -F _krping krping
"""


def completion(facts: Facts) -> str:
	"""The file."""
	options = [option["name"] + ("=" if option["kind"] != "flag" else "") for option in facts.options]
	# With a value and without.
	options += [f"{option['name']}=" for option in facts.options
		    if option["kind"] == "flag" and "words" in option]
	flags = {each.name: [flag for argument in each.options for flag in argument.flags]
		 for each in facts.subcommands}
	beside = Beside.of(facts)
	parts = {
		"VERSION": facts.version,
		"VALUES": cases({option["name"]: value for option in facts.options
				 if (value := values(facts, option))}),
		"FLAGS": cases({name: printed(words) for name, words in flags.items()}),
		"CHOICES": cases({pattern: words for each in facts.subcommands
				  for pattern, words in choices(each).items()}),
		"OPTIONS": " ".join(options),
		"SETS": "\n".join(f"\t{quoted(each)}" for each in beside.sets),
		"PLACES": array(beside.places),
		"TESTS": array(beside.tests),
		"TAKEN": array(beside.taken),
		"SUBCOMMANDS": " ".join(each.name for each in facts.subcommands),
	}
	return filled(TEMPLATE, parts)


def printed(words: list[str]) -> str:
	"""What prints WORDS."""
	return f"echo {quoted(' '.join(words))}"


def listed(directory: str) -> str:
	"""What prints the names in DIRECTORY."""
	return f"_krping_names {directory}"


def values(facts: Facts, option: Option) -> str:
	"""What prints the values of OPTION that are known; "" for none."""
	words, directory = facts.words(option), DIRECTORIES.get(option["name"])
	return listed(directory) if directory else printed(words) if words else ""


def cases(commands: dict[str, str]) -> str:
	"""Cases of a shell's case, each of which runs a command."""
	return "\n".join(f"\t{pattern}) {command} ;;" for pattern, command in commands.items())


def array(values: Mapping[str, str | int]) -> str:
	"""The elements of an associative array of VALUES."""
	return " ".join(f"[{name}]={quoted(str(value))}" for name, value in values.items())


def choices(each: Subcommand) -> dict[str, str]:
	"""What prints what may follow the options of a subcommand that take a value."""
	found: dict[str, str] = {}
	for argument in each.options:
		if argument.value:
			kind = ["FILE"] if argument.is_file else ["LIST"] if argument.is_list else []
			words = kind + argument.words if argument.words else kind or ["ANY"]
			command = listed(argument.directory) if argument.directory else printed(words)
			found |= {f"{each.name}:{flag}": command for flag in argument.flags}
	return found
