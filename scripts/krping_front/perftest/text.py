# SPDX-License-Identifier: GPL-2.0
"""perftest's text: one output or several, one after the other. Each line has its place in the output
of a run, and one that is elsewhere, or that is not known, ends the reading."""

import dataclasses
import enum
from typing import NoReturn

from krping_front.errors import Quit

from . import lines
from .columns import Heading, is_number
from .figures import Figures
from .lines import Kind, Line
from .tests import Test

# The digits of a sum of two rounded numbers may differ by one and a half.
SUM = 1.6
CYCLES = "is of latencies in cycles (-C); run it without -C"


class Stage(enum.IntEnum):
	"""How far the output of a run has come."""

	HEAD = 0
	ADDRESSES = 1
	TABLE = 2
	END = 3
	# Below the heading of one direction's results.
	SIDE = 4


BEFORE_TABLE = (Stage.HEAD, Stage.ADDRESSES, Stage.SIDE)


@dataclasses.dataclass
class Run:
	"""The output of a run."""

	test: Test
	# Its title's line.
	number: int
	is_server: bool
	stage: Stage = Stage.HEAD
	facts: dict[str, str] = dataclasses.field(default_factory=dict)
	heading: Heading | None = None
	# All latencies are listed, and the table's heading comes again.
	listing: bool = False
	side: str = ""
	rows: list[Figures] = dataclasses.field(default_factory=list)
	# What it says that is amiss.
	failures: list[str] = dataclasses.field(default_factory=list)

	def of_side(self, side: str) -> list[Figures]:
		"""Its rows of SIDE."""
		return [row for row in self.rows if row.side == side]


