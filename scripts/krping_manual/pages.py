# SPDX-License-Identifier: GPL-2.0
"""The man pages: krping(8), of the program, and krping-commands(7), of what it writes."""

from krping_front import option_help

from .facts import Argument, Facts, Subcommand
from .roff import bold, example, italic, item, page, paragraphs, text

FILES = {
	"/proc/krping": "a write runs a command, and a read shows the running threads",
	"/sys/kernel/debug/krping/results": "the results of the last runs, one JSON object a line",
	"/sys/kernel/debug/krping/errors": "the last commands that failed, and why",
	"/sys/kernel/debug/krping/options": "the options of the module that is loaded, as JSON",
	"/sys/module/krping/version": "the version of the module that is loaded",
}


def program(facts: Facts) -> str:
	"""krping(8)."""
	body = [".SH NAME", text("krping - test RDMA from the kernel"), ".SH SYNOPSIS"]
	body += [line for each in facts.subcommands for line in (synopsis(each), ".br")][:-1]
	body += [".SH DESCRIPTION", *paragraphs("""
		krping is a module of the Linux kernel that tests RDMA: by a ping/pong, microbenchmarks,
		conformance tests, and block devices over RDMA. This program is its front: it runs
		commands, shows how far they have come, and prints, compares and draws their results.

		Most subcommands need root and the module. What a command may be is in
		krping-commands(7).
	""")]
	body += [".SH OPTIONS", *item(bold("--help"), "Print a summary, also of each subcommand."),
		 *item(bold("--version"), "Print the versions of the program and of the module.")]
	body.append(".SH SUBCOMMANDS")
	for each in facts.subcommands:
		body += described(each)
	body.append(".SH FILES")
	for path, what in FILES.items():
		body += item(italic(path), what)
	body += [".SH SEE ALSO", *see("krping-commands", 7, "rdma", 8, "rping", 1, "ib_write_bw", 1)]
	return page("krping", 8, facts.version, body)


def see(*names: str | int) -> list[str]:
	"""A line of references: names and sections in turn."""
	pairs = zip(names[::2], names[1::2])
	return [f".BR {text(str(name))} ({section})" + ("," if number < len(names) // 2 else "")
		for number, (name, section) in enumerate(pairs, 1)]


def synopsis(each: Subcommand) -> str:
	"""A line of all subcommands."""
	words = [italic(argument.value) + ("..." if argument.many else "") for argument in each.positional]
	return " ".join([bold(f"krping {each.name}"), "[" + italic("OPTION") + "]...", *words])


def described(each: Subcommand) -> list[str]:
	"""The section of a subcommand."""
	lines = [f".SS {each.name}", *paragraphs(each.description)]
	for argument in each.arguments:
		lines += item(form(argument), argument.help.removesuffix(".") + ".")
	return [*lines, ".PP", *example(each.epilog)]


def form(argument: Argument) -> str:
	"""ARGUMENT as it is given."""
	if not argument.flags:
		return italic(argument.value)
	value = "|".join(argument.choices) or argument.value
	return ", ".join(bold(flag) for flag in argument.flags) + (f" {italic(value)}" if value else "")


def commands(facts: Facts) -> str:
	"""krping-commands(7)."""
	body = [".SH NAME", text("krping-commands - commands of the krping kernel module"), ".SH SYNOPSIS",
		*example("krping run OPTION[=VALUE] OPTION[=VALUE] ...\n"
			 'echo "OPTION[=VALUE],OPTION[=VALUE],..." >/proc/krping')]
	body += [".SH DESCRIPTION", *paragraphs("""
		A command is options with commas between them, in any order, each given once. It has one
		of client, server and loopback, or is one of those that stand alone: caps, neg=, stop=
		and help. Without another test it runs the ping/pong.

		Numbers are decimal, or hexadecimal behind 0x. A write to /proc/krping returns when the
		command has ended, with the errno of its first failure. The reason is in the kernel's log
		and in /sys/kernel/debug/krping/errors.
	""")]
	body.append(".SH TESTS")
	for test in facts.tests:
		asked = test.get("option")
		body += item(bold(test["name"]), f"{test['title']}."
			     + (f" Asked for by {asked}." if asked and asked != test["name"] else ""))
	body.append(".SH OPTIONS")
	for option in facts.options:
		body += item(bold(option_help.form(option)), f"{option['help']}.", *details(option))
	body += [".SH EXAMPLES", *example("""\
krping run loopback,addr=192.0.2.2,wlat,count=10000
krping run server,persist
krping run client,addr=192.0.2.1,bw,size=64K,qps=4,duration=10
echo "client,addr=192.0.2.1,count=1000,validate" | sudo tee /proc/krping""")]
	body += [".SH SEE ALSO", *see("krping", 8)]
	return page("krping-commands", 7, facts.version, body)


def details(option: option_help.Option) -> list[str]:
	"""What else the table says of OPTION, a sentence a line."""
	facts = option_help.facts(option)
	return [f"{name[0].upper()}{name[1:]}: {words}." for name, words in facts.items() if words]
