# SPDX-License-Identifier: GPL-2.0
"""Two files of results side by side."""

from collections.abc import Callable

from . import counters, moved, results, rows, table
from .results import Loaded
from .rows import Row
from .stats import difference

Figure = Callable[[Row], float | None]
# A test, side and measure, and the rows of both files that are of them and of one size and rate.
Pair = tuple[tuple[str, str, str], Row | None, Row | None]

# What is compared of each measure: heading, and the figure of a row.
FIGURES: dict[str, tuple[tuple[str, Figure, int], ...]] = {
	"latency": (
		("t_typical[usec]", lambda row: row.microseconds("p50_ns"), 2),
		("t_avg[usec]", lambda row: row.microseconds("mean_ns"), 2),
		("99%[usec]", lambda row: row.microseconds("p99_ns"), 2),
		("99.9%[usec]", lambda row: row.microseconds("p99_9_ns"), 2),
	),
	"bandwidth": (
		("BW average[MiB/sec]", lambda row: row.mib_per_s, 2),
		("MsgRate[Mpps]", lambda row: row.mpps, 6),
	),
	"rate": (("rate[1/sec]", lambda row: row.rate, 0),),
	"load": (
		("done[1/sec]", lambda row: row.rate, 0),
		("t_typical[usec]", lambda row: row.microseconds("p50_ns"), 2),
		("99%[usec]", lambda row: row.microseconds("p99_ns"), 2),
		("99.9%[usec]", lambda row: row.microseconds("p99_9_ns"), 2),
	),
}


def pairs(first: list[Row], second: list[Row]) -> list[Pair]:
	"""What of FIRST and SECOND (lists of Rows) is the same: by test, side, size and rate, and
	the n-th of these with the n-th. Sorted by size and rate within a test."""
	found: dict[tuple[tuple[str, str, str], int, int, int], list[Row | None]] = {}
	for place, side in enumerate((first, second)):
		seen: dict[tuple[tuple[str, str, str], int, int], int] = {}
		for row in side:
			what = ((row.kind.name, row.role, row.measure), row.size, row.due or 0)
			seen[what] = seen.get(what, 0) + 1
			found.setdefault((*what, seen[what]), [None, None])[place] = row
	tests = list(dict.fromkeys(key[0] for key in found))
	ordered = sorted(found, key=lambda key: (tests.index(key[0]), *key[1:]))
	return [(key[0], found[key][0], found[key][1]) for key in ordered]


def lines(first: Loaded, second: Loaded) -> list[str]:
	"""The tables of two results.Loaded."""
	sides = [[row for row in rows.by_command([found for found in each.results
						  if not results.is_answer(found)])
		  if row.has_figures] for each in (first, second)]
	text = [f"A: {first.name}", f"B: {second.name}", "differences are of B from A"]
	matched = pairs(*sides)
	for what in dict.fromkeys(pair[0] for pair in matched):
		group = [pair for pair in matched if pair[0] == what]
		text += [""] + _table(group)
		found = _counters(group)
		if found:
			text += [""] + found
	if not matched:
		text += ["", "nothing was measured"]
	return text


def _table(group: list[Pair]) -> list[str]:
	"""The table of GROUP, which are of one test and side."""
	some = next(row for _, *both in group for row in both if row)
	text = [f"# {some.kind.name}: {some.kind.title}; {some.role}"]
	for name, side in (("A", [each[1] for each in group]), ("B", [each[2] for each in group])):
		hows = dict.fromkeys(_how(row) for row in side if row)
		text += [f"#   {name}: {how}" for how in hows if how]
	figures = FIGURES[some.measure]
	by = [table.BYTES, table.DUE] if some.measure == "load" else [table.BYTES]
	cells = [[column.text(both[0] or both[1]) for column in by]
		 + [cell for _, figure, digits in figures for cell in _cells(figure, digits, *both)]
		 for _, *both in group]
	headings = [column.heading for column in by] + ["A", "B", "diff"] * len(figures)
	widths = [max(7, len(heading), *(len(line[place]) for line in cells))
		  for place, heading in enumerate(headings)]
	above = " " * (sum(widths[:len(by)]) + 2 * len(by) - 1)
	for place, (heading, _, _) in enumerate(figures):
		begins = len(by) + 3 * place
		three = widths[begins:begins + 3]
		# Room for the heading above its three columns.
		three[0] += max(0, len(heading) - sum(three) - 4)
		widths[begins] = three[0]
		above += "  " + heading.center(sum(three) + 4)
	text.append(above.rstrip())
	for line in [headings] + cells:
		text.append(" " + "  ".join(cell.rjust(width)
					    for cell, width in zip(line, widths)))
	return text


def _counters(group: list[Pair]) -> list[str]:
	"""The table of the counters that moved in the runs of GROUP that both files have."""
	both = [(first, second) for *_, first, second in group if first and second]
	return moved.lines({"A": counters.total(first.counters for first, _ in both),
			    "B": counters.total(second.counters for _, second in both)})


def _how(row: Row) -> str:
	"""What the figures of ROW depend on."""
	both = "both directions" if row.duplex else ""
	return "; ".join(part for part in (row.device, row.variant, both) if part)


def _cells(figure: Figure, digits: int, first: Row | None, second: Row | None) -> list[str]:
	values = [None if row is None else figure(row) for row in (first, second)]
	return [table.fixed(value, digits) for value in values] + [difference(*values)]
