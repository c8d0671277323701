# SPDX-License-Identifier: GPL-2.0
"""The part that a host of a mesh has in one round: its clients, and what they came to."""

import time

from krping_front import results
from krping_front.errors import Quit
from krping_front.kmsg import Log

from . import jobs
from .jobs import Job
from .pairs import part_of
from .wire import Message


class Part:
	"""The part of this host in one round."""

	def __init__(self, message: Message, me: int, count: int) -> None:
		self.number: int = message["n"]
		self.message = message
		self.servers, self.clients = part_of(message["spec"], me, count)
		self.log = Log()
		# When the server must listen, and then when the clients must have ended.
		self.deadline = time.monotonic() + message["listen"]
		self.listening = not self.clients
		self.running: dict[int, Job] = {}
		# Those that have ended, and are to be reported.
		self.ended: dict[int, Job] = {}
		self.runs: list[Message] = []
		self.started = False
		# Whether all have ended, and whether that is reported.
		self.over = self.reported = False
		# Whether clients were interrupted since they ran for too long.
		self.overdue = False
		# By how many ns its clients began late, and what the longest took.
		self.late = self.took = 0
		# Where the module does not wait for the start: what is to run, and when.
		self.waiting: list[tuple[int, str]] = []
		self.start = 0

	@property
	def too_long(self) -> str:
		"""What is said of clients that are interrupted."""
		return f"it did not end within {self.message['seconds']:g} s"

	def note_ends(self) -> None:
		"""Note which clients have ended. What they came to takes longer to find out."""
		for peer, job in list(self.running.items()):
			if job.done:
				self.ended[peer] = self.running.pop(peer)
				self.took = max(self.took, job.took_ns(self.start))

	def report(self) -> Message:
		"""What the clients that have ended came to, as the controller is told once."""
		self.reported, reason = True, ""
		found: dict[str, list[results.Result]] = {}
		try:
			if self.ended:
				found = results.by_tag(job.tag for job in self.ended.values())
		except Quit as trouble:
			reason = str(trouble)
		for peer, job in self.ended.items():
			if job.tag in found:
				sent = jobs.outcome(job, self.log, found[job.tag])
			else:
				job.close()
				sent = {"errno": "ENODATA", "reason": reason}
			if self.overdue and sent.get("errno") == "EINTR":
				sent |= {"errno": "ETIMEDOUT",
					 "reason": f"{self.too_long}, and was interrupted"}
			self.late = max(self.late, *[
				each.get("start_late_ns", 0) for each in found.get(job.tag, [])], 0)
			self.runs.append({"peer": peer} | sent)
		self.ended = {}
		self.log.close()
		return {"say": "result", "n": self.number, "runs": self.runs, "late": self.late}
