# SPDX-License-Identifier: GPL-2.0
"""Arguments of all subcommands: numbers and times take units, and for words that there are not
those are named that were meant."""

import argparse
import subprocess
import sys

import front
from front import krping
from krping_front import meant
from krping_front.command import Command
from krping_front.tables import TABLES
from ktap import Suite

suite = Suite(limit=60)

# Metavars of numbers, times and bandwidths.
MEASURES = ("N", "S", "MS", "TIME", "[CASE=]TIME", "BYTES", "[CASE=]BYTES", "SIZES", "RATES")

SWEEP = "sweep 192.0.2.1"
MESH = "mesh --hosts a,b"


def actions():
	"""Each subcommand with each of its arguments."""
	for name in front.program.SUBCOMMANDS:
		subparsers, = [each for each in front.program.parser([name])._actions
			       if isinstance(each, argparse._SubParsersAction)]
		for action in subparsers.choices[name]._actions:
			yield name, action


def takes(action, text):
	"""Whether ACTION takes TEXT."""
	try:
		action.type(text)
	except argparse.ArgumentTypeError:
		return False
	return True


def error(*words):
	"""The program that refuses WORDS, and what it says."""
	status, out, err = krping(*words)
	assert (status, out) == (2, "") and err.startswith("usage: krping "), (words, status, out, err)
	program, _, said = err.splitlines()[-1].partition(": error: ")
	return program, said


@suite.test("each argument that is a number or a time takes a unit, but for ports")
def all_units():
	found = []
	for name, action in actions():
		where = (name, action.option_strings, action.metavar)
		assert action.metavar not in MEASURES or action.type is not None, where
		if action.metavar == "P" or action.type is None or action.choices:
			continue
		if not takes(action, "64"):
			continue
		# --confirm takes no number as large as 1k.
		assert any(takes(action, text) for text in ("1k", "0k", "5s", "500ms")), where
		found.append(f"{name} {action.option_strings[0]}")
	for each in ("sweep --count", "sweep --duration", "sweep --sizes", "sweep --rates", "mesh --rounds",
		     "mesh --confirm", "mesh --timeout", "watch --interval", "watch --count",
		     "test --max-p99", "test --min-bw", "conform --timeout", "report --size"):
		assert each in found, (each, found)


@suite.test("units are those of commands: K is 1000 of what is counted, and times come to what is said")
def values():
	for text, name, expected in (
			(f"{SWEEP} --count 1k", "count", 1000), (f"{SWEEP} --count 7", "count", 7),
			(f"{SWEEP} --repeat 1K", "repeat", 1000),
			(f"{SWEEP} --duration 2m", "duration", 120),
			(f"{SWEEP} --sizes 1k", "sizes", [1024]),
			(f"{MESH} --count 2M", "count", 2_000_000),
			(f"{MESH} --rounds 1k", "rounds", 1000), (f"{MESH} --repeat 1k", "repeat", 1000),
			(f"{MESH} --timeout 500ms", "timeout", 0.5), (f"{MESH} --timeout 5s", "timeout", 5),
			(f"{MESH} --timeout 24h", "timeout", 86400), (f"{MESH} --timeout 7", "timeout", 7),
			(f"{MESH} --connect-timeout 1.5s", "connect_timeout", 1.5),
			("watch --interval 500ms", "interval", 0.5),
			("watch --interval 0.1", "interval", 0.1),
			("watch --interval 1h", "interval", 3600), ("watch --count 1G", "count", 10**9),
			("test --timeout 2s", "timeout", 2000),
			("conform 192.0.2.1 --timeout 50", "timeout", 50)):
		words = text.split()
		arguments = vars(front.program.parser(words).parse_args(words))
		assert arguments[name] == expected, (text, arguments[name])


@suite.test("what is no number or no time of these units is refused")
def refused():
	for text in ("", "k", "s", "5 parsecs", "5S", "99ms", "2h", "61m", "nan", "inf", "-1s", "0x5s",
		     "5ss"):
		said = error("watch", f"--interval={text}")[1]
		assert f"{text!r} is no time from 0.1 to 3600 seconds, such as" in said, (text, said)
	for text in ("", "k", "1kk", "1T", "1.5k", "-1k", "1s", "01"):
		said = error("watch", f"--count={text}")[1]
		assert f"{text!r} is no whole number from 1" in said, (text, said)
	# The module takes no unit there.
	said = error(*SWEEP.split(), "--port", "9k")[1]
	assert "'9k' is no whole number from 1 to 65535" in said, said


