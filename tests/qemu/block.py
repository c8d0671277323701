# SPDX-License-Identifier: GPL-2.0
"""Servers and disks for tests: /dev/krpingN, what is read from and written to it, and
what is left of it.

	with block.Server("size=64M,store=ram") as server, server.disk() as disk:
		block.fio(disk, rw="randrw", bs=4096, verify="crc32c")

	suite = Suite(check=block.check)	# no disk may be left after a test
"""

import contextlib
import errno
import fcntl
import glob
import json
import mmap
import os
import re
import struct
import subprocess
import tempfile

import krping
from krping import ADDR, Command, new_port, new_tag, wait_for
from ktap import diag

MIB = 1 << 20

# Of linux/fs.h: _IO(0x12, 119) and _IO(0x12, 127).
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127f


def numbers():
	"""The numbers of the disks that there are."""
	return sorted(int(re.sub(r"\D", "", os.path.basename(path)))
		      for path in glob.glob("/sys/block/krping[0-9]*"))


def node(number):
	"""The path of disk NUMBER."""
	return f"/dev/krping{number}"


def gone(number):
	"""Whether disk NUMBER has left no trace."""
	return not (os.path.exists(node(number)) or os.path.exists(f"/sys/block/krping{number}"))


def stat(name):
	"""What the kernel counts of the disk or partition NAME: the numbers of its file stat."""
	with open(f"{os.path.realpath(f'/sys/class/block/{name}')}/stat", encoding="ascii") as file:
		return [int(field) for field in file.read().split()]


def stop(number, force=False):
	"""Stop disk NUMBER, and return the errno."""
	return krping.run(f"stop={number}{',force' if force else ''}")


class Server:
	"""A server of blocks, on a port of its own. Within, it serves; without `persist`
	it must end well by itself when its clients have gone."""

	# Whether one has missed the farewell of its disk, which may happen once.
	missed = False

	def __init__(self, options, port=None, addr=None, command=Command):
		"""OPTIONS are those of the command but for port and tag. It listens on all
		addresses, and disks connect to ADDR. COMMAND starts it."""
		self.options = options
		self.port = port or new_port()
		self.addr = addr or ADDR
		self.starter = command
		self.command = None
		self.tag = None
		self.log = None
		self.start()

	def start(self):
		"""Start it (again), and wait until it listens."""
		self.tag = new_tag()
		self.log = krping.Log()
		self.command = self.starter(
			f"server,blk,port={self.port},tag={self.tag},{self.options}")
		wait_for(lambda: self.listens() or not self.command.is_alive())
		assert self.command.is_alive(), \
			f"{krping.name(self.command.wait())}: {self.log.text()}"

	def listens(self):
		"""Whether it can be connected to."""
		return krping.listens(self.port)

	def kill(self):
		"""End it as Ctrl-C does."""
		assert self.command.interrupt() == errno.EINTR

	def wait(self, timeout=10):
		"""Wait for its end, and return its errno."""
		return self.command.wait(timeout)

	def results(self):
		"""The results of its connections so far."""
		return krping.results(self.tag)

	def disk(self, options="", **more):
		"""A Disk of this server."""
		return Disk(f"client,blk,addr={self.addr},port={self.port}"
			    f"{options and ','}{options}", **more)

	def __enter__(self):
		return self

	def __exit__(self, kind, *_):
		if self.command not in Command.running:
			return
		if kind or "persist" in self.options.split(","):
			number = self.command.interrupt()
			assert kind or number == errno.EINTR, krping.name(number)
		elif not self._has_missed():
			number = self.wait()
			assert number == 0, f"the server: {krping.name(number)}"

	def _has_missed(self):
		"""Whether it takes its last disk for one that is to come back: a disk waits for half a
		second for its farewell to arrive, in which a machine may stall."""
		self.command.join(10 * krping.SLOW)
		if Server.missed or self.command.errno not in (None, errno.ECONNRESET) \
		   or not self.log.find("a connection was lost"):
			return False
		diag("the server has missed the farewell of its disk, which may happen once")
		Server.missed = True
		self.command.interrupt()
		return True


