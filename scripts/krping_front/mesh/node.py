# SPDX-License-Identifier: GPL-2.0
"""krping node: one host of a mesh, which does what the controller's lines say."""

import argparse
import contextlib
import os
import selectors
import sys
import time
from collections.abc import Iterator

from krping_front import proc, results, tables
from krping_front.address import place
from krping_front.errors import INTERRUPTED, OK, Quit

from . import jobs, wire
from .about import about
from .jobs import Job
from .part import Part
from .wire import Message

# Seconds between two looks for a server that is to listen.
LOOK = 0.01
# Seconds that commands have to end, once they are interrupted.
END = 10.0
# Seconds in which clients that are interrupted must end, so that the others are heard of.
GIVE_UP = 3.0


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	with contextlib.closing(Node(arguments.name)) as node:
		return node.run()


class Node:
	"""This host, and what runs on it."""

	def __init__(self, name: str) -> None:
		self.ident = os.urandom(8).hex()
		self.sender = wire.Sender(name, self.ident)
		self.me: int | None = None
		self.plan: Message = {}
		self.offset = 0
		self.round: Part | None = None
		self.server: Job | None = None
		self.server_text = ""
		self.newest = 0
		# Commands that did not end when they were interrupted.
		self.stuck: list[Job] = []
		self.tags = 0
		self.input = b""
		# Written to by threads and signals, so that the loop wakes up.
		self.wake_reader, self.wake_writer = os.pipe()
		os.set_blocking(self.wake_reader, False)
		os.set_blocking(self.wake_writer, False)

	def run(self) -> int:
		"""Do what stdin says until it ends; return the exit status."""
		taken: list[int] = []

		def end(number: int, _frame: object) -> None:
			taken.append(number)
			self._wake()

		with proc.handled({**dict.fromkeys(proc.ENDING, end),
				   proc.INTERRUPT: lambda _number, _frame: None}):
			try:
				self.say(about())
				for line in self._lines(taken):
					if not self._take(line):
						break
			except BrokenPipeError:
				# The controller is gone.
				os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
			finally:
				self._end_all()
		return INTERRUPTED if taken else OK

	def close(self) -> None:
		"""Give back what the loop needed."""
		os.close(self.wake_reader)
		os.close(self.wake_writer)

	def say(self, message: Message) -> None:
		"""Send MESSAGE to the controller."""
		sys.stdout.write("".join(self.sender.lines(message)))
		sys.stdout.flush()

	def _wake(self) -> None:
		with contextlib.suppress(BlockingIOError):
			os.write(self.wake_writer, b"w")

	def _lines(self, taken: list[int]) -> Iterator[bytes]:
		"""The lines of stdin; between them, what runs is looked after. They end when stdin
		does, when nothing comes for too long, or as soon as a signal is in TAKEN."""
		stdin = sys.stdin.fileno()
		with selectors.DefaultSelector() as selector:
			try:
				selector.register(stdin, selectors.EVENT_READ)
			except PermissionError:
				# epoll takes no files and no /dev/null, of which nothing is to come.
				yield from sys.stdin.buffer
				return
			selector.register(self.wake_reader, selectors.EVENT_READ)
			heard = time.monotonic()
			while not taken:
				again = self._attend()
				silence = max(0, heard + wire.SILENCE - time.monotonic())
				ready = [key.fd for key, _ in selector.select(
					silence if again is None else min(again, silence))]
				if self.wake_reader in ready:
					with contextlib.suppress(BlockingIOError):
						os.read(self.wake_reader, 4096)
				if stdin not in ready and time.monotonic() >= heard + wire.SILENCE:
					print("krping node: the controller has said nothing for "
					      f"{wire.SILENCE:g} s", file=sys.stderr)
					return
				if stdin not in ready or taken:
					continue
				heard = time.monotonic()
				data = os.read(stdin, 1 << 16)
				if not data:
					return
				*lines, self.input = (self.input + data).split(b"\n")
				yield from lines

	def _take(self, line: bytes) -> bool:
		"""Do what LINE says, and return whether there is more to come."""
		try:
			message = wire.parse(line)
		except ValueError:
			# Such as what a terminal says.
			return True
		match message.get("do"):
			case "clock":
				self._say_clocks({"say": "clock", "n": message["n"],
						  "sent": message["sent"]})
			case "plan":
				self.plan = message
				self.me = message["ids"].get(self.ident)
				self._take_offsets(message)
			case "offsets":
				self._take_offsets(message)
			case "round" if self.me is not None:
				self._prepare(message)
			case "go" if self.round and message["n"] == self.round.number:
				self._go(self.round, message)
			case "report":
				self._report(self.round)
			case "end":
				return False
		return True

	def _say_clocks(self, message: Message) -> None:
		self.say(message | {"now": time.time_ns(), "mono": time.monotonic_ns()})

	def _take_offsets(self, message: Message) -> None:
		if self.me is not None:
			self.offset = message["offsets"][self.me]

	# A round: first the server, then the clients, then what they came to.

	def _prepare(self, message: Message) -> None:
		"""A round is to come. Nobody waits for the result of the one before, so that is sent
		when all of this one is under way."""
		assert self.me is not None
		before, self.round = self.round, None
		if before and not before.over:
			self._abandon(list(before.running.values()))
		if self.me not in message["absent"]:
			self.round = Part(message, self.me, len(self.plan["addresses"]))
			if self.round.clients:
				self._listen(self.round, message)
			if "start" in message:
				self._go(self.round, message)
		self._report(before)

	def _listen(self, current: Part, message: Message) -> None:
		"""Have a server, or keep the one that there is."""
		assert self.me is not None
		try:
			text = self._place("server," + message["server"], self.me, message["rail"])
		except Quit as trouble:
			self._no_server(current, str(trouble))
			return
		if self.server and not self.server.done and text == self.server_text:
			current.listening = True
			if "start" not in message:
				self._say_clocks({"say": "listening", "n": current.number})
			return
		self._end_server()
		try:
			self.newest = max((line.thread for line in proc.lines()), default=0)
			self.server = self._job(text)
			self.server_text = text
		except Quit as trouble:
			self._no_server(current, str(trouble))

	def _place(self, text: str, host: int, rail: int) -> str:
		"""The command TEXT with the address of HOST on RAIL, and the port."""
		return f"{text},{place(self.plan['addresses'][host][rail])},port={self.plan['port']}"

	def _job(self, text: str) -> Job:
		self.tags += 1
		return Job(text, f"mesh.{self.ident}.{self.tags}", self._wake)

	def _no_server(self, current: Part, reason: str) -> None:
		# It is not asked again in this round.
		current.listening = True
		self.say({"say": "trouble", "n": current.number, "reason": reason})
		self._end_server()

	def _go(self, current: Part, message: Message) -> None:
		"""Start the clients of the round CURRENT."""
		current.listening = current.started = True
		limit = max(0, message["start"] + self.offset - time.time_ns()) / 1e9
		current.deadline = time.monotonic() + limit + current.message["seconds"]
		current.start = message["start"] + self.offset
		skip = {*message["skip"], *message["absent"]}
		# It may have failed since the round was announced.
		for server in current.servers if self.me not in message["absent"] else ():
			if server not in skip:
				try:
					text = self._place("client," + current.message["client"], server,
							   current.message["rail"])
				except Quit as trouble:
					current.runs.append({"peer": server, "errno": "EADDRNOTAVAIL",
							     "reason": str(trouble)})
					continue
				current.waiting.append((server, text))
		if tables.option("start_at"):
			self._launch(current)

	def _launch(self, current: Part) -> None:
		"""Write the commands of the clients that wait."""
		current.late = max(0, time.time_ns() - current.start)
		for server, text in current.waiting:
			if tables.option("start_at") and not current.late:
				text += f",start_at={current.start}"
			if tables.option("wait"):
				text += f",wait={int(current.message['listen'] * 1000)}"
			try:
				current.running[server] = self._job(text)
			except Quit as trouble:
				current.runs.append({"peer": server, "errno": "EAGAIN",
						     "reason": str(trouble)})
		current.waiting = []

	def _attend(self) -> float | None:
		"""Look after what runs. Return after how many seconds to do so again, None for when
		something happens."""
		current = self.round
		if current is None or current.over:
			return None
		left: float = current.deadline - time.monotonic()
		if not current.listening:
			return self._look(current, left)
		if not current.started:
			return None
		if current.waiting:
			early = (current.start - time.time_ns()) / 1e9
			if early > 0:
				return early
			self._launch(current)
		current.note_ends()
		if not current.running:
			current.over = True
			self._say_clocks({"say": "ended", "n": current.number, "took": current.took,
					  "late": current.late})
			return None
		if left > 0:
			return left
		self._overdue(current, -left > GIVE_UP)
		return jobs.AGAIN

	def _overdue(self, current: Part, give_up: bool) -> None:
		"""Interrupt the clients of CURRENT, which have run for too long. To GIVE_UP is to
		leave them to the end of the mesh."""
		current.overdue = True
		for job in current.running.values():
			job.writer.interrupt()
		if not give_up:
			return
		for peer, job in current.running.items():
			self.stuck.append(job)
			current.runs.append({"peer": peer, "errno": "ETIMEDOUT", "reason":
					     f"{current.too_long}, and did not end when interrupted"})
		current.running = {}

	def _look(self, current: Part, left: float) -> float:
		"""Look for the server of CURRENT, which has LEFT seconds to listen."""
		if self.server is None or self.server.done:
			self._no_server(current, self._why_ended(current))
			return LOOK
		with contextlib.suppress(Quit):
			if any(line.device is None and line.thread > self.newest
			       for line in proc.lines()):
				current.listening = True
				self._say_clocks({"say": "listening", "n": current.number})
				return LOOK
		if left < 0:
			self._no_server(current, f"the server did not listen within "
						 f"{current.message['listen']:g} s")
		return LOOK

	def _why_ended(self, current: Part) -> str:
		"""Why the server of CURRENT ended."""
		if self.server is None:
			return "the server is gone"
		job, self.server = self.server, None
		try:
			kept = results.by_tag([job.tag])[job.tag]
		except Quit:
			kept = []
		found = jobs.outcome(job, current.log, kept)
		return f"the server ended: {found.get('errno', 'early')}: {found.get('reason', '')}"

	def _report(self, past: Part | None) -> None:
		"""Send what came of the round PAST, once."""
		if past and not past.reported:
			self.say(past.report())

	def _end_round(self) -> None:
		"""Have done with the round that there is, if any."""
		current, self.round = self.round, None
		if current:
			self._abandon([*current.running.values(), *current.ended.values()])
			current.log.close()

	def _end_server(self) -> None:
		server, self.server, self.server_text = self.server, None, ""
		if server:
			self._abandon([server])

	def _abandon(self, running: list[Job]) -> None:
		"""End the commands RUNNING."""
		stuck = jobs.end(running, END)
		for job in stuck:
			print(f"krping node: {job.command.text!r} did not end within {END:g} s after "
			      "it was interrupted", file=sys.stderr)

	def _end_all(self) -> None:
		"""End all commands."""
		self._end_round()
		self._end_server()
		self._abandon(self.stuck)
