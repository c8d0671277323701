# SPDX-License-Identifier: GPL-2.0
"""The pictures of latencies and bandwidths."""

from collections.abc import Callable
from typing import Any

from . import picture, stats, units
from .curves import Curves, Points
from .rows import Row

PERCENTILES = (("p50_ns", "50%", "-"), ("p99_ns", "99%", "--"), ("p99_9_ns", "99.9%", ":"))


def all_rows(curves: Curves) -> list[Row]:
	"""All Rows of CURVES."""
	return [row for _, points in curves for row in points.values() if row]


def values(points: Points, value: Callable[[Row], float | None]) -> list[float | None]:
	"""The VALUE of each Row of POINTS; where there is none, the curve has a gap."""
	return [value(row) if row else float("nan") for row in points.values()]


def band(axes: Any, places: list[Any], points: list[Row | None], name: str, unit: float,
	 colour: str) -> None:
	"""Fill what the repetitions of POINTS were between, in the figure NAME."""
	if not any(row and row.runs > 1 for row in points):
		return
	nothing = [float("nan")]
	samples = [row.sample(name) if row and row.has(name) else nothing for row in points]
	axes.fill_between(places, [min(each) / unit for each in samples],
			  [max(each) / unit for each in samples], color=colour, alpha=0.2, linewidth=0)


def cdf(pyplot: Any, series: list[tuple[str, Row]]) -> Any:
	"""The distributions of latencies."""
	figure, axes = pyplot.subplots(figsize=picture.SIZE)
	top = max(sum(count for _, _, count in row.histogram or []) for _, row in series)
	# No more nines than there are iterations for.
	nines = max(2, min(4, len(str(top)) - 1))
	end = float(picture.shares(nines + 0.3))
	for colour, (label, row) in zip(picture.COLOURS, series):
		points = stats.distribution(row.histogram or [], row.latency["min_ns"],
					    row.latency["max_ns"])
		axes.plot([ns / 1000 for ns, _ in points], [min(share, end) for _, share in points],
			  drawstyle="steps-post", color=colour, label=label)
		axes.plot(row.microseconds("max_ns"), end, "o", color=colour, markersize=4)
	axes.set_xscale("log")
	axes.set_yscale("function", functions=(picture.nines, picture.shares))
	axes.set_ylim(0, float(picture.shares(nines + 0.4)))
	ticks = [0, 0.5, 0.75] + [1 - 10 ** -n for n in range(1, nines + 1)]
	axes.set_yticks(ticks, [f"{tick * 100:g}%" for tick in ticks])
	picture.plain_axis(axes.xaxis, [row.latency[name] for _, row in series
				 for name in ("min_ns", "max_ns")])
	axes.set_xlabel("latency [usec]; the dots are the longest")
	axes.set_ylabel("share of iterations that took at most so long")
	axes.set_title(picture.title([row for _, row in series], "Distribution of latencies"))
	picture.legend(axes)
	return figure


def latency_curves(pyplot: Any, axes: Any,
		   curves: list[tuple[str, list[Any], list[Row | None]]]) -> list[Any]:
	"""Draw three percentiles of each of CURVES: a label, and the place and the Row of each
	point. Return the handles of the legend."""
	handles = []
	for colour, marker, (label, places, points) in zip(picture.COLOURS, picture.MARKERS, curves):
		for name, _, style in PERCENTILES:
			each = [row.microseconds(name) if row else float("nan") for row in points]
			curve, = axes.plot(places, each, style, color=colour, marker=marker,
					   markersize=4, label=label)
			band(axes, places, points, name, 1e3, colour)
			if style == "-" and len(curves) > 1:
				handles.append(curve)
	axes.set_yscale("log")
	found = [row for *_, points in curves for row in points if row]
	picture.plain_axis(axes.yaxis, [row.latency.get(name) for row in found
					for name, _, _ in PERCENTILES])
	axes.set_ylabel("latency [usec]")
	# What the styles mean, whatever the colour.
	handles += [pyplot.Line2D([], [], linestyle=style, color="#555555", label=percent)
		    for _, percent, style in PERCENTILES]
	return handles + band_handles(pyplot, found)


