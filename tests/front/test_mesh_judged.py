# SPDX-License-Identifier: GPL-2.0
"""krping mesh: that it cannot be told who is worse is said in the table, the document, the page and
the exit status, and is never put as that nobody is."""

import collections
import json

import front
from front import krping
from ktap import Suite
from mesh_hosts import play

suite = Suite(limit=120)

ONE = ("--test", "wlat", "--sizes", "64", "--json", "x")
LATE = 20_000_000


def loaded():
	"""The document."""
	with open("x", encoding="utf-8") as file:
		return json.load(file)


def last(out):
	"""The verdict of the table's last line."""
	line = out.splitlines()[-1]
	assert line.startswith("# ") and "beyond limits, " in line, line
	return line.partition("beyond limits, ")[2]


@suite.test("one of 4 hosts is 40 ms late, among figures of all kinds of noise: it is named, or not judged")
def late():
	verdicts = collections.Counter()
	with front.directory():
		for seed in range(40):
			spread = (0.03, 0.3, 0.8, 1.4)[seed % 4]
			_, out, _ = play(*ONE, hosts="h[0-3]", late={"h2": LATE}, spread=spread, seed=seed)
			found = loaded()
			named = {(each["kind"], each["client"]) for each in found["outliers"]}
			told = ("host", "h2") in named
			unjudged = [each for each in found["unjudged"] + found["doubtful"]
				    if each["figure"] in ("p50_ns", "p99_ns")]
			assert told or unjudged, (seed, out)
			assert last(out) == found["verdict"], (out, found["verdict"])
			assert found["verdict"] != "0 outliers", out
			assert ("# not judged" in out) == bool(unjudged), out
			verdicts["named" if told else "not judged"] += 1
	assert verdicts["named"] >= 10 and verdicts["not judged"] >= 10, verdicts


@suite.test("what is judged, and that nobody is worse, is said as before")
def judged():
	with front.directory():
		_, out, _ = play(*ONE, "--fail-on-outliers", "--html", "y")
		found = loaded()
		assert last(out) == found["verdict"] == "0 outliers" and "not judged" not in out, out
		assert not found["unjudged"] and not found["doubtful"], found["unjudged"]


@suite.test("fewer than 4 hosts are not judged, in one line, and --fail-on-outliers is refused")
def few():
	for hosts, count in (("h[0-1]", 2), ("h[0-2]", 3)):
		with front.directory():
			_, out, _ = play("--json", "x", "--html", "y", hosts=hosts)
			found = loaded()
			sentence = (f"p50, p99, retransmits, bandwidth of hosts: not judged ({count} "
				    "hosts; it takes 4); in 4 of 4 matrices, such as wlat, 64 bytes")
			assert out.count("not judged (") == 1 and sentence in out, out
			assert last(out) == found["verdict"] == "outliers not judged", out
			fields = [tuple(each[name] for name in ("who", "count", "noise", "factor"))
				  for each in found["unjudged"]]
			assert fields == [("hosts", count, None, None)] * 10, fields
			with open("y", encoding="utf-8") as file:
				assert '"verdict":"outliers not judged"' in file.read()
			asked, _, err = play("--fail-on-outliers", hosts=hosts, status=2)
			assert asked is None and f"{count} hosts are too few" in err, err
	with front.directory():
		status, _, err = krping("mesh", "--hosts", "a,b", "--fail-on-outliers")
		assert status == 2 and "it takes 4" in err, err


@suite.test("noise is told, with what it hides; with --fail-on-outliers it is a missed limit")
def noisy():
	with front.directory():
		_, out, _ = play(*ONE, spread=1.2, hosts="h[0-3]")
		found = loaded()
		hosts, = (each for each in found["unjudged"]
			  if (each["figure"], each["who"]) == ("p50_ns", "hosts"))
		assert hosts["count"] == 4 and hosts["noise"] > 0.3 and hosts["factor"] > 4, hosts
		assert "p50 of hosts: not judged (4 hosts, noise " in out, out
		factor = round(hosts["factor"], 1)
		assert f"less than {factor:g} times worse may go unnoticed)" in out, out
		assert last(out) == "no outliers by 1 of 3 figures, and the others not judged", out
		play(*ONE, "--fail-on-outliers", spread=1.2, hosts="h[0-3]", status=3)
		# Who stands out is named all the same, and others may still go unnoticed.
		_, out, _ = play(*ONE, spread=0.6, late={"h3": 100 * LATE})
		assert "host h3: p50 is" in out, out
		count = len(loaded()["outliers"])
		assert last(out) == f"{count} outliers, and 2 of 3 figures not judged", out
		# Noise is less by repetitions, of which the median counts.
		_, out, _ = play(*ONE, "--repeat", "40", "--confirm", "0", spread=0.6)
		assert last(out) == "0 outliers", out


@suite.test("who stands out, while all others are as bad the second time, is neither accused nor cleared")
def doubtful():
	with front.directory():
		# The others are slow when h4 is run again, and it is as slow as before.
		_, out, _ = play(*ONE, passing={"h4": (5, 14)}, slow_from={14: 5}, status=0)
		found = loaded()
		who = {(each["kind"], each["client"]) for each in found["doubtful"]}
		assert who == {("host", "h4")}, out
		assert not found["outliers"] and not found["dismissed"], out
		assert last(out) == "no outliers by 1 of 3 figures, and the others not judged", out
		play(*ONE, "--fail-on-outliers", passing={"h4": (5, 14)}, slow_from={14: 5}, status=3)


suite.main()
