# SPDX-License-Identifier: GPL-2.0
"""What the module says of a command: in its list of those that failed, and in the kernel's log."""

import os
import re
from collections.abc import Callable
from typing import Self

from . import paths
from .failed import Failures

PREFIX = "krping: "


class Log:
	"""krping's lines in the kernel's log, and the commands that failed, from now on; none where
	they cannot be read."""

	def __init__(self) -> None:
		self.fd: int | None = None
		self.seen: list[str] = []
		self.failures = Failures()
		try:
			self.fd = os.open(paths.KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
			os.lseek(self.fd, 0, os.SEEK_END)
		except OSError:
			self.close()

	def __enter__(self) -> Self:
		return self

	def __exit__(self, *_: object) -> None:
		self.close()

	def close(self) -> None:
		"""See no more lines."""
		if self.fd is not None:
			os.close(self.fd)
		self.fd = None

	def lines(self) -> list[str]:
		"""The lines since, without what stands before the module's own text."""
		while self.fd is not None:
			try:
				record = os.read(self.fd, 8192)
			except BlockingIOError:
				break
			except BrokenPipeError:
				# The log has overwritten the next ones.
				continue
			except OSError:
				break
			if not record:
				break
			self._take(record.decode(errors="replace"))
		return self.seen

	def _take(self, record: str) -> None:
		# After the first line come fields of the record.
		line = record.partition(";")[2].split("\n")[0]
		line = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), line)
		if line.startswith(PREFIX):
			self.seen.append(line.removeprefix(PREFIX))

	def failure(self, tag: str) -> tuple[int, str] | None:
		"""The number and the sentence of the failed command that has TAG, or None."""
		pattern = re.compile(rf"([0-9]+): .*tag={re.escape(tag)}(?:,.*?)?: "
				     r"[A-Za-z0-9]+ \([0-9]+\): (.*)")
		for line in reversed(self.lines()):
			match = pattern.fullmatch(line)
			if match:
				return int(match[1]), match[2]
		return None

	def refusal(self) -> str | None:
		"""Why a command was refused before it had a number, or None. Others' commands
		are not told apart, so this is for right after the write."""
		for line in reversed(self.lines()):
			if not re.match(r"[0-9]+: |(server )?ping data: ", line):
				return line
		return None


# Looks at the log while a command runs, and returns lines to be said.
Watch = Callable[[Log], list[str]]
