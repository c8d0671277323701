# SPDX-License-Identifier: GPL-2.0
"""Rows of figures as text, with perftest's columns, and as CSV."""

import csv
import io
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .rows import Row
from .units import MIB


class Column(NamedTuple):
	"""A column of a table."""

	heading: str
	# What it shows of a row.
	text: Callable[[Any], str]
	left: bool = False


def fixed(value: float | None, digits: int = 2) -> str:
	"""VALUE with DIGITS after the point, or "-" for None."""
	return "-" if value is None else f"{value:.{digits}f}"


def _usec(heading: str, name: str) -> Column:
	return Column(f"{heading}[usec]", lambda row: fixed(row.microseconds(name)))


BYTES = Column("#bytes", lambda row: str(row.size))
ITERATIONS = Column("#iterations", lambda row: str(row.iterations))
NAME = Column("thread", lambda row: row.name, left=True)

LATENCY = (
	_usec("t_min", "min_ns"),
	_usec("t_max", "max_ns"),
	_usec("t_typical", "p50_ns"),
	_usec("t_avg", "mean_ns"),
	_usec("t_stdev", "stddev_ns"),
	_usec("99%", "p99_ns"),
	_usec("99.9%", "p99_9_ns"),
)
DUE = Column("due[1/sec]", lambda row: str(row.due))
# Open loops: the rate that was due, and the rate that was done.
LOAD = (
	DUE,
	Column("done[1/sec]", lambda row: fixed(row.rate, 0)),
	Column("late", lambda row: "-" if row.late is None else str(row.late)),
	_usec("t_typical", "p50_ns"),
	_usec("99%", "p99_ns"),
	_usec("99.9%", "p99_9_ns"),
	_usec("t_max", "max_ns"),
)


class Figure(NamedTuple):
	"""A figure that is compared, or of which there are several."""

	heading: str
	# Of a row, and its name in the row's spread.
	name: str
	unit: float
	digits: int

	def value(self, row: Row) -> float | None:
		"""It of ROW, in its unit, if it is known."""
		return self.of(row) if row.has(self.name) else None

	def of(self, row: Row) -> float:
		"""It of ROW, which has it, in its unit."""
		return row.figure(self.name) / self.unit

	def column(self) -> Column:
		"""The column of it."""
		return Column(self.heading, lambda row: fixed(self.value(row), self.digits))

	def columns(self) -> tuple[Column, Column]:
		"""The columns of medians, and of what repetitions were between."""
		def spread(row: Row) -> str:
			if not row.has(self.name):
				return "-"
			found = row.sample(self.name)
			return "..".join(fixed(each / self.unit, self.digits)
					 for each in (min(found), max(found)))
		return self.column(), Column("min..max", spread)


TYPICAL = Figure("t_typical[usec]", "p50_ns", 1e3, 2)
AVERAGE = Figure("t_avg[usec]", "mean_ns", 1e3, 2)
P99 = Figure("99%[usec]", "p99_ns", 1e3, 2)
P99_9 = Figure("99.9%[usec]", "p99_9_ns", 1e3, 2)
LONGEST = Figure("t_max[usec]", "max_ns", 1e3, 2)
BANDWIDTH = Figure("BW average[MiB/sec]", "bytes_per_s", MIB, 2)
PEAK = Figure("BW peak[MiB/sec]", "peak_bytes_per_s", MIB, 2)
GBITS = Figure("BW average[Gb/sec]", "bytes_per_s", 1e9 / 8, 2)
GBITS_PEAK = Figure("BW peak[Gb/sec]", "peak_bytes_per_s", 1e9 / 8, 2)
RATE = Figure("rate[1/sec]", "rate", 1, 0)
MSG_RATE = Figure("MsgRate[Mpps]", "rate", 1e6, 6)
RUNS = Column("#runs", lambda row: str(row.runs))


