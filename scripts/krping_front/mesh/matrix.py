# SPDX-License-Identifier: GPL-2.0
"""What pairs measured, as matrices: a row for each client, a column for each server.

Nothing here does I/O."""

import dataclasses
import statistics
from collections.abc import Iterable

from krping_front.kinds import KINDS

from .apart import Matrix
from .figures import FIGURES, RETRANSMITS
from .outliers import Finding
from .pairs import Pair

# A test, a size and a rail.
Key = tuple[str, int, str]


@dataclasses.dataclass
class Run:
	"""One run of one pair: its figures, or why it failed."""

	pair: Pair
	figures: dict[str, float]
	errno: str = ""
	reason: str = ""
	# By how many ns its start was missed.
	late: int = 0
	# The devices that its client used, as far as they are known.
	devices: frozenset[str] = frozenset()

	@property
	def failed(self) -> bool:
		"""Whether it failed."""
		return bool(self.errno)


class Grid:
	"""The matrices of one test with one size on one rail."""

	def __init__(self, key: Key, count: int) -> None:
		self.test, self.size, self.rail = self.key = key
		self.count = count
		self.figures = FIGURES[KINDS[self.test].measure]
		self.values: dict[str, Matrix] = {name: [[None] * count for _ in range(count)]
						  for name in self.figures}
		self.tried = [[0] * count for _ in range(count)]
		self.errors = [[0] * count for _ in range(count)]
		# Runs whose retransmits are known.
		self.counted = [[0] * count for _ in range(count)]
		# All values of pairs that ran more than once, in their order.
		self.series: dict[Pair, dict[str, list[float]]] = {}

	def add(self, run: Run) -> None:
		"""Take RUN in. Of several runs of a pair the median counts, and retransmits are added
		up. Figures of a run that failed are of a part of it, and do not count."""
		client, server = run.pair
		self.tried[client][server] += 1
		if run.failed:
			self.errors[client][server] += 1
			return
		self.counted[client][server] += RETRANSMITS in run.figures
		for name in self.figures:
			value = run.figures.get(name)
			if value is None:
				continue
			before = self.values[name][client][server]
			if before is None:
				self.values[name][client][server] = value
				continue
			series = self.series.setdefault(run.pair, {})
			each = series.setdefault(name, [before])
			each.append(value)
			self.values[name][client][server] = \
				sum(each) if name == RETRANSMITS else statistics.median(each)

	def all_of(self, name: str, pair: Pair) -> list[float]:
		"""All values of the figure NAME of PAIR, in their order."""
		value = self.values[name][pair[0]][pair[1]]
		return self.series.get(pair, {}).get(name) or ([] if value is None else [value])

	def best(self, name: str) -> Matrix:
		"""The figure NAME of each pair in the best of its runs."""
		choose = min if self.figures[name] else max
		found = [list(line) for line in self.values[name]]
		for (client, server), series in self.series.items():
			if name in series:
				found[client][server] = choose(series[name])
		return found

	def tally(self, finding: Finding) -> tuple[int, int]:
		"""How many runs there were of the pair or the host that FINDING is about, and how many
		of them failed."""
		client, server = finding.client, finding.server
		if client is not None and server is not None and client != server:
			pairs = [(client, server)]
		else:
			pairs = [(client, host) for host in range(self.count) if client is not None] \
				+ [(host, server) for host in range(self.count) if server is not None]
		return (sum(self.tried[one][other] for one, other in pairs),
			sum(self.errors[one][other] for one, other in pairs))

	def known(self, name: str) -> list[float]:
		"""All values of the figure NAME."""
		return [cell for line in self.values[name] for cell in line if cell is not None]


def summary(values: Iterable[float]) -> tuple[float, float, float] | None:
	"""The least, the median and the largest of VALUES, None where there are none."""
	found = sorted(values)
	return (found[0], statistics.median(found), found[-1]) if found else None
