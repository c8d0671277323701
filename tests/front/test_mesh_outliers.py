# SPDX-License-Identifier: GPL-2.0
"""krping mesh: who is accused of being worse than others, in made up matrices."""

import collections
import math
import random
import time

from krping_front.mesh import outliers, power
from krping_front.mesh.figures import sentence
from krping_front.mesh.matrix import Grid, Run, summary
from ktap import Suite

suite = Suite(limit=120)

# How many matrices of each kind.
MATRICES = 50


def find(matrix, more_is_worse=True):
	"""Who stands out in MATRIX."""
	return outliers.judge(matrix, more_is_worse).found


def noise(rng, count=8, spread=0.3, typical=20_000.0):
	"""A matrix of COUNT healthy hosts, whose cells are log-normal."""
	return [[None if client == server else typical * math.exp(rng.gauss(0, spread))
		 for server in range(count)] for client in range(count)]


def slow_host(matrix, host, factor, sides=(True, True)):
	"""Have HOST be worse by FACTOR, as client and as server."""
	for other in range(len(matrix)):
		if other != host and sides[0]:
			matrix[host][other] *= factor
		if other != host and sides[1]:
			matrix[other][host] *= factor


@suite.test("of 50 matrices of healthy hosts none accuses one")
def healthy():
	rng = random.Random(1)
	for number in range(MATRICES):
		found = find(noise(rng))
		assert not found, (number, found)


@suite.test("each of 50 bad hosts is named, once and as a host")
def bad_hosts():
	rng = random.Random(2)
	for number in range(MATRICES):
		matrix, host = noise(rng), rng.randrange(8)
		slow_host(matrix, host, 5)
		found = find(matrix)
		assert [(each.kind, each.client) for each in found] == [("host", host)], (number, found)
		assert 3 < found[0].factor < 9, found


@suite.test("each of 50 bad pairs is named, as a pair")
def bad_pairs():
	rng = random.Random(3)
	for number in range(MATRICES):
		matrix = noise(rng)
		client, server = rng.sample(range(8), 2)
		matrix[client][server] *= 20
		found = find(matrix)
		assert [(each.kind, each.client, each.server) for each in found] \
			== [("pair", client, server)], (number, client, server, found)


@suite.test("hosts that are bad as clients or as servers only are named so")
def sides():
	rng = random.Random(4)
	for number in range(MATRICES):
		for kind, place in (("client", (True, False)), ("server", (False, True))):
			matrix, host = noise(rng, 16), rng.randrange(16)
			slow_host(matrix, host, 5, place)
			found = find(matrix)
			assert [each.kind for each in found] == [kind], (number, found)
			assert host in (found[0].client, found[0].server), (host, found)


@suite.test("a bad host and a bad pair of others are both named")
def together():
	rng = random.Random(5)
	for number in range(MATRICES):
		matrix = noise(rng, 16)
		host, client, server = rng.sample(range(16), 3)
		slow_host(matrix, host, 6)
		matrix[client][server] *= 20
		found = [(each.kind, each.client, each.server) for each in find(matrix)]
		assert found == [("host", host, host), ("pair", client, server)], (number, found)


def judge(matrix, fresh, more_is_worse=True):
	"""Who of MATRIX stands out, and whether they do so by what is measured again, FRESH."""
	return [(found.kind, second.stands) for found in
		find(matrix, more_is_worse)
		if (second := outliers.again(matrix, fresh, found, more_is_worse))]


def partly(matrix, *pairs):
	"""Only the cells PAIRS of MATRIX."""
	return [[cell if (client, server) in pairs else None for server, cell in enumerate(line)]
		for client, line in enumerate(matrix)]


