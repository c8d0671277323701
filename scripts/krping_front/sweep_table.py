# SPDX-License-Identifier: GPL-2.0
"""The table of a test of a sweep, printed row by row while the sweep goes on."""

from . import repeats, table
from .points import Point
from .rows import Row


class SweepTable:
	"""Prints a row for each point as soon as it was measured as often as it is to be."""

	def __init__(self, style: table.Style, repeat: int, below: bool, silent: bool) -> None:
		"""It stands BELOW another table; if it is SILENT, nothing is printed."""
		self.style = style
		self.repeat = repeat
		self.below = below
		self.silent = silent
		self.table: table.Table | None = None
		# Points that wait for more repetitions.
		self.waiting: dict[Point, list[Row]] = {}

	def add(self, point: Point, rows: list[Row]) -> None:
		"""POINT has come to ROWS."""
		self.waiting[point] = rows
		if len(rows) >= self.repeat:
			self._print(point)

	def _print(self, point: Point) -> None:
		row = repeats.together(self.waiting.pop(point))
		if self.silent:
			return
		if self.table is None:
			self.style = self.style.of([row])
			self.table = table.Table(table.columns(row.measure, style=self.style))
			self._line(f"# {table.title(row, style=self.style)}")
			self._line(self.table.heading())
		self._line(self.table.line(row))

	def note(self, text: str) -> None:
		"""Print TEXT between the rows, for people."""
		if not self.silent:
			self._line(text)

	def _line(self, text: str) -> None:
		if self.below:
			print()
			self.below = False
		print(text, flush=True)

	def finish(self) -> None:
		"""Print what has fewer repetitions than it was to have."""
		for point in list(self.waiting):
			self._print(point)