class Style(NamedTuple):
	"""How rows are shown."""

	# Options that have a column each.
	axes: tuple[str, ...] = ()
	# Whether rows are medians of repetitions.
	repeated: bool = False
	# Whether bandwidths are in Gbit/s, as with perftest's --report_gbits.
	gbits: bool = False
	# Whether the most of an interval is known.
	peak: bool = False

	def of(self, rows: Iterable[Row]) -> "Style":
		"""It with what ROWS have."""
		return self._replace(peak=any(row.peak_bytes_per_s is not None for row in rows))


PLAIN = Style()


def figures(measure: str, style: Style = PLAIN) -> tuple[Figure, ...]:
	"""What is compared of a MEASURE, and shown of repetitions."""
	if measure == "latency":
		return TYPICAL, AVERAGE, P99, P99_9
	if measure == "rate":
		return (RATE,)
	if measure == "load":
		return Figure("done[1/sec]", "rate", 1, 0), TYPICAL, P99, P99_9
	average, peak = (GBITS, GBITS_PEAK) if style.gbits else (BANDWIDTH, PEAK)
	return (peak,) * style.peak + (average, MSG_RATE)


def _spreads() -> dict[str, Callable[[Row], object]]:
	"""The columns of --csv for the least and the most of each figure among repetitions."""
	def of(name: str, choose: Callable[[list[float]], float], unit: float,
	       digits: int) -> Callable[[Row], object]:
		return lambda row: (_plain(choose(row.samples[name]) / unit, digits)
				    if name in row.samples else "")

	ends: tuple[tuple[str, Callable[[list[float]], float]], ...] = (("min", min), ("max", max))
	return {f"{heading}_{end}": of(name, choose, unit, digits)
		for heading, name, unit, digits in (
			("t_typical_usec", "p50_ns", 1e3, 3), ("t_avg_usec", "mean_ns", 1e3, 3),
			("p99_usec", "p99_ns", 1e3, 3), ("p99_9_usec", "p99_9_ns", 1e3, 3),
			("bw_mib_per_sec", "bytes_per_s", MIB, 3),
			("msg_rate_mpps", "rate", 1e6, 6))
		for end, choose in ends}


# What --csv has: names, and what they are of a row.
CSV: dict[str, Callable[[Row], object]] = {
	"test": lambda row: row.kind.name,
	"bytes": lambda row: row.size,
	"iterations": lambda row: row.iterations,
	"t_min_usec": lambda row: _plain(row.microseconds("min_ns"), 3),
	"t_max_usec": lambda row: _plain(row.microseconds("max_ns"), 3),
	"t_typical_usec": lambda row: _plain(row.microseconds("p50_ns"), 3),
	"t_avg_usec": lambda row: _plain(row.microseconds("mean_ns"), 3),
	"t_stdev_usec": lambda row: _plain(row.microseconds("stddev_ns"), 3),
	"p99_usec": lambda row: _plain(row.microseconds("p99_ns"), 3),
	"p99_9_usec": lambda row: _plain(row.microseconds("p99_9_ns"), 3),
	"bw_mib_per_sec": lambda row: _plain(row.mib_per_s, 3),
	"msg_rate_mpps": lambda row: _plain(row.mpps, 6),
	"note": lambda row: row.note,
	"due_per_sec": lambda row: "" if row.due is None else row.due,
	"done_per_sec": lambda row: "" if row.due is None else _plain(row.rate, 0),
	"late": lambda row: "" if row.late is None else row.late,
	# Repetitions, and between what the figures of these were.
	"runs": lambda row: row.runs,
	**_spreads(),
	# Where they come from.
	"time": lambda row: _time(row.source.get("ended_unix_ns")),
	"host": lambda row: _origin(row, "host"),
	"kernel": lambda row: _origin(row, "kernel"),
	"version": lambda row: row.source.get("version", ""),
	"device": lambda row: row.source.get("device", ""),
	"transport": lambda row: row.source.get("transport", ""),
	"driver": lambda row: row.source.get("driver", ""),
	"firmware": lambda row: _origin(row, "firmware"),
	"rate_mbit_per_sec": lambda row: _origin(row, "rate_mbit_per_s"),
	"path_mtu_bytes": lambda row: row.source.get("path_mtu_bytes", ""),
	"gid": lambda row: row.source.get("gid", ""),
	"peer_gid": lambda row: row.source.get("peer_gid", ""),
	"numa_node": lambda row: _origin(row, "numa_node"),
	"cpus": lambda row: _origin(row, "cpus"),
	"cpu_model": lambda row: _origin(row, "cpu_model"),
	"options": lambda row: row.source.get("options", ""),
}