@suite.test("measured again, what is bad stands out again, and what was chance does not")
def measured_again():
	rng = random.Random(10)
	for number in range(MATRICES):
		matrix, fresh, other = noise(rng), noise(rng), noise(rng)
		matrix[2][5] *= 20
		fresh[2][5] *= 20
		assert judge(matrix, partly(fresh, (2, 5))) == [("pair", True)], number
		assert judge(matrix, partly(other, (2, 5))) == [("pair", False)], number
		# Nothing was measured again: nobody can say.
		assert judge(matrix, partly(fresh, (1, 5))) == [], number
		some = [(3, host) for host in (0, 2, 5, 7)] + [(host, 3) for host in (1, 2, 4, 6)]
		matrix, fresh = noise(rng), noise(rng)
		slow_host(matrix, 3, 6)
		slow_host(fresh, 3, 6)
		assert ("host", True) in judge(matrix, partly(fresh, *some)), number
		assert ("host", False) in judge(matrix, partly(other, *some)), number
		assert judge(matrix, partly(fresh, *some[:2])) == [], number


@suite.test("one of 4 hosts is 40 ms late, in whatever noise: it is named, or not judged")
def late():
	rng = random.Random(12)
	outcomes = collections.Counter()
	for number in range(20 * MATRICES):
		host, typical = rng.randrange(4), 10 ** rng.uniform(4.3, 6.3)
		spread, burst = rng.uniform(0.02, 1.5), rng.choice((0, 0, 0.1, 0.3))

		def measured():
			"""Half of a round trip takes half of the delay, and some are late by chance."""
			return [[cell and cell + 20e6 * (host in (client, server))
				 + 10e6 * rng.random() * (rng.random() < burst)
				 for server, cell in enumerate(line)]
				for client, line in enumerate(noise(rng, 4, spread, typical))]
		matrix, fresh = measured(), measured()
		judged = outliers.judge(matrix, True)
		named, not_judged = False, any(each.who == power.HOSTS for each in judged.unjudged)
		for each in judged.found:
			if each.kind != "pair" and host in (each.client, each.server):
				second = outliers.again(matrix, fresh, each, True)
				named |= bool(second and second.stands)
				not_judged |= bool(second and second.stands is None)
		outcomes[named, not_judged] += 1
		assert named or not_judged, (number, matrix, fresh, judged)
	assert sum(outcomes[True, doubt] for doubt in (True, False)) > 2 * MATRICES, outcomes
	assert outcomes[True, False] > MATRICES < outcomes[False, True], outcomes


@suite.test("who is worse by what is to be told is named where figures judge, 99 times in 100")
def told():
	rng = random.Random(13)
	for count in (4, 5, 8, 16):
		judged = missed = 0
		for pair in (True, False) * 4 * MATRICES:
			spread = rng.uniform(0.02, 0.6)
			matrix, place = noise(rng, count, spread), rng.sample(range(count), 2)
			if pair:
				matrix[place[0]][place[1]] *= power.TELLS[power.PAIRS]
			else:
				slow_host(matrix, place[0], power.TELLS[power.HOSTS])
			found = outliers.judge(matrix, True)
			if any(each.who == (power.PAIRS if pair else power.HOSTS)
			       for each in found.unjudged):
				continue
			judged += 1
			missed += not any(each.client == place[0] for each in found.found)
		assert judged > MATRICES and missed * 100 <= judged, (count, judged, missed)


@suite.test("what is quiet is judged, what is noisy or too little is not, and why is said")
def not_judged():
	rng = random.Random(14)

	def said(matrix, more_is_worse=True):
		return [each.sentence("p50") for each in outliers.judge(matrix, more_is_worse).unjudged]

	for count, spread in ((4, 0.05), (8, 0.1), (16, 0.2), (64, 0.2)):
		for number in range(MATRICES if count < 64 else 2):
			assert not said(noise(rng, count, spread)), (count, number)
	for _ in range(MATRICES):
		for count in (4, 8, 16):
			for more_is_worse in (True, False):
				hosts, pairs = said(noise(rng, count, 1.5), more_is_worse)
				assert f"not judged ({count} hosts, noise " in hosts, hosts
				assert f"not judged ({count * (count - 1)} pairs, noise " in pairs, pairs
				assert pairs.endswith(" times worse may go unnoticed)"), pairs
	assert said(noise(rng, 2)) == ["p50 of hosts: not judged (2 hosts; it takes 4)"]
	assert said(noise(rng, 3)) == ["p50 of hosts: not judged (3 hosts; it takes 4)"]
	# One that is missing leaves three hosts with three figures each.
	matrix = noise(rng, 4, 0.02)
	matrix[1][2] = None
	assert said(matrix) == ["p50 of hosts: not judged (3 hosts; it takes 4)"]
	# Of nothing nothing is said, and nobody is compared with the only server.
	assert said([[None] * 8 for _ in range(8)]) == []
	incast = [[1000.0 if server == 3 != client else None for server in range(8)] for client in range(8)]
	assert said(incast) == []
	assert said([line[:4] + [None] * 4 for line in incast[:4]] + [[None] * 8] * 4) \
		== ["p50 of pairs: not judged (3 pairs; it takes 4)"]


