# SPDX-License-Identifier: GPL-2.0
"""Hosts and pairs that are worse than the others of a matrix.

What a host adds to its row or its column accuses the host; what is left of a cell when both are
taken out accuses the pair. So a bad host is one finding, and not one for each of its pairs.

Of many healthy cells one may be the worst by chance. That chance does not come twice: who is
accused is measured again, and again() judges them by that alone.

Nothing here does I/O."""

import dataclasses
import math
import statistics

from . import power
from .apart import CELLS, Apart, Effect, Matrix, measured, take_apart
from .power import Unjudged

# Whoever is accused is worse by at least a quarter.
LEAST = math.log(1.25)
# Who is measured again is one of one: this score is enough. And what is real is about as bad the
# second time, so at least this share of the first effect, in logarithms.
SURE = 3.0
SHARE = 0.5
# The effect of a host that is not compared.
NOTHING = Effect(0.0, 1.0)
# Who is meant as client and as server.
Sides = tuple[int | None, int | None]


@dataclasses.dataclass(frozen=True)
class Finding:
	"""A host or a pair that is accused. Who is not part of it is None."""

	client: int | None
	server: int | None
	# The times that it is worse than typical: of latencies the factor, of bandwidths its
	# inverse. For failures their share.
	factor: float
	# The modified z-score, 0 for failures.
	score: float

	@property
	def kind(self) -> str:
		"""Who is accused: a pair, or a host for both of its sides or for one."""
		if self.client is None or self.server is None:
			return "server" if self.client is None else "client"
		return "host" if self.client == self.server else "pair"


@dataclasses.dataclass(frozen=True)
class Again:
	"""The same by what was measured again."""

	factor: float
	score: float
	# Whether they stand out again; None where that cannot be told.
	stands: bool | None


@dataclasses.dataclass(frozen=True)
class Judgement:
	"""What a matrix says of hosts and pairs."""

	# The worst hosts come first, then the worst pairs.
	found: list[Finding]
	unjudged: list[Unjudged]


def judge(matrix: Matrix, more_is_worse: bool) -> Judgement:
	"""The Judgement of MATRIX, whose rows are clients, and whose cells are figures, None where
	there is none."""
	apart = take_apart(matrix, more_is_worse)
	return Judgement(_accused(apart) if apart else [], power.unjudged(matrix, apart))


def _accused(apart: Apart) -> list[Finding]:
	pairs = []
	limit = power.of_pairs(apart)
	for client, line in enumerate(apart.rest):
		for server, cell in enumerate(line):
			if cell is not None and cell > LEAST and cell / apart.noise > limit:
				pairs.append(Finding(client, server, math.exp(cell), cell / apart.noise))
	return _hosts(apart) + sorted(pairs, key=lambda finding: -finding.score)


def again(matrix: Matrix, fresh: Matrix, finding: Finding, more_is_worse: bool) -> Again | None:
	"""FINDING, which is of MATRIX, as the FRESH figures make it, which are None where nothing
	was measured again. The other hosts and pairs are taken from both. None is returned where
	too little was measured again to say."""
	whole = [[one if other is None else other for one, other in zip(*lines)]
		 for lines in zip(matrix, fresh)]
	sides = (finding.client, finding.server)
	if finding.kind == "pair":
		if _cell(fresh, finding) is None:
			return None
	else:
		rows, columns = fresh, [list(line) for line in zip(*fresh)]
		counts = [measured(lines[host]) for host, lines in zip(sides, (rows, columns))
			  if host is not None]
		if min(counts) < CELLS:
			return None
		# Earlier measurements say nothing of them any more.
		for client, line in enumerate(whole):
			for server in range(len(line)):
				if client == sides[0] or server == sides[1]:
					line[server] = fresh[client][server]
	apart = take_apart(whole, more_is_worse)
	if apart is None:
		return None
	if finding.kind == "pair":
		effects = [Effect(_cell(apart.rest, finding) or 0.0, apart.noise)]
	else:
		effects = [known[host] for host, known in zip(sides, (apart.by_row, apart.by_column))
			   if host is not None and host in known]
	worst = max(effects, key=lambda effect: effect.score, default=None)
	if worst is None:
		return None
	first = math.log(finding.factor)
	stands = worst.score > SURE and worst.amount > max(LEAST, SHARE * first)
	# Who is not cleared by noise alone is so by figures of their own that are better now, and not
	# by others' that are worse.
	cleared = worst.amount + SURE * worst.scale < first \
		and _better(matrix, fresh, sides, more_is_worse) > SHARE * first
	return Again(math.exp(worst.amount), worst.score, stands if stands or cleared else None)


