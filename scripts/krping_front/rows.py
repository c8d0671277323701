# SPDX-License-Identifier: GPL-2.0
"""A row of figures: of one result, or of all results of one command together."""

import types
import typing
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from . import counters, stats
from .command import number as number_of
from .command import split, variant
from .counters import Counters
from .kinds import KINDS, SIZED, Kind
from .result import Histogram, Result
from .tables import option, units_of
from .units import MIB

Number = TypeVar("Number", int, float)

# The percentiles of a result, and how many of 100,000 each is of.
PERCENTILES = {"p50_ns": 50_000, "p90_ns": 90_000, "p99_ns": 99_000, "p99_9_ns": 99_900,
	       "p99_99_ns": 99_990}
LATENCIES = ("min_ns", "max_ns", "mean_ns", "stddev_ns", *PERCENTILES)
# The figures of a row that are none.
OTHERS = ("bytes_per_s", "peak_bytes_per_s", "rate", "late")


class Row(typing.NamedTuple):
	"""Figures of one test with one size. What is None is not known."""

	kind: Kind
	role: str
	size: int
	# What tells this row from others of its table.
	name: str
	note: str
	# The device and the options that the figures depend on.
	device: str
	variant: str
	duplex: bool
	tag: str
	iterations: int
	elapsed_ns: int
	# Bytes and operations per second, of both directions where both count.
	bytes_per_s: float | None
	rate: float | None
	# The names of LATENCIES and their ns, as far as known.
	latency: dict[str, int]
	histogram: Histogram | None
	# What moved meanwhile.
	counters: Counters
	# The operations per second that were due in an open loop, and how many of them waited for
	# others.
	due: int | None = None
	late: int | None = None
	# The highest of an interval, where there are some.
	peak_bytes_per_s: float | None = None
	# How many repetitions it is the median of, and each figure of them; nothing of one.
	runs: int = 1
	samples: Mapping[str, list[float]] = types.MappingProxyType({})
	# The result, or the first of several.
	source: Result = typing.cast(Result, types.MappingProxyType({}))

	@property
	def measure(self) -> str:
		"""What its table has: that of its test, or of an open loop "load"."""
		return self.kind.measure if self.due is None else "load"

	@property
	def has_figures(self) -> bool:
		"""Whether anything was measured."""
		return self.iterations > 0

	@property
	def mib_per_s(self) -> float | None:
		"""The bandwidth as perftest prints it, in MiB/s."""
		return None if self.bytes_per_s is None else self.bytes_per_s / MIB

	@property
	def mpps(self) -> float | None:
		"""The message rate as perftest prints it, in millions per second."""
		return None if self.rate is None else self.rate / 1e6

	def microseconds(self, name: str) -> float | None:
		"""The latency NAME in usec."""
		return self.latency[name] / 1000 if name in self.latency else None

	def has(self, name: str) -> bool:
		"""Whether the figure NAME, of LATENCIES or OTHERS, is known."""
		return name in self.latency or getattr(self, name, None) is not None

	def figure(self, name: str) -> float:
		"""The figure NAME, which is known."""
		found: float = self.latency[name] if name in self.latency else getattr(self, name)
		return found

	def sample(self, name: str) -> list[float]:
		"""The figure NAME, which is known, of each repetition."""
		return self.samples.get(name) or [self.figure(name)]

	def setting(self, name: str) -> str:
		"""The value of the option NAME of its command, the default without one, as tables have
		it: of an option without values whether it is given."""
		row = option(name)
		given = split(self.source.get("options", ""))
		if name not in given:
			return "no" if row.get("kind") == "flag" else str(row.get("default", "-"))
		return given[name] or "yes"

	def variant_without(self, names: Collection[str]) -> str:
		"""Its options that tell one measurement from another, but those of NAMES."""
		return ",".join(each for each in self.variant.split(",")
				if each.partition("=")[0] not in names)


def _per_second(amount: int, ns: int) -> float | None:
	return amount * 1e9 / ns if ns else None


