# SPDX-License-Identifier: GPL-2.0
"""krping plot: pictures of results, by matplotlib, which only this subcommand needs."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import over_time, picture, report, results, rows, stats
from .command import is_made_up
from .errors import FAILED, NO_PLOTS, OK, Quit
from .kinds import SIZED
from .over_time import Run
from .results import Loaded
from .rows import Row

# Rows by size, and those of several curves with their labels.
Points = dict[int, Row | None]
Series = list[tuple[str, Points]]

DESCRIPTION = """\
Draw results: the latency distribution of some runs, runs over time, bandwidth
or latency percentiles by size, or latency by load. FILEs, and what of them is
meant, are as in 'krping report'. Needs matplotlib (python3-matplotlib).
"""
EXAMPLES = """\
kinds:
  cdf          which share of all iterations took at most how long: a curve for
               each run. From 0 over 50, 90, 99 to 99.99%, each of the last with
               the same room as the one before
  percentiles  50%, 99% and 99.9% by size
  bandwidth    bandwidth and message rate by size
  load         50%, 99% and 99.9% of the latency by the rate that was done, of
               runs with rate=
  series       rate, and latency if it was measured, over time, of runs, disks
               and taps with interval=; the ten longest operations are marked

examples:
  krping plot a.json b.json --kind cdf --size 64 -o latency.svg
  krping plot sweep.json --kind percentiles --test wlat,rlat -o percentiles.png
  krping plot monday.json friday.json --kind bandwidth -o bandwidth.svg
  krping run loopback,addr=192.0.2.2,bw,duration=60,interval=500 --json >a.json
  krping plot a.json --kind series -o series.svg
  krping sweep --addr 192.0.2.1 --test rlat --rates 1000..64000 --json load.json
  krping plot load.json --kind load -o load.svg

exit status:
  0    written
  1    there are no such results
  2    usage, a file that cannot be read, or that cannot be written
  4    matplotlib is not installed
