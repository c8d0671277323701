# SPDX-License-Identifier: GPL-2.0
"""The picture of how rates and latencies go with an option, such as the number of queue pairs."""

from typing import Any

from . import drawings, picture, units
from .curves import Curves, Points
from .rows import Row


def draw(pyplot: Any, choice: tuple[str, Curves]) -> Any:
	"""The rate of curves by an option, with what it would be if it grew as the option does, and
	where latencies were measured these below."""
	name, curves = choice
	found = drawings.all_rows(curves)
	timed = [(label, points) for label, points in curves
		 if any(row and row.has("p50_ns") for row in points.values())]
	figure, axes = pyplot.subplots(2 if timed else 1, 1, squeeze=False, sharex=True,
				       figsize=(picture.SIZE[0], 7 if timed else 5))
	above, below = axes[0][0], axes[-1][0]
	places = sorted({place for _, points in curves for place in points})
	# A line in proportion is straight where both axes are of a kind.
	logarithmic = places[0] > 0 and places[-1] >= 8 * places[0]
	wide = all(row.kind.measure == "bandwidth" for row in found)
	figure_name, unit = ("bytes_per_s", float(units.MIB)) if wide else ("rate", 1e3)
	handles = []
	for colour, marker, (label, points) in zip(picture.COLOURS, picture.MARKERS, curves):
		curve, = above.plot(list(points), _rates(points, figure_name, unit), color=colour,
				    marker=marker, markersize=4, label=label)
		drawings.band(above, list(points), list(points.values()), figure_name, unit, colour)
		handles += [curve] if len(curves) > 1 else []
		above.plot(*_proportional(points, figure_name, unit), color=colour, linestyle=":",
			   linewidth=1)
	handles.append(pyplot.Line2D([], [], linestyle=":", linewidth=1, color="#555555",
				     label=f"in proportion to {name}"))
	if wide:
		drawings.bandwidth_axis(above, logarithmic)
		handles += drawings.link_lines(above, found)
	else:
		above.set_ylabel("rate [thousands per second]")
		if logarithmic:
			above.set_yscale("log")
		else:
			above.set_ylim(bottom=0)
	if logarithmic:
		picture.plain_axis(above.yaxis, [row.figure(figure_name) / unit for row in found])
	if timed:
		percents = drawings.latency_curves(pyplot, below, [
			(label, list(points), [row if row and row.has("p50_ns") else None
					       for row in points.values()]) for label, points in timed])
		handles += percents[len(timed) if len(timed) > 1 else 0:]
	else:
		handles += drawings.band_handles(pyplot, found)
	_axis(below, name, places, logarithmic)
	above.set_title(picture.title(found, f"Scaling with {name}"))
	picture.legend(below, handles)
	return figure


def _rates(points: Points, name: str, unit: float) -> list[float | None]:
	def value(row: Row) -> float:
		return row.figure(name) / unit
	return drawings.values(points, value)


def _proportional(points: Points, name: str, unit: float) -> tuple[list[float], list[float]]:
	"""The line from the first of POINTS on, in proportion to the option, as far as it is not much
	higher than all of them."""
	known = [(place, row.figure(name) / unit) for place, row in points.items() if row]
	first, value = known[0]
	if not first or not value:
		return [], []
	last = min(known[-1][0], first * 1.2 * max(value for _, value in known) / value)
	return [first, last], [value, value * last / first]


def _axis(axes: Any, name: str, places: list[int], logarithmic: bool) -> None:
	from matplotlib import ticker  # noqa: PLC0415
	if logarithmic:
		axes.set_xscale("log", base=2)
	axes.set_xticks(places, [str(place) for place in places])
	axes.xaxis.set_minor_locator(ticker.NullLocator())
	axes.set_xlabel(name)
