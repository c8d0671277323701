# SPDX-License-Identifier: GPL-2.0
"""A command as it is written to /proc/krping. Only what the front needs of it is
understood: what a command may be is for the module to say."""

import os
import re
import time
from typing import Self

from .address import in_command
from .kinds import KINDS, OPTIONS, Kind
from .proc import Line
from .tables import BYTES, NO_UNITS, TABLES, Units, units_of

ROLES = tuple(option["name"] for option in TABLES["options"] if "role" in option)

# Options that do not change what is measured, or that have a place of their own.
PLACE = frozenset(ROLES + ("addr", "addr6", "port", "size", "count", "duration", "rate", "tag",
			   "timeout", "max_p99", "min_bw", "expect")) | frozenset(OPTIONS)


def number(text: str, units: Units = NO_UNITS) -> int | None:
	"""TEXT as the module reads numbers, with one of UNITS; None for what is none."""
	names = "|".join(units.suffixes)
	match = re.fullmatch(rf"(0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)({names}|)", text)
	if not match:
		return None
	found = int(match[1], 0)
	if not match[2]:
		return found
	whole, rest = divmod(found * units.suffixes[match[2]], units.base)
	return None if rest else whole


def split(text: str) -> dict[str, str]:
	"""The options of a command: a dict of names and values, "" for a flag."""
	found: dict[str, str] = {}
	for option in text.split(","):
		name, _, value = option.strip().partition("=")
		found.setdefault(name, value)
	return found


def variant(text: str) -> str:
	"""The options of the command TEXT that tell one measurement from another."""
	return ",".join(option for option in text.split(",")
			if option.strip().partition("=")[0] not in PLACE)


def new_tag() -> str:
	"""A tag that no other command of this machine has."""
	return f"krping.{os.getpid()}.{time.time_ns() // 1000:x}"


def is_made_up(tag: str) -> bool:
	"""Whether TAG is of new_tag()."""
	return re.fullmatch(r"krping\.[0-9]+\.[0-9a-f]+", tag) is not None


class Command:
	"""A command that is to be run."""

	def __init__(self, text: str) -> None:
		"""TEXT gets a tag, unless it has one, is empty, or ends a disk."""
		self.text = text
		self.options = split(text)
		self.tag = self.options.get("tag")
		if self.tag is None and text.strip() and "stop" not in self.options:
			self.tag = new_tag()
			self.text = f"{text.rstrip()},tag={self.tag}"

	@classmethod
	def of_words(cls, words: list[str]) -> Self:
		"""The command of WORDS, which may be options each, and may name hosts."""
		if len(words) == 1:
			return cls(in_command(words[0]))
		return cls(in_command(",".join(word.strip(" ,") for word in words if word.strip(" ,"))))

	@property
	def role(self) -> str | None:
		"""The role, or None."""
		return next((role for role in ROLES if role in self.options), None)

	@property
	def kind(self) -> Kind:
		"""Which test a client or loopback runs."""
		return next((OPTIONS[name] for name in self.options if name in OPTIONS),
			    KINDS["pingpong"])

	def value(self, name: str, default: int) -> int:
		"""The number that NAME= has, DEFAULT without one."""
		found = number(self.options.get(name, ""), BYTES if name == "size" else units_of(name))
		return default if found is None else found

	@property
	def limits(self) -> bool:
		"""Whether it sets a limit that a run can miss."""
		return any(name in self.options for name in ("max_p99", "min_bw", "expect"))

	# Progress

	def total(self) -> int | None:
		"""How many operations it is to do, or None without an end."""
		count = self.value("count", 0)
		if self.role == "server" or not count:
			return None
		return count * self.value("threads", 1) * self.value("qps", 1)

	def operations(self, lines: list[Line]) -> int | None:
		"""How many operations the threads of LINES (proc.Line) have done, or None
		where nothing counts them. A server's is how many messages it has moved."""
		if self.role == "server":
			return sum(each.counters[name] for each in lines if each.counters
				   for name in ("send_msgs", "write_msgs", "read_msgs"))
		if self.role == "client":
			# A server on this machine starts its threads later.
			lines = sorted(lines)[:self.value("threads", 1)]
		if self.kind.measure == "requests":
			return sum(each.figures.get("requests", 0) for each in lines)
		if self.kind.counter is None:
			return None
		counter, halves = self.kind.counter, 1
		if self.kind.name == "pingpong" and self.role == "client":
			# Two advertisements, and the rest is done by the server.
			counter, halves = "send_msgs", 2
		elif self.role == "loopback" and (self.kind.mutual or "duplex" in self.options):
			halves = 2
		return sum(each.counters[counter] for each in lines if each.counters) // halves

	def bytes_each(self) -> int | None:
		"""How many bytes of data an operation moves; None where that is not known."""
		if self.role == "server" or self.kind.measure == "requests":
			return None
		both = self.kind.name == "pingpong" or "duplex" in self.options
		return (self.kind.size or self.value("size", 64)) * (2 if both else 1)
