# SPDX-License-Identifier: GPL-2.0
"""An acknowledged write, whatever its server and the medium below the store go through before the
next flush: it is there, or that flush fails. docs/block.md has the same table."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import traceback

import block
import krping
from block import MIB, Raw, Server, call
from krping import wait_for
from ktap import Suite, diag

suite = Suite(check=block.check)

MOUNT = "/tmp/lost"
SIZE = 16 * MIB
MAPPED = "krpinglost"
OLD, NEW = b"\x11" * 4096, b"\x22" * 4096
# What becomes of a write that was answered and not flushed.
KEPT, TOLD = "kept", "EIO"


def leave(kind):
	"""Leave a medium: where a test has failed (KIND), say why before anything else can, and let
	go of what it had."""
	if kind:
		diag(f"failed: {sys.exc_info()[1] or kind.__name__}")
		traceback.print_exc(file=sys.stdout)
		for command in krping.Command.running[:]:
			command.interrupt()
		for number in block.numbers():
			block.stop(number, force=True)
		subprocess.run(("umount", "-l", MOUNT), check=False, capture_output=True)


class Mapping:
	"""A mapping of a disk in memory, which can be made to fail. Within, it is there."""

	def __enter__(self):
		call("modprobe", "brd", "rd_nr=1", "rd_size=98304")
		call("modprobe", "dm-mod")
		self.path = f"/dev/mapper/{MAPPED}"
		self.sectors = int(call("blockdev", "--getsz", "/dev/ram0"))
		# LVM gives its mappings such a UUID: by that it is known again.
		call("dmsetup", "create", MAPPED, "--uuid", "LVM-krping", "--noudevsync", "--table",
		     self.table("linear"))
		if not os.path.exists(self.path):
			call("dmsetup", "mknodes", MAPPED)
		return self

	def __exit__(self, kind, *_):
		leave(kind)
		call("dmsetup", "remove", "--noudevsync", "--retry", MAPPED)
		call("rmmod", "brd")

	def table(self, kind):
		"""A table of one target."""
		rest = "/dev/ram0 0" if kind == "linear" else ""
		return f"0 {self.sectors} {kind} {rest}".strip()

	def become(self, kind):
		"""Be of another KIND from now on: linear or error."""
		call("dmsetup", "suspend", "--noflush", "--nolockfs", MAPPED)
		call("dmsetup", "load", MAPPED, "--table", self.table(kind))
		call("dmsetup", "resume", "--noudevsync", MAPPED)

	def fail(self):
		"""Whatever is asked of it fails from now on."""
		self.become("error")

	def mend(self):
		"""It is well again, with what it had."""
		self.become("linear")


class Scsi:
	"""A disk of SCSI, which can be unplugged and comes back with its identifier. Within, it is
	there."""

	def __enter__(self):
		call("modprobe", "sd_mod")
		call("modprobe", "scsi_debug", "dev_size_mb=96", "delay=0", "max_luns=1")
		self.host = next(name for name in os.listdir("/sys/bus/pseudo/devices/adapter0")
				 if name.startswith("host"))
		self.find()
		return self

	def __exit__(self, kind, *_):
		leave(kind)
		wait_for(lambda: subprocess.run(("rmmod", "scsi_debug"), check=False,
						capture_output=True).returncode == 0)

	def find(self):
		"""Look for its name, which it has anew each time."""
		def name():
			return [each for each in os.listdir("/sys/block")
				if f"/{self.host}/" in os.path.realpath(f"/sys/block/{each}")]
		self.path = f"/dev/{wait_for(name)[0]}"
		# It has a name before it can be opened.
		wait_for(self.ready)

	def ready(self):
		"""Whether it can be opened."""
		try:
			os.close(os.open(self.path, os.O_RDONLY))
		except OSError:
			return False
		return True

	def fail(self):
		"""Be unplugged."""
		with open(f"/sys/block/{self.path[5:]}/device/delete", "w", encoding="ascii") as file:
			file.write("1")
		wait_for(lambda: not os.path.exists(f"/sys/block/{self.path[5:]}"))

	def mend(self):
		"""Be plugged in again."""
		with open(f"/sys/class/scsi_host/{self.host}/scan", "w", encoding="ascii") as file:
			file.write("- - -")
		self.find()


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

	def __init__(self, text):
		self.process = subprocess.Popen(
			(sys.executable, "-c", f"import os\n"
			 f"os.write(os.open({krping.PROC!r}, os.O_WRONLY), {text.encode()!r})"),
			stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

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


def flush(raw):
	"""Flush a Raw, and return the name of the errno, or ok."""
	try:
		os.fsync(raw.fd)
	except OSError as error:
		return errno.errorcode[error.errno]
	return "ok"


def writes(disk):
	"""Whether a program that opens DISK now can write to it, and flush that."""
	with Raw(disk) as raw:
		raw.put(4096, NEW)
		return flush(raw) == "ok"


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
			assert flush(raw) == "ok"
			raw.put(0, NEW)
			trouble(server)
			# A device that was unplugged has another name.
			server.options = f"store={place},persist{options}"
			server.start()
			found = raw.get(0, 4096)
			said = flush(raw)
			assert disk.figures()["reconnects"] >= 1
			if said != "ok":
				# To each program that had it open, and until that has closed it.
				assert flush(raw) == said
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


# What happens to the medium, and what then becomes of the write with a store in a file, in a file
# with direct I/O, on a device, and on a device with direct I/O. Only the page cache can lose it: with
# direct I/O it is on the medium, though the flush of a file's metadata may fail.
TABLE = (
	(stays, Mapping, KEPT, KEPT, KEPT, KEPT),
	(remounted, Mapping, KEPT, KEPT, KEPT, KEPT),
	(fails, Mapping, TOLD, TOLD, TOLD, KEPT),
	(fails_forgotten, Mapping, TOLD, TOLD, TOLD, KEPT),
	(fails_between, Mapping, KEPT, KEPT, KEPT, KEPT),
	# This device has a cache of its own.
	(unplugged, Scsi, TOLD, TOLD, TOLD, TOLD),
)
STORES = (("file", True, ""), ("direct file", True, ",direct"), ("device", False, ""),
	  ("direct device", False, ",direct"))


def check(happens, make, expected, starter=krping.Command):
	"""Each store of a row of the table has what is EXPECTED of it."""
	for (kind, is_file, options), wanted in zip(STORES, expected):
		with make() as medium:
			place = Place(medium, is_file)
			found = outcome(place, options, lambda server: happens(place, server), starter)
			place.unmount()
			diag(f"{kind}: {found}")
			assert found == wanted, f"{kind}: {found}, not {wanted}"


for _happens, _make, *_expected in TABLE:
	suite.test(f"a write that was not flushed: {_happens.__doc__.rstrip('.')}")(
		lambda row=(_happens, _make, _expected): check(*row))


@suite.test("a write that was not flushed, whose server's writer is killed")
def killed():
	check(fails_forgotten, Mapping, [TOLD], Process)
	check(remounted, Mapping, [KEPT], Process)


@suite.test("memory does not outlive its server: ESTALE, and nothing is said to be kept")
def memory():
	server = Server("size=1M,store=ram,persist")
	disk = server.disk("reconnect=30")
	with Raw(disk) as raw:
		raw.put(0, NEW)
		server.kill()
		server.start()
		assert disk.command.wait() == errno.ESTALE
	server.kill()


@suite.test("two clients are told of what was lost when their server ended, each once")
def both():
	with Mapping() as medium:
		place = Place(medium, True)
		server = Server(f"store={place},persist")
		with server.disk("reconnect=90") as one, server.disk("reconnect=90") as other, \
		     Raw(one) as first, Raw(other) as second:
			for raw, offset in ((first, 0), (second, 8192)):
				raw.put(offset, OLD)
				assert flush(raw) == "ok"
				raw.put(offset, NEW)
			fails_forgotten(place, server)
			server.start()
			assert [flush(raw) for raw in (first, second, first)] == [TOLD] * 3
		server.kill()
		place.unmount()


suite.main()
