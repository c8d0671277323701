# SPDX-License-Identifier: GPL-2.0
"""krping watch: what the running threads move, from moment to moment."""

import argparse
import os
import sys
import time
import types
import typing
from collections.abc import Iterator, Mapping

from . import openmetrics, proc
from .errors import OK
from .proc import DIRECTIONS, Line
from .progress import scaled
from .units import MIB, bandwidth

# Figures of a disk or tap that count up, and are shown per second.
GROWING = ("requests", "bytes")


class Moved(typing.NamedTuple):
	"""What a thread has moved per second."""

	thread: int
	device: str | None
	counters: Mapping[str, float]
	# Of a disk or a tap: its figures, those of GROWING per second.
	name: str | None = None
	figures: Mapping[str, float] = types.MappingProxyType({})


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.openmetrics is not None:
		return _keep(arguments.openmetrics, arguments.interval, arguments.count)
	terminal = sys.stdout.isatty()
	first = proc.lines()
	try:
		if not terminal:
			print("# " + " ".join(["time", "thread", "device"]
					      + [f"{word}_{unit}" for word in DIRECTIONS
						 for unit in ("msgs/s", "bytes/s")]), flush=True)
		for now, found in samples(first, arguments.interval, arguments.count):
			text = picture(found, now, _height()) if terminal else plain(found, now)
			print(text, end="", flush=True)
	except KeyboardInterrupt:
		if terminal:
			print()
	return OK


def _keep(path: str, interval: float, count: int | None) -> int:
	"""Have PATH hold the counters as they are now, and again every INTERVAL seconds, COUNT
	times or without end."""
	next_time = time.monotonic()
	try:
		while count is None or count > 0:
			time.sleep(max(0.0, next_time - time.monotonic()))
			next_time += interval
			openmetrics.write(path, proc.lines())
			if count is not None:
				count -= 1
	except KeyboardInterrupt:
		pass
	return OK


def _height() -> int:
	try:
		return os.get_terminal_size(sys.stdout.fileno()).lines or 24
	except OSError:
		return 24


def samples(before: list[Line], interval: float,
	    count: int | None = None) -> Iterator[tuple[float, list[Moved]]]:
	"""Yield (seconds since the epoch, rates()) every INTERVAL seconds, COUNT times or
	without end. BEFORE is what proc.lines() is now."""
	then = time.monotonic()
	while count is None or count > 0:
		time.sleep(max(0.0, then + interval - time.monotonic()))
		after, now = proc.lines(), time.monotonic()
		yield time.time(), rates(before, after, now - then)
		before, then = after, now
		if count is not None:
			count -= 1


def rates(before: list[Line], after: list[Line], seconds: float) -> list[Moved]:
	"""What each thread of AFTER has moved per second since BEFORE, SECONDS ago: a list of
	Moved. One that is new began with nothing."""
	old = {line.thread: line for line in before}
	found = []
	for line in after:
		was = old.get(line.thread, proc.Line(line.thread, None, {}))
		moved = {name: (value - was.counters.get(name, 0)) / seconds
			 for name, value in line.counters.items()}
		figures = {name: (value - was.figures.get(name, 0)) / seconds
			   if name in GROWING else value
			   for name, value in line.figures.items()}
		found.append(Moved(line.thread, line.device, moved, line.name, figures))
	return found


def plain(found: list[Moved], now: float) -> str:
	"""The lines of a sample: seconds since the epoch, thread, device, and for each word
	messages and bytes per second; of a disk or tap also its name and figures."""
	lines = []
	for each in found:
		values = [f"{each.counters.get(f'{word}_{unit}', 0):.0f}" for word in DIRECTIONS
			  for unit in ("msgs", "bytes")]
		if each.name:
			values.append(each.name)
		values += [f"{name}{'/s' if name in GROWING else ''}={value:.0f}"
			   for name, value in each.figures.items()]
		lines.append(" ".join([f"{now:.3f}", str(each.thread), each.device or "-"] + values))
	return "".join(f"{line}\n" for line in lines or [f"{now:.3f} -"])


def picture(found: list[Moved], now: float, height: int = 24) -> str:
	"""What a terminal of HEIGHT lines shows of a sample."""
	groups = "".join(f"  {word:>15}" for word in DIRECTIONS)
	units = "".join(f"  {'msg/s':>7} {'MiB/s':>7}" for _ in DIRECTIONS)
	lines: list[str] = []
	# The head, the sum, what is left out, and the cursor's line.
	room = max(1, height - 6)
	shown = 0
	for each in found:
		more = _picture_lines(each)
		if len(lines) + len(more) > room:
			break
		lines += more
		shown += 1
	if shown < len(found):
		lines.append(f"... and {len(found) - shown} more")
	busy = [each.counters for each in found if each.device is not None]
	if len(busy) > 1:
		total = {name: sum(each[name] for each in busy) for name in proc.COUNTERS}
		lines.append(_picture_line("all", total))
	head = [f"krping at {time.strftime('%H:%M:%S', time.localtime(now))}",
		f"{'':11}{groups}", f"{'thread':11}{units}"]
	return "\x1b[H\x1b[J" + "".join(f"{line}\n" for line in head + (lines or ["nothing runs"]))


def _picture_lines(each: Moved) -> list[str]:
	"""The lines of a thread: what it moves, and what its disk or tap does."""
	lines = [f"{each.thread} waits" if each.device is None
		 else _picture_line(f"{each.thread}-{each.device}", each.counters)]
	if each.name:
		words = [f"{scaled(each.figures.get('requests', 0), '').rstrip()} requests/s",
			 bandwidth(each.figures.get("bytes", 0), digits=1)]
		words += [f"{value} {name.replace('_', ' ')}"
			  for name, value in each.figures.items() if name not in GROWING]
		lines.append(f"  {each.name}: {', '.join(words)}")
	return lines


def _picture_line(name: str, moved: Mapping[str, float]) -> str:
	return f"{name:11}" + "".join(
		f"  {scaled(moved.get(f'{word}_msgs', 0), ''):>7}"
		f" {moved.get(f'{word}_bytes', 0) / MIB:>7.1f}" for word in DIRECTIONS)
