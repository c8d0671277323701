# SPDX-License-Identifier: GPL-2.0
"""What a launcher is: it runs a command on each host, with lines in and out."""

import abc
from typing import Protocol

# Seconds between a polite end and one by force.
PATIENCE = 2.0


class Audience(Protocol):
	"""Who hears what hosts say. All is called in the thread of the event loop."""

	def said(self, host: str | None, line: str) -> None:
		"""HOST has said LINE, without a newline. None is for a launcher that does not
		know which one it was."""

	def ended(self, host: str, reason: str) -> None:
		"""The command on HOST has ended. REASON is the last that was heard of it, such as
		what ssh says."""


class Launcher(abc.ABC):
	"""Runs a command on each of some hosts."""

	# What is missing where it is not usable.
	NEEDS = ""

	def __init__(self, words: list[str], audience: Audience) -> None:
		self.words = words
		self.audience = audience

	@classmethod
	def usable(cls) -> bool:
		"""Whether what it needs is there."""
		return True

	@abc.abstractmethod
	def start(self, hosts: list[str]) -> None:
		"""Start the command on all HOSTS."""

	@abc.abstractmethod
	def send(self, line: str) -> None:
		"""Send LINE to all hosts alike, without waiting for them."""

	def drop(self, host: str) -> None:
		"""HOST does not answer any more: spend nothing on it. A launcher that cannot tell
		it from others goes on."""
		del host

	@abc.abstractmethod
	async def stop(self) -> None:
		"""End what is left: stdin of the commands ends, and whatever has not ended after
		PATIENCE is killed. The audience hears of all ends before."""
