# SPDX-License-Identifier: GPL-2.0
"""The journal of a mesh: a file with a line for each run, so that a mesh that was interrupted,
or whose controller died, can go on."""

import contextlib
import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Start:
	"""A mesh, or one that goes on with it, has begun."""

	# When, by ISO 8601.
	started: str
	# The kernel and the module of each host that had a part.
	versions: dict[str, list[str]]


def refuse_left(path: str) -> None:
	"""Refuse to begin a mesh for the file PATH where there is a journal of another one."""
	if os.path.exists(path + SUFFIX):
		raise Quit(f"{path + SUFFIX} is of a mesh that did not come to its end; give --resume "
			   "to go on with it, or remove it")


class Journal:
	"""Writes the journal beside the file PATH, which is yet to be written."""

	def __init__(self, path: str, plan: dict[str, Any], start: Start, resume: bool) -> None:
		"""PLAN is all that the runs depend on, beside the versions of START. With RESUME
		there may be a journal, and what succeeded of it counts."""
		self.path = path + SUFFIX
		self.done: dict[Place, Run] = {}
		# Of the first start, and of all of them.
		self.started = ""
		self.versions: dict[str, list[str]] = {}
		self.file: TextIO | None = None
		if not resume:
			refuse_left(path)
		there = os.path.exists(self.path)
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
			self._begin(start)
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
				found = json.loads(line)
				if isinstance(found, dict):
					self._take_start(Start(**found))
					continue
				test, size, rail, repeat, client, server, figures, errno, reason = found
				run = Run((client, server), figures, errno, reason)
			except (ValueError, TypeError):
				continue
			place = (test, size, rail, repeat, client, server)
			# What failed is tried again.
			if not run.failed:
				self.done[place] = run

	def _take_start(self, start: Start) -> None:
		"""START is one of those that the journal is of."""
		self.started = self.started or start.started
		self.versions |= start.versions

	def _begin(self, start: Start) -> None:
		"""Take down START, the one of this mesh. A host that had no part before may have any
		versions."""
		for name, found in start.versions.items():
			before = self.versions.get(name, found)
			if before != found:
				raise Quit(f"{self.path}: {name} had kernel {before[0]} and module "
					   f"{before[1]} then, and has kernel {found[0]} and module "
					   f"{found[1]} now; begin anew")
		self._take_start(start)
		self._write(json.dumps(dataclasses.asdict(start)))

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
			try:
				os.unlink(self.path)
			except FileNotFoundError:
				pass
			except OSError as error:
				print(f"krping: {self.path}: {error.strerror}; the mesh is done, so remove "
				      "it", file=sys.stderr)
