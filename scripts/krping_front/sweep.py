# SPDX-License-Identifier: GPL-2.0
"""krping sweep: tests over sizes, as perftest's -a has them, and over other options."""

import argparse
import datetime
import sys
from typing import Any

from . import options, points, progress, provenance, repeats, results, rows, runner, table, tables
from .address import place, source
from .command import PLACE, Command, variant
from .errors import FAILED, INTERRUPTED, MISSED, OK, Quit, stdout_gone
from .kinds import Kind
from .points import Point
from .result import SWEEP
from .rows import Row
from .runner import Outcome
from .sweep_file import Done, SweepFile
from .sweep_table import SweepTable

# Moved by each run at most, and how often at most and at least.
DEFAULTS = {"latency": (1000, 64 << 20), "bandwidth": (5000, 256 << 20), "rate": (1000, None)}
LEAST = 20
SIZES = options.sizes("2..8M")
# With --rates.
RATES_SIZES = [64]
RATES_SECONDS = 5


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	extra = extra_options(arguments.option) + source(arguments)
	if arguments.role != "client" and (arguments.src or arguments.device):
		raise Quit("--device and --src are for --client; --loopback is on the device of ADDR")
	_complete(arguments, extra)
	# Of several addresses of a host the same for all runs.
	arguments.place = place(arguments.addr)
	files = [path for path in (arguments.json, arguments.csv) if path is not None]
	if files.count("-") > 1:
		raise Quit("--json - and --csv - are both given; stdout has room for one")
	if arguments.resume and arguments.json in (None, "-"):
		raise Quit("--resume needs --json FILE, which is what it goes on from")
	for path in files:
		results.check_writable(path)
	file = SweepFile(arguments.json, _head(arguments, extra), arguments.resume)
	# Fails early, where nothing could be shown of any run.
	results.kept()
	sweep = Sweep(arguments, extra, file)
	try:
		sweep.run(silent="-" in files)
	except BrokenPipeError:
		stdout_gone()
		sweep.status = FAILED
	finally:
		# Also where a run was refused, or the module is gone.
		sweep.save()
	return sweep.status


def _complete(arguments: argparse.Namespace, extra: list[str]) -> None:
	"""Set what ARGUMENTS leave out and what depends on others of them, and see whether axes go
	with them and with the EXTRA options."""
	points.check(arguments.axis, arguments.test, arguments.role, extra)
	for name, option in ((points.SIZE, "sizes"), (points.RATE, "rates")):
		for axis in [axis for axis in arguments.axis if axis.name == name]:
			if getattr(arguments, option):
				raise Quit(f"--axis {name} and --{option} are both given")
			setattr(arguments, option, list(map(int, axis.values)))
	if arguments.rates and any(each.partition("=")[0] == "rate" for each in extra):
		raise Quit("--rates and --option rate= are both given")
	arguments.axis = [axis for axis in arguments.axis
			  if axis.name not in (points.SIZE, points.RATE)]
	if arguments.sizes is None:
		arguments.sizes = RATES_SIZES if arguments.rates else SIZES
	if not arguments.rates:
		return
	goes = tables.option("rate")["goes"]["client"]
	for kind in arguments.test:
		if kind.name not in goes:
			raise Quit(f"--rates is for {', '.join(goes)}; not for {kind.name}")
	if not arguments.count and not arguments.duration:
		arguments.duration = RATES_SECONDS


def _head(arguments: argparse.Namespace, extra: list[str]) -> dict[str, Any]:
	"""The fields of the file that are known before anything is run."""
	host, kernel = results.host()
	axes = {points.SIZE: list(map(str, arguments.sizes))}
	axes |= {points.RATE: list(map(str, arguments.rates))} if arguments.rates else {}
	return {"krping_sweep": SWEEP,
		"started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
		"host": host, "kernel": kernel, "role": arguments.role, "addr": arguments.addr,
		"options": variant(",".join(extra)), "repeat": arguments.repeat,
		"axes": axes | {axis.name: list(axis.values) for axis in arguments.axis}}


def extra_options(words: list[str]) -> list[str]:
	"""The options of --option WORDS as a list, none of which the sweep itself sets."""
	found = [option.strip() for word in words for option in word.split(",")]
	for option in found:
		name = option.partition("=")[0]
		if not name or name in PLACE - {"timeout", "max_p99", "min_bw", "rate"}:
			raise Quit(f"--option {option!r}: the sweep sets that itself" if name
				   else "--option: an option is empty")
	return found