class Disk:
	"""A disk that a command makes and that its writer waits for. Within, it is there."""

	def __init__(self, text, command=Command):
		"""TEXT is the command without tag, COMMAND starts it."""
		self.tag = new_tag()
		before = numbers()
		log = krping.Log()
		self.command = command(f"{text},tag={self.tag}")

		def appeared():
			return [each for each in numbers() if each not in before] \
				or not self.command.is_alive()
		found = wait_for(appeared, what=f"the disk of {text}: {log.text()}")
		assert found is not True, \
			f"{krping.name(self.command.wait())} from {text}: {log.text()}"
		self.number = found[0]
		self.name = f"krping{self.number}"
		self.path = node(self.number)
		# The rest of what makes it, such as the look for partitions.
		wait_for(lambda: log.find(f"/dev/{self.name}: "), what=log.text())

	def __str__(self):
		return self.path

	@property
	def size(self):
		"""Its size in bytes."""
		return int(self.attribute("size")) * 512

	def attribute(self, name):
		"""What /sys/block says of it, such as "queue/logical_block_size"."""
		with open(f"/sys/block/{self.name}/{name}", encoding="ascii") as file:
			return file.read().strip()

	def set(self, name, value):
		"""Have /sys/block say VALUE."""
		with open(f"/sys/block/{self.name}/{name}", "w", encoding="ascii") as file:
			file.write(str(value))

	def line(self):
		"""Its krping.Line, or None."""
		found = [line for line in krping.lines() if line.name == self.name]
		assert len(found) <= 1, found
		return found[0] if found else None

	def figures(self):
		"""Its figures in /proc/krping."""
		return self.line().figures

	def stop(self, force=False, expect=0):
		"""Stop it: its command must then end with errno EXPECT."""
		number = stop(self.number, force)
		assert number == 0, f"stop={self.number}: {krping.name(number)}"
		assert gone(self.number), f"{self.path} is still there"
		ended = self.command.wait()
		assert ended == expect, f"the disk's command: {krping.name(ended)}"

	def result(self):
		"""The result that it left."""
		return krping.result(self.tag, "client")

	def __enter__(self):
		return self

	def __exit__(self, kind, *_):
		if self.command in Command.running and self.command.is_alive():
			if kind:
				stop(self.number, force=True)
			else:
				self.stop()


@contextlib.contextmanager
def loopback(options="size=64M,store=ram", client=""):
	"""Within, a server with OPTIONS and a disk of it with options CLIENT."""
	with Server(options) as server, server.disk(client) as disk:
		yield disk


def check():
	"""Nothing is left of any disk. Takes away what is, so that the next test is not
	disturbed."""
	left = [f"{target} on {source}" for source, target in _mounted()]
	for _, target in _mounted():
		subprocess.run(("umount", "-l", target), check=False)
	disks = numbers()
	for number in disks:
		stop(number, force=True)
	left += [node(number) for number in disks]
	try:
		krping.check()
	finally:
		assert not left, f"the test left {left}"
	assert not glob.glob("/dev/krping*"), glob.glob("/dev/krping*")


def _mounted():
	with open("/proc/mounts", encoding="utf-8") as file:
		return [line.split()[:2] for line in file if line.startswith("/dev/krping")]


# What is done to disks

def call(*words, timeout=60):
	"""Run a program, which must succeed. Return what it prints."""
	done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
			      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
			      check=False, timeout=timeout)
	assert done.returncode == 0, \
		f"{' '.join(map(str, words))}: {done.returncode}: {done.stdout}"
	return done.stdout


