# SPDX-License-Identifier: GPL-2.0
"""Completion for bash."""

from .facts import Facts, Subcommand
from .shell import filled, quoted

TEMPLATE = r"""# bash completion for krping -*- shell-script -*-
# Made by scripts/manual from the tables of krping @VERSION@.

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

# _krping_choices SUBCOMMAND OPTION: the words that may follow it, "FILE" for files, or "ANY".
_krping_choices() {
	case $1:$2 in
@CHOICES@
	esac
}

# The options of commands. Those with a value end with =.
_krping_options='@OPTIONS@'

# _krping_command WORD: what WORD, which are options with commas between them, may become.
_krping_command() {
	local word=$1 before part name each
	part=${word##*,}
	before=${word%"$part"}
	case $part in
	*=*)
		name=${part%%=*}
		for each in $(_krping_values "$name"); do
			echo "$before$name=$each"
		done
		;;
	*)
		for each in $_krping_options; do
			# Each is given once.
			[[ ,$before = *,"$each"* ]] || echo "$before$each"
		done
		;;
	esac
}

_krping() {
	local line=${COMP_LINE:0:COMP_POINT} word before sub='' each candidates=''
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
		case $(_krping_choices "$sub" "$before") in
		'')
			case $sub:$word in
			*:-*) candidates=$(_krping_flags "$sub") ;;
			run:*)
				candidates=$(_krping_command "$word")
				# More options may follow.
				compopt -o nospace 2>/dev/null
				;;
			options:*) candidates=${_krping_options//=/} ;;
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
		*) candidates=$(_krping_choices "$sub" "$before") ;;
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
	values = {option["name"]: option["words"] for option in facts.options if "words" in option}
	flags = {each.name: [flag for argument in each.options for flag in argument.flags]
		 for each in facts.subcommands}
	parts = {
		"VERSION": facts.version,
		"VALUES": cases({name: " ".join(words) for name, words in values.items()}),
		"FLAGS": cases({name: " ".join(words) for name, words in flags.items()}),
		"CHOICES": cases({pattern: words for each in facts.subcommands
				  for pattern, words in choices(each).items()}),
		"OPTIONS": " ".join(options),
		"SUBCOMMANDS": " ".join(each.name for each in facts.subcommands),
	}
	return filled(TEMPLATE, parts)


def cases(words: dict[str, str]) -> str:
	"""Cases of a shell's case, each of which prints words."""
	return "\n".join(f"\t{pattern}) echo {quoted(text)} ;;" for pattern, text in words.items())


def choices(each: Subcommand) -> dict[str, str]:
	"""What may follow the options of a subcommand that take a value."""
	found: dict[str, str] = {}
	for argument in each.options:
		if argument.value:
			words = " ".join(argument.choices) or ("FILE" if argument.is_file else "ANY")
			found |= {f"{each.name}:{flag}": words for flag in argument.flags}
	return found
