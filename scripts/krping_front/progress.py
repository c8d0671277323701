# SPDX-License-Identifier: GPL-2.0
"""A line on the terminal that says how far a run has come."""

import collections
import os
import sys
import time
from typing import TextIO

from . import proc
from .command import Command
from .errors import Quit
from .proc import Line

# Rates are those of the last so many seconds.
WINDOW = 2
BAR = 24


def scaled(value: float, unit: str, base: int = 1000) -> str:
	"""VALUE with the prefix that leaves up to four digits before the point."""
	prefixes = ("", "Ki", "Mi", "Gi", "Ti") if base == 1024 else ("", "k", "M", "G", "T")
	for prefix in prefixes:
		if abs(value) < base or prefix == prefixes[-1]:
			break
		value /= base
	digits = 0 if not prefix or value >= 100 else 1
	return f"{value:.{digits}f} {prefix}{unit}"


def clock(seconds: float) -> str:
	"""SECONDS as 1:23 or 1:02:03."""
	minutes, seconds = divmod(int(seconds), 60)
	hours, minutes = divmod(minutes, 60)
	return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def bar(share: float) -> str:
	"""A bar of which SHARE is full."""
	full = round(share * BAR)
	return f"[{'#' * full}{'.' * (BAR - full)}] {share:4.0%}"


class Progress:
	"""How far COMMAND has come, from the lines of /proc/krping that its start added."""

	def __init__(self, command: Command, label: str = "", stream: TextIO | None = None) -> None:
		self.command = command
		self.label = label
		self.stream = stream or sys.stderr
		self.shown = False
		self.start: float | None = None	# of the first thread with a device
		# At which times there were how many operations.
		self.samples: collections.deque[tuple[float, int]] = collections.deque()
		try:
			self.others = {line.thread for line in proc.lines()}
		except Quit:
			self.others = set()

	def tick(self) -> None:
		"""Show where it is now, unless others have the terminal."""
		if not in_foreground(self.stream):
			return
		try:
			lines = [line for line in proc.lines() if line.thread not in self.others]
		except Quit:
			# The run itself will say what is wrong.
			return
		self._show(self.text(lines, time.monotonic()))

	def text(self, lines: list[Line], now: float) -> str:
		"""What to show of LINES at the time NOW."""
		if not any(line.device for line in lines):
			waits = "waiting for a client" if self.command.role == "server" \
				else "connecting"
			return self._join([waits])
		if self.start is None:
			self.start = now
		elapsed = now - self.start
		parts = []
		done = self.command.operations(lines)
		if done is not None:
			word = "messages" if self.command.role == "server" else "operations"
			parts.append(f"{done:,} {word}")
			rate = self._rate(now, done)
			if rate is not None:
				parts.append(scaled(rate, "/s"))
				each = self.command.bytes_each()
				if each:
					parts.append(scaled(rate * each, "B/s", 1024))
		share = self._share(done, elapsed)
		if share is not None:
			parts.append(bar(share))
		return self._join(parts + [clock(elapsed)])

	def _join(self, parts: list[str]) -> str:
		return "  ".join(([self.label] if self.label else []) + parts)

	def _rate(self, now: float, done: int) -> float | None:
		self.samples.append((now, done))
		while len(self.samples) > 2 and self.samples[1][0] <= now - WINDOW:
			self.samples.popleft()
		then, before = self.samples[0]
		if now <= then or done < before:
			return None
		return (done - before) / (now - then)

	def _share(self, done: int | None, elapsed: float) -> float | None:
		"""How much of all is done, as far as that is known: by the count, by the time,
		or by what is nearer to its end."""
		shares = []
		total = self.command.total()
		if total and done is not None:
			shares.append(done / total)
		duration = self.command.value("duration", 0)
		if duration and self.command.role != "server":
			shares.append(elapsed / duration)
		return min(max(shares), 1.0) if shares else None

	def _show(self, text: str) -> None:
		width = _width(self.stream)
		self.stream.write(f"\r{text[:width - 1]}\x1b[K")
		self.stream.flush()
		self.shown = True

	def close(self) -> None:
		"""Leave the line empty, for what comes next."""
		if self.shown and in_foreground(self.stream):
			self.stream.write("\r\x1b[K")
			self.stream.flush()
		self.shown = False


def _width(stream: TextIO) -> int:
	try:
		return os.get_terminal_size(stream.fileno()).columns or 80
	except (OSError, ValueError):
		return 80


def in_foreground(stream: TextIO) -> bool:
	"""Whether this process may draw on STREAM: not where that is a terminal on which it runs
	in the background, beside what its user does there."""
	try:
		return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
	except (OSError, ValueError):
		return True


def wanted(quiet: bool) -> bool:
	"""Whether progress is to be shown: on a terminal, unless it is to be QUIET."""
	return not quiet and sys.stderr.isatty()