@suite.test("a subcommand that there is not: what does the same, by words of other tools or by letters")
def subcommands():
	client = "krping run client,addr=ADDR"
	for word, expected in (
			("ib_write_bw", f"{client},bw"), ("ib_send_lat", f"{client},slat"),
			("bw", f"{client},bw"), ("Ib_Read_Lat", f"{client},rlat"),
			("rping", client), ("ping", client), ("server", "krping run server"),
			("persist", "krping run server,persist"),
			("loopback", "krping run loopback,addr=ADDR"), ("kill", "krping run stop=0"),
			("conformance", "krping conform"), ("all", "krping sweep"),
			("swep", "krping sweep")):
		said = error(word)
		assert said == ("krping", f"{word!r} is no subcommand; did you mean '{expected}'?"), said
	assert error("REPORT")[1].endswith("; there are " + ", ".join(front.program.SUBCOMMANDS))
	assert error("warmup")[1].endswith("; each microbenchmark warms up before it measures")


@suite.test("all that is proposed is a subcommand, or a command of one role")
def proposed():
	for word in (*TABLES["words"], *(row["name"] for row in TABLES["options"])):
		said = meant.subcommand(word, front.program.SUBCOMMANDS).split("'")[1].split()
		assert said[0] == "krping" and said[1] in front.program.SUBCOMMANDS, (word, said)
		if said[1] == "run" and not said[2].startswith(("stop=", "--")):
			assert Command(said[2]).role is not None, (word, said)


@suite.test("an argument that there is not: what does the same, by words of other tools or by letters")
def arguments():
	for text, expected in (
			(f"{SWEEP} --iters 5", "did you mean '--count'?"),
			(f"{SWEEP} --time=5", "did you mean '--duration'?"),
			(f"{SWEEP} --bs 4K", "did you mean '--sizes'?"),
			(f"{SWEEP} --size 4K", "did you mean '--sizes'?"),
			(f"{SWEEP} --num_qps 4", "did you mean '--option qps=4'?"),
			(f"{SWEEP} --poll", "did you mean '--option poll'?"),
			(f"{SWEEP} --ib_read_lat", "did you mean '--test rlat'?"),
			(f"{SWEEP} --source_ip x", "did you mean '--src'?"),
			(f"{SWEEP} --report-gbits", "did you mean '--gbits'?"),
			(f"{SWEEP} --ramp_time 5", "each microbenchmark warms up before it measures"),
			("run client --iters 5", "did you mean 'count=1000' in COMMAND?"),
			("run client --ib_write_bw", "did you mean 'bw' in COMMAND?"),
			("caps 192.0.2.1 --cleint", "did you mean '--client'?"),
			("test --hca x", "did you mean '--dev'?"),
			("watch --intervall 5", "did you mean '--interval'?"),
			(f"{MESH} --runtime 5", "did you mean '--duration'?"),
			(f"{MESH} --iters --all", "did you mean '--count'?; did you mean 'krping sweep'?")):
		program, said = error(*text.split())
		assert program == f"krping {text.split()[0]}", program
		assert said.startswith("unrecognized arguments: --"), said
		assert said.endswith(f"; {expected}"), (text, said)
	# Nothing is said where nothing there was meant.
	for text, rest in (("watch", "--time 5"), (SWEEP, "--listen"), (SWEEP, "--qqqq"), ("watch", "5")):
		said = error(*text.split(), *rest.split())[1]
		assert said == f"unrecognized arguments: {rest}", said


# Runs a program with arguments, and says what it has imported.
IMPORTED = """
import runpy, sys
del sys.argv[0]
try:
	runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
	print(*sys.modules, file=sys.stderr)
"""


@suite.test("the help of a subcommand imports no more than its arguments need")
def imports():
	for name, (module, _) in front.program.SUBCOMMANDS.items():
		# It lists the pictures that it draws.
		if name == "plot":
			continue
		done = subprocess.run((sys.executable, "-c", IMPORTED, front.PROGRAM, name, "--help"),
				      capture_output=True, text=True, check=True)
		imported = done.stderr.split()
		assert f"krping_front.arguments.{name}" in imported, (name, imported)
		assert not {f"krping_front.{module}", "krping_front.runner"} & {*imported}, (name, imported)


if __name__ == "__main__":
	suite.main()
