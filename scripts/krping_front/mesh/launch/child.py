# SPDX-License-Identifier: GPL-2.0
"""A process of this host with lines in and out, as part of the event loop. There is no thread
for it, however many there are."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable

from krping_front.errors import Quit

# The most bytes that are kept of stderr, and of a line that does not end.
KEPT = 2000
LONGEST = 1 << 20
# Seconds between two looks for the end of a process that has closed its stdout.
LOOK = 0.02


class Child:
	"""A process that runs WORDS."""

	def __init__(self, words: list[str], said: Callable[[str], None],
		     ended: Callable[[str], None],
		     complained: Callable[[str], None] = lambda line: None) -> None:
		"""SAID is called with each line of its stdout, COMPLAINED with each of its stderr,
		and then ENDED once, with why it ended."""
		self.said = said
		self.ended = ended
		self.complained = complained
		self.loop = asyncio.get_running_loop()
		self.output = b""
		self.errors = b""
		# The line of stderr that has no end yet.
		self.complaint = b""
		self.pending = bytearray()
		self.open = 2
		try:
			# Ctrl-C on the terminal is not for it.
			self.process = subprocess.Popen(
				words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
				stderr=subprocess.PIPE, bufsize=0, start_new_session=True)
		except OSError as error:
			raise Quit(f"{words[0]}: {error.strerror}") from None
		self.stdin = self.process.stdin.fileno() if self.process.stdin else -1
		for file, take in ((self.process.stdout, self._take_output),
				   (self.process.stderr, self._take_errors)):
			assert file
			os.set_blocking(file.fileno(), False)
			self.loop.add_reader(file.fileno(), self._read, file.fileno(), take)
		os.set_blocking(self.stdin, False)

	def send(self, data: bytes) -> None:
		"""Write DATA to its stdin as soon as that takes it."""
		if self.process.stdin is None or self.process.stdin.closed:
			return
		waits = bool(self.pending)
		self.pending += data
		if not waits:
			self._write()

	def _write(self) -> None:
		try:
			while self.pending:
				# It would copy all that waits, again and again.
				count = os.write(self.stdin, memoryview(self.pending)[:1 << 16])
				del self.pending[:count]
		except BlockingIOError:
			self.loop.add_writer(self.stdin, self._write)
			return
		except OSError:
			# It has ended, which is heard of by its stdout.
			self.pending.clear()
			self.finish()
			return
		self.loop.remove_writer(self.stdin)

	def finish(self) -> None:
		"""End its stdin."""
		if self.process.stdin and not self.process.stdin.closed:
			self.loop.remove_writer(self.stdin)
			with contextlib.suppress(OSError):
				self.process.stdin.close()

	def kill(self, number: signal.Signals) -> None:
		"""Send NUMBER to it and to all that it has started."""
		with contextlib.suppress(ProcessLookupError, PermissionError):
			os.killpg(self.process.pid, number)

	@property
	def over(self) -> bool:
		"""Whether its end has been heard of."""
		return self.open < 0

	def _read(self, fd: int, take: Callable[[bytes], None]) -> None:
		try:
			data = os.read(fd, 1 << 16)
		except BlockingIOError:
			return
		if data:
			take(data)
			return
		self.loop.remove_reader(fd)
		self.open -= 1
		if self.open == 0:
			self._reap()

	def _take_output(self, data: bytes) -> None:
		*lines, self.output = (self.output + data).split(b"\n")
		for line in lines:
			self.said(line.decode(errors="replace"))
		if len(self.output) > LONGEST:
			self.output = b""

	def _take_errors(self, data: bytes) -> None:
		self.errors = (self.errors + data)[-KEPT:]
		*lines, rest = (self.complaint + data).split(b"\n")
		self.complaint = rest[:KEPT]
		for line in lines:
			self.complained(line.decode(errors="replace"))

	def _reap(self) -> None:
		"""Wait for the end of the process, whose pipes have ended."""
		status = self.process.poll()
		if status is None:
			self.loop.call_later(LOOK, self._reap)
			return
		self.open = -1
		self.finish()
		for file in (self.process.stdout, self.process.stderr):
			assert file
			file.close()
		how = f"signal {-status}" if status < 0 else f"status {status}"
		said = " ".join(self.errors.decode(errors="replace").split())
		self.ended(f"{said or 'it said nothing'} ({how})")


async def end(children: list[Child], patience: float) -> None:
	"""End CHILDREN: their stdin ends, after PATIENCE seconds they are told to end, and after as
	many again they are killed."""
	for child in children:
		child.finish()
	for number in (signal.SIGTERM, signal.SIGKILL, None):
		deadline = asyncio.get_running_loop().time() + patience
		while not all(child.over for child in children):
			if asyncio.get_running_loop().time() > deadline:
				break
			await asyncio.sleep(LOOK)
		for child in children:
			if number is not None and not child.over:
				child.kill(number)
