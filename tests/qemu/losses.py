# SPDX-License-Identifier: GPL-2.0
"""A write that was answered and not flushed, and what its server and the medium below the store go
through before the next flush. docs/block.md has the table.
"""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import traceback

import age
import block
import krping
from block import MIB, Raw, Server, call
from fragile import Mapping, Scsi
from krping import wait_for
from ktap import diag

MOUNT = "/tmp/lost"
SIZE = 2 * MIB
OLD, NEW = b"\x11" * 4096, b"\x22" * 4096
# What becomes of a write that was answered and not flushed.
KEPT, TOLD = "kept", "EIO"
EITHER = "either"


@contextlib.contextmanager
def safely():
	"""Within, what fails says why before anything else can, and lets go of what it had."""
	try:
		yield
	except BaseException:
		diag(f"failed: {sys.exc_info()[1]}")
		traceback.print_exc(file=sys.stdout)
		for command in (*krping.Command.running, *filter(Process.is_alive, Process.running)):
			command.interrupt()
		for number in block.numbers():
			block.stop(number, force=True)
		subprocess.run(("umount", "-l", MOUNT), check=False, capture_output=True)
		raise


class Place:
	"""A store on a MEDIUM: a file of a file system, or the device itself."""

	def __init__(self, medium, is_file):
		self.medium = medium
		self.is_file = is_file
		if is_file:
			call("mkfs.ext4", "-q", "-F", "-O", "^has_journal", medium.path)
			os.makedirs(MOUNT, exist_ok=True)
			self.mount()
			with open(str(self), "wb") as file:
				file.write(bytes(SIZE))
				os.fsync(file.fileno())

	def __str__(self):
		return f"{MOUNT}/store" if self.is_file else self.medium.path

	def mount(self):
		"""Mount the file system, if it is on one."""
		if self.is_file:
			call("mount", "-o", "errors=continue", self.medium.path, MOUNT)

	def unmount(self):
		"""Unmount the file system, if it is on one."""
		if self.is_file:
			call("umount", MOUNT)


class Process:
	"""A command whose writer is a process of its own, as block.Server takes it."""

	running = []

	def __init__(self, text):
		# The shell itself writes, all at once.
		self.process = subprocess.Popen(
			("sh", "-c", 'printf %s "$1" >"$2"', "sh", text, krping.PROC),
			stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		self.running.append(self)

	def is_alive(self):
		"""Whether it runs."""
		return self.process.poll() is None

	def interrupt(self):
		"""Kill the writer, and return what a Ctrl-C would have."""
		self.process.send_signal(signal.SIGKILL)
		assert self.process.wait(60 * krping.SLOW) == -signal.SIGKILL
		return errno.EINTR

	def wait(self):
		"""Wait for its end."""
		return self.process.wait(60 * krping.SLOW)

	def join(self, timeout):
		"""Wait for its end, for at most TIMEOUT seconds."""
		with contextlib.suppress(subprocess.TimeoutExpired):
			self.process.wait(timeout)


def writes(disk):
	"""Whether a program that opens DISK now can write to it, and flush that."""
	with Raw(disk) as raw:
		raw.put(4096, NEW)
		return raw.flush() == "ok"


def write_back():
	"""Have the kernel write back what is dirty, as it does after a while."""
	os.sync()


def forget():
	"""Have the kernel forget the inodes that nobody has open."""
	for _ in range(3):
		with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
			file.write("3")


def remount(place):
	"""Unmount the file system and mount it, with the inodes forgotten in between."""
	place.unmount()
	forget()
	place.mount()


def outcome(place, options, trouble, starter=krping.Command):
	"""What becomes of a write that was answered, and not flushed, before TROUBLE(server)."""
	server = Server(f"store={place},persist{options}", command=starter)
	with server.disk("reconnect=90") as disk:
		raw = Raw(disk)
		with raw:
			raw.put(0, OLD)
			assert raw.flush() == "ok"
			raw.put(0, NEW)
			trouble(server)
			# A device that was unplugged has another name.
			server.options = f"store={place},persist{options}"
			server.start()
			found = raw.get(0, 4096)
			said = raw.flush()
			assert disk.figures()["reconnects"] >= 1
			if said != "ok":
				# To each program that had it open, and until that has closed it.
				assert raw.flush() == said
		# The server hears from what the disk asks next that it was told.
		wait_for(lambda: writes(disk), what="a flush after all have closed the disk")
	server.kill()
	assert said in ("ok", TOLD), said
	assert said == TOLD or found == NEW, f"the flush succeeded, and the write is lost: {found[:4]}"
	return KEPT if said == "ok" else TOLD


def stays(place, server):
	"""Nothing happens to the medium."""
	server.kill()


def remounted(place, server):
	"""The file system is unmounted and mounted, or the inode of the device forgotten."""
	server.kill()
	remount(place)


def fails(place, server):
	"""The medium fails under the server, and is well before the next one."""
	place.medium.fail()
	write_back()
	server.kill()
	place.medium.mend()


def fails_forgotten(place, server):
	"""The same, and the kernel has forgotten meanwhile that anything failed."""
	fails(place, server)
	remount(place)


def fails_between(place, server):
	"""The medium fails once the server has ended, and all is forgotten before the next one."""
	server.kill()
	place.medium.fail()
	write_back()
	place.medium.mend()
	remount(place)


def unplugged(place, server):
	"""The medium is unplugged under the server, and plugged in again before the next one."""
	place.medium.fail()
	server.kill()
	if place.is_file:
		call("umount", MOUNT)
	place.medium.mend()
	place.mount()


def disk_of_scsi():
	"""A disk of SCSI that a file system fits on."""
	return Scsi("dev_size_mb=16")


# What happens to the medium, and what then becomes of the write with a store in a file, in a file
# with direct I/O, on a device, and on a device with direct I/O. Only the page cache can lose it: with
# direct I/O it is on the medium, though the flush of a file's metadata may fail: that is up to the
# file system, and to the kernel.
TABLE = (
	(stays, Mapping, KEPT, KEPT, KEPT, KEPT),
	(remounted, Mapping, KEPT, KEPT, KEPT, KEPT),
	(fails, Mapping, TOLD, EITHER, TOLD, KEPT),
	(fails_forgotten, Mapping, TOLD, EITHER, TOLD, KEPT),
	(fails_between, Mapping, KEPT, KEPT, KEPT, KEPT),
	# This device has a cache of its own.
	(unplugged, disk_of_scsi, TOLD, TOLD if age.has("dead_is_told") else EITHER, TOLD, TOLD),
)
STORES = (("file", True, ""), ("direct file", True, ",direct"), ("device", False, ""),
	  ("direct device", False, ",direct"))


def check(happens, make, expected, starter=krping.Command):
	"""Each store of a row of the table has what is EXPECTED of it."""
	for (kind, is_file, options), wanted in zip(STORES, expected):
		with make() as medium, safely():
			place = Place(medium, is_file)
			found = outcome(place, options, lambda server: happens(place, server), starter)
			place.unmount()
			diag(f"store: {kind}, {found}")
			assert wanted in (found, EITHER), f"{kind}: {found}, not {wanted}"
