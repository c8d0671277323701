# SPDX-License-Identifier: GPL-2.0
"""What pictures are drawn of: results as curves, with labels that tell them apart."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from . import disks, over_time, picture, repeats, rows
from .command import is_made_up, split
from .errors import FAILED, Quit
from .kinds import SIZED
from .over_time import Run
from .result import Result, Stage
from .results import Loaded
from .rows import Row

# Rows by their place on the x axis; None where a curve has a gap.
Points = dict[int, Row | None]
Curves = list[tuple[str, Points]]


class Choice(NamedTuple):
	"""What the command line says of the picture."""

	loaded: list[Loaded]
	# The option on the x axis of a scaling plot.
	x: str


def _names(loaded: list[Loaded]) -> list[str]:
	"""Names for files, as short as tells them apart."""
	names = [os.path.splitext(os.path.basename(each.name))[0] for each in loaded]
	return names if len(set(names)) == len(names) else [each.name for each in loaded]


def named(loaded: list[Loaded]) -> list[tuple[str, Result]]:
	"""(name of the file, result) of all, but for the servers of loopbacks."""
	return [(name, result) for name, each in zip(_names(loaded), loaded) for result in each.shown]


def _all_rows(loaded: list[Loaded]) -> list[tuple[str, Row]]:
	"""(name of the file, Row) of all, also of what failed before anything was measured."""
	return [(name, row) for name, each in zip(_names(loaded), loaded)
		for row in rows.by_command(each.shown)]


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


def runs(choice: Choice) -> list[tuple[str, Row]]:
	"""For cdf: each run that has a histogram, repetitions of one tag with all of their iterations."""
	repeated: dict[tuple[object, ...], list[Row]] = {}
	for name, row in _all_rows(choice.loaded):
		if row.has_figures and row.histogram:
			key = (name, _tag(row.tag), *repeats.key(row))
			repeated.setdefault(key, []).append(row)
	found = [(str(key[0]), rows.together(each)) for key, each in repeated.items()]
	_too_many(found, "a histogram of latencies")
	traits = [(row.kind.name, picture.bytes_text(row.size, "B"), row.variant or "default options",
		   row.role, row.device, name, _tag(row.tag), f"run {number}")
		  for number, (name, row) in enumerate(found, 1)]
	return list(zip(labels(traits), [row for _, row in found]))


def series(choice: Choice) -> list[tuple[str, Run]]:
	"""For series: each result that has one."""
	found = []
	for name, each in zip(_names(choice.loaded), choice.loaded):
		for result in each.results:
			run = over_time.of(result)
			if run:
				found.append((name, result["thread"], run))
	_too_many(found, "a series; give the run interval=")
	traits = [(run.row.kind.name, run.disk or picture.bytes_text(run.row.size, "B"),
		   run.row.variant or "default options", run.row.device, name,
		   _tag(run.row.tag), f"thread {thread}") for name, thread, run in found]
	return list(zip(labels(traits), [run for _, _, run in found]))


def _tag(tag: str) -> str:
	"""TAG as a label; those that 'run' and 'sweep' made up are none."""
	return "no tag" if is_made_up(tag) or not tag else f"tag={tag}"


def _along(found: list[tuple[str, Row]], x: Callable[[Row], int], is_point: Callable[[Row], object],
	   without: Collection[str] = (), sized: bool = False) -> Curves:
	"""The (name, Row) of FOUND, each test of each file with its options but those of WITHOUT, and
	if it is SIZED with its size, as one curve: its Rows for which IS_POINT holds by X, repetitions
	put together, and None for each other place of the picture."""
	curves: dict[tuple[str, ...], dict[int, list[Row]]] = {}
	for name, row in found:
		traits = (row.kind.name, picture.bytes_text(row.size, "B") if sized else "",
			  row.variant_without(without) or "default options",
			  "both directions" if row.duplex else "one direction", row.role, row.device, name)
		if is_point(row):
			curves.setdefault(traits, {}).setdefault(x(row), []).append(row)
	kinds = {traits[0] for traits in curves}
	places = sorted({x(row) for _, row in found if row.kind.name in kinds})
	return list(zip(labels(list(curves)) if curves else [], [
		{place: repeats.together(points[place]) if place in points else None for place in places}
		for points in curves.values()]))


def loads(choice: Choice) -> Curves:
	"""For load: open loops, by the rate that was due."""
	found = [(name, row) for name, row in _all_rows(choice.loaded) if row.due]
	curves = _along(found, lambda row: row.due or 0,
			lambda row: row.has_figures and row.has("p50_ns"), sized=True)
	_too_many(curves, "an open loop; give the run rate=")
	# Their places are the rates that were done.
	return [(label, {place: row for place, row in points.items() if row})
		for label, points in curves]


def latencies(choice: Choice) -> Curves:
	"""For percentiles: latencies by size."""
	curves = _along(_all_rows(choice.loaded), lambda row: row.size,
			lambda row: row.has_figures and row.has("p50_ns"))
	_too_many(curves, "percentiles of latencies")
	return curves


def bandwidths(choice: Choice) -> Curves:
	"""For bandwidth: bandwidths by size."""
	curves = _along(_all_rows(choice.loaded), lambda row: row.size,
			lambda row: row.has_figures and row.rate and row.kind.measure == "bandwidth")
	measures = dict.fromkeys(kind.measure for kind in SIZED.values())
	_too_many(curves, f"a bandwidth; {', '.join(measures)} are measured by different tests")
	return curves


def scaling(choice: Choice) -> tuple[str, Curves]:
	"""For scaling: rates by the option of the x axis, of tests whose runs differ in that."""
	name = choice.x
	found = [(file, row) for file, row in _all_rows(choice.loaded) if row.setting(name).isdigit()]
	curves = _along(found, lambda row: int(row.setting(name)),
			lambda row: row.has_figures and row.rate, without=(name,), sized=True)
	curves = [(label, points) for label, points in curves
		  if sum(row is not None for row in points.values()) > 1]
	_too_many(curves, f"several values of {name}=, as 'krping sweep --axis {name}=1..8' has; "
		  "--x names another option")
	return name, curves


def two(choice: Choice) -> list[tuple[str, Points]]:
	"""For ab: one test of two files, by size."""
	if len(choice.loaded) != 2:
		raise Quit("--kind ab takes two files")
	found = [(name, row) for name, row in _all_rows(choice.loaded)
		 if row.has_figures and row.has("rate" if row.kind.measure == "bandwidth" else "p50_ns")]
	if not found:
		raise Quit("none of these results has a bandwidth, or percentiles of latencies", FAILED)
	kinds = list(dict.fromkeys(row.kind.name for _, row in found))
	if len(kinds) > 1:
		raise Quit("one test is compared in a picture; choose with --test one of "
			   f"{', '.join(kinds)}")
	sides = []
	for name in _names(choice.loaded):
		curves = _along([(file, row) for file, row in found if file == name],
				lambda row: row.size, lambda row: True)
		if len(curves) != 1:
			raise Quit(f"{name} has {len(curves)} curves of {kinds[0]}, which differ in "
				   "options, side or device; one of each file is compared")
		sides.append((name, curves[0][1]))
	return sides


def stages(choice: Choice) -> list[tuple[str, dict[str, Stage]]]:
	"""For disk: the stages of the requests of each disk and tap."""
	found = []
	for name, result in named(choice.loaded):
		parts = disks.stages(result)
		if parts:
			disk = result.get("disk") or split(result["options"]).get("tap", "")
			row = rows.of(result)
			found.append(((row.kind.name, disk, row.variant or "default options", row.device,
				       name, _tag(row.tag), f"thread {result['thread']}"), parts))
	_too_many(found, "requests of a disk or a tap")
	return list(zip(labels([traits for traits, _ in found]), [parts for _, parts in found]))
