# SPDX-License-Identifier: GPL-2.0
"""krping disk: the disk or server of a file, for as long as this program runs. It is what
krping-disk@NAME.service starts."""

import argparse
import errno
import os
import re
import socket
import sys
import time

from . import paths, proc, runner
from .address import in_command
from .command import Command
from .disk_file import DiskFile
from .errors import FAILED, OK, Quit
from .runner import Outcome

# The time, in seconds, after which a disk that is still open counts as in use. udev opens each
# disk that was just closed.
BUSY = 10
AGAIN = 0.5
# The time, in seconds, that udev has to make the link.
LINK = 5


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	file = DiskFile(arguments.name)
	try:
		command = Command(in_command(file.text))
	except Quit as trouble:
		# Unlike a mistake in the file, this may be over soon.
		raise Quit(f"{file.path}: {trouble}", FAILED) from None
	left = disk_of(file.name)
	if left is not None:
		remove(left, "was left by an earlier start, and is in use: unmount or close it")
	outcome = runner.run(command, tick=Readiness(file).look)
	for warning in outcome.warnings:
		print(f"krping: {warning}", file=sys.stderr)
	if outcome.signal is not None:
		return stopped(file, outcome)
	if outcome.errno != 0:
		raise Quit(f"{file.place(outcome.sentence)}: {outcome.message}", outcome.status)
	return OK


def stopped(file: DiskFile, outcome: Outcome) -> int:
	"""The exit status of what a signal was to end, with OUTCOME."""
	left = disk_of(file.name)
	if left is not None:
		remove(left, f"is in use, so it stays: unmount or close it, then 'krping run stop={left}'")
	if outcome.errno in (0, errno.EINTR, errno.EBUSY):
		return OK
	raise Quit(f"{file.path}: {outcome.message}", FAILED)


def disk_of(tag: str) -> int | None:
	"""The number of the disk that has TAG, or None."""
	try:
		names = os.listdir(paths.BLOCK)
	except OSError:
		return None
	for name in names:
		match = re.fullmatch(r"krping([0-9]+)", name)
		if not match:
			continue
		try:
			with open(os.path.join(paths.BLOCK, name, "tag"), encoding="ascii") as file:
				if file.read().strip() == tag:
					return int(match[1])
		except OSError:
			# It is gone.
			continue
	return None


def remove(number: int, trouble: str) -> None:
	"""Remove disk NUMBER, as soon as nobody has it open; where that does not come, say TROUBLE of
	it."""
	until = time.monotonic() + BUSY
	while True:
		failed, _ = proc.run(f"stop={number}")
		if failed in (0, errno.ENOENT):
			return
		if failed != errno.EBUSY:
			raise Quit(f"stop={number}: {os.strerror(failed)}", FAILED)
		if time.monotonic() > until:
			raise Quit(f"/dev/krping{number}{mounted(number)} {trouble}", FAILED)
		time.sleep(AGAIN)


def mounted(number: int) -> str:
	"""Where disk NUMBER and its partitions are mounted, in brackets; nothing where they are not."""
	disk = re.compile(rf"/dev/krping{number}(p[0-9]+)?")
	try:
		with open(paths.MOUNTS, encoding="utf-8", errors="replace") as file:
			mounts = [line.split()[:2] for line in file]
	except OSError:
		mounts = []
	places = [place for source, place in mounts if disk.fullmatch(source)]
	return f" (mounted on {', '.join(places)})" if places else ""


class Readiness:
	"""Whether the disk or server of a file is there, which systemd is told once."""

	def __init__(self, file: DiskFile) -> None:
		self.file = file
		self.told = False
		self.link_until: float | None = None
		self.before = {line.thread for line in proc.lines()}

	def look(self) -> None:
		"""Look for it."""
		if self.told:
			return
		status = self._server() if self.file.role == "server" else self._disk()
		if status:
			self.told = True
			print(f"{self.file.name}: {status}", flush=True)
			notify(f"READY=1\nSTATUS={status}")

	def _server(self) -> str:
		ours = any(line.thread not in self.before for line in proc.lines())
		return "serves disks" if ours else ""

	def _disk(self) -> str:
		number = disk_of(self.file.name)
		if number is None:
			return ""
		if self.link_until is None:
			self.link_until = time.monotonic() + LINK
		link = os.path.join(paths.BY_ID, f"krping-{self.file.name}")
		if not os.path.exists(link) and time.monotonic() < self.link_until:
			return ""
		return f"/dev/krping{number}"


def notify(text: str) -> None:
	"""Tell systemd TEXT, if it has started this."""
	where = os.environ.get("NOTIFY_SOCKET", "")
	if not where:
		return
	if where.startswith("@"):
		where = f"\0{where[1:]}"
	with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end:
		end.sendto(text.encode(), where)
