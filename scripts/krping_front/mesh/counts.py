# SPDX-License-Identifier: GPL-2.0
"""Hosts and pairs of a matrix of counts, such as retransmits, that have more than the others.

Most cells of a healthy matrix are 0, so there are no logarithms and no deviations to go by, as
outliers.py does. Counts of what happens by chance are Poisson's: the score of a count is how
unlikely it is at the typical rate, put as a normal distribution's deviation. Where the others
scatter more than that, as bursts do, all are taken for so much less.

A host is judged by its row and its column without the cells with most in them, so that a bad pair
accuses no host, and its cells are no longer held against others. Where a device had several peers at
the same time, its counts are of all of them, and only hosts can be told apart.

Nothing here does I/O."""

import bisect
import dataclasses
import functools
import math
import statistics
from collections.abc import Iterable

from .apart import CELLS, NORMAL, Matrix
from .outliers import SURE, Again, Finding

# A rate below that, in a run, is none: a timer may fire too early once in a while.
FEW = 0.02
# Whoever is accused has at least twice as many as is typical: who is faster sends more, so loses
# more.
LEAST = 2.0
# How many of the healthy may be accused in a matrix, before they are measured again, and the least
# score for that.
ONCE = 0.05
CLEAR = 3.5
# When measured again there is at least this share of the first rate.
SHARE = 0.25
# Where counts are of a host only, it has so many times those of any other: both ends of a bad path
# have about as many.
ALONE = 3.0
# So many of the cells of a row or column are left out, and of all cells, those with most in them.
OF_HOST, OF_ALL = 3, 10
# Below that a probability is as good as none.
NEVER = 1e-300

# A cell's count, and in how many runs.
Cell = tuple[float, int]


@dataclasses.dataclass(frozen=True)
class Counts:
	"""A matrix of counts."""

	cells: Matrix
	# How many runs each cell is the sum of.
	runs: list[list[int]]
	# Whether the device of a client had one peer at a time, so that its count is of the pair.
	by_pair: bool = True

	@property
	def hosts(self) -> range:
		"""The numbers of the hosts."""
		return range(len(self.cells))

	def row(self, client: int, without: frozenset[int] = frozenset()) -> list[Cell]:
		"""The cells of CLIENT, but those with servers that are to be left out."""
		return [(count, runs) for server, (count, runs) in
			enumerate(zip(self.cells[client], self.runs[client]))
			if count is not None and runs and server not in without]

	def column(self, server: int) -> list[Cell]:
		"""The cells of SERVER."""
		return [(count, self.runs[client][server]) for client in self.hosts
			if (count := self.cells[client][server]) is not None and self.runs[client][server]]


def find(counts: Counts) -> list[Finding]:
	"""The Findings of COUNTS. The worst hosts come first, then the worst pairs. Their factor is
	the count in a run."""
	if not counts.by_pair:
		return _shared(counts)
	found = _hosts(counts)
	return found + _pairs(counts, _hosts_of(found))


def _hosts_of(found: Iterable[Finding]) -> frozenset[int]:
	"""The hosts that FOUND are about."""
	return frozenset(host for each in found for host in (each.client, each.server)
			 if host is not None)


def again(counts: Counts, fresh: Counts, series: list[float], finding: Finding,
	  found: list[Finding]) -> Again | None:
	"""FINDING, one of those that were FOUND in COUNTS, as the FRESH ones make it. SERIES are the
	fresh counts of its pair, one after the other. None is returned where too little was measured
	again to say."""
	accused = _hosts_of([finding, *(each for each in found if each.kind != "pair")])
	others = max(_typical(counts, accused), _typical(fresh, accused))
	rates = _rates(counts, accused)
	if finding.kind == "pair":
		if not series:
			return None
		score = min(_score(sum(series), len(series) * others),
			    _often(series, rates))
		return _again(finding, statistics.median(series), score)
	if not counts.by_pair:
		assert finding.client is not None
		cells = fresh.row(finding.client)
		rate = statistics.median(map(_rate, cells)) if cells else 0.0
		return _again(finding, rate, _score(rate, others)) if cells else None
	sides = [side(host) for side, host in ((fresh.row, finding.client),
					       (fresh.column, finding.server)) if host is not None]
	if min(map(len, sides)) < CELLS:
		return None
	score, rate = max(
		(min(_score(total, runs * others), _often([*map(_rate, side)], rates)), total / runs)
		for side in sides for total, runs in [_without_most(side)])
	return _again(finding, rate, score)


def _again(first: Finding, rate: float, score: float) -> Again:
	return Again(rate, score, score > SURE and rate >= SHARE * first.factor)


def _rate(cell: Cell) -> float:
	return cell[0] / cell[1]