def _origin(row: Row, name: str) -> object:
	"""NAME of where ROW comes from; "" where that is not known."""
	return row.source.get("provenance", {}).get(name, "")


def _time(ns: int | None) -> str:
	"""The UTC time NS after 1970, to the millisecond; "" where it is not known."""
	if ns is None:
		return ""
	return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + f".{ns // 10**6 % 1000:03}Z"


def _plain(value: float | None, digits: int) -> str:
	return "" if value is None else f"{value:.{digits}f}"


class Table:
	"""Rows below each other. It is printed row by row, or all at once where widths are
	to fit what is in it."""

	def __init__(self, columns: tuple[Column, ...], rows: Iterable[Any] = ()) -> None:
		"""COLUMNS, as wide as their headings and as ROWS need."""
		self.columns = columns
		self.widths = [max([len(column.heading), 7]
				   + [len(column.text(row)) for row in rows])
			       for column in columns]

	def heading(self) -> str:
		"""The line above all rows."""
		return self._line([column.heading for column in self.columns])

	def line(self, row: Any) -> str:
		"""The line of ROW, with its note behind it."""
		line = self._line([column.text(row) for column in self.columns])
		return f"{line}  {row.note}" if row.note else line

	def _line(self, texts: list[str]) -> str:
		cells = [text.ljust(width) if column.left else text.rjust(width)
			 for text, column, width in zip(texts, self.columns, self.widths)]
		return " " + "  ".join(cells).rstrip()


def setting(name: str) -> Column:
	"""The column of the axis NAME."""
	return Column(name, lambda row: row.setting(name))


def columns(measure: str, named: bool = False, style: Style = PLAIN) -> tuple[Column, ...]:
	"""The columns of a table of MEASURE, and the rows' names before them if NAMED."""
	first = ((NAME,) if named else ()) + (BYTES,) + tuple(map(setting, style.axes))
	if not style.repeated:
		shown = {"latency": LATENCY, "load": LOAD}.get(measure) or tuple(
			figure.column() for figure in figures(measure, style))
		return first + (ITERATIONS,) + shown
	due = (DUE,) if measure == "load" else ()
	return first + due + (RUNS,) + tuple(column for figure in figures(measure, style)
					     for column in figure.columns())


def title(row: Row, role: bool = True, style: Style = PLAIN) -> str:
	"""What ROW and those like it are of: the test, which side, where, and how."""
	what = f"{row.kind.name}: {row.kind.title}"
	if row.duplex:
		what += ", both directions"
	where = [row.role] if role else []
	if row.device:
		where.append(f"on {row.device}")
	how = row.variant_without(style.axes)
	return "; ".join(part for part in (what, " ".join(where), how) if part)


def lines(rows: list[Row], named: bool = False, style: Style = PLAIN) -> list[str]:
	"""The table of ROWS, which are of one measure."""
	style = style.of(rows)
	table = Table(columns(rows[0].measure, named, style), rows)
	return [table.heading()] + [table.line(row) for row in rows]


def csv_text(rows: list[Row], axes: tuple[str, ...] = ()) -> str:
	"""ROWS as CSV, with a heading, and a column for each of AXES."""
	out = io.StringIO()
	writer = csv.writer(out, lineterminator="\n")
	writer.writerow([*CSV, *axes])
	writer.writerows([get(row) for get in CSV.values()] + [row.setting(name) for name in axes]
			 for row in rows)
	return out.getvalue()