@suite.test("a second time clears who is better now, and not by noise or by others that are worse")
def noisy_again():
	rng = random.Random(15)
	for number in range(MATRICES):
		matrix, noisy = noise(rng, 8, 0.05), noise(rng, 8, 2.0)
		slow_host(matrix, 3, 5)
		slow_host(noisy, 3, 5)
		found, = find(matrix)
		for fresh, stands in ((noise(rng, 8, 0.05), {False}), (noisy, {None, True}),
				      # All are as slow as that one was before.
				      (noise(rng, 8, 0.05, 100_000.0), {None})):
			second = outliers.again(matrix, fresh, found, True)
			assert second and second.stands in stands, (number, second, stands)


@suite.test("a device with two speeds, such as soft-RoCE: nobody is accused twice")
def two_speeds():
	rng = random.Random(11)
	once = twice = 0
	for _ in range(20 * MATRICES):
		def speeds():
			return [[cell and cell * (1.7 if rng.random() < 0.06 else 1) for cell in line]
				for line in noise(rng, spread=0.05)]
		matrix = speeds()
		found = find(matrix)
		once += bool(found)
		pairs = {(each.client, each.server) for each in found if each.kind == "pair"}
		tries = [speeds() for _ in range(3)]
		middle = [[None if client == server else sorted(each[client][server] for each in tries)[1]
			   for server in range(8)] for client in range(8)]
		twice += any(sure for _, sure in judge(matrix, partly(middle, *pairs)))
	assert once > 5 * MATRICES and twice * 20 < once, (once, twice)


@suite.test("of bandwidths the lower ones are worse")
def bandwidths():
	rng = random.Random(6)
	for _ in range(MATRICES):
		matrix, host = noise(rng, spread=0.1, typical=1e10), rng.randrange(8)
		slow_host(matrix, host, 1 / 3)
		found, = find(matrix, False)
		assert (found.kind, found.client) == ("host", host) and 2.5 < found.factor < 3.6, found
		# A host that is better than others is no outlier.
		assert not find(matrix)


@suite.test("hosts that differ, as those of two generations, are not accused")
def generations():
	rng = random.Random(7)
	for _ in range(MATRICES):
		matrix = noise(rng, 12, spread=0.05)
		for host in range(0, 12, 2):
			slow_host(matrix, host, 1.4)
		found = find(matrix)
		assert not found, found


@suite.test("a matrix without noise accuses nobody for a few percent")
def quiet():
	matrix = [[None if client == server else 1000.0 for server in range(8)] for client in range(8)]
	assert not find(matrix)
	matrix[2][3] = 1150.0
	assert not find(matrix)
	matrix[2][3] = 2000.0
	assert [(each.client, each.server) for each in find(matrix)] == [(2, 3)]


@suite.test("cells that are missing, and matrices that are too small, accuse nobody")
def missing():
	rng = random.Random(8)
	for count in (1, 2, 3):
		matrix = noise(rng, count)
		assert not find(matrix), count
	matrix = noise(rng, 8, spread=0.1)
	slow_host(matrix, 5, 4)
	matrix[5] = [None] * 8
	for host in range(8):
		matrix[host][3] = None
	found, = find(matrix)
	assert found.kind == "server" and found.server == 5, found
	# Of a ring each row has a cell.
	ring = [[1000.0 if server == (client + 1) % 8 else None for server in range(8)]
		for client in range(8)]
	ring[4][5] = 9000.0
	assert [(each.client, each.server) for each in find(ring)] == [(4, 5)]


