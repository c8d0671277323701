# SPDX-License-Identifier: GPL-2.0
"""The columns of perftest's tables, by their names in the text and in its JSON."""

import re
from typing import NamedTuple

from krping_front import units

# Bytes per second. Its MB are MiB, too.
MIB, GBIT = float(units.MIB), 1e9 / 8
UNITS = {"MiB/sec": MIB, "MB/sec": MIB, "Gb/sec": GBIT}
RATES = ("MiB/sec", "MB/sec", "Gb/sec")


class Column(NamedTuple):
	"""A column."""

	name: str
	heading: str
	key: str = ""
	units: tuple[str, ...] = ("",)
	# The digits behind the point; none of whole numbers.
	digits: tuple[int, ...] = (2,)
	# The field of a result, in ns.
	field: str = ""
	# Whether a line is none without it.
	counts: bool = True


TIMES = ("usec",)
BANDWIDTHS = (2, 6)
COLUMNS = {column.name: column for column in (
	Column("size", "#bytes", "MsgSize", digits=(0,)),
	Column("sl", "#sl", "sl", digits=(0,)),
	Column("iterations", "#iterations", "n_iterations", digits=(0,)),
	Column("peak", "BW peak", "BW_peak", RATES, BANDWIDTHS, counts=False),
	Column("average", "BW average", "BW_average", RATES, BANDWIDTHS),
	Column("rate", "MsgRate", "MsgRate", ("Mpps",), (6,)),
	Column("bw1", "BW Port1", "", RATES, counts=False),
	Column("rate1", "MsgRate Port1", "", ("Mpps",), (6,), counts=False),
	Column("bw2", "BW Port2", "", RATES, counts=False),
	Column("rate2", "MsgRate Port2", "", ("Mpps",), (6,), counts=False),
	Column("min", "t_min", "t_min", TIMES, field="min_ns"),
	Column("max", "t_max", "t_max", TIMES, field="max_ns"),
	Column("typical", "t_typical", "t_typical", TIMES, field="p50_ns"),
	Column("mean", "t_avg", "t_avg", TIMES, field="mean_ns"),
	Column("deviation", "t_stdev", "t_stdev", TIMES, field="stddev_ns", counts=False),
	Column("p99", "99% percentile", "percentile_99", TIMES, field="p99_ns"),
	Column("p99_9", "99.9% percentile", "percentile_99.9", TIMES, field="p99_9_ns"),
	Column("tps", "tps average", "tps_average"),
	Column("cpu", "CPU_Util", "CPU_util", ("%",), counts=False),
)}
HEADINGS = {column.heading: column for column in COLUMNS.values()}
KEYS = {column.key: column for column in COLUMNS.values() if column.key}
BANDWIDTH = ("size", "iterations", "peak", "average", "rate")
LATENCY = ("size", "iterations", "min", "max", "typical", "mean", "deviation", "p99", "p99_9")
DURATION = ("size", "iterations", "mean", "tps")
# The figure behind the last column of a table with --cpu_util.
EXTRA = "cpu"
TABLES = {
	"bandwidth": (BANDWIDTH, BANDWIDTH + ("bw1", "rate1", "bw2", "rate2"),
		      ("size", "sl", *BANDWIDTH[1:])),
	"latency": (LATENCY, DURATION),
}
# Columns of latencies: whole or half numbers, where the clock counts cycles.
QUANTILES = ("min", "max", "typical", "p99", "p99_9")

HEADING = re.compile(r"[ \t]*(#\w+|BW (?:peak|average|Port[12])|MsgRate(?: Port[12])?|t_\w+"
		     r"|99(?:\.9)?% percentile|tps average|CPU_Util)(?:\[([^\]]*)\])?")
# Text in place of a number that there is not.
NONE = re.compile(r"-?(?:nan|inf)")


class Heading(NamedTuple):
	"""The heading of a table."""

	columns: tuple[Column, ...]
	units: tuple[str, ...]

	@property
	def unit(self) -> float:
		"""Bytes per second of its bandwidths."""
		return UNITS[self.units[self.names.index("average")]] if "average" in self.names else 1

	@property
	def names(self) -> tuple[str, ...]:
		"""The names of its columns."""
		return tuple(column.name for column in self.columns)

	def fits(self, is_latency: bool) -> bool:
		"""Whether it is one that tests of latency, or of bandwidth, have."""
		names = self.names[:-1] if self.names[-1] == EXTRA else self.names
		return names in TABLES["latency" if is_latency else "bandwidth"]


def heading(line: str) -> Heading | str:
	"""The heading LINE, or what of it is not known."""
	columns, units, place = [], [], 0
	line = line.rstrip()
	while place < len(line):
		match = HEADING.match(line, place)
		if match is None or match[1] not in HEADINGS:
			return line[place:].strip()
		column, unit = HEADINGS[match[1]], match[2] or ""
		if unit not in column.units:
			return match[0].strip()
		columns.append(column)
		units.append(unit)
		place = match.end()
	return Heading(tuple(columns), tuple(units))


def is_number(text: str, column: Column) -> bool:
	"""Whether TEXT is a number as perftest prints those of COLUMN, or stands for one."""
	forms = "|".join(rf"-?\d+\.\d{{{digits}}}" if digits else r"\d+" for digits in column.digits)
	return re.fullmatch(forms, text) is not None or NONE.fullmatch(text) is not None
