# SPDX-License-Identifier: GPL-2.0
"""A matrix, taken apart: what is typical, what each client and each server adds, and the rest.

It is "typical + client + server + rest", in logarithms, by medians of rows and columns in turn
(Tukey's median polish). Medians and MADs, the medians of absolute deviations, are not moved by
those whom they are to find.

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
# Fewer cells say nothing of their row or column, fewer rows nothing of each other.
CELLS = 3
TURNS = 4
# Hosts really differ where their spread is larger than the standard error of one by this, over
# the root of their number. One of them stands out by so many standard errors.
REAL = 4.0
CLEAR = 3.0


@dataclasses.dataclass(frozen=True)
class Effect:
	"""What a host adds to its row or column, in logarithms."""

	amount: float
	# The standard deviation of what a healthy one adds.
	scale: float

	@property
	def score(self) -> float:
		"""The modified z-score."""
		return self.amount / self.scale


# The part that each host with enough cells adds; nothing where there are too few of these.
Effects = dict[int, Effect]


@dataclasses.dataclass(frozen=True)
class Apart:
	"""A matrix that is taken apart."""

	# The rest of each cell, and the standard deviation of a rest that is only noise.
	rest: Matrix
	noise: float
	by_row: Effects
	by_column: Effects


def take_apart(matrix: Matrix, more_is_worse: bool) -> Apart | None:
	"""MATRIX, taken apart; None where there are too few cells."""
	rows, columns, rest = _polish(_logs(matrix, 1 if more_is_worse else -1))
	if sum(map(measured, rest)) <= CELLS:
		return None
	rest, noise = _real(rows, columns, rest)
	return Apart(rest, noise, _hosts(rows, [measured(line) for line in rest], noise),
		     _hosts(columns, [measured(list(line)) for line in zip(*rest)], noise))


def _logs(matrix: Matrix, sign: int) -> Matrix:
	return [[sign * math.log(cell) if cell is not None and cell > 0 else None
		 for cell in line] for line in matrix]


def measured(cells: list[float | None]) -> int:
	"""The number of CELLS that have a figure."""
	return sum(cell is not None for cell in cells)


def _mad(values: list[float]) -> float:
	middle = statistics.median(values)
	return statistics.median([abs(value - middle) for value in values])


def _real(rows: list[float], columns: list[float], rest: Matrix) -> tuple[Matrix, float]:
	"""REST with what of ROWS and COLUMNS is only noise put back, and the noise of its cells.
	A median of few cells that is taken out for nothing makes the others worse to judge."""
	counts = [[measured(line) for line in rest], [measured(list(line)) for line in zip(*rest)]]
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


def _hosts(effects: list[float], cells: list[int], noise: float) -> Effects:
	"""What each host that has enough CELLS adds, which are EFFECTS. Hosts may differ more than the
	NOISE of their cells explains."""
	known = {host: effects[host] for host, count in enumerate(cells) if count >= CELLS}
	if len(known) <= CELLS:
		return {}
	middle = statistics.median(known.values())
	spread = NORMAL * _mad(list(known.values()))
	return {host: Effect(effect - middle,
			     max(FLOOR, spread, MEDIAN * noise / math.sqrt(cells[host])))
		for host, effect in known.items()}
