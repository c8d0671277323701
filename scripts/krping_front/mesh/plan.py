# SPDX-License-Identifier: GPL-2.0
"""Which hosts test each other at a time: patterns, and the rounds that they come to.

Hosts are numbers here. A pair is (client, server). All pairs of a round run at the same time.
Nothing here does I/O."""

import collections
import dataclasses
from collections.abc import Iterator

from krping_front.errors import Quit

from .pairs import ALL, Pair, Spec

PAIRWISE, STORM, INCAST, OUTCAST, RING, DISTRIBUTE = KINDS = (
	"pairwise", "storm", "incast", "outcast", "ring", "distribute")
# Pairs of pairwise: one direction after the other, both at once, or one only.
EACH, BOTH, ONE = DIRECTIONS = ("each", "both", "one")


@dataclasses.dataclass(frozen=True)
class Pattern:
	"""A pattern and what it is about."""

	kind: str
	# The host of INCAST and OUTCAST.
	host: int = 0
	# How many clients and servers a block of DISTRIBUTE has.
	clients: int = 1
	servers: int = 1
	# Of PAIRWISE.
	directions: str = EACH


def pattern(text: str, hosts: list[str], directions: str = EACH) -> Pattern:
	"""The Pattern of "pairwise", "storm", "ring", "incast:HOST", "outcast:HOST" or
	"distribute:A:B"."""
	kind, *rest = text.split(":")
	if kind not in KINDS:
		raise Quit(f"--pattern {text!r}: there are {', '.join(KINDS)}")
	if kind in (INCAST, OUTCAST):
		if len(rest) != 1 or rest[0] not in hosts:
			raise Quit(f"--pattern {text!r}: {kind}:HOST needs one of --hosts")
		return Pattern(kind, host=hosts.index(rest[0]))
	if kind == DISTRIBUTE:
		numbers = [int(word) if word.isascii() and word.isdigit() else 0 for word in rest]
		if len(numbers) != 2 or min(numbers) < 1 or sum(numbers) > len(hosts):
			raise Quit(f"--pattern {text!r}: distribute:A:B needs two numbers from 1 on, "
				   f"which are together no more than the {len(hosts)} hosts")
		return Pattern(kind, clients=numbers[0], servers=numbers[1])
	if rest:
		raise Quit(f"--pattern {text!r}: nothing may follow {kind}")
	return Pattern(kind, directions=directions)


def rounds(chosen: Pattern, count: int) -> Iterator[Spec]:
	"""The pairs of each round of the pattern CHOSEN for COUNT hosts."""
	if chosen.kind == STORM:
		yield ALL
	elif chosen.kind == RING:
		yield [(host, (host + 1) % count) for host in range(count) if count > 1]
	elif chosen.kind == INCAST:
		yield [(host, chosen.host) for host in range(count) if host != chosen.host]
	elif chosen.kind == OUTCAST:
		yield [(chosen.host, host) for host in range(count) if host != chosen.host]
	elif chosen.kind == DISTRIBUTE:
		yield list(_blocks(chosen.clients, chosen.servers, count))
	else:
		yield from _pairwise(chosen.directions, count)


def round_count(chosen: Pattern, count: int) -> int:
	"""How many rounds() there are."""
	if chosen.kind != PAIRWISE:
		return 1
	return (count - 1 + count % 2) * (2 if chosen.directions == EACH else 1)


def circle(count: int) -> Iterator[list[Pair]]:
	"""Rounds in which each of COUNT hosts meets each other once, and one at a time: one
	host stands still, and the others move around it by one place a round."""
	even = count + count % 2
	turning = even - 1
	for turn in range(turning):
		# The two that meet are at the same distance to either side of this place.
		pairs = [((turn + step) % turning, (turn - step) % turning)
			 for step in range(1, even // 2)]
		# The last place of an odd number is empty, and whom it meets rests.
		if count == even:
			pairs.append((turn, turning) if turn % 2 else (turning, turn))
		yield pairs


def _pairwise(directions: str, count: int) -> Iterator[Spec]:
	for pairs in circle(count):
		back = [(server, client) for client, server in pairs]
		if directions == BOTH:
			yield pairs + back
			continue
		yield pairs
		if directions == EACH:
			yield back


def _blocks(clients: int, servers: int, count: int) -> Iterator[Pair]:
	"""The pairs of blocks of CLIENTS and then SERVERS: within one, each with each. Hosts
	that are left over have no part."""
	for first in range(0, count - clients - servers + 1, clients + servers):
		for client in range(first, first + clients):
			for server in range(first + clients, first + clients + servers):
				yield client, server


def pairs_of(spec: Spec, count: int) -> Iterator[Pair]:
	"""The pairs that SPEC means for COUNT hosts."""
	if isinstance(spec, str):
		yield from ((client, server) for client in range(count) for server in range(count)
			    if client != server)
	else:
		yield from spec


def most_results(chosen: Pattern, count: int) -> int:
	"""How many pairs a client of the pattern CHOSEN for COUNT hosts has at most in a round, with
	those that it is the server of."""
	if chosen.kind == STORM:
		return 2 * (count - 1)
	# All rounds of a pattern are as full as the first one.
	pairs = list(pairs_of(next(rounds(chosen, count)), count))
	ends = collections.Counter(host for pair in pairs for host in pair)
	return max((ends[client] for client, _ in pairs), default=0)


@dataclasses.dataclass(frozen=True)
class Step:
	"""A round with what is run in it."""

	number: int
	spec: Spec
	test: str
	size: int
	rail: str
	repeat: int


@dataclasses.dataclass(frozen=True)
class Plan:
	"""All that a mesh is to run."""

	pattern: Pattern
	count: int
	# Each test with its sizes.
	tests: tuple[tuple[str, tuple[int, ...]], ...]
	rails: tuple[str, ...]
	repeats: int = 1
	# Only so many rounds of the pattern, spread over all; None is all.
	sample: int | None = None

	@property
	def by_pair(self) -> bool:
		"""Whether each client has one peer at a time, so that what its device counts is of
		that pair."""
		kind = self.pattern.kind
		return kind in (PAIRWISE, INCAST) or (kind == DISTRIBUTE and self.pattern.servers == 1)

	@property
	def runs(self) -> list[tuple[str, int, str]]:
		"""The test, size and rail of each matrix."""
		return [(test, size, rail) for test, sizes in self.tests for size in sizes
			for rail in self.rails]

	@property
	def chosen(self) -> list[int]:
		"""The numbers of the pattern's rounds that are run."""
		total = round_count(self.pattern, self.count)
		if self.sample is None or self.sample >= total:
			return list(range(total))
		return sorted({place * total // self.sample for place in range(self.sample)})

	@property
	def step_count(self) -> int:
		"""How many steps() there are."""
		return len(self.chosen) * len(self.runs) * self.repeats

	def rounds(self) -> Iterator[tuple[int, Spec]]:
		"""The pattern's rounds that are run, with their places in it."""
		chosen = set(self.chosen)
		return ((place, spec) for place, spec in enumerate(rounds(self.pattern, self.count))
			if place in chosen)

	def steps(self) -> Iterator[Step]:
		"""All of it, in order: what a pair runs comes one after the other, so that its
		figures are of about the same time."""
		number = 0
		for repeat in range(self.repeats):
			for _, spec in self.rounds():
				for test, size, rail in self.runs:
					yield Step(number, spec, test, size, rail, repeat)
					number += 1
