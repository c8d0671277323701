# SPDX-License-Identifier: GPL-2.0
"""Tables of counters that moved, of one file or of two."""

from typing import NamedTuple

from .counters import Counters
from .stats import difference
from .table import Column, Table


class Line(NamedTuple):
	"""A counter, and by how much it has moved in one or two files."""

	name: str
	values: tuple[int | None, ...]
	difference: str
	note: str = ""


def _moved(path: str, counters: Counters) -> int | None:
	"""By how much PATH has moved: None where COUNTERS have none of its kind, so that nothing
	is known."""
	kind = path.partition(".")[0]
	known = any(each.partition(".")[0] == kind for each in counters)
	return counters.get(path, 0) if known else None


def lines(files: dict[str, Counters]) -> list[str]:
	"""The table of the counters that moved in any of FILES, one or two, which have a column each by
	their names. With two, a last one has by how many percent the second is more."""
	paths = dict.fromkeys(path for counters in files.values()
			      for path, value in counters.items() if value)
	if not paths:
		return []
	found = []
	for path in paths:
		values = tuple(_moved(path, counters) for counters in files.values())
		found.append(Line(path, values, difference(*values) if len(files) == 2 else ""))
	columns = [Column("counter", lambda line: line.name, left=True)]
	columns += [_column(name, place) for place, name in enumerate(files)]
	if len(files) == 2:
		columns.append(Column("diff", lambda line: line.difference))
	table = Table(tuple(columns), found)
	return [table.heading()] + [table.line(line) for line in found]


def _column(name: str, place: int) -> Column:
	def text(line: Line) -> str:
		value = line.values[place]
		return "-" if value is None else str(value)
	return Column(name, text)
