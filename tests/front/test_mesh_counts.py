# SPDX-License-Identifier: GPL-2.0
"""krping mesh: who is accused of losing packets, in made up matrices of retransmits."""

import random
import time

from krping_front.mesh import counts
from krping_front.mesh.counts import Counts
from ktap import Suite
from mesh_hosts import poisson

suite = Suite(limit=120)

# How many matrices of each kind, and runs that are measured again.
MATRICES = 100
TIMES = 3


def matrix(rng, rate, count=8, by_pair=True):
	"""Counts of COUNT hosts, of which RATE(client, server) is the mean."""
	cells = [[None if client == server else draw(rng, rate(client, server))
		  for server in range(count)] for client in range(count)]
	return Counts(cells, [[int(cell is not None) for cell in line] for line in cells], by_pair)


def draw(rng, mean):
	"""A count whose mean is MEAN, or what that draws."""
	return mean(rng) if callable(mean) else poisson(rng, mean)


def judge(rng, rate, count=8, by_pair=True):
	"""Those who stand out in a matrix, and do so again: by what is run again, as krping mesh does."""
	whole = matrix(rng, rate, count, by_pair)
	accused = []
	found = counts.find(whole)
	for finding in found:
		fresh = Counts([[None] * count for _ in range(count)],
			       [[0] * count for _ in range(count)], by_pair)
		series = []
		if finding.kind == "pair":
			pairs = [(finding.client, finding.server)] * TIMES
		else:
			pairs = [(finding.client, host) for host in range(count)
				 if finding.client not in (None, host)][:4]
			pairs += [(host, finding.server) for host in range(count)
				  if finding.server not in (None, host)][:4]
		for client, server in pairs:
			value = draw(rng, rate(client, server))
			series += [value] if finding.kind == "pair" else []
			fresh.cells[client][server] = (fresh.cells[client][server] or 0) + value
			fresh.runs[client][server] += 1
		second = counts.again(whole, fresh, series, finding, found)
		assert second, finding
		if second.stands:
			accused.append((finding.kind, finding.client, finding.server))
	return accused


def by_chance(rng):
	"""A burst, once in ten runs."""
	return 5 if rng.random() < 0.1 else 0


@suite.test("healthy hosts are not accused, neither of few retransmits nor of many nor of bursts")
def healthy():
	rng = random.Random(1)
	for mean in (0, 0.02, 0.1, 0.5, 3, 20, 200):
		for number in range(MATRICES):
			found = judge(rng, lambda client, server: mean)
			assert not found, (mean, number, found)
	accused = sum(bool(judge(rng, lambda client, server: by_chance)) for _ in range(MATRICES))
	assert accused <= 3, accused


@suite.test("a lossy host is named as a host, also among others that lose some")
def lossy_hosts():
	rng = random.Random(2)
	for count, mean, healthy_mean in ((8, 3, 0), (8, 3, 0.1), (4, 3, 0), (32, 3, 0.1)):
		for number in range(MATRICES):
			host = rng.randrange(count)
			found = judge(rng, lambda client, server: healthy_mean + (
				2 * mean if client == host else mean if server == host else 0), count)
			assert len(found) == 1 and found[0][0] in ("host", "client"), (number, found)
			assert found[0][1] == host, (number, host, found)


@suite.test("a lossy pair is named as a pair, and none of its hosts")
def lossy_pairs():
	rng = random.Random(3)
	for count, mean in ((8, 12), (4, 12), (32, 12)):
		for number in range(MATRICES):
			client, server = rng.sample(range(count), 2)
			found = judge(rng, lambda *pair: mean if pair == (client, server) else 0, count)
			assert found == [("pair", client, server)], (number, client, server, found)


@suite.test("hosts that lose packets as servers only, and two hosts and a pair at once")
def several():
	rng = random.Random(4)
	for number in range(MATRICES):
		found = judge(rng, lambda client, server: 6 if server == 5 else 0)
		assert found == [("server", None, 5)], (number, found)
		found = judge(rng, lambda client, server: 9 if {client, server} & {1, 6}
			      else 15 if (client, server) == (2, 3) else 0, 12)
		assert sorted(found) == [("host", 1, 1), ("host", 6, 6), ("pair", 2, 3)], (number, found)


@suite.test("faster hosts lose more, but not twice as many for each packet")
def faster():
	rng = random.Random(5)
	for number in range(MATRICES):
		found = judge(rng, lambda client, server: 30 if client == 2 else 20)
		assert not found, (number, found)


@suite.test("what a device counts for several pairs accuses the host that has by far the most")
def shared():
	rng = random.Random(6)
	for number in range(MATRICES):
		whole = [poisson(rng, 5) for _ in range(8)]
		whole[4] = poisson(rng, 60)
		cells = [[None if one == other else whole[one] for other in range(8)] for one in range(8)]
		runs = [[int(one != other) for other in range(8)] for one in range(8)]
		found = counts.find(Counts(cells, runs, by_pair=False))
		assert [(each.kind, each.client) for each in found] == [("host", 4)], (number, found)
		# Both ends of a path have as many: nobody can say who it is.
		whole[2] = whole[4]
		cells = [[None if one == other else whole[one] for other in range(8)] for one in range(8)]
		assert not counts.find(Counts(cells, runs, by_pair=False)), number


@suite.test("1,000 hosts are judged in a few seconds")
def large():
	rng = random.Random(7)
	whole = matrix(rng, lambda client, server: 6 if client == 700 else 0.01, 1000)
	start = time.process_time()
	found = counts.find(whole)
	taken = time.process_time() - start
	assert [(each.kind, each.client) for each in found] == [("client", 700)], found
	assert taken < 20, taken


@suite.test("matrices without counts, or with few cells, accuse nobody")
def nothing():
	assert not counts.find(Counts([[None] * 8 for _ in range(8)], [[0] * 8 for _ in range(8)]))
	for count in (1, 2):
		cells = [[None if one == other else 9.0 for other in range(count)] for one in range(count)]
		runs = [[int(one != other) for other in range(count)] for one in range(count)]
		for by_pair in (True, False):
			assert not counts.find(Counts(cells, runs, by_pair)), count


suite.main()
