# SPDX-License-Identifier: GPL-2.0
"""Files of disks and servers that come back after a reboot: the options of a command, one or
more a line. What they may be is for the module to say; here its sentences get a line number."""

import os
import re
from typing import NamedTuple

from . import paths
from .errors import Quit

# A name is an instance of the unit, the end of a link, and a tag.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}")
# Options that are not for a file, and why.
REFUSED = {
	"loopback": "give client or server",
	"tag": "the tag is the name of the file",
	"detach": "the disk or server belongs to the unit",
	"stop": "'systemctl stop' does that",
	"help": "it runs nothing",
}


class Given(NamedTuple):
	"""An option of a file."""

	line: int
	name: str
	text: str


class DiskFile:
	"""The file of a disk or of a server of disks."""

	def __init__(self, name: str) -> None:
		"""Read the file of NAME, and check what is not for the module to say."""
		if not NAME.fullmatch(name):
			raise Quit(f"{name!r} is no name of a disk; it has up to 64 letters, digits and "
				   "_.:-, and begins with a letter, a digit or _")
		self.name = name
		self.path = os.path.join(paths.DISKS, f"{name}.conf")
		self.given = self._read()
		self.role = self._check()

	@property
	def text(self) -> str:
		"""The command."""
		texts = [each.text for each in self.given]
		names = {each.name for each in self.given}
		if "blk" not in names:
			texts.append("blk")
		# With threads= a server is to end after so many disks.
		if self.role == "server" and not names & {"persist", "threads"}:
			texts.append("persist")
		return ",".join([*texts, f"tag={self.name}"])

	def place(self, sentence: str) -> str:
		"""The path, and the line of the option that SENTENCE of the module is about."""
		found = re.match(r"(?:unknown option |option )?'?([^\s=':]+)", sentence)
		lines = [each.line for each in self.given if found and each.name == found[1]]
		return f"{self.path}:{lines[-1]}" if lines else self.path

	def _read(self) -> list[Given]:
		try:
			with open(self.path, encoding="utf-8", errors="replace") as file:
				lines = file.read().splitlines()
		except FileNotFoundError:
			raise Quit(f"there is no {self.path}; it would have the options of a client or a "
				   "server, such as client and addr=192.0.2.1, one a line") from None
		except OSError as error:
			raise Quit(f"{self.path}: {error.strerror}") from None
		given = []
		for number, line in enumerate(lines, 1):
			if line.lstrip().startswith("#"):
				continue
			for option in filter(None, (each.strip() for each in line.split(","))):
				name, equals, value = (each.strip() for each in option.partition("="))
				given.append(Given(number, name, f"{name}{equals}{value}"))
		return given

	def _check(self) -> str:
		"""Check the options, and return the role."""
		for line, name, _ in self.given:
			if name in REFUSED:
				raise Quit(f"{self.path}:{line}: {name} is not for this file; "
					   f"{REFUSED[name]}")
		role = next((each.name for each in self.given if each.name in ("client", "server")),
			    None)
		if role is None:
			raise Quit(f"{self.path} has no role; give client or server")
		return role
