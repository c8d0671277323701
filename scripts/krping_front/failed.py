# SPDX-License-Identifier: GPL-2.0
"""The commands that failed or were refused, as the module lists them with their sentences."""

import re
import typing

from . import paths

# The time, the number of a command that ran, the command, its errno, and the sentence.
LINE = re.compile(r"\[ *[0-9.]+\] (?:([0-9]+): )?(.*?): [A-Za-z0-9]+ \(([0-9]+)\): (.*)")


class Failed(typing.NamedTuple):
	"""One failed command."""

	# Whether it had a number, so that it ran.
	ran: bool
	text: str
	errno: int
	sentence: str


class Failures:
	"""Those from now on; none where the list cannot be read."""

	def __init__(self) -> None:
		self.before = frozenset(_lines())

	def find(self, tag: str | None, number: int) -> Failed | None:
		"""The command of TAG that ended with errno NUMBER; else the newest that was refused
		with it and has no tag, as a stop= has none. None where there is no such one."""
		untagged = None
		for line in reversed(_lines()):
			match = LINE.fullmatch(line)
			if not match or line in self.before or int(match[3]) != number:
				continue
			found = Failed(match[1] is not None, match[2], number, match[4])
			tags = re.findall(r"(?:^|,)\s*tag=([^,]*)", found.text)
			if tag and tag in tags:
				return found
			if not tags and not found.ran:
				untagged = untagged or found
		return untagged


def _lines() -> list[str]:
	"""The lines of the list, the oldest first."""
	try:
		with paths.open_debugfs(paths.ERRORS) as file:
			return file.read().splitlines()
	except OSError:
		return []
