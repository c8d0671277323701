# SPDX-License-Identifier: GPL-2.0
"""The exit statuses, and what ends a subcommand early."""

import contextlib
import os
import sys
from collections.abc import Iterator

OK = 0
# A run failed.
FAILED = 1
# Nothing was run: usage, no module, not root, or the command was refused.
REFUSED = 2
# A run ended beyond a limit that its command set: max_p99, min_bw, expect.
MISSED = 3
# matplotlib is not installed.
NO_PLOTS = 4
INTERRUPTED = 130


class Quit(Exception):
	"""Ends the program with a message on stderr and an exit status."""

	def __init__(self, message: str, status: int = REFUSED) -> None:
		super().__init__(message)
		self.status = status


def stdout_gone() -> None:
	"""Nobody reads stdout any more: from here on, and at exit, it leads nowhere."""
	os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def printing() -> Iterator[None]:
	"""What is printed within may lose its reader: what follows is then done all the same."""
	try:
		yield
		sys.stdout.flush()
	except BrokenPipeError:
		stdout_gone()
