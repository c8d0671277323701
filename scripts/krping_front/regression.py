# SPDX-License-Identifier: GPL-2.0
"""Whether the second of two files of results is worse than the first: report --fail-above."""

import argparse
import re
from typing import NamedTuple

from . import compare, significance, table
from .errors import FAILED, Quit
from .results import Loaded
from .rows import Row
from .stats import difference
from .table import Column, Figure, Table

# Figures that can be worse.
FIGURES = {"p50": table.TYPICAL, "mean": table.AVERAGE, "p99": table.P99, "p99_9": table.P99_9,
	   "max": table.LONGEST, "bw": table.BANDWIDTH, "rate": table.RATE}
# Those of which less is worse.
LESS_IS_WORSE = ("bw", "rate")


class Limit(NamedTuple):
	"""By how many percent a figure may be worse."""

	figure: str
	percent: float


def limit(text: str) -> Limit:
	"""A type for argparse: a limit such as p99=10%."""
	match = re.fullmatch(r"([a-z0-9_]+)=([0-9]+(?:\.[0-9]+)?)%?", text)
	if not match or match[1] not in FIGURES:
		raise argparse.ArgumentTypeError(f"{text!r} is no limit such as p99=10%; there are "
						 f"{', '.join(FIGURES)}")
	return Limit(match[1], float(match[2]))


class Judged(NamedTuple):
	"""A figure of a point that both files have."""

	limit: Limit
	first: Row
	second: Row
	p: float

	@property
	def figure(self) -> Figure:
		"""What was compared."""
		return FIGURES[self.limit.figure]

	def values(self) -> tuple[float, float]:
		"""It in both files, in its unit."""
		return self.figure.of(self.first), self.figure.of(self.second)

	@property
	def exceeds(self) -> bool:
		"""Whether it is worse by more than its limit, whatever the reason."""
		first, second = self.values()
		worse = first - second if self.limit.figure in LESS_IS_WORSE else second - first
		return worse > first * self.limit.percent / 100


class Line(NamedTuple):
	"""A line of the table."""

	judged: Judged
	note: str


def _cell(place: int) -> Column:
	return Column("AB"[place], lambda line: table.fixed(line.judged.values()[place],
							    line.judged.figure.digits))


def _setting(name: str) -> Column:
	return Column(name, lambda line: line.judged.first.setting(name))


def _columns(axes: tuple[str, ...]) -> tuple[Column, ...]:
	return (Column("figure", lambda line: line.judged.limit.figure, left=True),
		Column("test", lambda line: line.judged.first.kind.name, left=True),
		Column("#bytes", lambda line: str(line.judged.first.size)), *map(_setting, axes),
		_cell(0), _cell(1),
		Column("diff", lambda line: difference(*line.judged.values())),
		Column("p", lambda line: f"{line.judged.p:.2g}"))


def judge(first: Loaded, second: Loaded, limits: list[Limit]) -> tuple[bool, list[str]]:
	"""Whether SECOND is worse than FIRST by more than one of LIMITS and more than chance, and what
	is to be said of that."""
	pairs = [(one, other) for _, one, other in compare.pairs(compare.measured(first),
								 compare.measured(second))
		 if one and other]
	wanted = [(each, one, other) for each in limits for one, other in pairs
		  if one.has(FIGURES[each.figure].name) and other.has(FIGURES[each.figure].name)]
	if not wanted:
		raise Quit("--fail-above: both files have none of "
			   f"{', '.join(each.figure for each in limits)} in common", FAILED)
	for _, one, other in wanted:
		_check_enough(one, other, len(wanted))
	judged = [Judged(each, one, other, _p(each, one, other)) for each, one, other in wanted]
	significant = significance.holm([each.p for each in judged])
	lines = [Line(each, "" if sure else "may be chance")
		 for each, sure in zip(judged, significant) if each.exceeds]
	worse = sum(not line.note for line in lines)
	asked = ", ".join(f"{each.figure}={each.percent:g}%" for each in limits)
	text = [f"# {asked}: {worse} of {len(judged)} figures {'is' if worse == 1 else 'are'} worse by "
		f"more; Mann-Whitney U, one-sided, at {significance.LEVEL:.0%} for all of them (Holm)"]
	if lines:
		shown = Table(_columns(tuple(dict.fromkeys(first.axes + second.axes))), lines)
		text += [shown.heading()] + [shown.line(line) for line in lines]
	return worse > 0, text


def _check_enough(first: Row, second: Row, tests: int) -> None:
	"""There are repetitions enough to find a difference in one of so many TESTS."""
	if significance.least(first.runs, second.runs) > significance.LEVEL / tests:
		count = significance.needed(tests)
		raise Quit(f"--fail-above: {first.kind.name} of {first.size} bytes was measured "
			   f"{first.runs} and {second.runs} times; to tell {tests} "
			   f"figure{'s' * (tests > 1)} from chance takes {count} of each "
			   f"(krping sweep --repeat {count}), or fewer figures (--test, --size)")


def _p(wanted: Limit, first: Row, second: Row) -> float:
	samples = [row.sample(FIGURES[wanted.figure].name) for row in (first, second)]
	if wanted.figure in LESS_IS_WORSE:
		samples = [[-value for value in each] for each in samples]
	return significance.p_greater(*samples)
