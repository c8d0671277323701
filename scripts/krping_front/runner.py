# SPDX-License-Identifier: GPL-2.0
"""One command, from its write to its results."""

import errno
import os
import re
import sys
from collections.abc import Callable
from typing import NamedTuple

from . import proc, results
from .command import Command
from .errors import FAILED, INTERRUPTED, MISSED, OK, REFUSED, Quit
from .kmsg import Log, Watch
from .progress import Progress
from .result import Result

# The module's sentence for a size that the device does not take.
ABOVE = re.compile(r"is above ([0-9]+) bytes")

# Seconds between two looks at a run that has a WATCH.
WATCHED = 0.1

# How a write is refused before the command has a number.
REFUSALS = (errno.EINVAL, errno.ERANGE, errno.EPERM)


def errno_name(number: int) -> str:
	"""The name of errno NUMBER as the module has it: some have two."""
	if number == errno.EOPNOTSUPP:
		return "EOPNOTSUPP"
	return errno.errorcode.get(number, "errno")


class Outcome(NamedTuple):
	"""How a command ended."""

	# 0 for success.
	errno: int
	# The signal that was to end it, or None.
	signal: int | None
	# Whether it was refused before it had a number, so that nothing ran.
	refused: bool
	# Why it failed; "" where the module did not say.
	sentence: str
	results: list[Result]
	# What else is to be said.
	warnings: list[str]
	# The command's.
	limits: bool

	@property
	def name(self) -> str:
		"""The errno's name and number."""
		return f"{errno_name(self.errno)} ({self.errno})"

	@property
	def above(self) -> int | None:
		"""The limit of the device that its size was above, or None."""
		match = ABOVE.search(self.sentence) if self.errno == errno.ERANGE else None
		return int(match[1]) if match and not self.refused else None

	@property
	def missed(self) -> bool:
		"""Whether it ended well, but beyond a limit that the command set."""
		return (self.errno == errno.ERANGE and self.limits and not self.refused
			and self.above is None and "failed with" not in self.sentence)

	@property
	def status(self) -> int:
		"""The exit status for it."""
		if self.errno == 0:
			return OK
		if self.errno == errno.EINTR:
			return INTERRUPTED
		if self.refused or self.above is not None:
			return REFUSED
		return MISSED if self.missed else FAILED

	@property
	def message(self) -> str:
		"""Why it failed, in one line."""
		return f"{self.name}: {self.sentence or os.strerror(self.errno)}"


def run(command: Command, show: bool = False, label: str = "",
	watch: Watch | None = None, tick: Callable[[], object] | None = None) -> Outcome:
	"""Run COMMAND (command.Command), with its progress on stderr if SHOW, or else with TICK
	called twice a second. WATCH, if given, is called with the Log again and again meanwhile, and
	returns lines to be said. Return the run's Outcome."""
	# Says that the module is not loaded, or that this is not root.
	proc.lines()
	warnings: list[str] = []
	newest = 0
	try:
		newest = results.newest()
	except Quit as trouble:
		warnings.append(f"the results cannot be shown: {trouble}")
	progress = Progress(command, label) if show else None
	with Log() as log:
		try:
			if watch:
				number, signal = proc.run(command.text, _watched(watch, log, progress),
							  WATCHED)
			else:
				number, signal = proc.run(command.text, progress.tick if progress else tick)
		finally:
			if progress:
				progress.close()
		found = []
		if not warnings:
			found = _ours(command, newest, warnings)
		return judge(command, number, log, found, signal, warnings)


def judge(command: Command, number: int, log: Log, found: list[Result],
	  signal: int | None = None, warnings: list[str] | None = None) -> Outcome:
	"""The Outcome of COMMAND, which has ended with errno NUMBER and the results FOUND, and
	of which LOG may say more."""
	refused, sentence = _explain(number, command, log, found)
	return Outcome(errno=number, signal=signal, refused=refused, sentence=sentence,
		       results=found, warnings=warnings or [], limits=command.limits)


def _watched(watch: Watch, log: Log, progress: Progress | None) -> Callable[[], None]:
	"""What looks at a run that has PROGRESS, or None, and that WATCH looks at, too."""
	def tick() -> None:
		for line in watch(log):
			if progress:
				progress.close()
			print(f"krping: {line}", file=sys.stderr, flush=True)
		if progress:
			progress.tick()
	return tick


def _ours(command: Command, newest: int, warnings: list[str]) -> list[Result]:
	"""The results that COMMAND left: those of its tag that are newer than NEWEST."""
	found = [each for each in results.kept(command.tag).results if each["id"] > newest]
	if len(found) >= results.KEPT:
		warnings.append(f"the module keeps the last {results.KEPT} results; "
				"this run may have had more")
	return found


def _explain(number: int, command: Command, log: Log, found: list[Result]) -> tuple[bool, str]:
	"""Whether errno NUMBER is of a refused command, and the sentence for it. The list of failed
	commands has all of them, but a kernel that is locked down may not show it."""
	if number == 0:
		return False, ""
	listed = log.failures.find(command.tag, number)
	if listed:
		return not listed.ran and number in REFUSALS, listed.sentence
	failed = log.failure(command.tag or "")
	if failed:
		return False, failed[1]
	for each in found:
		if each.get("errno_number") == number:
			return False, each.get("reason", "")
	if found or (number not in REFUSALS and "stop" not in command.options):
		return False, ""
	return number in REFUSALS, log.refusal() or ""