class Reader:
	"""Reads text."""

	def __init__(self, name: str) -> None:
		"""NAME is what messages call it."""
		self.name = name
		self.run: Run | None = None
		# A server waits, whose title is to come.
		self.waiting = False
		self.found: list[Figures] = []
		self.complaints: list[str] = []

	def read(self, text: str) -> None:
		"""Read all of TEXT, into `found` and `complaints`."""
		for number, line in enumerate(text.split("\n"), 1):
			for each in lines.of(number, line):
				self._line(each)
		self._finish()

	def _line(self, line: Line) -> None:
		match line.kind:
			case Kind.BLANK | Kind.REMARK:
				pass
			case Kind.UNKNOWN:
				self._refuse(line, "is not known")
			case Kind.TITLE:
				self._title(line)
			case Kind.WAITING:
				self._finish()
				self.waiting = True
			case Kind.FAILURE:
				self._failure(line)
			case Kind.RULE:
				self._rule()
			case _:
				self._of_run(line)

	def _of_run(self, line: Line) -> None:
		"""A line that only the output of a run has."""
		if self.run is None:
			self._refuse(line, "is of no test: the beginning of perftest's output is missing")
		run = self.run
		match line.kind:
			case Kind.FACTS if run.stage <= Stage.ADDRESSES:
				run.facts |= line.value
			case Kind.LISTENING if run.stage <= Stage.ADDRESSES:
				run.is_server = True
			case Kind.ADDRESS if run.stage <= Stage.ADDRESSES:
				run.stage = Stage.ADDRESSES
			case Kind.LIST if run.stage == Stage.TABLE and run.test.is_latency:
				if line.value == "cycles":
					self._refuse(line, CYCLES)
				run.listing = True
			case Kind.SAMPLE if run.listing:
				pass
			case Kind.SIDE if self._is_next(line.value):
				run.stage, run.side = Stage.SIDE, line.value
			case Kind.HEADING if run.stage in BEFORE_TABLE or run.listing:
				self._heading(line)
			case Kind.ROW if run.stage == Stage.TABLE:
				self._row(line)
			case _:
				self._refuse(line, "is not where perftest has it")

	def _is_next(self, side: str) -> bool:
		"""Whether the results of SIDE come next in the run: local ones, then remote ones."""
		run = self.run
		return run is not None and run.test.both and run.stage in (Stage.TABLE, Stage.END) \
			and bool(run.of_side(run.side)) \
			and (run.side, side) in (("", "local"), ("local", "remote"))

	def _title(self, line: Line) -> None:
		if isinstance(line.value, str):
			self._refuse(line, f"is of a test of {line.value}, which krping has no test of")
		self._finish()
		self.run = Run(line.value, line.number, self.waiting)
		self.waiting = False

	def _failure(self, line: Line) -> None:
		text = line.text.strip()
		if self.run and self.run.stage != Stage.END:
			self.run.failures.append(text)
		else:
			self.complaints.append(f"{self.name}:{line.number}: {text}")

	def _rule(self) -> None:
		run = self.run
		if run and run.stage == Stage.HEAD and run.facts:
			run.stage = Stage.ADDRESSES
		elif run and run.stage == Stage.TABLE and run.of_side(run.side) and not run.listing:
			run.stage = Stage.END

	def _heading(self, line: Line) -> None:
		run, heading = self.run, line.value
		assert run
		if isinstance(heading, str):
			if "cycles" in heading:
				self._refuse(line, CYCLES)
			self._refuse(line, f"has {heading!r}, which is no column that is known")
		if not heading.fits(run.test.is_latency):
			self._refuse(line, f"is not that of a table of {run.test.title}")
		run.heading, run.stage, run.listing = heading, Stage.TABLE, False

	def _row(self, line: Line) -> None:
		run, cells = self.run, line.value
		assert run and run.heading
		if len(cells) != len(run.heading.columns):
			self._refuse(line, "has not the columns of its heading")
		if not all(map(is_number, cells, run.heading.columns)):
			self._refuse(line, "is none of figures as perftest prints them")
		row = Figures(f"{self.name}:{line.number}", run.test, run.facts, run.is_server,
			      dict(zip(run.heading.names, cells)), run.heading.unit, run.side)
		before = run.of_side(run.side)
		if before and row.number("size") not in (before[-1].number("size"),
							 2 * before[-1].number("size")):
			self._refuse(line, "is of another size than one that follows the line above it")
		run.rows.append(row)

	def _finish(self) -> None:
		"""The run has ended, if there is one."""
		run, self.run = self.run, None
		if run is None:
			return
		if "connection type" in run.facts and not run.test.both:
			# Where one side sends, the other has no queue for that.
			run.is_server = "tx depth" not in run.facts
		for row in run.rows:
			row.is_server = run.is_server
		said = list(run.failures)
		said += self._sides(run)
		if not run.rows and not said:
			said = ["it has no line of figures" + (
				": that of a server, which perftest's client has" * run.is_server
				or ": it failed, or was cut off")]
		elif run.rows and run.stage != Stage.END:
			said += ["it was cut off: the line below its figures is missing"]
		if said:
			where = f"{self.name}:{run.number}: {run.test.title}"
			self.complaints.append(f"{where}: {'; '.join(said)}")
		self.found += run.rows

	def _sides(self, run: Run) -> list[str]:
		"""Leave out of RUN the results of each direction that are none, and say so."""
		both, local, remote = (run.of_side(side) for side in ("", "local", "remote"))
		if not run.side:
			return []
		if len(both) == len(local) == len(remote) == 1 and \
				both[0].cells["size"] == local[0].cells["size"] == remote[0].cells["size"]:
			average = [row[0].number("average") for row in (both, local, remote)]
			digits = len(both[0].cells["average"].partition(".")[2])
			if not any(row[0].trouble for row in (both, local, remote)) and \
					abs(average[0] - average[1] - average[2]) > SUM * 10.0 ** -digits:
				raise Quit(f"{remote[0].where}: local and remote results do not add up to "
					   "those of both directions")
			return []
		run.rows = both
		# Of SENDs for a time (-D) there are none, and the program prints what it finds in memory.
		return ["its local and remote results are not there, or none, and are left out"]

	def _refuse(self, line: Line, why: str) -> NoReturn:
		raise Quit(f"{self.name}:{line.number}: perftest's line {line.text.strip()[:100]!r} {why}")
