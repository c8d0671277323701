# SPDX-License-Identifier: GPL-2.0
"""The picture of how long the requests of disks and taps took, on each part of their way."""

from typing import Any

from . import picture
from .result import Stage

# Fields of a stage, markers and texts.
MARKS = (("p50", "o", "50%"), ("p99", "s", "99%"), ("p99_9", "D", "99.9%"), ("max", "|", "longest"))


def _usec(stage: Stage, field: str) -> float:
	"""The FIELD of STAGE; a logarithmic axis has no 0."""
	values: dict[str, int] = dict(stage.items())  # type: ignore[arg-type]
	return max(values[field], 1) / 1e3


def draw(pyplot: Any, disks: list[tuple[str, dict[str, Stage]]]) -> Any:
	"""A line for each stage of each of DISKS, with its percentiles."""
	names = list(dict.fromkeys(name for _, parts in disks for name in parts))
	lines = len(names) * (len(disks) + 1)
	figure, axes = pyplot.subplots(figsize=(picture.SIZE[0], max(3.0, 1.5 + 0.25 * lines)))
	handles = []
	for number, (colour, (label, parts)) in enumerate(zip(picture.COLOURS, disks)):
		for name, stage in parts.items():
			place = -names.index(name) * (len(disks) + 1) - number
			line, = axes.plot([_usec(stage, "min"), _usec(stage, "max")], [place] * 2,
					  color=colour, linewidth=1, label=label)
			for field, marker, _ in MARKS:
				axes.plot(_usec(stage, field), place, marker, color=colour,
					  markersize=10 if marker == "|" else 5)
		handles += [line] if len(disks) > 1 else []
	handles += [pyplot.Line2D([], [], linestyle="", marker=marker, color="#555555", label=text)
		    for _, marker, text in MARKS]
	middle = (len(disks) - 1) / 2
	axes.set_yticks([-place * (len(disks) + 1) - middle for place in range(len(names))], names)
	axes.set_xscale("log")
	picture.plain_axis(axes.xaxis, [_usec(stage, end) for _, parts in disks
					for stage in parts.values() for end in ("min", "max")])
	axes.set_xlabel("latency of requests [usec]; lines: from the shortest to the longest")
	axes.set_title("Requests of disks and taps by stage")
	picture.legend(axes, handles)
	return figure