def _without_most(cells: list[Cell]) -> Cell:
	"""The sum of CELLS, but of those with most in them."""
	kept = sorted(cells, key=_rate)[:len(cells) - len(cells) // OF_HOST]
	return sum(count for count, _ in kept), sum(runs for _, runs in kept)


def _typical(counts: Counts, without: frozenset[int]) -> float:
	"""The typical count in a run, but of the hosts that are to be left out."""
	rates = _rates(counts, without)
	if not counts.by_pair:
		return max(FEW, statistics.median(rates)) if rates else FEW
	return _mean(rates)


def _rates(counts: Counts, without: frozenset[int]) -> list[float]:
	"""What cells have in a run, ascending, but those of the hosts that are to be left out."""
	return sorted(_rate(cell) for client in counts.hosts if client not in without
		      for cell in counts.row(client, without))


def _often(series: list[float], others: list[float]) -> float:
	"""The score of the runs of SERIES by how many of them have as many as few of the OTHERS, which
	ascend: where many of these have a burst at times, some of a pair's runs have one, too."""
	if len(series) < 2 or not others:
		return math.inf
	found = 0.0
	for level in set(series) - {0}:
		share = max(FEW, 1 - bisect.bisect_left(others, level) / len(others))
		reached = sum(count >= level for count in series)
		chance = sum(math.comb(len(series), number) * share ** number
			     * (1 - share) ** (len(series) - number)
			     for number in range(reached, len(series) + 1))
		found = max(found, _as_deviation(chance))
	return found


def _mean(rates: list[float]) -> float:
	"""The mean of RATES, which ascend, without the largest, and at least FEW."""
	kept = rates[:len(rates) - len(rates) // OF_ALL]
	return max(FEW, statistics.fmean(kept)) if kept else FEW


def _hosts(counts: Counts) -> list[Finding]:
	"""The hosts that have too many, as client, as server, or as both."""
	sides = [_scores({host: _without_most(cells) for host in counts.hosts
			  if len(cells := side(host)) >= CELLS})
		 for side in (counts.row, counts.column)]
	limit = _limit(sum(map(len, sides)))
	found = []
	for host in counts.hosts:
		known = [side.get(host, (0.0, 0.0)) for side in sides]
		clear = [score > limit for score, _ in known]
		if not any(clear):
			continue
		# Once one side is clear, half of that is enough for the other.
		both = all(score > limit / 2 for score, _ in known)
		score, rate = max(known)
		found.append(Finding(host if both or clear[0] else None,
				     host if both or clear[1] else None, rate, score))
	return sorted(found, key=lambda finding: -finding.score)


def _scores(totals: dict[int, Cell]) -> dict[int, tuple[float, float]]:
	"""The score of each host by the TOTALS of all, and its rate; 0 for one that has no more than
	others."""
	if len(totals) <= CELLS:
		return {}
	rates = {host: _rate(total) for host, total in totals.items()}
	typical = max(FEW, statistics.median(rates.values()))
	burst = _burst(count for count, _ in totals.values())
	return {host: (_score(count, typical * runs, burst), rates[host])
		for host, (count, runs) in totals.items()}


def _pairs(counts: Counts, bad: frozenset[int]) -> list[Finding]:
	"""The pairs that have too many, but those of BAD hosts."""
	cells = {(client, server): (count, runs)
		 for client in counts.hosts if client not in bad
		 for server, (count, runs) in enumerate(zip(counts.cells[client], counts.runs[client]))
		 if count is not None and runs and server not in bad}
	if len(cells) <= CELLS:
		return []
	typical = _mean(sorted(map(_rate, cells.values())))
	burst = _burst(count for count, _ in cells.values())
	limit = _limit(len(cells))
	found = [Finding(client, server, _rate(cell), score) for (client, server), cell in cells.items()
		 if (score := _score(cell[0], typical * cell[1], burst)) > limit]
	return sorted(found, key=lambda finding: -finding.score)


def _shared(counts: Counts) -> list[Finding]:
	"""The host that has by far the most, where counts are of the whole host."""
	totals = {host: (statistics.median(map(_rate, cells)), 1) for host in counts.hosts
		  if (cells := counts.row(host))}
	scores = _scores(totals)
	if not scores:
		return []
	(score, rate), host = max((known, host) for host, known in scores.items())
	next_one = max(known[1] for other, known in scores.items() if other != host)
	if score <= _limit(len(scores)) or rate < ALONE * next_one:
		return []
	return [Finding(host, host, rate, score)]


def _burst(totals: Iterable[float]) -> float:
	"""How many come together, by how TOTALS scatter. The square root makes the deviation of
	Poisson's counts 1, whatever they are (Anscombe)."""
	roots = [2 * math.sqrt(total + 3 / 8) for total in totals]
	middle = statistics.median(roots)
	return max(1.0, NORMAL * statistics.median(abs(root - middle) for root in roots)) ** 2


def _score(count: float, expected: float, burst: float = 1.0) -> float:
	"""The score of COUNT where so many are EXPECTED, 0 where it is not LEAST times as many."""
	if count < LEAST * expected:
		return 0.0
	return _deviation(int(count / burst), expected / burst)


@functools.lru_cache(maxsize=1024)
def _deviation(count: int, expected: float) -> float:
	"""How far COUNT or more is off, where so many are EXPECTED: as unlikely as a normal
	distribution's value that many deviations above its mean."""
	if count <= 0:
		return 0.0
	term = math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
	chance, number = 0.0, count
	while term > chance * 1e-9:
		chance += term
		number += 1
		term *= expected / number
	return _as_deviation(chance)


def _as_deviation(chance: float) -> float:
	"""How many deviations above its mean a normal distribution's value is as unlikely as CHANCE."""
	return -statistics.NormalDist().inv_cdf(min(0.5, max(NEVER, chance)))


def _limit(count: int) -> float:
	"""The score from which one of COUNT is accused."""
	return max(CLEAR, -statistics.NormalDist().inv_cdf(ONCE / max(1, count)))
