# SPDX-License-Identifier: GPL-2.0
"""Commands of /proc/krping that run at the same time, in threads of one process.

The end of the process ends the writes, and with them the commands: nothing is left behind
even if it is killed."""

import os
import time
from collections.abc import Callable

from krping_front import counters, proc, results, rows, runner
from krping_front.command import Command
from krping_front.errors import Quit
from krping_front.kinds import SIZED
from krping_front.kmsg import Log

from . import retransmits
from .figures import FIGURES, RETRANSMITS, label
from .wire import SENTENCE

# Seconds between two attempts to interrupt a write: one from before it began is lost.
AGAIN = 0.05


class Job:
	"""A command that runs. It begins when this is made."""

	def __init__(self, text: str, tag: str, ended: Callable[[], object]) -> None:
		"""Run the command TEXT with TAG, and call ENDED() in another thread at its end."""
		self.command = Command(f"{text},tag={tag}")
		self.tag = tag
		self.began_ns = self.ended_ns = time.time_ns()
		self.ended = ended
		self.fd = proc.open_to_write()
		try:
			self.writer = proc.Writer(self.fd, os.fsencode(self.command.text), self._over)
		except RuntimeError:
			os.close(self.fd)
			raise Quit("there can be no more threads on this host") from None

	def _over(self) -> None:
		"""It has ended. In its thread."""
		self.ended_ns = time.time_ns()
		self.ended()

	def took_ns(self, start: int) -> int:
		"""How long it ran, which has ended, where it was to begin at START by this host's
		clock."""
		return max(0, self.ended_ns - max(self.began_ns, start))

	@property
	def done(self) -> bool:
		"""Whether it has ended."""
		return self.writer.done.is_set()

	def close(self) -> int:
		"""Forget it, which has ended, and return its errno."""
		self.writer.leave.set()
		self.writer.join()
		os.close(self.fd)
		return self.writer.errno


def end(jobs: list[Job], seconds: float) -> list[Job]:
	"""Interrupt JOBS until they end, and forget them. Return those that have not ended after
	SECONDS."""
	deadline = time.monotonic() + seconds
	left = jobs
	while left:
		running = []
		for job in left:
			if job.done:
				job.close()
			else:
				job.writer.interrupt()
				running.append(job)
		left = running
		if time.monotonic() > deadline:
			break
		if left:
			left[0].writer.done.wait(AGAIN)
	return left


def outcome(job: Job, log: Log, found: list[results.Result]) -> dict[str, object]:
	"""What JOB, the command of a client that has ended, came to, as nodes send it: FOUND are
	its results, and LOG knows more."""
	ended = runner.judge(job.command, job.close(), log, found)
	if ended.errno:
		return {"errno": runner.errno_name(ended.errno),
			"reason": (ended.sentence or os.strerror(ended.errno))[:SENTENCE]}
	clients = [each for each in found if each["role"] == "client" and each["test"] in SIZED]
	# Each thread has one.
	threads = job.command.value("threads", 1)
	if len(clients) < threads:
		left = f"only {len(clients)} of its {threads} results" if clients else "no result of it"
		return _nothing(f"the module keeps {left}; it keeps the last {results.KEPT} of a host")
	row = rows.together([rows.of(each) for each in clients])
	measured = _measured(row)
	if not measured:
		names = [label(name) for name in FIGURES[row.kind.measure] if name != RETRANSMITS]
		return _nothing(f"its result has no {' and no '.join(names)}"
				+ " (untimed)" * ("untimed" in job.command.options))
	return {"figures": measured | _lost(clients),
		"devices": sorted({each["device"] for each in clients if "device" in each})}


def _nothing(why: str) -> dict[str, object]:
	"""What is sent of a command of which there is nothing to be told, and WHY."""
	return {"errno": "ENODATA", "reason": f"it succeeded, but {why}"}


def _measured(row: rows.Row) -> dict[str, int]:
	"""The figures that a test with ROW is for."""
	figures = {name: row.latency[name] for name in row.latency if name in FIGURES[row.kind.measure]}
	if row.kind.measure == "bandwidth" and row.bytes_per_s is not None:
		figures["bytes_per_s"] = int(row.bytes_per_s)
	if row.kind.measure == "rate" and row.rate is not None:
		figures["rate"] = int(row.rate)
	return figures


def _lost(clients: list[results.Result]) -> dict[str, int]:
	"""The retransmits of CLIENTS, which ran at the same time on one device."""
	moved = counters.together(map(counters.of, clients))
	lost = retransmits.of(clients[0].get("device", ""), moved)
	return {} if lost is None else {RETRANSMITS: lost}
