# SPDX-License-Identifier: GPL-2.0
"""A host of a mesh, as the controller knows it. Nothing here does I/O."""

import dataclasses
import ipaddress
from typing import Any

from krping_front.devices import Rail

from .clock import Clock
from .figures import sentence
from .wire import SCHEMA, SENTENCE, Message, Receiver


def plain(text: Any) -> str:
	"""TEXT, which a host has said, in one line without control characters."""
	words = "".join(char if char.isprintable() else " " for char in str(text)).split()
	return " ".join(words)[:SENTENCE]


@dataclasses.dataclass
class Host:
	"""One host."""

	name: str
	number: int
	# What its node calls itself in its lines.
	ident: str = ""
	# Why it has no part, or no part any more; "" while it has.
	reason: str = ""
	# In which round that was; None before the first.
	failed_in: int | None = None
	over: bool = False
	kernel: str = ""
	module: str = ""
	# Whether the module itself waits for the start of a round.
	starts: bool = False
	lacks: list[str] = dataclasses.field(default_factory=list)
	rails: list[Rail] = dataclasses.field(default_factory=list)
	# The address on each rail of the mesh.
	addresses: list[str | None] = dataclasses.field(default_factory=list)
	clock: Clock = dataclasses.field(default_factory=Clock)
	# Rounds in which its clock was set, and by how many ns.
	jumps: list[tuple[int, int]] = dataclasses.field(default_factory=list)
	# Rounds that it began too late, and by how many ns at most.
	late_rounds: int = 0
	latest: int = 0
	receiver: Receiver = dataclasses.field(default_factory=Receiver)
	# The last line that was none of the protocol, such as a shell's complaint.
	noise: str = ""

	@property
	def takes_part(self) -> bool:
		"""Whether it is there and works."""
		return bool(self.ident) and not self.reason

	@property
	def last_words(self) -> str:
		"""Its noise, as the end of a reason."""
		return f"; it said: {self.noise}" if self.noise else ""

	@property
	def notes(self) -> list[str]:
		"""What else is to be said of it."""
		found = [f"its clock was set by {'-' if by < 0 else '+'}{sentence('_ns', abs(by))} "
			 f"in round {number}" for number, by in self.jumps]
		if self.late_rounds:
			found.append(f"it began {self.late_rounds} rounds late, by up to "
				     f"{sentence('_ns', self.latest)}")
		return found

	def introduce(self, message: Message) -> None:
		"""Take in what it says of itself. ValueError is raised for what makes no sense."""
		if message.get("schema") != SCHEMA:
			raise ValueError(f"its krping speaks version {plain(message.get('schema'))} of "
					 f"the mesh, and this one {SCHEMA}")
		try:
			rails = [Rail(plain(each["device"]), plain(each["netdev"]),
				      str(ipaddress.ip_address(each["address"])), int(each["prefix"]))
				 for each in message["rails"]]
			lacks = [plain(each) for each in message["lacks"]]
		except (KeyError, TypeError, ValueError):
			raise ValueError("what it says of itself makes no sense") from None
		self.ident, self.rails, self.lacks = str(message["id"]), rails, lacks
		self.kernel, self.module = plain(message.get("kernel")), plain(message.get("module"))
		self.starts = message.get("starts") is True