def of(result: Result) -> Row:
	"""The Row of a result. That of a disk or tap only says of what it is."""
	kind = KINDS[result["test"]]
	iterations, elapsed = result["iterations"], result["elapsed_ns"]
	notes = []
	if result["status"] == "failed":
		notes.append(result.get("errno", "failed"))
	if result.get("partial"):
		notes.append("partial")
	fields: Mapping[str, Any] = result
	latency = {name: fields[name] for name in LATENCIES if name in fields}
	prefix = ""
	if iterations == 0 and result.get("peer_iterations", 0) > 0:
		# This side only served.
		prefix = "peer_"
		iterations, elapsed = result["peer_iterations"], result.get("peer_elapsed_ns", 0)
		notes.append("as the peer says")
	rate = _per_second(iterations, elapsed)
	bandwidth = fields.get(f"{prefix}bytes_per_s", rate and rate * result["size"])
	# Both sides', if both moved data.
	total = result.get("total_bytes_per_s")
	if total is not None:
		rate = total / result["size"] if result["size"] else rate
		bandwidth = total
	# What perftest says of it.
	rate = fields.get("messages_per_s", rate)
	if kind.measure != "bandwidth":
		bandwidth = None
	if kind.measure == "latency" and not latency and prefix:
		latency = {"mean_ns": elapsed // iterations}
	return Row(kind=kind, role=result["role"], size=result["size"],
		   name=f"{result['role']} {result['thread']}", note=", ".join(notes),
		   device=device(result), variant=variant(result["options"]),
		   duplex=total is not None, tag=result["tag"],
		   iterations=iterations, elapsed_ns=elapsed, bytes_per_s=bandwidth, rate=rate,
		   latency=latency, histogram=result.get("histogram_ns"),
		   counters=counters.of(result),
		   due=number_of(split(result["options"]).get("rate", ""), units_of("rate")),
		   late=result["open_loop"]["late"] if "open_loop" in result else None,
		   peak_bytes_per_s=_peak(result) if bandwidth is not None and total is None else None,
		   source=result)


def _peak(result: Result) -> float | None:
	"""The most bytes per second of an interval of RESULT's series; None where none is whole."""
	if "series" not in result:
		return None
	series = result["series"]
	place, length = series["columns"].index("bytes"), series["interval_ns"]
	whole = [row[place] for row in series["intervals"] if row[0] + length <= series["ended_ns"]]
	return max(whole) * 1e9 / length if whole else None


def device(result: Result) -> str:
	"""The device of RESULT with its transport, "" where there is none."""
	if "device" not in result:
		return ""
	transport = result.get("transport")
	return result["device"] + (f" ({transport})" if transport else "")


def together(rows: list[Row]) -> Row:
	"""One Row of all ROWS, which ran at the same time: rates are added up, and latencies
	are those of all operations."""
	if len(rows) == 1:
		return rows[0]
	first = rows[0]
	measured = [row for row in rows if row.has_figures]
	notes = list(dict.fromkeys(row.note for row in rows if row.note))
	return first._replace(
		name=f"all {len(rows)}", note="; ".join(notes), histogram=_merged(measured),
		duplex=any(row.duplex for row in rows),
		counters=counters.together(row.counters for row in rows),
		iterations=sum(row.iterations for row in rows),
		elapsed_ns=max(row.elapsed_ns for row in rows),
		bytes_per_s=_sum(row.bytes_per_s for row in measured),
		peak_bytes_per_s=None,
		rate=_sum(row.rate for row in measured), latency=_latency(measured),
		late=_sum(row.late for row in measured))


def _sum(values: Iterable[Number | None]) -> Number | None:
	known = [value for value in values if value is not None]
	return sum(known) if known else None


def _merged(rows: list[Row]) -> Histogram | None:
	found = [row.histogram for row in rows if row.histogram is not None]
	return stats.merge(found) if rows and len(found) == len(rows) else None


def _latency(rows: list[Row]) -> dict[str, int]:
	"""The latencies of all ROWS, as far as all of them have them."""
	def have(*names: str) -> bool:
		return bool(rows) and all(name in row.latency for row in rows for name in names)

	found = {}
	for name, choose in (("min_ns", min), ("max_ns", max)):
		if have(name):
			found[name] = choose(row.latency[name] for row in rows)
	if have("mean_ns"):
		parts = [(row.iterations, row.latency["mean_ns"], row.latency.get("stddev_ns", 0))
			 for row in rows]
		mean, deviation = stats.mean_and_deviation(parts)
		found["mean_ns"] = mean
		if have("stddev_ns"):
			found["stddev_ns"] = deviation
	histogram = _merged(rows)
	if histogram and "max_ns" in found:
		found |= {name: stats.percentile(histogram, share, found["max_ns"])
			  for name, share in PERCENTILES.items()}
	return found


def by_command(results: list[Result]) -> list[Row]:
	"""A Row for each command of RESULTS, in their order, but for disks and taps, which
	have none. A server's results are not put together: its clients may have come one
	after the other."""
	groups: dict[object, list[Row]] = {}
	for number, result in enumerate(results):
		if result["test"] not in SIZED:
			continue
		key = number if result["role"] == "server" else (
			result["id"], result["test"], result["size"], result["options"])
		groups.setdefault(key, []).append(of(result))
	return [together(rows) for rows in groups.values()]
