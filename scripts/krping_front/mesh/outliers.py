# SPDX-License-Identifier: GPL-2.0
"""Hosts and pairs that are worse than the others of a matrix.

A matrix is taken apart as "typical + client + server + rest", in logarithms, by medians of rows
and columns in turn (Tukey's median polish). What a host adds to its row or its column accuses
the host; what is left of a cell when both are taken out accuses the pair. So a bad host is one
finding, and not one for each of its pairs. Medians and MADs, the medians of absolute deviations,
are not moved by those whom they are to find.

Of many healthy cells one may be the worst by chance. That chance does not come twice: who is
accused is measured again, and again() judges them by that alone.

Nothing here does I/O."""

import dataclasses
import math
import statistics

Matrix = list[list[float | None]]

# A normal distribution's standard deviation is so many of its MADs.
NORMAL = 1.4826
# The standard error of a median, in those of a mean.
MEDIAN = 1.2533
# Deviations of 5% are none: a quiet matrix accuses nobody.
FLOOR = math.log(1.05)
# Whoever is accused is worse by at least a quarter.
LEAST = math.log(1.25)
# How often a matrix of healthy hosts may accuse one of them, as far as its noise is log-normal.
FALSE = 0.0001
# Fewer cells say nothing of their row or column, fewer rows nothing of each other.
CELLS = 3
TURNS = 4
# Who is measured again is one of one: this score is enough. And what is real is about as bad the
# second time, so at least this share of the first effect, in logarithms.
SURE = 3.0
SHARE = 0.5
# Hosts really differ where their spread is larger than the standard error of one by this, over
# the root of their number. One of them stands out by so many standard errors.
REAL = 4.0
CLEAR = 3.0


@dataclasses.dataclass(frozen=True)
class Finding:
	"""A host or a pair that is accused. Who is not part of it is None."""

	client: int | None
	server: int | None
	# How many times worse than typical it is: of latencies the factor, of bandwidths its
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
class Apart:
	"""A matrix that is taken apart."""

	# What is left of each cell, and the standard deviation of such a one that is only noise.
	rest: Matrix
	noise: float
	# The score of each host, and how much it adds, as client and as server.
	by_row: dict[int, tuple[float, float]]
	by_column: dict[int, tuple[float, float]]


def find(matrix: Matrix, more_is_worse: bool) -> list[Finding]:
	"""The Findings of MATRIX, whose rows are clients, and whose cells are figures, None where
	there is none. The worst hosts come first, then the worst pairs."""
	apart = _take_apart(matrix, more_is_worse)
	if apart is None:
		return []
	found = _named(apart.by_row, apart.by_column)
	pairs = []
	limit = _limit(sum(map(_count, apart.rest)))
	for client, line in enumerate(apart.rest):
		for server, cell in enumerate(line):
			if cell is not None and cell > LEAST and cell / apart.noise > limit:
				pairs.append(Finding(client, server, math.exp(cell), cell / apart.noise))
	return found + sorted(pairs, key=lambda finding: -finding.score)


def again(matrix: Matrix, fresh: Matrix, finding: Finding, more_is_worse: bool) -> Finding | None:
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
		counts = [_count(lines[host]) for host, lines in zip(sides, (rows, columns))
			  if host is not None]
		if min(counts) < CELLS:
			return None
		# What was measured before says nothing of them any more.
		for client, line in enumerate(whole):
			for server in range(len(line)):
				if client == sides[0] or server == sides[1]:
					line[server] = fresh[client][server]
	apart = _take_apart(whole, more_is_worse)
	if apart is None:
		return None
	if finding.kind == "pair":
		cell = _cell(apart.rest, finding) or 0.0
		return dataclasses.replace(finding, factor=math.exp(cell), score=cell / apart.noise)
	score, effect = max((known[host] for host, known in zip(sides, (apart.by_row, apart.by_column))
			     if host is not None and host in known), default=(0.0, 0.0))
	return dataclasses.replace(finding, factor=math.exp(effect), score=score)


def _cell(matrix: Matrix, finding: Finding) -> float | None:
	"""The cell of MATRIX that FINDING, which is of a pair, is about."""
	assert finding.client is not None and finding.server is not None
	return matrix[finding.client][finding.server]


def stands(first: Finding, second: Finding) -> bool:
	"""Whether who is accused by the FIRST finding is so by the SECOND one, too."""
	effect = math.log(second.factor)
	return second.score > SURE and effect > max(LEAST, SHARE * math.log(first.factor))


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


def _take_apart(matrix: Matrix, more_is_worse: bool) -> Apart | None:
	"""MATRIX, taken apart; None where there are too few cells."""
	rows, columns, rest = _polish(_logs(matrix, 1 if more_is_worse else -1))
	if sum(map(_count, rest)) <= CELLS:
		return None
	rest, noise = _real(rows, columns, rest)
	return Apart(rest, noise, _hosts(rows, [_count(line) for line in rest], noise),
		     _hosts(columns, [_count(list(line)) for line in zip(*rest)], noise))


def _share(part: int, whole: int) -> float:
	return part / whole if whole else 0.0


def _logs(matrix: Matrix, sign: int) -> Matrix:
	return [[sign * math.log(cell) if cell is not None and cell > 0 else None
		 for cell in line] for line in matrix]


