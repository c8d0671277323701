# SPDX-License-Identifier: GPL-2.0
"""Who stands out in a mesh is measured again: the rounds that were theirs are run once more, with
all pairs of these, so that everything is as it was the first time. Nothing here does I/O."""

import collections
from collections.abc import Iterable, Iterator

from . import plan
from .matrix import Key
from .outliers import Finding
from .plan import Plan, Step

# So many pairs of a host are measured again, for each of its sides that is accused.
PARTNERS = 4

# By test, size and rail: the places of rounds in the pattern, and how often each is run.
Wanted = dict[Key, dict[int, int]]
# A pair, or a host as client or as server: who is not meant is None.
Who = tuple[int | None, int | None]


def wanted(whole: Plan, found: Iterable[tuple[Key, Finding]], times: int) -> Wanted:
	"""The rounds of WHOLE that are to be run again for the hosts and pairs that were FOUND to
	stand out: for a pair its own, TIMES over, and for a host some of its pairs."""
	asked = list(found)
	places = _places(whole, asked)
	chosen: Wanted = collections.defaultdict(dict)
	for key, finding in asked:
		rounds = chosen[key]
		if finding.kind == "pair":
			for place in places[finding.client, finding.server]:
				rounds[place] = times
			continue
		for side in ((finding.client, None), (None, finding.server)):
			for place in _spread(places[side], PARTNERS) if side != (None, None) else ():
				rounds.setdefault(place, 1)
	return {key: rounds for key, rounds in chosen.items() if rounds}


def _places(whole: Plan, found: list[tuple[Key, Finding]]) -> dict[Who, list[int]]:
	"""The places of the rounds of each pair that was FOUND, and of each side of a host."""
	pairs = {(each.client, each.server) for _, each in found if each.kind == "pair"}
	clients = {each.client for _, each in found if each.kind != "pair"}
	servers = {each.server for _, each in found if each.kind != "pair"}
	places: dict[Who, list[int]] = collections.defaultdict(list)
	for place, spec in whole.rounds():
		sides: set[Who] = set()
		for client, server in plan.pairs_of(spec, whole.count):
			if (client, server) in pairs:
				places[client, server].append(place)
			if client in clients:
				sides.add((client, None))
			if server in servers:
				sides.add((None, server))
		for side in sides:
			places[side].append(place)
	return places


def _spread(places: list[int], count: int) -> list[int]:
	"""COUNT of PLACES, spread over all."""
	if len(places) <= count:
		return places
	return [places[number * len(places) // count] for number in range(count)]


def steps(whole: Plan, chosen: Wanted, times: int) -> Iterator[Step]:
	"""The Steps of the CHOSEN rounds of WHOLE, each of them at most TIMES. All are run once
	before any is run twice, so that what passes does not count more than once."""
	number = whole.step_count
	for repeat in range(times):
		for place, spec in whole.rounds():
			for key, rounds in chosen.items():
				if rounds.get(place, 0) > repeat:
					yield Step(number, spec, *key, repeat)
					number += 1


def count(chosen: Wanted) -> int:
	"""How many steps() there are."""
	return sum(sum(rounds.values()) for rounds in chosen.values())
