# SPDX-License-Identifier: GPL-2.0
"""krping mesh: node sets, patterns and clocks, which need no hosts."""

import dataclasses
import importlib.util
import time

from front import patched
from krping_front.errors import Quit
from krping_front.mesh import clock, nodeset, plan
from krping_front.mesh.clock import Clock
from krping_front.mesh.pairs import part_of
from krping_front.mesh.plan import Pattern, Plan
from ktap import Skip, Suite

suite = Suite(limit=60)


def refused(word, function, *arguments):
	"""FUNCTION refuses ARGUMENTS, with WORD in its message."""
	try:
		found = function(*arguments)
	except Quit as quit_:
		assert word in str(quit_), quit_
	else:
		raise AssertionError(found)


@suite.test("node sets without ClusterShell")
def node_sets():
	with patched(nodeset, NodeSet=None):
		for text, names in (
				("a", ["a"]), ("b,a,b", ["b", "a"]),
				("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
				("n[08-10]x", ["n08x", "n09x", "n10x"]),
				("n[0-6/3]", ["n0", "n3", "n6"]),
				("r[1-2]n[1-2],a", ["r1n1", "r1n2", "r2n1", "r2n2", "a"]),
				("a.example.org, b-1", ["a.example.org", "b-1"])):
			assert nodeset.expand(text) == names, text
		for text, word in (("", "a name is empty"), ("a,,b", "a name is empty"),
				   ("@rack1", "@ is for a group"), ("n[1-9]!n3", "! is for"),
				   ("n[3-1]", "is no range"), ("n[a]", "is no range"),
				   ("n[1", "a bracket without"), ("n]1", "a bracket without"),
				   ("-oProxyCommand=x", "is no name of a host"),
				   ("a;reboot", "is no name of a host"), ("n[1-2/0]", "is no range"),
				   ("n[1-99999]", "more than 4096"), ("n[1-99]m[1-99]", "more than")):
			refused(word, nodeset.expand, text)


@suite.test("node sets with ClusterShell")
def cluster_shell():
	if importlib.util.find_spec("ClusterShell") is None:
		raise Skip("ClusterShell is not installed")
	assert nodeset.expand("n[1-4]!n2,a") == ["a", "n1", "n3", "n4"]
	# It sorts names, and sees no more of them than it has to.
	for text, names in (("storage[1-2],client[1-3]", "storage1 storage2 client1 client2 client3"),
			    ("n[3,1-2],a,n3", "n3 n1 n2 a")):
		assert nodeset.expand(text) == names.split(), text
	refused("--hosts", nodeset.expand, "n[1")
	refused("is no name of a host", nodeset.expand, "-a")


@suite.test("hosts are in the order in which they are given, and groups are where they are named")
def order():
	def sorting(text):
		asked.append(text)
		return sorted({"@rack1": ["r2", "r1"], "z,@rack1!r2": ["z", "r1"]}[text])

	with patched(nodeset, NodeSet=sorting):
		for text, names, groups in (("s[1-2],c[1-2]", "s1 s2 c1 c2", []),
					    ("z,@rack1,a", "z r1 r2 a", ["@rack1"]),
					    ("z,@rack1!r2", "r1 z", ["z,@rack1!r2"])):
			asked = []
			assert nodeset.expand(text) == names.split(), (text, nodeset.expand(text))
			assert asked == groups, asked


@suite.test("names are folded to what expands to them")
def folded():
	for names, text in ((["n1", "n2", "n3", "n7"], "n[1-3,7]"), (["a"], "a"), (["n5"], "n5"),
			    (["n08", "n09", "n10"], "n[08-09],n10"), (["b", "n1x", "n2x"], "b,n[1-2]x")):
		assert nodeset.fold(names) == text, (names, nodeset.fold(names))
		with patched(nodeset, NodeSet=None):
			assert sorted(nodeset.expand(nodeset.fold(names))) == sorted(names)


@suite.test("in rounds of the circle each host meets each other once, and one at a time")
def circle():
	for count in (2, 3, 4, 5, 8, 9, 64, 101):
		met = set()
		rounds = list(plan.circle(count))
		assert len(rounds) == count - 1 + count % 2, count
		for pairs in rounds:
			hosts = [host for pair in pairs for host in pair]
			assert len(set(hosts)) == len(hosts) == count - count % 2, (count, pairs)
			assert all(0 <= host < count for host in hosts), pairs
			met |= {frozenset(pair) for pair in pairs}
		assert len(met) == count * (count - 1) // 2, count


@suite.test("patterns")
def patterns():
	hosts = ["a", "b", "c", "d", "e"]

	def pairs(text, directions=plan.EACH):
		chosen = plan.pattern(text, hosts, directions)
		found = [sorted(plan.pairs_of(spec, 5)) for spec in plan.rounds(chosen, 5)]
		assert len(found) == plan.round_count(chosen, 5), text
		return found

	everyone = sorted((one, other) for one in range(5) for other in range(5) if one != other)
	assert pairs("storm") == [everyone]
	assert pairs("ring") == [[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]]
	assert pairs("incast:b") == [[(0, 1), (2, 1), (3, 1), (4, 1)]]
	assert pairs("outcast:e") == [[(4, 0), (4, 1), (4, 2), (4, 3)]]
	assert pairs("distribute:2:1") == [[(0, 2), (1, 2)]]
	assert pairs("distribute:1:1") == [[(0, 1), (2, 3)]]
	for directions, rounds, each in (("each", 10, 2), ("both", 5, 4), ("one", 5, 2)):
		found = pairs("pairwise", directions)
		assert len(found) == rounds and {len(round_) for round_ in found} == {each}
		flat = sorted(pair for round_ in found for pair in round_)
		assert len(set(flat)) == len(flat) == (10 if directions == "one" else 20)
	for text, word in (("mesh", "there are pairwise, storm"), ("incast", "needs one of --hosts"),
			   ("incast:z", "needs one of --hosts"), ("ring:2", "nothing may follow"),
			   ("distribute:1", "two numbers"), ("distribute:0:1", "two numbers"),
			   ("distribute:3:3", "no more than the 5 hosts")):
		refused(word, plan.pattern, text, hosts)


@suite.test("results that a round leaves on a client's host")
def results_of():
	for text, count, most in (("pairwise", 8, 1), ("pairwise", 9, 1), ("storm", 8, 14),
				  ("ring", 8, 2), ("incast:0", 8, 1), ("outcast:0", 8, 7),
				  ("distribute:2:5", 8, 5), ("distribute:5:2", 8, 2)):
		chosen = plan.pattern(text, [f"{number}" for number in range(count)])
		assert plan.most_results(chosen, count) == most, text
	assert plan.most_results(Pattern("pairwise", directions=plan.BOTH), 8) == 2
	assert plan.most_results(Pattern("pairwise"), 1) == 0


@suite.test("the part of each host is what the pairs say")
def parts():
	for text in ("storm", "ring", "incast:1", "distribute:1:3"):
		for spec in plan.rounds(plan.pattern(text, list("0123")), 4):
			all_pairs = set(plan.pairs_of(spec, 4))
			for host in range(4):
				servers, clients = part_of(spec, host, 4)
				assert {(host, each) for each in servers} \
					== {pair for pair in all_pairs if pair[0] == host}
				assert {(each, host) for each in clients} \
					== {pair for pair in all_pairs if pair[1] == host}


@suite.test("1,000 hosts are planned in less than a second")
def fast():
	start = time.process_time()
	steps = list(Plan(Pattern("pairwise"), 1000, (("wlat", (64,)),), ("",)).steps())
	taken = time.process_time() - start
	assert len(steps) == 1998 and sum(len(step.spec) for step in steps) == 999_000
	assert taken < 1, taken


@suite.test("steps: each pair runs all tests, sizes and rails before the next one")
def steps():
	made = Plan(Pattern("ring"), 3, (("wlat", (64, 128)), ("bw", (4096,))), ("a", "b"), repeats=2)
	found = [(step.repeat, step.test, step.size, step.rail) for step in made.steps()]
	assert found[:6] == [(0, "wlat", 64, "a"), (0, "wlat", 64, "b"), (0, "wlat", 128, "a"),
			     (0, "wlat", 128, "b"), (0, "bw", 4096, "a"), (0, "bw", 4096, "b")]
	assert [each[1:] for each in found[6:]] == [each[1:] for each in found[:6]]
	assert {each[0] for each in found[6:]} == {1} and len(found) == made.step_count
	assert [step.number for step in made.steps()] == list(range(12))


@suite.test("a sample has rounds from all over the pattern")
def sample():
	made = Plan(Pattern("pairwise"), 100, (("wlat", (64,)),), ("",), sample=10)
	assert made.step_count == len(list(made.steps())) == 10
	assert made.chosen[0] == 0 and made.chosen[-1] > 150, made.chosen
	for size in (198, 500):
		made = dataclasses.replace(made, sample=size)
		assert made.step_count == len(made.chosen) == 198


@suite.test("the offset of a clock is that of the answer that took the shortest time")
def offsets():
	known = Clock()
	known.answer(sent=1000, now=6_001_500, received=3000)
	assert (known.offset, known.error) == (5_999_500, 1000)
	known.answer(sent=9000, now=6_009_100, received=9200)
	assert (known.offset, known.error) == (6_000_000, 100)
	known.answer(sent=20_000, now=6_029_000, received=30_000)
	assert (known.offset, known.error) == (6_000_000, 100)
	# It is known less and less well, until it is measured again.
	minute = 60 * 10 ** 9
	assert known.error_at(9200) == 100 and known.error_at(9200 + minute) == 100 + 3_000_000
	known.fresh = True
	known.answer(sent=minute, now=minute + 6_050_000, received=minute + 10_000)
	assert (known.offset, known.error) == (6_045_000, 5000)
	assert known.error_at(minute + 10_000) == 5000


@suite.test("a clock that is set has jumped, one that is slewed has not")
def jumps():
	second = 10 ** 9
	known = Clock()
	known.answer(0, 100 * second, 0)
	assert known.jump(110 * second, 15 * second) == 0
	# 500 ppm for 100 s.
	assert known.jump(210 * second + second // 20, 115 * second) == 0
	assert known.jump(213 * second + second // 20, 115 * second) == 3 * second
	assert known.offset == 103 * second + second // 20, known.offset
	assert known.jump(214 * second + second // 20, 116 * second) == 0
	assert known.jump(100 * second, 117 * second) < -100 * second


@suite.test("a round is announced long enough before it begins")
def leads():
	lead = clock.Lead(200, 20, 5000)
	assert lead.ahead([], 0) == 200
	assert lead.ahead([Clock(0, 100), Clock(0, 10)], 0) == 800
	assert lead.ahead([Clock(0, 10 ** 9)], 0) == 5000
	assert lead.ahead([Clock(0, 100)], 2_000_000) == 1600
	# It becomes shorter, until a round was late.
	for _ in range(4):
		lead.learn(False)
	assert lead.ahead([], 0) == 20
	lead.learn(True)
	assert lead.ahead([], 0) == 40
	# It is never longer than the first one was, however many are late.
	for _ in range(50):
		lead.learn(True)
	assert lead.ahead([], 0) == 200
	# Hosts that need 100: it stays about there, and few rounds are late.
	late = 0
	for number in range(1000):
		if number >= 100:
			assert 80 <= lead.ahead([], 0) <= 200, lead.ahead([], 0)
			late += lead.ahead([], 0) < 100
		lead.learn(lead.ahead([], 0) < 100)
	assert late < 900 / 6, late


suite.main()
