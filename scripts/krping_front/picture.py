# SPDX-License-Identifier: GPL-2.0
"""What pictures of results share: colours, axes, legends and titles."""

from collections.abc import Iterable
from typing import Any

from .rows import Row

# Okabe and Ito's, which the colour-blind tell apart, with the light yellow last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
	   "#B0A000")
MARKERS = "osD^vP*X"
SIZE = (8, 5)


def nines(share: Any) -> Any:
	"""How many nines SHARE has: 0.9 has one, 0.99 two."""
	import numpy
	return -numpy.log10(numpy.maximum(1 - numpy.asarray(share, dtype=float), 1e-12))


def shares(nines: Any) -> Any:
	"""The share that has so many NINES."""
	import numpy
	return 1 - 10 ** -numpy.asarray(nines, dtype=float)


def plain_axis(axis: Any, values: Iterable[float | None]) -> None:
	"""Label a logarithmic AXIS of VALUES with plain numbers, and enough of them."""
	from matplotlib import ticker
	known = [value for value in values if value]
	near = bool(known) and max(known) < 10 * min(known)
	steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if near else (1, 2, 5)
	axis.set_major_locator(ticker.LogLocator(subs=steps))
	axis.set_major_formatter(ticker.FuncFormatter(
		lambda value, _: f"{value:.9f}".rstrip("0").rstrip(".")))
	axis.set_minor_locator(ticker.NullLocator())


def size_axis(axes: Any, sizes: list[int]) -> None:
	"""SIZES on a logarithmic x axis."""
	axes.set_xscale("log", base=2)
	# At most so many have room for a label.
	step = -(-len(sizes) // 12)
	axes.set_xticks(sizes, [bytes_text(size) if place % step == 0 else ""
				for place, size in enumerate(sizes)])
	axes.xaxis.set_tick_params(which="minor", bottom=False)
	axes.set_xlabel("size [bytes]")


def bytes_text(size: int, unit: str = "") -> str:
	"""SIZE in bytes, with the UNIT's prefix."""
	for shift, prefix in ((30, "G"), (20, "M"), (10, "K")):
		if size % (1 << shift) == 0:
			number = size >> shift
			return f"{number} {prefix}i{unit}" if unit else f"{number}{prefix}"
	return f"{size} {unit}".rstrip()


def legend(axes: Any, handles: list[Any] | None = None) -> None:
	"""The labels of the curves, if there are several, or of HANDLES, below the picture, where no
	curve is."""
	curves = axes.get_legend_handles_labels()[0]
	handles = handles or curves[:len(curves) if len(curves) > 1 else 0]
	texts = [handle.get_label() for handle in handles]
	if not texts:
		return
	columns = max(1, min(4, 120 // (8 + max(map(len, texts)))))
	figure = axes.get_figure()
	figure.set_figheight(figure.get_figheight() + 0.2 * -(-len(texts) // columns))
	axes.legend(handles, texts, fontsize="small", ncol=columns, loc="upper center",
		    bbox_to_anchor=(0.5, -0.13))


# Letters of a line below the picture.
WIDTH = 170


def footer(figure: Any, texts: list[str]) -> None:
	"""TEXTS in small letters at the lower end of FIGURE."""
	if not texts:
		return
	import textwrap
	lines = [line for text in texts for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]
	figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))
	figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6, color="#555555")


def title(series_rows: list[Row], several: str) -> str:
	"""What all of SERIES_ROWS are of; SEVERAL where they are of different tests."""
	kinds = {row.kind for row in series_rows}
	sizes = {row.size for row in series_rows}
	if len(kinds) > 1:
		return several
	kind = kinds.pop()
	# Disks and taps have none.
	size = f", {bytes_text(sizes.pop(), 'B')}" if len(sizes) == 1 and any(sizes) else ""
	return f"{kind.name}: {kind.title}{size}"
