# SPDX-License-Identifier: GPL-2.0
"""The file of a sweep: written while it runs, and what a later one goes on from."""

import contextlib
import os
import time
import typing
from typing import Any

from . import results
from .errors import Quit
from .result import Result, Run, Stopped, Sweep

# Seconds between two times at which it is written.
SAVED = 5
# What a sweep that is gone on with must have in common with it.
SAME = ("role", "addr", "options")


class Done(typing.NamedTuple):
	"""A run that came to its end."""

	results: list[Result]
	missed: bool


class SweepFile:
	"""What the file PATH of a sweep is to have; None is for a sweep without one."""

	def __init__(self, path: str | None, head: dict[str, Any], resume: bool) -> None:
		"""HEAD has its fields but results, runs, stopped and summary. With RESUME there may be a
		file, and the runs of it count."""
		self.path = path
		self.head = head
		self.results: list[Result] = []
		self.stopped: list[Stopped] = []
		self.runs: list[Run] = []
		self.done: dict[tuple[str, int], Done] = {}
		self.saved = time.monotonic()
		if path is not None and resume:
			self._load(path)

	def _load(self, path: str) -> None:
		try:
			with open(path, encoding="utf-8", errors="replace") as file:
				text = file.read()
		except FileNotFoundError:
			return
		except OSError as error:
			raise Quit(f"{path}: {error.strerror}") from None
		if not text:
			return
		loaded = results.parse(text, path)
		before = loaded.sweep
		if before is None or "runs" not in before:
			raise Quit(f"{path}: --resume: it is no sweep, or of a version that cannot be "
				   "resumed")
		for name in SAME:
			if before.get(name) != self.head[name]:
				raise Quit(f"{path}: --resume: it is of a sweep with another {name}: "
					   f"{before.get(name)!r}, and not {self.head[name]!r}")
		self.head["started"] = before["started"]
		by_tag: dict[str, list[Result]] = {}
		for found in loaded.results:
			by_tag.setdefault(found["tag"], []).append(found)
		for run in before["runs"]:
			self.add(run["command"], run["repetition"], run["tag"],
				 Done(by_tag.get(run["tag"], []), run["missed"]))

	def add(self, command: str, repetition: int, tag: str, done: Done) -> None:
		"""Have it know a run of COMMAND with TAG that came to its end."""
		self.done[command, repetition] = done
		self.results += done.results
		self.runs.append({"command": command, "repetition": repetition, "tag": tag,
				  "missed": done.missed})

	def checkpoint(self) -> None:
		"""Write it, if that was long ago. What is no file, as a pipe, is written at the end only;
		what cannot be written now may be later."""
		if self.path is None or not os.path.isfile(self.path) \
				or time.monotonic() < self.saved + SAVED:
			return
		with contextlib.suppress(Quit):
			self.write([])
		self.saved = time.monotonic()

	def write(self, summary: list[Any]) -> None:
		"""Write it with SUMMARY of its points."""
		if self.path is None:
			return
		whole = self.head | {"results": self.results, "stopped": self.stopped,
				     "runs": self.runs, "summary": summary}
		results.replace(self.path, results.sweep_text(typing.cast(Sweep, whole)))