def iterations(kind: Kind, size: int, arguments: argparse.Namespace) -> int:
	"""The count= of a run of KIND with SIZE; 0 is for no limit but time."""
	if arguments.count or arguments.duration:
		return arguments.count or 0
	most, amount = DEFAULTS[kind.measure]
	return most if amount is None else max(LEAST, min(most, amount // size))


def command(point: Point, arguments: argparse.Namespace, extra: list[str]) -> str:
	"""The command of a run at POINT, without a tag."""
	count = iterations(point.kind, point.size, arguments)
	words = [arguments.role, arguments.place]
	words += [f"port={arguments.port}"] if arguments.port else []
	words += [point.kind.option] if point.kind.option else []
	words += [f"size={point.size}"] if point.kind.size is None else []
	words += [f"count={count}"] if count else []
	words += [f"duration={arguments.duration}"] if arguments.duration else []
	return ",".join(words + point.words + extra)


class Sweep:
	"""The runs of a sweep, and what they have come to."""

	def __init__(self, arguments: argparse.Namespace, extra: list[str], file: SweepFile) -> None:
		"""EXTRA options are of all commands, and FILE has what was measured before."""
		self.arguments = arguments
		self.extra = extra
		self.file = file
		self.status = OK
		# By their points, in the order in which these were run.
		self.rows: dict[Point, list[Row]] = {}

	def run(self, silent: bool) -> None:
		"""Run all, and print the tables unless it is SILENT."""
		for number, kind in enumerate(self.arguments.test):
			style = table.Style(self.axes, self.arguments.repeat > 1, self.arguments.gbits)
			shown = SweepTable(style, self.arguments.repeat, number > 0, silent)
			go_on = self._test(kind, shown)
			shown.finish()
			if not go_on:
				return

	@property
	def axes(self) -> tuple[str, ...]:
		"""The options that have a column."""
		return tuple(axis.name for axis in self.arguments.axis)

	def _test(self, kind: Kind, shown: SweepTable) -> bool:
		"""Run KIND at all points, in as many rounds as there are repetitions, so that what
		changes meanwhile changes all points alike. Return whether the next test is to be run."""
		plan = points.plan(kind, self.arguments.sizes, self.arguments.rates, self.arguments.axis)
		# By their settings, the sizes that the device does not take.
		above: dict[tuple[tuple[str, str], ...], int] = {}
		for repetition in range(1, self.arguments.repeat + 1):
			for number, point in enumerate(plan, 1):
				if point.size >= above.get(point.settings, point.size + 1):
					continue
				of = f"{number} of {len(plan)}"
				if self.arguments.repeat > 1:
					of += f", round {repetition} of {self.arguments.repeat}"
				outcome = self._measure(point, repetition, f"({of})")
				if point in self.rows:
					shown.add(point, self.rows[point])
				if outcome is None:
					continue
				if outcome.errno and not outcome.missed:
					if not self._stop(point, outcome, shown):
						return False
					above[point.settings] = point.size
				if outcome.signal is not None:
					# It came when the run was over.
					self.status = INTERRUPTED
					return False
		return True

	def _measure(self, point: Point, repetition: int, of: str) -> Outcome | None:
		"""Run POINT, which is OF how many, unless that was done before, which is None."""
		text = command(point, self.arguments, self.extra)
		done = self.file.done.get((text, repetition))
		if done is not None:
			self._note(point, done)
			return None
		with_tag = Command(text)
		outcome = runner.run(with_tag, progress.wanted(self.arguments.quiet),
				     f"{point.kind.name} {point.where} {of}")
		clients = [each for each in outcome.results if each["role"] == "client"]
		provenance.add(clients)
		done = Done(clients, outcome.missed)
		if outcome.errno and not outcome.missed:
			self.file.results += clients
		else:
			self.file.add(text, repetition, with_tag.tag or "", done)
			self.file.checkpoint()
		self._note(point, done)
		if outcome.missed:
			print(f"krping: {point.where}: {outcome.message}", file=sys.stderr)
		return outcome

	def _note(self, point: Point, done: Done) -> None:
		"""Have POINT know what it measured."""
		if done.missed:
			self.status = MISSED
		if done.results:
			row = rows.together([rows.of(each) for each in done.results])
			if row.has_figures:
				self.rows.setdefault(point, []).append(row)

	def _stop(self, point: Point, outcome: Outcome, shown: SweepTable) -> bool:
		"""The run of POINT did not succeed: say so, and return whether the sweep goes on."""
		reason = outcome.sentence or outcome.message
		interrupted = outcome.status == INTERRUPTED
		self.file.stopped.append({"test": point.kind.name, "size": point.size,
					  "reason": "interrupted" if interrupted else reason})
		if point.settings:
			self.file.stopped[-1]["settings"] = dict(point.settings)
		if interrupted:
			self.status = INTERRUPTED
			print(f"krping: interrupted, in {point.kind.name} of {point.where}",
			      file=sys.stderr)
			return False
		if outcome.above is not None:
			# For people; the files have it in another place.
			shown.note(f"# ended before {point.where}: {reason}")
			return True
		self.status = outcome.status
		print(f"krping: {point.kind.name} of {point.where}: {outcome.message}", file=sys.stderr)
		if outcome.status == FAILED and outcome.name.startswith("ECONNREFUSED"):
			print("krping: a server is started with 'krping run server,persist' there; "
			      "--loopback runs both sides here", file=sys.stderr)
		return False

	def save(self) -> None:
		"""Write the files that are wanted."""
		found = [(point, repeats.together(each)) for point, each in self.rows.items()]
		if self.arguments.csv is not None:
			text = table.csv_text([row for _, row in found], self.axes)
			results.save(self.arguments.csv, text)
		self.file.write([repeats.summary(row, point.labels) for point, row in found])