@suite.test("1,000 hosts are judged in a few seconds")
def large():
	rng = random.Random(9)
	matrix = noise(rng, 1000)
	slow_host(matrix, 700, 3)
	start = time.process_time()
	found = find(matrix)
	taken = time.process_time() - start
	assert [(each.kind, each.client) for each in found] == [("host", 700)], found
	assert taken < 20, taken


@suite.test("failures accuse the host that most of them have in common, else the pair")
def failures():
	def grid(count, *bad):
		tried = [[int(one != other) for other in range(count)] for one in range(count)]
		errors = [[int((one, other) in bad) for other in range(count)] for one in range(count)]
		return outliers.failing(tried, errors)

	def both(host, count):
		return [(host, other) for other in range(count) if other != host] + [
			(other, host) for other in range(count) if other != host]

	assert grid(4) == []
	assert [each.kind for each in grid(4, (1, 2))] == ["pair"]
	found = grid(8, *both(3, 8), (5, 6))
	assert [(each.kind, each.client, each.server) for each in found] == [
		("host", 3, 3), ("pair", 5, 6)], found
	found = grid(8, *both(3, 8), *both(6, 8))
	assert sorted((each.kind, each.client) for each in found) == [("host", 3), ("host", 6)], found
	# As a server only.
	found = grid(8, *[(host, 2) for host in range(8) if host != 2])
	assert [(each.kind, each.server) for each in found] == [("server", 2)], found
	# Two hosts: nobody can say which one it is.
	assert [each.kind for each in grid(2, (0, 1), (1, 0))] == ["pair", "pair"]
	# All fail: nobody stands out.
	found = grid(4, *[pair for host in range(4) for pair in both(host, 4)])
	assert {each.kind for each in found} == {"pair"} and len(found) == 12, found


@suite.test("of several runs of a pair the median counts, and all are kept")
def repeats():
	grid = Grid(("wlat", 64, ""), 2)
	for p50 in (300, 100, 200):
		grid.add(Run((0, 1), {"p50_ns": p50, "p99_ns": 10 * p50}))
	# What a run has measured until it failed is not one of them.
	grid.add(Run((0, 1), {"p50_ns": 1, "p99_ns": 1, "retransmits": 70}, "ETIMEDOUT",
		     "nothing happened"))
	grid.add(Run((1, 0), {"p50_ns": 5, "p99_ns": 6}))
	assert grid.values["p50_ns"] == [[None, 200], [5, None]], grid.values
	assert grid.values["p99_ns"][0][1] == 2000
	assert grid.series == {(0, 1): {"p50_ns": [300, 100, 200], "p99_ns": [3000, 1000, 2000]}}
	assert grid.tried == [[0, 4], [1, 0]] and grid.errors == [[0, 1], [0, 0]]
	assert grid.best("p50_ns") == [[None, 100], [5, None]], grid.best("p50_ns")
	assert grid.known("retransmits") == [] and grid.counted == [[0, 0], [0, 0]]
	assert summary(grid.known("p50_ns")) == (5, 102.5, 200) and summary([]) is None


@suite.test("figures have units")
def units():
	for name, value, text in (("p50_ns", 12, "12 ns"), ("p99_ns", 23_570, "23.57 us"),
				  ("p99_ns", 1_835_010, "1.835 ms"), ("p99_ns", 12e9, "12 s"),
				  ("bytes_per_s", 11_870_000_000, "11320 MiB/s"),
				  ("bytes_per_s", 1 << 29, "512 MiB/s"),
				  ("bytes_per_s", 950, "0.000906 MiB/s"), ("rate", 2_500_000, "2.5 M/s"),
				  ("p50_ns", None, "-")):
		assert sentence(name, value) == text, (name, value, sentence(name, value))


suite.main()
