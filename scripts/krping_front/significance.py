# SPDX-License-Identifier: GPL-2.0
"""Whether two samples differ by more than chance: the Mann-Whitney U test, in which only the order
of the values counts, and Holm's correction for many of these tests."""

import math
from collections.abc import Sequence

# The probability, over all comparisons together, that chance passes for a difference.
LEVEL = 0.05
# Values up to which all ways to deal them out are counted.
EXACT = 50


def p_greater(first: Sequence[float], second: Sequence[float]) -> float:
	"""The probability that SECOND comes out as large against FIRST, or larger, if both are of one
	distribution. Exact for few values, also where some are equal, and by the normal distribution
	for more."""
	ranks = _doubled_ranks([*first, *second])
	observed = sum(ranks[len(first):])
	if len(ranks) <= EXACT:
		ways = _ways(ranks, len(second))
		return sum(count for total, count in ways.items() if total >= observed) / sum(ways.values())
	return _normal(ranks, len(second), observed)


def _doubled_ranks(values: list[float]) -> list[int]:
	"""Twice the rank of each of VALUES; equal ones share the mean of their ranks."""
	ordered = sorted(values)
	first: dict[float, int] = {}
	last: dict[float, int] = {}
	for rank, value in enumerate(ordered, 1):
		first.setdefault(value, rank)
		last[value] = rank
	return [first[value] + last[value] for value in values]


def _ways(ranks: list[int], chosen: int) -> dict[int, int]:
	"""In how many ways CHOSEN of RANKS have which sum."""
	sums: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(chosen)]
	for rank in ranks:
		for count in range(chosen, 0, -1):
			for total, ways in sums[count - 1].items():
				sums[count][total + rank] = sums[count].get(total + rank, 0) + ways
	return sums[chosen]


def _normal(ranks: list[int], chosen: int, observed: int) -> float:
	total = len(ranks)
	mean = chosen * (total + 1)
	ties = {rank: ranks.count(rank) for rank in set(ranks)}
	spread = total + 1 - sum(count ** 3 - count for count in ties.values()) / (total * (total - 1))
	deviation = math.sqrt(chosen * (total - chosen) * spread / 3)
	# Half a step of the sum, which is doubled, for continuity.
	return 0.5 * math.erfc((observed - mean - 1) / deviation / math.sqrt(2)) if deviation else 1.0


def least(first: int, second: int) -> float:
	"""The smallest p_greater() that there is for FIRST and SECOND values."""
	return 1 / math.comb(first + second, second)


def needed(tests: int) -> int:
	"""How many values of each sample it takes to find a difference in one of so many TESTS."""
	count = 1
	while least(count, count) > LEVEL / tests:
		count += 1
	return count


def holm(found: Sequence[float]) -> list[bool]:
	"""Which of the probabilities FOUND are significant, so that chance makes any of all of them
	so at most at LEVEL (Holm)."""
	significant = [False] * len(found)
	for place, number in enumerate(sorted(range(len(found)), key=lambda number: found[number])):
		if found[number] > LEVEL / (len(found) - place):
			break
		significant[number] = True
	return significant
