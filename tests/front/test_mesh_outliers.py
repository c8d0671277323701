# SPDX-License-Identifier: GPL-2.0
"""krping mesh: who is accused of being worse than others, in made up matrices."""

import math
import random
import time

from krping_front.mesh import outliers
from krping_front.mesh.matrix import Grid, Run, sentence, summary
from ktap import Suite

suite = Suite(limit=120)

# How many matrices of each kind.
MATRICES = 50


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
		found = outliers.find(noise(rng), True)
		assert not found, (number, found)


@suite.test("each of 50 bad hosts is named, once and as a host")
def bad_hosts():
	rng = random.Random(2)
	for number in range(MATRICES):
		matrix, host = noise(rng), rng.randrange(8)
		slow_host(matrix, host, 5)
		found = outliers.find(matrix, True)
		assert [(each.kind, each.client) for each in found] == [("host", host)], (number, found)
		assert 3 < found[0].factor < 9, found


@suite.test("each of 50 bad pairs is named, as a pair")
def bad_pairs():
	rng = random.Random(3)
	for number in range(MATRICES):
		matrix = noise(rng)
		client, server = rng.sample(range(8), 2)
		matrix[client][server] *= 20
		found = outliers.find(matrix, True)
		assert [(each.kind, each.client, each.server) for each in found] \
			== [("pair", client, server)], (number, client, server, found)


@suite.test("hosts that are bad as clients or as servers only are named so")
def sides():
	rng = random.Random(4)
	for number in range(MATRICES):
		for kind, place in (("client", (True, False)), ("server", (False, True))):
			matrix, host = noise(rng, 16), rng.randrange(16)
			slow_host(matrix, host, 5, place)
			found = outliers.find(matrix, True)
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
		found = [(each.kind, each.client, each.server) for each in outliers.find(matrix, True)]
		assert found == [("host", host, host), ("pair", client, server)], (number, found)


def judge(matrix, fresh, more_is_worse=True):
	"""Who of MATRIX stands out, and whether they do so by what is measured again, FRESH."""
	return [(found.kind, outliers.stands(found, second)) for found in
		outliers.find(matrix, more_is_worse)
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


@suite.test("a device with two speeds, such as soft-RoCE: nobody is accused twice")
def two_speeds():
	rng = random.Random(11)
	once = twice = 0
	for _ in range(20 * MATRICES):
		def speeds():
			return [[cell and cell * (1.7 if rng.random() < 0.06 else 1) for cell in line]
				for line in noise(rng, spread=0.05)]
		matrix = speeds()
		found = outliers.find(matrix, True)
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
		found, = outliers.find(matrix, False)
		assert (found.kind, found.client) == ("host", host) and 2.5 < found.factor < 3.6, found
		# A host that is better than others is no outlier.
		assert not outliers.find(matrix, True)


@suite.test("hosts that differ, as those of two generations, are not accused")
def generations():
	rng = random.Random(7)
	for _ in range(MATRICES):
		matrix = noise(rng, 12, spread=0.05)
		for host in range(0, 12, 2):
			slow_host(matrix, host, 1.4)
		found = outliers.find(matrix, True)
		assert not found, found


@suite.test("a matrix without noise accuses nobody for a few percent")
def quiet():
	matrix = [[None if client == server else 1000.0 for server in range(8)] for client in range(8)]
	assert not outliers.find(matrix, True)
	matrix[2][3] = 1150.0
	assert not outliers.find(matrix, True)
	matrix[2][3] = 2000.0
	assert [(each.client, each.server) for each in outliers.find(matrix, True)] == [(2, 3)]


@suite.test("cells that are missing, and matrices that are too small, accuse nobody")
def missing():
	rng = random.Random(8)
	for count in (1, 2, 3):
		matrix = noise(rng, count)
		assert not outliers.find(matrix, True), count
	matrix = noise(rng, 8, spread=0.1)
	slow_host(matrix, 5, 4)
	matrix[5] = [None] * 8
	for host in range(8):
		matrix[host][3] = None
	found, = outliers.find(matrix, True)
	assert found.kind == "server" and found.server == 5, found
	# Of a ring each row has a cell.
	ring = [[1000.0 if server == (client + 1) % 8 else None for server in range(8)]
		for client in range(8)]
	ring[4][5] = 9000.0
	assert [(each.client, each.server) for each in outliers.find(ring, True)] == [(4, 5)]


@suite.test("1,000 hosts are judged in a few seconds")
def large():
	rng = random.Random(9)
	matrix = noise(rng, 1000)
	slow_host(matrix, 700, 3)
	start = time.process_time()
	found = outliers.find(matrix, True)
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
				  ("bytes_per_s", 11_870_000_000, "11.87 GB/s"),
				  ("bytes_per_s", 950, "950 B/s"), ("rate", 2_500_000, "2.5 M/s"),
				  ("p50_ns", None, "-")):
		assert sentence(name, value) == text, (name, value, sentence(name, value))


suite.main()
