# SPDX-License-Identifier: GPL-2.0
"""What the tests of scripts/krping share. They need no module and no guest: the
kernel's files are temporary ones, and a write to /proc/krping is played."""

import contextlib
import ctypes
import errno
import io
import os
import signal
import tempfile
import threading
import time

import canned
import ktap
from krping_front import command, kmsg, paths, proc, runner
from program import in_process, load

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.join(TOP, "scripts", "krping")

# The log of the machine that runs these tests is none of theirs.
ktap._mark = lambda text: None

# Whoever started the tests may have had signals ignored: nohup, or a shell with a job in
# the background.
for _each in proc.ENDING + proc.STOPPING:
	signal.signal(_each, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# What one read of the log returns at most. A record that is as long is read alone.
RECORD = 8192


program = load(PROGRAM)


def wait_for(predicate, timeout=20):
	"""Wait until PREDICATE() is true."""
	end = time.monotonic() + timeout
	while not predicate():
		assert time.monotonic() < end, f"not within {timeout} s: {predicate}"
		time.sleep(0.01)


def pass_time(seconds, why):
	"""Let SECONDS pass, where a time is itself what is tested or played: WHY says it. What is to
	have happened by then is for wait_for()."""
	time.sleep(seconds)


_libc = ctypes.CDLL(None, use_errno=True)
# The thread that is in sleep(), and the file that it reads from.
_sleeper = None


def sleep():
	"""Sleep in the kernel until a signal comes, as a write to /proc/krping does."""
	global _sleeper
	reader, writer = os.pipe()
	try:
		_sleeper = threading.get_native_id(), reader
		buffer = ctypes.create_string_buffer(1)
		count = _libc.read(reader, buffer, ctypes.c_size_t(1))
		assert count == -1 and ctypes.get_errno() == errno.EINTR, count
	finally:
		_sleeper = None
		os.close(reader)
		os.close(writer)


def sleeps():
	"""Whether a thread is in sleep(), and in the kernel already."""
	sleeper = _sleeper
	if sleeper is None:
		return False
	thread, reader = sleeper
	with open(f"/proc/self/task/{thread}/syscall", encoding="ascii") as file:
		return file.read().split()[1:2] == [hex(reader)]


def printed(stream):
	"""What the krping() that runs beside this thread has printed on STREAM, sys.stdout or
	sys.stderr as it is now."""
	return stream.getvalue() if isinstance(stream, io.StringIO) else ""


def krping(*words):
	"""Run scripts/krping with WORDS in this process: its exit status, stdout, stderr."""
	return in_process(program, *words)


@contextlib.contextmanager
def patched(owner, **values):
	"""Have OWNER's attributes be VALUES."""
	before = {name: getattr(owner, name) for name in values}
	for name, value in values.items():
		setattr(owner, name, value)
	try:
		yield
	finally:
		for name, value in before.items():
			setattr(owner, name, value)


@contextlib.contextmanager
def directory():
	"""A directory that vanishes, as the current one."""
	before = os.getcwd()
	with tempfile.TemporaryDirectory() as path:
		os.chdir(path)
		try:
			yield path
		finally:
			os.chdir(before)


def write(path, text):
	"""Have PATH hold TEXT, and return it."""
	with open(path, "w", encoding="utf-8") as file:
		file.write(text)
	return path


def say(path, line):
	"""Add LINE to the log PATH, as a record of its own."""
	text = f"6,1,1,-;{line}\n"
	with open(path, "a", encoding="utf-8") as file:
		file.write(text + " " * (RECORD - len(text.encode())))


class Module:
	"""A module that is played: ANSWER(module, Command) takes each command, and returns
	its errno. It has the commands of before in `commands`."""

	def __init__(self, answer=None, kept=()):
		self.answer = answer
		self.commands = []
		self.next = 100
		write("proc", "")
		write("results", canned.json_lines(kept))
		write("kmsg", "")
		write("errors", "")
		write("mounts", f"debugfs {paths.DEBUGFS} debugfs rw 0 0\n")

	def __enter__(self):
		self.stack = contextlib.ExitStack()
		self.stack.enter_context(patched(
			paths, PROC=os.path.abspath("proc"), RESULTS=os.path.abspath("results"),
			KMSG=os.path.abspath("kmsg"), ERRORS=os.path.abspath("errors"),
			MOUNTS=os.path.abspath("mounts")))
		self.stack.enter_context(patched(proc, write=self._write))
		return self

	def __exit__(self, *_):
		self.stack.close()

	def _write(self, _fd, data):
		text = command.Command(data.decode())
		self.commands.append(text)
		self.next += 10
		return self.answer(self, text)

	def show(self, text):
		"""Have /proc/krping hold TEXT."""
		write("proc", text)

	def keep(self, *found):
		"""Add results."""
		with open("results", "a", encoding="utf-8") as file:
			file.write(canned.json_lines(found))

	def result(self, text, test=None, **changes):
		"""Keep the result of the command TEXT, with CHANGES; return it."""
		values = {"number": self.next, "tag": text.tag, "options": text.text,
			  "size": text.value("size", 64),
			  "iterations": text.value("count", 0) or 1000}
		made = canned.result(test or text.kind.name, **values | changes)
		self.keep(made)
		return made

	def fail(self, text, number, sentence, **changes):
		"""Have the command TEXT fail with errno NUMBER and SENTENCE; return NUMBER."""
		name = runner.errno_name(number)
		self.result(text, **{"status": "failed", "errno": name, "errno_number": number,
				     "reason": sentence, "iterations": 0,
				     "elapsed_ns": 0} | changes)
		self.log(f"{self.next}: {text.text}: {name} ({number}): {sentence}")
		self.list(f"{self.next}: {text.text}", number, sentence)
		return number

	def list(self, text, number, sentence):
		"""Add the command TEXT to those that failed, with errno NUMBER and SENTENCE."""
		with open("errors", "a", encoding="utf-8") as file:
			file.write(f"[{time.monotonic():12.6f}] {text}: "
				   f"{runner.errno_name(number)} ({number}): {sentence}\n")

	def log(self, line):
		"""Add LINE of krping's to the log."""
		say("kmsg", kmsg.PREFIX + line)

	def refuse(self, number, sentence):
		"""Refuse a command with errno NUMBER and SENTENCE; return NUMBER."""
		self.log(sentence)
		self.list(self.commands[-1].text if self.commands else "a command", number, sentence)
		return number
