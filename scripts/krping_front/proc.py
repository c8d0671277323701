# SPDX-License-Identifier: GPL-2.0
"""/proc/krping: its lines are the running threads, and a write to it is a run."""

import contextlib
import ctypes
import errno
import os
import re
import signal
import threading
import types
import typing
from collections.abc import Callable, Iterator, Mapping

from . import paths
from .errors import Quit

Handler = Callable[[int, typing.Any], object] | int | signal.Handlers | None
DIRECTIONS = ("send", "recv", "write", "read")
COUNTERS = tuple(f"{direction}_{unit}" for direction in DIRECTIONS for unit in ("bytes", "msgs"))

_libc = ctypes.CDLL(None, use_errno=True)
# Interrupts a write, and does nothing else.
INTERRUPT = signal.SIGUSR1
# What ends a run before its time.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A stop would interrupt the write as well, and the run could not go on after it.
STOPPING = (signal.SIGTSTP, signal.SIGTTOU)


class Line(typing.NamedTuple):
	"""One running thread."""

	thread: int
	# None where it has none yet: a server that waits for clients, or a client
	# whose address is not resolved yet.
	device: str | None
	counters: Mapping[str, int]
	# Of a disk or a tap: what it is called, and figures by name, in their order.
	name: str | None = None
	figures: Mapping[str, int] = types.MappingProxyType({})


def parse_line(text: str) -> Line:
	"""The Line of TEXT, one line of /proc/krping."""
	found = re.fullmatch(r"([0-9]+)(?: listen|-(\S+)((?: [0-9]+){8}))"
			     r"(?: (?:tap=)?(\S+)((?: [a-z_]+=[0-9]+)+))?", text)
	if not found:
		raise Quit(f"{paths.PROC} has a line that is not understood: {text!r}")
	thread, device, values, name, figures = found.groups(default="")
	pairs = (word.split("=") for word in figures.split())
	return Line(int(thread), device or None, dict(zip(COUNTERS, map(int, values.split()))),
		    name or None, {key: int(value) for key, value in pairs})


def lines() -> list[Line]:
	"""The Line of each running thread."""
	try:
		with open(paths.PROC, encoding="ascii", errors="backslashreplace") as file:
			return [parse_line(line.rstrip("\n")) for line in file
				if not line.startswith("#")]
	except OSError as error:
		raise paths.proc_trouble(error) from None


def write(fd: int, data: bytes) -> int:
	"""Write DATA in one write(2), and return its errno, 0 for success. Python's own
	os.write() would write again after a signal."""
	written = _libc.write(fd, data, ctypes.c_size_t(len(data)))
	return ctypes.get_errno() if written < 0 else 0


class Writer(threading.Thread):
	"""The thread that writes a command, and takes no signal but INTERRUPT: any other
	that no handler takes, such as SIGCHLD, would end the run too."""

	def __init__(self, fd: int, data: bytes,
		     ended: Callable[[], object] = lambda: None) -> None:
		"""Write DATA to FD, and call ENDED() in this thread when that is over."""
		super().__init__(daemon=True)
		self.fd = fd
		self.data = data
		self.ended = ended
		self.errno = errno.EIO
		self.done = threading.Event()
		# Until then there is a thread to send signals to.
		self.leave = threading.Event()
		# It inherits the mask that it has from its first moment on.
		before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
		try:
			self.start()
		finally:
			signal.pthread_sigmask(signal.SIG_SETMASK, before)

	def run(self) -> None:
		signal.pthread_sigmask(signal.SIG_UNBLOCK, {INTERRUPT})
		try:
			self.errno = write(self.fd, self.data)
		finally:
			self.done.set()
			self.ended()
			self.leave.wait()

	def interrupt(self) -> None:
		"""Interrupt the write. Before it begins that is lost."""
		assert self.ident is not None
		signal.pthread_kill(self.ident, INTERRUPT)


@contextlib.contextmanager
def handled(handlers: dict[signal.Signals, Handler]) -> Iterator[None]:
	"""Have signals handled by HANDLERS, but for those that this program was started
	to ignore, as by nohup."""
	before: dict[signal.Signals, Handler] = {}
	try:
		for number, handler in handlers.items():
			if signal.getsignal(number) is not signal.SIG_IGN:
				before[number] = signal.signal(number, handler)
		yield
	finally:
		for number, handler in before.items():
			signal.signal(number, handler)


def open_to_write() -> int:
	"""Open the file for a command."""
	try:
		return os.open(paths.PROC, os.O_WRONLY | os.O_CLOEXEC)
	except OSError as error:
		raise paths.proc_trouble(error) from None


def run(text: str, tick: Callable[[], object] | None = None,
	interval: float = 0.5) -> tuple[int, int | None]:
	"""Run the command TEXT to its end, and call TICK() every INTERVAL seconds
	meanwhile. Return its errno (0 for success), and the signal that was to end it
	(None without one). For the main thread only."""
	fd = open_to_write()
	taken: list[int | None] = []
	writer = None

	def end(number: int, _frame: object) -> None:
		taken.append(number)
		if writer:
			writer.interrupt()

	handlers: dict[signal.Signals, Handler] = {
		**dict.fromkeys(ENDING, end), **dict.fromkeys(STOPPING, signal.SIG_IGN),
		INTERRUPT: lambda _number, _frame: None}
	try:
		with handled(handlers):
			writer = Writer(fd, os.fsencode(text))
			try:
				_wait(writer, taken, tick, interval)
			except BaseException:
				taken.append(None)
				_wait(writer, taken, None, interval)
				raise
			finally:
				writer.leave.set()
				writer.join()
	finally:
		os.close(fd)
	return writer.errno, taken[0] if taken else None


def _wait(writer: Writer, taken: list[int | None], tick: Callable[[], object] | None,
	  interval: float) -> None:
	"""Wait until WRITER is done, and interrupt it as soon as something is in TAKEN: a
	signal from before the write was lost, so again and again."""
	while not writer.done.wait(0.1 if taken else interval):
		if taken:
			writer.interrupt()
		elif tick:
			tick()
