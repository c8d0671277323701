# SPDX-License-Identifier: GPL-2.0
"""Arguments of all subcommands: numbers and times take units."""

import argparse

import front
from front import krping
from krping_front import options
from ktap import Suite

suite = Suite(limit=60)

# Metavars of numbers, times and bandwidths.
MEASURES = ("N", "S", "MS", "TIME", "[CASE=]TIME", "BYTES", "[CASE=]BYTES", "SIZES", "RATES")


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


def parsed(*words):
	"""The arguments of WORDS."""
	return vars(front.program.parser(list(words)).parse_args(list(words)))


@suite.test("each argument that is a number or a time takes a unit, but for ports")
def all_units():
	found = []
	for name, action in actions():
		where = (name, action.option_strings, action.metavar)
		assert action.metavar not in MEASURES or action.type is not None, where
		if action.metavar == "P" or action.type is None or action.choices or not takes(action, "64"):
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
	sweep, mesh = ("sweep", "192.0.2.1"), ("mesh", "--hosts", "a,b")
	for words, name, expected in (
			((*sweep, "--count", "1k"), "count", 1000), ((*sweep, "--count", "7"), "count", 7),
			((*sweep, "--repeat", "1K"), "repeat", 1000),
			((*sweep, "--duration", "2m"), "duration", 120),
			((*sweep, "--sizes", "1k"), "sizes", [1024]),
			((*mesh, "--count", "2M"), "count", 2_000_000),
			((*mesh, "--rounds", "1k"), "rounds", 1000), ((*mesh, "--repeat", "1k"), "repeat", 1000),
			((*mesh, "--timeout", "500ms"), "timeout", 0.5), ((*mesh, "--timeout", "5s"), "timeout", 5),
			((*mesh, "--timeout", "24h"), "timeout", 86400), ((*mesh, "--timeout", "7"), "timeout", 7),
			((*mesh, "--connect-timeout", "1.5s"), "connect_timeout", 1.5),
			(("watch", "--interval", "500ms"), "interval", 0.5),
			(("watch", "--interval", "0.1"), "interval", 0.1),
			(("watch", "--interval", "1h"), "interval", 3600),
			(("watch", "--count", "1G"), "count", 10**9),
			(("test", "--timeout", "2s"), "timeout", 2000),
			(("conform", "192.0.2.1", "--timeout", "50"), "timeout", 50)):
		assert parsed(*words)[name] == expected, (words, parsed(*words)[name])


@suite.test("what is no number or no time of these units is refused")
def refused():
	for text in ("", "k", "s", "5 parsecs", "5S", "99ms", "2h", "61m", "nan", "inf", "-1s", "0x5s", "5ss"):
		status, out, err = krping("watch", f"--interval={text}")
		assert (status, out) == (2, "") and f"{text!r} is no time from 0.1 to 3600 seconds, such as" in err, (
			text, err)
	for text in ("", "k", "1kk", "1T", "1.5k", "-1k", "1s", "01"):
		status, out, err = krping("watch", f"--count={text}")
		assert (status, out) == (2, "") and f"{text!r} is no whole number from 1" in err, (text, err)
	# The module takes no unit there.
	status, _, err = krping("sweep", "192.0.2.1", "--port", "9k")
	assert status == 2 and "'9k' is no whole number from 1 to 65535" in err, err
	assert options.number_of("port")("0x10") == 16


if __name__ == "__main__":
	suite.main()
