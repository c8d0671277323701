# SPDX-License-Identifier: GPL-2.0
"""The picture of one test of two files: both, and by how much the second differs from the first."""

from typing import Any

from . import drawings, picture, units
from .curves import Points
from .rows import Row

# Name, unit, style and text of what is compared.
LATENCIES = (("p50_ns", 1e3, "-", "50%"), ("p99_ns", 1e3, "--", "99%"))
BANDWIDTH = (("bytes_per_s", float(units.MIB), "-", ""),)


def draw(pyplot: Any, sides: list[tuple[str, Points]]) -> Any:
	"""The two SIDES by size, and below the difference of the second in percent."""
	figure, (above, below) = pyplot.subplots(2, 1, figsize=(picture.SIZE[0], 7), sharex=True)
	found = drawings.all_rows(sides)
	wide = found[0].kind.measure == "bandwidth"
	sizes = sorted({size for _, points in sides for size in points})
	handles = []
	for colour, marker, (label, points) in zip(picture.COLOURS, picture.MARKERS, sides):
		each = [points.get(size) for size in sizes]
		for name, unit, style, _ in BANDWIDTH if wide else LATENCIES:
			curve, = above.plot(sizes, _values(each, name, unit), style, color=colour,
					    marker=marker, markersize=4, label=label)
			drawings.band(above, sizes, each, name, unit, colour)
			handles += [curve] if style == "-" else []
	if wide:
		drawings.bandwidth_axis(above)
		handles += drawings.link_lines(above, found)
	else:
		above.set_yscale("log")
		above.set_ylabel("latency [usec]")
		picture.plain_axis(above.yaxis, [row.microseconds(name) for row in found
						 for name, *_ in LATENCIES])
		handles += [pyplot.Line2D([], [], linestyle=style, color="#555555", label=text)
			    for _, _, style, text in LATENCIES]
	for colour, (name, _, style, _) in zip(picture.COLOURS[len(sides):],
					       BANDWIDTH if wide else LATENCIES):
		_differences(below, sizes, sides, name, (style, colour))
	below.axhline(0, color="#555555", linewidth=1)
	below.set_ylabel(f"{sides[1][0]} from {sides[0][0]} [%]")
	picture.size_axis(below, sizes)
	above.set_title(picture.title(found, ""))
	picture.legend(below, handles + drawings.band_handles(pyplot, found))
	return figure


def _values(points: list[Row | None], name: str, unit: float) -> list[float]:
	return [row.figure(name) / unit if row and row.has(name) else float("nan") for row in points]


def _differences(axes: Any, sizes: list[int], sides: list[tuple[str, Points]], name: str,
		 look: tuple[str, str]) -> None:
	"""The difference of the figure NAME in the style and the colour of LOOK, and between what it is
	with any two repetitions."""
	middle, least, most = [], [], []
	for size in sizes:
		both = [points.get(size) for _, points in sides]
		samples = [row.sample(name) for row in both if row and row.has(name)]
		values = [row.figure(name) for row in both if row and row.has(name)]
		if len(samples) < 2 or not min(samples[0]):
			values, samples = [1, float("nan")], [[1], [float("nan")]]
		middle.append((values[1] / values[0] - 1) * 100)
		least.append((min(samples[1]) / max(samples[0]) - 1) * 100)
		most.append((max(samples[1]) / min(samples[0]) - 1) * 100)
	style, colour = look
	axes.plot(sizes, middle, style, color=colour, marker="o", markersize=4)
	if least != most:
		axes.fill_between(sizes, least, most, color=colour, alpha=0.2, linewidth=0)