def _count(cells: list[float | None]) -> int:
	return sum(cell is not None for cell in cells)


def _mad(values: list[float]) -> float:
	middle = statistics.median(values)
	return statistics.median([abs(value - middle) for value in values])


def _real(rows: list[float], columns: list[float], rest: Matrix) -> tuple[Matrix, float]:
	"""REST with what of ROWS and COLUMNS is only noise put back, and the noise of its cells.
	A median of few cells that is taken out for nothing makes the others worse to judge."""
	counts = [[_count(line) for line in rest], [_count(list(line)) for line in zip(*rest)]]
	noise = _noise(rest, sum(count >= CELLS for side in counts for count in side))
	kept = [_kept(effects, side, noise) for effects, side in zip((rows, columns), counts)]
	back = [[effect if host not in side else 0.0 for host, effect in enumerate(effects)]
		for effects, side in zip((rows, columns), kept)]
	rest = [[None if cell is None else cell + back[0][client] + back[1][server]
		 for server, cell in enumerate(line)] for client, line in enumerate(rest)]
	return rest, max(FLOOR, _noise(rest, sum(map(len, kept))))


def _kept(effects: list[float], counts: list[int], noise: float) -> set[int]:
	"""The rows whose EFFECTS are more than the NOISE of their cells makes: all of them where
	they differ that much, or those that stand out."""
	errors = {host: max(FLOOR, MEDIAN * noise / math.sqrt(count))
		  for host, count in enumerate(counts) if count >= CELLS}
	if not errors:
		return set()
	spread = NORMAL * _mad([effects[host] for host in errors])
	if spread > (1 + REAL / math.sqrt(len(errors))) * statistics.median(errors.values()):
		return set(errors)
	return {host for host, error in errors.items() if abs(effects[host]) > CLEAR * error}


def _noise(rest: Matrix, fitted: int) -> float:
	"""The standard deviation of cells, of which REST is left behind FITTED medians. Each of
	these has made a cell nothing, and the others smaller than they were."""
	sizes = sorted(abs(cell) for line in rest for cell in line if cell is not None)
	free = len(sizes) - min(fitted, len(sizes) - CELLS)
	return NORMAL * statistics.median(sizes[-free:]) * math.sqrt(len(sizes) / free)


def _polish(logs: Matrix) -> tuple[list[float], list[float], Matrix]:
	"""What each row and each column of LOGS adds to the typical cell, and the rest of each
	cell. Rows and columns with too few cells add nothing."""
	rows, columns = [0.0] * len(logs), [0.0] * (len(logs[0]) if logs else 0)
	rest = [list(line) for line in logs]
	known = [cell for line in rest for cell in line if cell is not None]
	middle = statistics.median(known) if known else 0.0
	rest = [[None if cell is None else cell - middle for cell in line] for line in rest]
	for _ in range(TURNS):
		moved = 0.0
		for effects in (rows, columns):
			for place, line in enumerate(rest):
				present = [cell for cell in line if cell is not None]
				if len(present) < CELLS:
					continue
				by = statistics.median(present)
				effects[place] += by
				moved = max(moved, abs(by))
				rest[place] = [None if cell is None else cell - by for cell in line]
			# Columns are the rows of the other turn.
			rest = [list(line) for line in zip(*rest)]
		if moved < FLOOR / 10:
			break
	return rows, columns, rest


def _hosts(effects: list[float], cells: list[int], noise: float) -> dict[int, tuple[float, float]]:
	"""The score of each host that has enough CELLS, and how much it adds, which are EFFECTS.
	Hosts may differ more than the NOISE of their cells explains."""
	known = {host: effects[host] for host, count in enumerate(cells) if count >= CELLS}
	if len(known) <= CELLS:
		return {}
	middle = statistics.median(known.values())
	spread = NORMAL * _mad(list(known.values()))
	found = {}
	for host, effect in known.items():
		scale = max(FLOOR, spread, MEDIAN * noise / math.sqrt(cells[host]))
		found[host] = ((effect - middle) / scale, effect - middle)
	return found


def _named(rows: dict[int, tuple[float, float]],
	   columns: dict[int, tuple[float, float]]) -> list[Finding]:
	"""The hosts that are accused, by what they add as client (ROWS) and as server (COLUMNS)."""
	found = []
	limit = _limit(2 * max(len(rows), len(columns), 1))
	for host in sorted(rows.keys() | columns.keys()):
		sides = (rows.get(host, (0.0, 0.0)), columns.get(host, (0.0, 0.0)))
		clear = [score > limit and effect > LEAST for score, effect in sides]
		# Once one side is clear, half of that is enough for the other.
		also = [score > limit / 2 and effect > LEAST for score, effect in sides]
		if not any(clear):
			continue
		both = all(also)
		score, effect = max(sides)
		found.append(Finding(host if both or clear[0] else None,
				     host if both or clear[1] else None, math.exp(effect), score))
	return sorted(found, key=lambda finding: -finding.score)


def _limit(count: int) -> float:
	"""The score from which one of COUNT is accused. The more there are, the further the
	farthest of the healthy is off; and the fewer, the less is known of their spread."""
	sure = statistics.NormalDist().inv_cdf(1 - FALSE / count)
	return max(3.5, sure * (1 + 8 / (count + 8)))
