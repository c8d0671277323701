# SPDX-License-Identifier: GPL-2.0
"""Histograms as results have them: lists of (low, high, count), in ns."""

import bisect
import itertools
import math
from collections.abc import Iterable

from .result import Histogram


def merge(histograms: Iterable[Histogram]) -> Histogram:
	"""One histogram of what all HISTOGRAMS counted."""
	counts: dict[tuple[int, int], int] = {}
	for low, high, count in itertools.chain.from_iterable(histograms):
		counts[low, high] = counts.get((low, high), 0) + count
	return [(low, high, count) for (low, high), count in sorted(counts.items())]


def percentile(buckets: Histogram, per_100k: int, longest: int) -> int:
	"""The latency that PER_100K of every 100,000 do not exceed, as the module works it
	out: the upper end of its bucket, never more than LONGEST."""
	below = list(itertools.accumulate(count for _, _, count in buckets))
	rank = max(1, -(-below[-1] * per_100k // 100_000))
	return min(buckets[bisect.bisect_left(below, rank)][1], longest)


def distribution(buckets: Histogram, shortest: int, longest: int) -> list[tuple[int, float]]:
	"""The cumulative distribution: a list of (ns, share), where SHARE of all took at most
	so long. It starts at SHORTEST with 0, and ends at LONGEST with 1."""
	total = sum(count for _, _, count in buckets)
	points = [(shortest, 0.0)]
	below = 0
	for _, high, count in buckets:
		below += count
		points.append((min(high, longest), below / total))
	return points


def mean_and_deviation(parts: list[tuple[int, int, int]]) -> tuple[int, int]:
	"""The mean and the standard deviation of all, from a (count, mean, deviation) of
	each part, rounded down."""
	total = sum(count for count, _, _ in parts)
	mean = sum(count * part for count, part, _ in parts) / total
	squares = sum(count * (deviation ** 2 + (part - mean) ** 2)
		      for count, part, deviation in parts)
	return int(mean), int(math.sqrt(squares / total))


def difference(first: float | None, second: float | None) -> str:
	"""By how many percent SECOND is more than FIRST, or "-"."""
	if first is None or second is None or first == 0:
		return "-"
	return f"{(second - first) / first * 100:+.1f}%"
