# SPDX-License-Identifier: GPL-2.0
"""The power of a matrix: the score that accuses, and how much worse somebody must be to reach it.

Whoever adds E to a cell or a host's median, whose standard deviation is S, has a score around E / S,
with a standard deviation of 1. So they are as good as certain to be accused from E = (limit + CERTAIN) S
on. Where that is more than TELLS, somebody who is that much worse could go unnamed, and that nobody is
named says nothing: the matrix has not judged them.

Nothing here does I/O."""

import dataclasses
import math
import statistics

from .apart import CELLS, Apart, Matrix, measured

# The share of matrices of healthy hosts that may accuse one of them, if their noise is log-normal.
FALSE = 0.0001
# The standard deviations by which 19 of 20 reach a limit.
CERTAIN = 1.645
HOSTS, PAIRS = "hosts", "pairs"
# Who is so many times worse is to be named. A host has a figure with each of its peers, and a pair
# has one.
TELLS = {HOSTS: 4.0, PAIRS: 10.0}
# Hosts of which one can be told from the others.
ENOUGH = CELLS + 1
# Larger factors are as good as that.
MOST = 1000.0


@dataclasses.dataclass(frozen=True)
class Unjudged:
	"""Hosts or pairs of which a matrix cannot say whether one is worse than the others."""

	# HOSTS or PAIRS.
	who: str
	# The number of those to compare.
	count: int
	# The standard deviation of what healthy ones have, in logarithms, and the factor from which on
	# one is named. None where there are too few.
	noise: float | None = None
	factor: float | None = None

	def sentence(self, figures: str) -> str:
		"""It as a sentence, of FIGURES."""
		who = f"{figures} of {self.who}: not judged ({self.count} {self.who}"
		if self.noise is None or self.factor is None:
			return f"{who}; it takes {ENOUGH})"
		return (f"{who}, noise {math.expm1(self.noise):.0%}; less than "
			f"{round(self.factor, 1):g} times worse may go unnoticed)")


def unjudged(matrix: Matrix, apart: Apart | None) -> list[Unjudged]:
	"""Who is not judged by the figures of MATRIX, which is taken APART."""
	found = too_few(matrix)
	if apart is None or found:
		return found
	effects = [*apart.by_row.values(), *apart.by_column.values()]
	noises = [(PAIRS, sum(map(measured, apart.rest)), apart.noise, of_pairs(apart))]
	if effects:
		noises.insert(0, (HOSTS, max(len(apart.by_row), len(apart.by_column)),
				  max(effect.scale for effect in effects), of_hosts(apart)))
	for who, count, noise, accuses in noises:
		needed = (accuses + CERTAIN) * noise
		if needed > math.log(TELLS[who]):
			found.append(Unjudged(who, count, noise, math.exp(min(needed, math.log(MOST)))))
	return found


def too_few(matrix: Matrix) -> list[Unjudged]:
	"""The hosts or pairs of MATRIX if there are too few to compare, whatever they have. A host that
	is the only client or the only server is meant to be compared with nobody."""
	columns = [list(line) for line in zip(*matrix)]
	sides = [list(map(measured, lines)) for lines in (matrix, columns)]
	hosts = sum(any(counts) for counts in zip(*sides))
	if 0 < hosts < ENOUGH:
		return [Unjudged(HOSTS, hosts)]
	for counts in sides:
		compared = sum(count >= CELLS for count in counts)
		# Their common part is taken for theirs, and is not held against the pairs.
		if 0 < compared < ENOUGH and sum(map(bool, counts)) > 1:
			return [Unjudged(HOSTS, compared)]
	pairs = sum(sides[0])
	return [Unjudged(PAIRS, pairs)] if 0 < pairs < ENOUGH else []


def of_hosts(apart: Apart) -> float:
	"""The score from which a host is accused, as client or as server."""
	return _limit(2 * max(len(apart.by_row), len(apart.by_column), 1))


def of_pairs(apart: Apart) -> float:
	"""The score from which a pair is accused."""
	return _limit(sum(map(measured, apart.rest)))


def _limit(count: int) -> float:
	"""The score from which one of COUNT is accused. The more there are, the further the
	farthest of the healthy is off; and the fewer, the less is known of their spread."""
	sure = statistics.NormalDist().inv_cdf(1 - FALSE / count)
	return max(3.5, sure * (1 + 8 / (count + 8)))
