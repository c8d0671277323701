# SPDX-License-Identifier: GPL-2.0
"""Two files of results side by side."""

from . import counters, moved, repeats, rows, table
from .results import Loaded
from .rows import Row
from .stats import difference
from .table import Figure

# A test, side and measure.
What = tuple[str, str, str]
# The rows of both files that are of one of these, and of one size and rate.
Pair = tuple[What, Row | None, Row | None]


def pairs(first: list[Row], second: list[Row]) -> list[Pair]:
	"""What of FIRST and SECOND (lists of Rows) is the same: by test, side, size and rate; of several
	of these, those whose options are the same, and of the others the n-th with the n-th. Sorted by
	size and rate within a test."""
	found: dict[tuple[What, int, int], tuple[list[Row], list[Row]]] = {}
	for place, side in enumerate((first, second)):
		for row in side:
			what = ((row.kind.name, row.role, row.measure), row.size, row.due or 0)
			found.setdefault(what, ([], []))[place].append(row)
	tests = list(dict.fromkeys(key[0] for key in found))
	ordered = sorted(found, key=lambda key: (tests.index(key[0]), *key[1:]))
	return [(key[0], *both) for key in ordered for both in _matched(*found[key])]


def _matched(first: list[Row], second: list[Row]) -> list[tuple[Row | None, Row | None]]:
	"""Each of FIRST with one of SECOND, or alone, and what is left of SECOND."""
	left: list[Row | None] = list(second)
	found: list[tuple[Row | None, Row | None]] = []
	for row in first:
		same = next((place for place, other in enumerate(left)
			     if other and other.variant == row.variant), None)
		found.append((row, None if same is None else left.pop(same)))
	rest = iter(left)
	found = [(one, other or next(rest, None)) for one, other in found]
	return found + [(None, other) for other in rest]


def measured(loaded: Loaded) -> list[Row]:
	"""The Rows of LOADED that have figures, repetitions put together."""
	found = [row for row in rows.by_command(loaded.shown) if row.has_figures]
	return [repeats.together(group) for group in repeats.groups(found)]


def lines(first: Loaded, second: Loaded, gbits: bool = False) -> list[str]:
	"""The tables of two results.Loaded, with bandwidths in Gbit/s for GBITS."""
	text = [f"A: {first.name}", f"B: {second.name}", "differences are of B from A"]
	style = table.Style(tuple(dict.fromkeys(first.axes + second.axes)), gbits=gbits)
	matched = pairs(measured(first), measured(second))
	for what in dict.fromkeys(pair[0] for pair in matched):
		group = [pair for pair in matched if pair[0] == what]
		text += [""] + _table(group, style)
		found = _counters(group)
		if found:
			text += [""] + found
	if not matched:
		text += ["", "nothing was measured"]
	return text


def _table(group: list[Pair], style: table.Style) -> list[str]:
	"""The table of GROUP, which are of one test and side, in STYLE."""
	axes = style.axes
	some = next(row for _, *both in group for row in both if row)
	text = [f"# {some.kind.name}: {some.kind.title}; {some.role}"]
	sides = [[first for _, first, _ in group], [second for _, _, second in group]]
	several = False
	for name, side in zip("AB", sides):
		hows = dict.fromkeys(_how(row, axes) for row in side if row)
		several = several or len({row.variant_without(axes) for row in side if row}) > 1
		text += [f"#   {name}: {how}" for how in hows if how]
	figures = table.figures(some.measure, style)
	by = [table.BYTES, *map(table.setting, axes)]
	by += [table.DUE] if some.measure == "load" else []
	if several:
		by.append(table.Column("options", lambda row: row.variant_without(axes) or "-"))
	cells = [[column.text(both[0] or both[1]) for column in by]
		 + [cell for figure in figures for cell in _cells(figure, *both)]
		 for _, *both in group]
	headings = [column.heading for column in by] + ["A", "B", "diff"] * len(figures)
	if any(row and row.runs > 1 for side in sides for row in side):
		headings.insert(len(by), "#runs")
		for line, both in zip(cells, zip(*sides)):
			line.insert(len(by), "/".join(str(row.runs) if row else "-" for row in both))
	first = len(headings) - 3 * len(figures)
	widths = [max(7, len(heading), *(len(line[place]) for line in cells))
		  for place, heading in enumerate(headings)]
	above = " " * (sum(widths[:first]) + 2 * first - 1)
	for place, figure in enumerate(figures):
		begins = first + 3 * place
		three = widths[begins:begins + 3]
		# Room for the heading above its three columns.
		three[0] += max(0, len(figure.heading) - sum(three) - 4)
		widths[begins] = three[0]
		above += "  " + figure.heading.center(sum(three) + 4)
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


def _how(row: Row, axes: tuple[str, ...]) -> str:
	"""What the figures of ROW depend on, but for AXES."""
	both = "both directions" if row.duplex else ""
	return "; ".join(part for part in (row.device, row.variant_without(axes), both) if part)


def _cells(figure: Figure, first: Row | None, second: Row | None) -> list[str]:
	values = [None if row is None else figure.value(row) for row in (first, second)]
	return [table.fixed(value, figure.digits) for value in values] + [difference(*values)]
