# SPDX-License-Identifier: GPL-2.0
"""The journal of a mesh: a file with a line for each run, so that a mesh that was interrupted,
or whose controller died, can go on."""

import contextlib
import json
import os
import sys
from typing import Any, TextIO

from krping_front.errors import Quit

from .matrix import Key, Run
from .outcome import Outcome
from .plan import Step

VERSION = 1
SUFFIX = ".part"

# Test, size, rail, repeat, client and server.
Place = tuple[str, int, str, int, int, int]


class Journal:
	"""Writes the journal beside the file PATH, which is yet to be written."""

	def __init__(self, path: str, plan: dict[str, Any], resume: bool) -> None:
		"""PLAN is all that the runs depend on. With RESUME there may be a journal, and what
		succeeded of it counts."""
		self.path = path + SUFFIX
		self.done: dict[Place, Run] = {}
		self.file: TextIO | None = None
		there = os.path.exists(self.path)
		if there and not resume:
			raise Quit(f"{self.path} is of a mesh that did not come to its end; give "
				   "--resume to go on with it, or remove it")
		head = json.dumps({"krping_mesh_journal": VERSION, "plan": plan})
		try:
			if there:
				self._load(plan)
			self.file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
			if not there or not os.path.getsize(self.path):
				self._write(head)
			else:
				# The line before may have been cut off.
				self._write("")
		except OSError as error:
			raise Quit(f"{self.path}: {error.strerror}") from None

	def _load(self, plan: dict[str, Any]) -> None:
		with open(self.path, encoding="utf-8", errors="replace") as file:
			lines = file.read().split("\n")
		if lines == [""]:
			return
		try:
			head = json.loads(lines[0])
			before = head["plan"] if head["krping_mesh_journal"] == VERSION else None
		except (ValueError, KeyError, TypeError):
			before = None
		if not isinstance(before, dict):
			raise Quit(f"{self.path}: not a journal of a mesh, or of another version")
		for name in plan:
			# As JSON has it.
			if before.get(name) != json.loads(json.dumps(plan[name])):
				raise Quit(f"{self.path}: it is of a mesh with another {name}: "
					   f"{json.dumps(before.get(name))[:100]}, and not "
					   f"{json.dumps(plan[name])[:100]}")
		for line in lines[1:]:
			# A line may be cut off, where the disk was full or the controller died.
			try:
				test, size, rail, repeat, client, server, figures, errno, reason = \
					json.loads(line)
				run = Run((client, server), figures, errno, reason)
			except (ValueError, TypeError):
				continue
			place = (test, size, rail, repeat, client, server)
			# What failed is tried again.
			if not run.failed:
				self.done[place] = run

	def restore(self, outcome: Outcome) -> None:
		"""Have OUTCOME know what succeeded before."""
		for (test, size, rail, repeat, *_), run in self.done.items():
			if (test, size, rail) in outcome.grids:
				outcome.add(Step(-1, [], test, size, rail, repeat), run)

	def has(self, step: Step, pair: tuple[int, int]) -> bool:
		"""Whether PAIR succeeded in STEP before."""
		key: Key = (step.test, step.size, step.rail)
		return (*key, step.repeat, *pair) in self.done

	def add(self, step: Step, run: Run) -> None:
		"""Take down RUN of STEP."""
		self._write(json.dumps([step.test, step.size, step.rail, step.repeat, *run.pair,
					run.figures, run.errno, run.reason], separators=(",", ":")))

	def _write(self, line: str) -> None:
		if self.file is None:
			return
		try:
			self.file.write(line + "\n")
			self.file.flush()
		except OSError as error:
			# The mesh is worth more than its journal.
			print(f"krping: {self.path}: {error.strerror}; the mesh goes on, but cannot be "
			      "resumed from here", file=sys.stderr)
			self._drop()

	def _drop(self) -> None:
		file, self.file = self.file, None
		if file:
			# What could not be written is tried again.
			with contextlib.suppress(OSError):
				file.close()

	def close(self, finished: bool) -> None:
		"""Have done with it. A mesh that is FINISHED needs it no more."""
		self._drop()
		if finished:
			os.unlink(self.path)