def band_handles(pyplot: Any, found: list[Row]) -> list[Any]:
	"""What the bands of FOUND mean, for the legend; nothing where there are none."""
	most = max((row.runs for row in found), default=1)
	if most < 2:
		return []
	return [pyplot.Rectangle((0, 0), 1, 1, color="#555555", alpha=0.2, linewidth=0,
				 label=f"least to most of {most} repetitions; curves: median")]


def percentiles(pyplot: Any, curves: Curves) -> Any:
	"""Latencies by size."""
	figure, axes = pyplot.subplots(figsize=picture.SIZE)
	handles = latency_curves(pyplot, axes, [
		(label, list(points), list(points.values())) for label, points in curves])
	picture.size_axis(axes, list(curves[0][1]))
	axes.set_title(picture.title(all_rows(curves), "Latency by size"))
	picture.legend(axes, handles)
	return figure


def load(pyplot: Any, curves: Curves) -> Any:
	"""Latencies by the rate that was done."""
	figure, axes = pyplot.subplots(figsize=picture.SIZE)
	handles = latency_curves(pyplot, axes, [
		(label, values(points, lambda row: row.rate), list(points.values()))
		for label, points in curves])
	axes.set_xscale("log")
	picture.plain_axis(axes.xaxis, [row.rate for row in all_rows(curves)])
	axes.set_xlabel("operations done [per second]")
	axes.set_title(picture.title(all_rows(curves), "Latency by load"))
	picture.legend(axes, handles)
	return figure


def bandwidth(pyplot: Any, curves: Curves) -> Any:
	"""Bandwidths and message rates by size."""
	figure, (above, below) = pyplot.subplots(2, 1, figsize=(picture.SIZE[0], 7), sharex=True)
	handles = []
	for colour, marker, (label, points) in zip(picture.COLOURS, picture.MARKERS, curves):
		for axes, name, unit, value in (
				(above, "bytes_per_s", units.MIB, lambda row: row.mib_per_s),
				(below, "rate", 1e6, lambda row: row.mpps)):
			curve, = axes.plot(list(points), values(points, value), color=colour,
					   marker=marker, markersize=4, label=label)
			band(axes, list(points), list(points.values()), name, unit, colour)
		handles.append(curve)
	handles = handles[:len(handles) if len(handles) > 1 else 0]
	bandwidth_axis(above)
	handles += link_lines(above, all_rows(curves))
	below.set_yscale("log")
	below.set_ylabel("message rate [Mpps]")
	picture.plain_axis(below.yaxis, [row.mpps for row in all_rows(curves)])
	picture.size_axis(below, list(curves[0][1]))
	above.set_title(picture.title(all_rows(curves), "Bandwidth by size"))
	picture.legend(below, handles + band_handles(pyplot, all_rows(curves)))
	return figure


def bandwidth_axis(axes: Any, logarithmic: bool = False) -> None:
	"""Bandwidths in MiB/s on the left of AXES, and in Gbit/s on the right; LOGARITHMIC, or from 0."""
	if logarithmic:
		axes.set_yscale("log")
	else:
		axes.set_ylim(bottom=0)
	axes.set_ylabel("bandwidth [MiB/s]")
	per_mib = units.MIB * 8 / 1e9
	right = axes.secondary_yaxis("right", functions=(lambda value: value * per_mib,
							 lambda value: value / per_mib))
	right.set_ylabel("bandwidth [Gbit/s]")
	if logarithmic:
		picture.plain_axis(right.yaxis, [])


# A line further above all curves than that would press them together.
LINK_ABOVE = 4


def link_lines(axes: Any, found: list[Row]) -> list[Any]:
	"""Draw the rates of the links of FOUND into AXES of MiB/s, unless all curves are far below;
	return the handles of the legend."""
	rates = sorted({row.source.get("provenance", {}).get("rate_mbit_per_s", 0) for row in found} - {0})
	top = max((row.mib_per_s or 0 for row in found), default=0)
	handles = []
	for megabits in rates:
		mib = megabits * 1e6 / 8 / units.MIB
		if mib <= LINK_ABOVE * top:
			handles.append(axes.axhline(mib, color="#555555", linestyle="-.", linewidth=1,
						    label=f"link rate, {megabits / 1000:g} Gbit/s"))
	if handles:
		axes.set_ylim(top=max(axes.get_ylim()[1], 1.05 * rates[-1] * 1e6 / 8 / units.MIB
				      if len(handles) == len(rates) else 0))
	return handles