class Fio:
	"""A fio beside the test, with jobs of its own for each disk or block size."""

	def __init__(self, jobs, **common):
		"""Each of JOBS is a dict of options, beside those of COMMON."""
		self.report = tempfile.NamedTemporaryFile("r")
		words = ["fio", "--output-format=json", f"--output={self.report.name}"]
		common = {"ioengine": "libaio", "direct": 1, "thread": 1, "invalidate": 0} | common
		words += self._words(common)
		for number, job in enumerate(jobs):
			words += self._words({"name": f"job{number}"} | job)
		self.program = krping.Program(*words)

	@staticmethod
	def _words(options):
		return [f"--{name}" if value is True else f"--{name}={value}"
			for name, value in options.items()]

	def running(self):
		"""Whether it has not ended."""
		return self.program.poll() is None

	def finish(self, timeout=300):
		"""Wait for its end: its status, its jobs' figures, and what it printed."""
		status, output = self.program.finish(timeout)
		text = self.report.read()
		# What went wrong stands before the figures.
		start = text.find("{")
		jobs = json.loads(text[start:])["jobs"] if start >= 0 else []
		return status, jobs, output + text[:max(start, 0)]

	def succeed(self, timeout=300):
		"""Wait for its end, which must be a good one. Return its jobs' figures."""
		status, jobs, output = self.finish(timeout)
		assert status == 0, f"fio ended with {status}: {output[-2000:]}"
		assert jobs and all(job["error"] == 0 for job in jobs), jobs
		return jobs


def fio(disk, timeout=60, **options):
	"""Run one job of fio on DISK, which must succeed. Return its figures."""
	return Fio([{"filename": disk} | options]).succeed(timeout)[0]


# Mixed reads and writes, of which all that was written is read back and compared. A job that
# goes round else writes a block while it still reads it, and may find half of each.
VERIFY = {"rw": "randrw", "verify": "crc32c", "verify_backlog": 64, "verify_fatal": 1,
	  "verify_state_save": 0, "serialize_overlap": 1, "iodepth": 32}


class Raw:
	"""A disk for reads and writes of any shape, without the page cache. Memory is given
	as pieces, (start, length) in an area of its own."""

	def __init__(self, disk, area=4 * MIB, flags=os.O_RDWR):
		self.fd = os.open(str(disk), flags | os.O_DIRECT | os.O_CLOEXEC)
		self.area = mmap.mmap(-1, area)
		self.view = memoryview(self.area)

	def __enter__(self):
		return self

	def __exit__(self, *_):
		os.close(self.fd)

	def write(self, offset, pieces):
		"""Write what PIECES hold in one call."""
		views = [self.view[start:start + length] for start, length in pieces]
		wanted = sum(length for _, length in pieces)
		done = os.pwritev(self.fd, views, offset)
		assert done == wanted, f"wrote {done} of {wanted} at {offset}"

	def read(self, offset, pieces):
		"""Read into PIECES in one call."""
		views = [self.view[start:start + length] for start, length in pieces]
		wanted = sum(length for _, length in pieces)
		done = os.preadv(self.fd, views, offset)
		assert done == wanted, f"read {done} of {wanted} at {offset}"

	def zero(self, offset, length, discard=False):
		"""Have LENGTH bytes be zeroes, by DISCARD or as such."""
		fcntl.ioctl(self.fd, BLKDISCARD if discard else BLKZEROOUT,
			    struct.pack("QQ", offset, length))

	def put(self, offset, data):
		"""Write DATA from one piece of memory."""
		for at in range(0, len(data), len(self.area)):
			part = data[at:at + len(self.area)]
			self.area[:len(part)] = part
			self.write(offset + at, [(0, len(part))])

	def get(self, offset, length):
		"""Read LENGTH bytes into one piece of memory."""
		found = bytearray()
		while len(found) < length:
			part = min(length - len(found), len(self.area))
			self.read(offset + len(found), [(0, part)])
			found += self.area[:part]
		return bytes(found)

	def flush(self):
		"""Have the disk flush, and return the name of the errno, or ok."""
		try:
			os.fsync(self.fd)
		except OSError as error:
			return errno.errorcode[error.errno]
		return "ok"


def compare(found, expected, where=""):
	"""FOUND and EXPECTED are the same bytes."""
	if found == expected:
		return
	assert len(found) == len(expected), f"{where}: {len(found)} bytes, not {len(expected)}"
	wrong = [at for at in range(len(found)) if found[at] != expected[at]]
	raise AssertionError(f"{where}: {len(wrong)} bytes differ, from {wrong[0]} to {wrong[-1]}: "
			     f"{found[wrong[0]]:#x}, not {expected[wrong[0]]:#x}")