"""

FORMATS = (".svg", ".png", ".pdf")
PERCENTILES = (("p50_ns", "50%", "-"), ("p99_ns", "99%", "--"), ("p99_9_ns", "99.9%", ":"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	report.add_sources(parser)
	parser.add_argument("--kind", choices=tuple(KINDS), required=True, help="what to draw")
	parser.add_argument("-o", dest="output", metavar="OUT", required=True,
			    help=f"the picture to write; its name ends in {', '.join(FORMATS)}")
	parser.add_argument("--title", help="a line above it")


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	extension = os.path.splitext(arguments.output)[1].lower()
	if extension not in FORMATS:
		raise Quit(f"{arguments.output}: the name must end in {', '.join(FORMATS)}")
	_no_file_twice(arguments.files)
	choose, draw = KINDS[arguments.kind]
	series = choose(report.sources(arguments))
	pyplot = _matplotlib()
	figure = draw(pyplot, series)
	if arguments.title:
		figure.suptitle(arguments.title)
	try:
		# No date, so that the same results give the same file.
		dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
		figure.savefig(arguments.output, dpi=150, metadata=dated.get(extension))
	except OSError as error:
		raise Quit(f"{arguments.output}: {error.strerror}") from None
	finally:
		pyplot.close(figure)
	return OK


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


# What is drawn: lists of (label, Row), or of (label, Rows by size)

def _names(loaded: list[Loaded]) -> list[str]:
	"""Names for files, as short as tells them apart."""
	names = [os.path.splitext(os.path.basename(each.name))[0] for each in loaded]
	return names if len(set(names)) == len(names) else [each.name for each in loaded]


def _all_rows(loaded: list[Loaded]) -> list[tuple[str, Row]]:
	"""(name of the file, Row) of all, also of what failed before anything was measured."""
	found = []
	for name, each in zip(_names(loaded), loaded):
		shown = [result for result in each.results if not results.is_answer(result)]
		found += [(name, row) for row in rows.by_command(shown)]
	return found


def labels(traits: Sequence[tuple[str, ...]]) -> list[str]:
	"""A label for each of TRAITS, which are tuples: of what tells them apart, the first
	that do."""
	used: list[int] = []
	groups = 1
	for place in range(len(traits[0])):
		found = len({tuple(each[known] for known in used + [place]) for each in traits})
		if found > groups:
			used, groups = used + [place], found
	return [", ".join(each[place] for place in used or [0]) for each in traits]


def _too_many(found: Sequence[object], what: str) -> None:
	if not found:
		raise Quit(f"none of these results has {what}", FAILED)
	if len(found) > len(picture.COLOURS):
		raise Quit(f"{len(found)} curves are too many for one picture; choose at most "
			   f"{len(picture.COLOURS)} with --test, --size and --tag")


def _runs(loaded: list[Loaded]) -> list[tuple[str, Row]]:
	"""For cdf: each run that has a histogram."""
	found = [(name, row) for name, row in _all_rows(loaded)
		 if row.has_figures and row.histogram]
	_too_many(found, "a histogram of latencies")
	traits = [(row.kind.name, picture.bytes_text(row.size, "B"), row.variant or "default options",
		   row.role, row.device, name, _tag(row.tag), f"run {number}")
		  for number, (name, row) in enumerate(found, 1)]
	return list(zip(labels(traits), [row for _, row in found]))


def _over_time(loaded: list[Loaded]) -> list[tuple[str, Run]]:
	"""For series: each result that has one."""
	found = []
	for name, each in zip(_names(loaded), loaded):
		for result in each.results:
			run = over_time.of(result)
			if run:
				found.append((name, result["thread"], run))
	_too_many(found, "a series; give the run interval=")
	traits = [(run.row.kind.name, run.disk or picture.bytes_text(run.row.size, "B"),
		   run.row.variant or "default options", run.row.device, name,
		   _tag(run.row.tag), f"thread {thread}") for name, thread, run in found]
	return list(zip(labels(traits), [run for _, _, run in found]))


def _loads(loaded: list[Loaded]) -> list[tuple[str, list[Row]]]:
	"""For load: the Rows of open loops, each test of each file with its size and options as one
	curve, by the rate that was due."""
	curves: dict[tuple[str, ...], list[Row]] = {}
	for name, row in _all_rows(loaded):
		if row.due and row.has_figures and "p50_ns" in row.latency:
			traits = (row.kind.name, picture.bytes_text(row.size, "B"),
				  row.variant or "default options", row.role, row.device, name)
			curves.setdefault(traits, []).append(row)
	_too_many(list(curves), "an open loop; give the run rate=")
	return [(label, sorted(found, key=lambda row: row.due or 0))
		for label, found in zip(labels(list(curves)), curves.values())]


def _tag(tag: str) -> str:
	"""TAG as a label; those that 'run' and 'sweep' made up are none."""
	return "no tag" if is_made_up(tag) or not tag else f"tag={tag}"


def _by_size(found: list[tuple[str, Row]], is_point: Callable[[Row], object]) -> Series:
	"""The (name, Row) of FOUND, each test of each file with its options as one series: its
	Rows for which IS_POINT holds by size, and None for each other size of the picture. Of
	several runs of one size the last counts, which is said."""
	series: dict[tuple[str, ...], dict[int, Row]] = {}
	more = 0
	for name, row in found:
		traits = (row.kind.name, row.variant or "default options",
			  "both directions" if row.duplex else "one direction", row.role,
			  row.device, name)
		if is_point(row):
			points = series.setdefault(traits, {})
			more += row.size in points
			points[row.size] = row
	if more:
		print(f"krping: {more} of the runs are not drawn: of several that differ in nothing "
		      "but their tag, the last one is", file=sys.stderr)
	kinds = {traits[0] for traits in series}
	sizes = sorted({row.size for _, row in found if row.kind.name in kinds})
	return list(zip(labels(list(series)) if series else [],
			[{size: points.get(size) for size in sizes} for points in series.values()]))


def _latencies(loaded: list[Loaded]) -> Series:
	series = _by_size(_all_rows(loaded), lambda row: row.has_figures and "p50_ns" in row.latency)
	_too_many(series, "percentiles of latencies")
	return series


def _bandwidths(loaded: list[Loaded]) -> Series:
	series = _by_size(_all_rows(loaded), lambda row: row.has_figures and row.rate
			  and row.kind.measure == "bandwidth")
	measures = dict.fromkeys(kind.measure for kind in SIZED.values())
	_too_many(series, f"a bandwidth; {', '.join(measures)} are measured by different tests")
	return series


def _rows(series: Series) -> list[Row]:
	"""All Rows of SERIES by size."""
	return [row for _, points in series for row in points.values() if row]


def _curve(points: Points, value: Callable[[Row], float | None]) -> list[float | None]:
	"""The VALUE of each Row of POINTS; where there is none, the curve has a gap."""
	return [value(row) if row else float("nan") for row in points.values()]


# The pictures

def _cdf(pyplot: Any, series: list[tuple[str, Row]]) -> Any:
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


def _latency_curves(pyplot: Any, axes: Any, found: list[Row],
		    curves: list[tuple[str, list[float | None], list[Row | None]]]) -> list[Any]:
	"""Draw three percentiles of each of CURVES: a label, and the place and the Row of each
	point. FOUND are all their Rows. Return the handles of the legend."""
	handles = []
	for colour, marker, (label, places, points) in zip(picture.COLOURS, picture.MARKERS, curves):
		for name, _, style in PERCENTILES:
			values = [row.microseconds(name) if row else float("nan") for row in points]
			curve, = axes.plot(places, values, style, color=colour, marker=marker,
					   markersize=4, label=label)
			if style == "-" and len(curves) > 1:
				handles.append(curve)
	axes.set_yscale("log")
	picture.plain_axis(axes.yaxis, [row.latency[name] for row in found
				 for name, _, _ in PERCENTILES])
	axes.set_ylabel("latency [usec]")
	# What the styles mean, whatever the colour.
	return handles + [pyplot.Line2D([], [], linestyle=style, color="#555555", label=percent)
			  for _, percent, style in PERCENTILES]


def _percentiles(pyplot: Any, series: Series) -> Any:
	figure, axes = pyplot.subplots(figsize=picture.SIZE)
	handles = _latency_curves(pyplot, axes, _rows(series), [
		(label, list(points), list(points.values())) for label, points in series])
	picture.size_axis(axes, list(series[0][1]))
	axes.set_title(picture.title(_rows(series), "Latency by size"))
	picture.legend(axes, handles)
	return figure


def _load(pyplot: Any, series: list[tuple[str, list[Row]]]) -> Any:
	figure, axes = pyplot.subplots(figsize=picture.SIZE)
	found = [row for _, points in series for row in points]
	handles = _latency_curves(pyplot, axes, found, [
		(label, [row.rate for row in points], list(points)) for label, points in series])
	axes.set_xscale("log")
	picture.plain_axis(axes.xaxis, [row.rate for row in found])
	axes.set_xlabel("operations done [per second]")
	axes.set_title(picture.title(found, "Latency by load"))
	picture.legend(axes, handles)
	return figure


def _bandwidth(pyplot: Any, series: Series) -> Any:
	figure, (above, below) = pyplot.subplots(2, 1, figsize=(picture.SIZE[0], 7), sharex=True)
	for colour, marker, (label, points) in zip(picture.COLOURS, picture.MARKERS, series):
		for axes, values in ((above, _curve(points, lambda row: row.mib_per_s)),
				     (below, _curve(points, lambda row: row.mpps))):
			axes.plot(list(points), values, color=colour, marker=marker, markersize=4,
				  label=label)
	above.set_ylim(bottom=0)
	above.set_ylabel("bandwidth [MiB/s]")
	per_mib = rows.MIB * 8 / 1e9
	right = above.secondary_yaxis("right", functions=(lambda value: value * per_mib,
							  lambda value: value / per_mib))
	right.set_ylabel("bandwidth [Gbit/s]")
	below.set_yscale("log")
	below.set_ylabel("message rate [Mpps]")
	picture.plain_axis(below.yaxis, [row.mpps for row in _rows(series)])
	picture.size_axis(below, list(series[0][1]))
	above.set_title(picture.title(_rows(series), "Bandwidth by size"))
	picture.legend(below)
	return figure


# What --kind can be: what is drawn of the results, and how.
KINDS: dict[str, tuple[Callable[[list[Loaded]], Any], Callable[[Any, Any], Any]]] = {
	"cdf": (_runs, _cdf),
	"percentiles": (_latencies, _percentiles),
	"bandwidth": (_bandwidths, _bandwidth),
	"load": (_loads, _load),
	"series": (_over_time, over_time.draw),
}
