# SPDX-License-Identifier: GPL-2.0
"""Processes that write one command and die of signals, as a user's shell does.

	writer = Writer(f"loopback,addr={ADDR}")
	status, taken = writer.end(signal.SIGTERM)
"""

import contextlib
import glob
import os
import re
import select
import signal
import time
import warnings
from pathlib import Path

import krping
from krping import new_tag

# Writers are forks that do nothing but write.
warnings.simplefilter("ignore", DeprecationWarning)

# How a writer reports that write() has returned and with what: its exit status.
HANDLED = (signal.SIGINT, signal.SIGTERM)
# What kills it, so that nobody sees its write() return.
DEADLY = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def threads():
	"""The kernel threads of krping's commands, by name."""
	found = []
	for path in glob.glob("/proc/[0-9]*/comm"):
		with contextlib.suppress(OSError):
			with open(path, encoding="utf-8", errors="replace") as file:
				comm = file.read().strip()
			if comm.startswith("krping/"):
				found.append(comm)
	return found


def slept():
	"""How many times each of the module's threads has slept, by its number."""
	found = {}
	for path in Path("/proc").glob("[0-9]*/status"):
		with contextlib.suppress(FileNotFoundError, ProcessLookupError):
			text = path.read_text(encoding="ascii", errors="replace")
			if re.match(r"Name:\tkrping/", text):
				found[path.parent.name] = int(re.search(r"\nvoluntary\D+(\d+)", text)[1])
	return found


class Writer:
	"""A process that writes one command. It dies of signals, as programs do, or with
	HANDLE takes them and exits with the errno of its write(). With ENTER it calls that
	first, such as to go to another host."""

	running = []

	def __init__(self, text, handle=False, enter=None):
		self.text = text
		self.tag = new_tag()
		# Python forgets a signal that comes right after the fork.
		signal.pthread_sigmask(signal.SIG_BLOCK, DEADLY)
		self.pid = os.fork()
		if self.pid == 0:
			self._write(f"{text},tag={self.tag}", handle, enter)
		signal.pthread_sigmask(signal.SIG_UNBLOCK, DEADLY)
		self.fd = os.pidfd_open(self.pid)
		Writer.running.append(self)

	@staticmethod
	def _write(text, handle, enter):
		status = 255
		try:
			# Nothing is to be open, such as a disk, because it was at the fork.
			os.closerange(3, 4096)
			if enter:
				enter()
			handler = (lambda *_: None) if handle else signal.SIG_DFL
			for number in HANDLED:
				signal.signal(number, handler)
			signal.pthread_sigmask(signal.SIG_UNBLOCK, DEADLY)
			status = krping.run(text)
		finally:
			os._exit(status)

	def is_alive(self):
		"""Whether it has not ended."""
		return not select.select([self.fd], [], [], 0)[0]

	def end(self, number, timeout=20, again=None):
		"""Send it signal NUMBER and wait for its end: its status and the seconds that
		it took. A handler may have had the signal before the write began: send it AGAIN
		after so many seconds."""
		start = time.monotonic()
		os.kill(self.pid, number)
		if again and not select.select([self.fd], [], [], again)[0]:
			os.kill(self.pid, number)
		return self.wait(timeout), time.monotonic() - start

	def wait(self, timeout=20):
		"""Wait for its end, and return its status: negative where a signal killed it."""
		done = select.select([self.fd], [], [], timeout)[0]
		assert done, f"the writer still lives after {timeout} s; krping has {threads()}"
		Writer.running.remove(self)
		os.close(self.fd)
		return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_writers():
	"""No writer is left. Kills those that are."""
	left = [writer.text for writer in Writer.running]
	for writer in Writer.running[:]:
		writer.end(signal.SIGKILL)
	assert not left, f"the test left writers: {left}"
