# SPDX-License-Identifier: GPL-2.0
"""The link of the device under test, for the case that asks for it to go down and come back."""

import contextlib
import re
import socket
import subprocess
from collections.abc import Iterator

from . import proc
from .errors import Quit
from .kmsg import Log, Watch

CASE = "port_down"
# Finds it by PATH.
IP = "ip"
ASKS = re.compile(rf"[0-9]+: neg {CASE}: ((?:take|bring) the port of .* (down|up), within .*)")


class Link:
	"""Follows what the log asks for: takes NETDEV down and up, or says what is to be done
	where that is None."""

	def __init__(self, netdev: str | None) -> None:
		self.netdev = netdev
		self.known = 0
		self.down = False
		self.leaving = False

	def follow(self, log: Log) -> list[str]:
		"""Do what the new lines of LOG (kmsg.Log) ask for. Return what the user is to be
		told."""
		if self.netdev is not None and log.fd is None:
			raise Quit("--link: the kernel's log cannot be read, which says when")
		lines = log.lines()
		new, self.known = lines[self.known:], len(lines)
		asked = [match for match in map(ASKS.fullmatch, new) if match]
		if self.netdev is None:
			return [match[1] for match in asked]
		for match in asked:
			self.set(self.netdev, match[2])
		return []

	def set(self, netdev: str, way: str) -> None:
		"""Take the interface NETDEV "down" or "up", as WAY says."""
		# It may be, whatever interrupts this.
		before, self.down = self.down, True
		words = (IP, "link", "set", "dev", netdev, way)
		try:
			# Ctrl-C on the terminal is not for it.
			done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True,
					      text=True, errors="backslashreplace", check=False,
					      start_new_session=True)
		except OSError as error:
			self.down = before
			raise Quit(f"{IP}: {error.strerror}") from None
		if done.returncode:
			self.down = before
			raise Quit(f"{' '.join(words)}: {done.stderr.strip() or 'failed'}")
		self.down = way == "down"

	def restore(self) -> None:
		"""Bring the interface up, unless it is."""
		self.leaving = True
		if self.netdev is not None and self.down:
			self.set(self.netdev, "up")

	def end(self, _number: int, _frame: object) -> None:
		"""End the program by a signal, but for what is to be done before."""
		if not self.leaving:
			raise KeyboardInterrupt


@contextlib.contextmanager
def following(netdev: str | None) -> Iterator[Watch]:
	"""Within, what the case asks for is done to the interface NETDEV, or told where that is
	None: the function to be called with the log. The interface is up again behind it,
	whatever happens."""
	if netdev is not None:
		try:
			socket.if_nametoindex(netdev)
		except OSError:
			raise Quit(f"--link {netdev}: there is no such interface") from None
	link = Link(netdev)
	with proc.handled(dict.fromkeys(proc.ENDING, link.end)):
		try:
			yield link.follow
		finally:
			link.restore()
