# SPDX-License-Identifier: GPL-2.0
"""A picture of runs over time, from the series of their results."""

import dataclasses
import math
from typing import Any

from . import picture, rows, units
from .command import split
from .result import Result
from .rows import Row

LATENCIES = (("p50_ns", "50%", "-"), ("p99_ns", "99%", "--"), ("max_ns", "longest", ":"))


@dataclasses.dataclass
class Run:
	"""A result with a series: its Row, the disk that it is of, if any, and the columns of its
	intervals by name, with the longest operations as (moment, latency), all in ns."""

	row: Row
	disk: str
	columns: dict[str, list[int]]
	ends: list[int]
	worst: list[tuple[int, int]]

	@property
	def seconds(self) -> list[float]:
		"""When each interval began."""
		return [ns / 1e9 for ns in self.columns["start_ns"]]

	def per_second(self, column: str, unit: float) -> list[float]:
		"""The amount of COLUMN in each interval by its length, in UNITs per second. The last
		one has no rate if little of it is there: an operation more or less makes much then."""
		lengths = [end - start for start, end in zip(self.columns["start_ns"], self.ends)]
		least = max(lengths) / 4
		return [amount * 1e9 / length / unit if length > least else float("nan")
			for amount, length in zip(self.columns[column], lengths)]

	def microseconds(self, column: str) -> list[float]:
		"""The latencies of COLUMN; an interval without operations has none."""
		return [ns / 1000 if operations else float("nan")
			for ns, operations in zip(self.columns[column], self.columns["operations"])]


def of(result: Result) -> Run | None:
	"""The Run of RESULT; None where it has no series."""
	if "series" not in result:
		return None
	series = result["series"]
	columns = {name: [row[place] for row in series["intervals"]]
		   for place, name in enumerate(series["columns"])}
	ends = [min(start + series["interval_ns"], series["ended_ns"])
		for start in columns["start_ns"]]
	worst = [(at, ns) for at, ns in series.get("worst", [])]
	disk = result.get("disk") or split(result["options"]).get("tap", "")
	return Run(rows.of(result), disk, columns, ends, worst)


def draw(pyplot: Any, runs: list[tuple[str, Run]]) -> Any:
	"""The rate of RUNS, each with its label, over time, and where it was measured the latency
	below."""
	timed = [run for _, run in runs if "p50_ns" in run.columns]
	figure, axes = pyplot.subplots(2 if timed else 1, 1, squeeze=False, sharex=True,
				       figsize=(picture.SIZE[0], 7 if timed else 5))
	above, below = axes[0][0], axes[-1][0]
	# Requests of a disk are of many sizes.
	wide = all(run.row.kind.measure in ("bandwidth", "requests") for _, run in runs)
	column, unit = ("bytes", float(units.MIB)) if wide else ("operations", 1e3)
	handles = []
	for colour, (label, run) in zip(picture.COLOURS, runs):
		steps = {"drawstyle": "steps-post", "color": colour}
		rate = run.per_second(column, unit)
		curve, = above.plot([*run.seconds, run.ends[-1] / 1e9], [*rate, rate[-1]],
				    label=label, **steps)
		handles += [curve] if len(runs) > 1 else []
		if run not in timed:
			continue
		for name, _, style in LATENCIES:
			values = run.microseconds(name)
			below.plot([*run.seconds, run.ends[-1] / 1e9], [*values, values[-1]], style,
				   linewidth=1, **steps)
		below.plot([at / 1e9 for at, _ in run.worst], [ns / 1000 for _, ns in run.worst], "x",
			   color=colour, markersize=6)
	above.set_ylim(bottom=0)
	above.set_ylabel("bandwidth [MiB/s]" if wide else "rate [thousands per second]")
	if timed:
		below.set_yscale("log")
		below.set_ylabel("latency [usec]")
		picture.plain_axis(below.yaxis, [value for run in timed for name, _, _ in LATENCIES
						 for value in run.microseconds(name)
						 if not math.isnan(value)])
		handles += [pyplot.Line2D([], [], linestyle=style, color="#555555", label=text)
			    for _, text, style in LATENCIES]
		handles.append(pyplot.Line2D([], [], linestyle="", marker="x", color="#555555",
					     label="the ten longest"))
	below.set_xlabel("time since the measurement began [s]")
	above.set_title(picture.title([run.row for _, run in runs], "Runs over time"))
	picture.legend(below, handles)
	return figure
