# SPDX-License-Identifier: GPL-2.0
"""krping victim: a latency alone, and beside aggressors."""

import argparse
import contextlib
import json
import sys
import threading
from collections.abc import Iterator

from . import proc, progress, provenance, results, rows, run, runner, table
from .address import place, source
from .command import Command, new_tag
from .errors import FAILED, INTERRUPTED, MISSED, OK, Quit
from .kinds import KINDS, Kind
from .kmsg import Log
from .mesh import jobs
from .result import Result
from .rows import Row
from .sweep import extra_options

# The version of what --json prints.
SCHEMA = 1
# Messages that a thread has moved when it is in full swing: more than open a test.
MOVED = 32
# Seconds between two looks at the aggressors, for them to begin, and for them to end.
LOOK = 0.05
BEGINNING = 60.0
ENDING = 60.0
NAME = table.Column("run", lambda row: row.name, left=True)
RATIOS = ("p50_ns", "mean_ns", "p99_ns", "p99_9_ns")


class Aggressors:
	"""The command of the aggressors, which runs."""

	def __init__(self, text: str, threads: int) -> None:
		"""Run the command TEXT of THREADS, and return when each has moved data."""
		self.newest = max((line.thread for line in proc.lines()), default=0)
		self.over = threading.Event()
		self.tag = new_tag()
		self.log = Log()
		self.job = jobs.Job(f"{text},threads={threads}", self.tag, self.over.set)
		self.threads = threads

	def moving(self) -> bool:
		"""Whether all have moved data."""
		found = [line for line in proc.lines() if line.thread > self.newest and line.counters]
		moved = [max(line.counters[f"{name}_msgs"] for name in ("send", "write", "read"))
			 for line in found]
		return sum(each >= MOVED for each in moved) >= self.threads

	def begin(self) -> None:
		"""Wait until all have moved data, or they have ended."""
		for _ in range(int(BEGINNING / LOOK)):
			if self.over.wait(LOOK) or self.moving():
				return
		raise Quit(f"the aggressors moved nothing for {BEGINNING:.0f} s", FAILED)

	def end(self) -> str | None:
		"""End them. Return why they failed before, or None."""
		failed = self.over.is_set()
		if failed:
			found = results.kept(self.tag).results
			return runner.judge(self.job.command, self.job.close(), self.log, found).message
		if jobs.end([self.job], ENDING):
			raise Quit(f"the aggressors did not end within {ENDING:.0f} s", FAILED)
		return None

	def results(self) -> list[Result]:
		"""The results of their clients."""
		return [each for each in results.kept(self.tag).results if each["role"] == "client"]


@contextlib.contextmanager
def beside(text: str, threads: int) -> Iterator[Aggressors]:
	"""Within, aggressors run the command TEXT in so many THREADS, all of which have moved data."""
	aggressors = Aggressors(text, threads)
	failed = None
	# The signal is for the thread that writes their command, and ends nothing else.
	with aggressors.log, proc.handled({proc.INTERRUPT: lambda _number, _frame: None}):
		try:
			aggressors.begin()
			yield aggressors
		finally:
			failed = aggressors.end()
	if failed is not None:
		raise Quit(f"the aggressors: {failed}", FAILED)


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.role != "client" and (arguments.src or arguments.device):
		raise Quit("--device and --src are for --client; --loopback is on the device of ADDR")
	extra, aggressive = map(extra_options, (arguments.option, arguments.aggressor_option))
	where = [arguments.role, place(arguments.addr), *source(arguments)]
	where += [f"port={arguments.port}"] if arguments.port else []
	results.kept()
	victim = _command(where, KINDS[arguments.test], arguments.size,
			  [f"duration={arguments.duration}", *extra])
	alone, status = _measure(victim, "alone", arguments.quiet)
	if status != OK:
		return status
	text = _command(where, KINDS[arguments.aggressor_test], arguments.aggressor_size, aggressive)
	with beside(text, arguments.aggressors) as aggressors:
		disturbed, status = _measure(victim, "beside aggressors", arguments.quiet)
	if status != OK:
		return status
	both = [rows.together([rows.of(each) for each in found])._replace(name=name)
		for name, found in (("alone", alone), ("beside", disturbed))]
	ratios = {name: both[1].latency[name] / both[0].latency[name] for name in RATIOS
		  if all(row.latency.get(name) for row in both)}
	moved = aggressors.results()
	if arguments.json:
		print(json.dumps({"krping_victim": SCHEMA, "ratio": ratios, "alone": alone,
				  "beside": disturbed, "aggressors": moved}, separators=(",", ":")))
	else:
		_show(both, ratios, moved, table.Style(gbits=arguments.gbits))
	if "p99_ns" not in ratios:
		print("krping: there is no ratio: the victim measured no latencies", file=sys.stderr)
		return FAILED
	slower = ratios["p99_ns"] - 1
	if arguments.max_slower is not None and slower > arguments.max_slower:
		print(f"krping: the 99th percentile is {slower:.0%} longer beside the aggressors, above "
		      f"{arguments.max_slower:.0%}", file=sys.stderr)
		return MISSED
	return OK


def _command(where: list[str], kind: Kind, size: int, words: list[str]) -> str:
	"""The command of KIND with data of SIZE and with WORDS, without a tag."""
	option = [kind.option] if kind.option else []
	bytes_of = [f"size={size}"] if kind.size is None else []
	return ",".join(where + option + bytes_of + words)


def _measure(text: str, label: str, quiet: bool) -> tuple[list[Result], int]:
	"""Run the victim's command TEXT, and say why it failed if it did: its results, and the exit
	status for it."""
	outcome = runner.run(Command(text), progress.wanted(quiet), label)
	found = [each for each in outcome.results if each["role"] == "client"]
	provenance.add(found)
	status = run.finish(outcome)
	if status == OK and outcome.signal is not None:
		# It came when the run was over.
		status = INTERRUPTED
	if status == OK and not found:
		raise Quit("the module keeps no result of the victim", FAILED)
	return found, status


def _show(both: list[Row], ratios: dict[str, float], moved: list[Result], style: table.Style) -> None:
	"""Print the victim's rows, those of the aggressors, and the ratios."""
	print(f"# {table.title(both[0])}")
	shown = table.Table((NAME, *table.columns(both[0].measure)), both)
	print("\n".join([shown.heading(), *map(shown.line, both)]))
	row = rows.together([rows.of(each) for each in moved]) if moved else None
	if row and row.has_figures:
		# They are ended, which is no failure.
		row = row._replace(note="")
		print(f"\n# {table.title(row)}")
		print("\n".join(table.lines([row], style=style)))
	names = {"p50_ns": "t_typical", "mean_ns": "t_avg", "p99_ns": "99%", "p99_9_ns": "99.9%"}
	print("\n# beside them, times as long: "
	      + ", ".join(f"{names[name]} {value:.2f}" for name, value in ratios.items()))