def _better(matrix: Matrix, fresh: Matrix, sides: Sides, more_is_worse: bool) -> float:
	"""By how much, in logarithms, the FRESH figures of a pair, or of a host on its SIDES, are better
	than those of MATRIX."""
	pair = None not in sides and sides[0] != sides[1]
	changes = [math.log(before / now) for client, lines in enumerate(zip(matrix, fresh))
		   for server, (before, now) in enumerate(zip(*lines))
		   if before and now and ((client, server) == sides if pair
					  else client == sides[0] or server == sides[1])]
	return statistics.median(changes or [0.0]) * (1 if more_is_worse else -1)


def _cell(matrix: Matrix, finding: Finding) -> float | None:
	"""The cell of MATRIX that FINDING, which is of a pair, is about."""
	assert finding.client is not None and finding.server is not None
	return matrix[finding.client][finding.server]


def failing(tried: list[list[int]], errors: list[list[int]]) -> list[Finding]:
	"""The Findings of failures: ERRORS of the runs TRIED. A host most of whose runs failed is
	accused, the worst first, and its runs are not held against others. What failed besides
	is of pairs."""
	count = len(tried)
	runs = [[sum(tried[host]), sum(line[host] for line in tried)] for host in range(count)]
	bad = [[sum(errors[host]), sum(line[host] for line in errors)] for host in range(count)]
	found: list[Finding] = []
	left = set(range(count))
	while len(left) > 2:
		shares = {host: max(map(_share, bad[host], runs[host])) for host in left}
		worst = max(left, key=lambda host: (shares[host], sum(bad[host]), -host))
		# One failure is of a pair; and where all fail alike, nobody stands out.
		rivals = sum(share >= shares[worst] for share in shares.values())
		if shares[worst] <= 0.5 or sum(bad[worst]) < 2 or rivals > len(left) // 2:
			break
		sides = [_share(bad[worst][side], runs[worst][side]) > 0.5 for side in (0, 1)]
		found.append(Finding(worst if sides[0] else None, worst if sides[1] else None,
				     shares[worst], 0.0))
		left.remove(worst)
		for host in left:
			runs[host][0] -= tried[host][worst]
			runs[host][1] -= tried[worst][host]
			bad[host][0] -= errors[host][worst]
			bad[host][1] -= errors[worst][host]
	for client in sorted(left):
		found += [Finding(client, server, _share(errors[client][server],
							 tried[client][server]), 0.0)
			  for server in sorted(left) if errors[client][server]]
	return found


def _share(part: int, whole: int) -> float:
	return part / whole if whole else 0.0


def _hosts(apart: Apart) -> list[Finding]:
	"""The hosts that are accused, by what they add as client and as server."""
	found = []
	limit = power.of_hosts(apart)
	for host in sorted(apart.by_row.keys() | apart.by_column.keys()):
		sides = [side.get(host, NOTHING) for side in (apart.by_row, apart.by_column)]
		clear = [side.score > limit and side.amount > LEAST for side in sides]
		# Once one side is clear, half of that is enough for the other.
		also = [side.score > limit / 2 and side.amount > LEAST for side in sides]
		if not any(clear):
			continue
		both = all(also)
		worst = max(sides, key=lambda side: side.score)
		found.append(Finding(host if both or clear[0] else None,
				     host if both or clear[1] else None,
				     math.exp(worst.amount), worst.score))
	return sorted(found, key=lambda finding: -finding.score)
