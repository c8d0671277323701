# SPDX-License-Identifier: GPL-2.0
"""krping plot: pictures of results, by matplotlib, which only this subcommand needs."""

import argparse
import os
from collections.abc import Callable
from typing import Any

from . import ab, curves, drawings, over_time, picture, provenance, report, scaling, stages
from .curves import Choice
from .errors import NO_PLOTS, Quit

FORMATS = (".svg", ".png", ".pdf")


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	extension = os.path.splitext(arguments.output)[1].lower()
	if extension not in FORMATS:
		raise Quit(f"{arguments.output}: the name must end in {', '.join(FORMATS)}")
	_no_file_twice(arguments.files)
	choose, draw = KINDS[arguments.kind]
	loaded = report.sources(arguments)
	choice = Choice(loaded, arguments.x)
	drawn = choose(choice)
	pyplot = _matplotlib()
	figure = draw(pyplot, drawn)
	if arguments.title:
		figure.suptitle(arguments.title)
	if not arguments.no_provenance:
		picture.footer(figure, provenance.lines(curves.named(choice.loaded)))
	try:
		# No date, so that the same results give the same file.
		dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
		figure.savefig(arguments.output, dpi=150, metadata=dated.get(extension))
	except OSError as error:
		raise Quit(f"{arguments.output}: {error.strerror}") from None
	finally:
		pyplot.close(figure)
	return report.complain(loaded)


def _no_file_twice(paths: list[str]) -> None:
	"""A file that is given again would be drawn over itself."""
	seen = set()
	for path in paths:
		real = os.path.realpath(path)
		if real in seen:
			raise Quit(f"{path} is given twice")
		seen.add(real)


def _matplotlib() -> Any:
	try:
		import matplotlib
		matplotlib.use("Agg")
		from matplotlib import pyplot
	except ImportError as error:
		raise Quit(f"matplotlib is needed for plots ({error}); install "
			   "python3-matplotlib, or 'pip install matplotlib'", NO_PLOTS) from None
	pyplot.rcParams.update({
		"svg.hashsalt": "krping", "svg.fonttype": "none", "font.size": 10,
		"axes.grid": True, "grid.color": "#dddddd", "axes.axisbelow": True,
		"axes.spines.top": False, "axes.spines.right": False,
		"figure.constrained_layout.use": True, "legend.frameon": False,
		"legend.handlelength": 3,
	})
	return pyplot


# What --kind can be: what is drawn of the results, and how.
KINDS: dict[str, tuple[Callable[[Choice], Any], Callable[[Any, Any], Any]]] = {
	"cdf": (curves.runs, drawings.cdf),
	"percentiles": (curves.latencies, drawings.percentiles),
	"bandwidth": (curves.bandwidths, drawings.bandwidth),
	"load": (curves.loads, drawings.load),
	"series": (curves.series, over_time.draw),
	"scaling": (curves.scaling, scaling.draw),
	"ab": (curves.two, ab.draw),
	"disk": (curves.stages, stages.draw),
}
