# SPDX-License-Identifier: GPL-2.0
"""Taps in tests: disks to be tapped, programs that write to them, and copies.

	with tap.null_blk("a", size=64 * MIB) as disk, tap.Copy(disk) as copy:
		with copy.tap("comm=write_data"):
			tap.write_data(disk, "size=1M").succeed()
		assert copy.get(0, MIB) == disk.get(0, MIB)

null_blk keeps what is written in memory, has a queue of requests, and is what one makes it.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import struct
import subprocess

import age
import block
import krping
from compiled import Compiled
from krping import ADDR, Command, Program, new_port, new_tag, wait_for

MIB = 1 << 20
WRITE_DATA = Compiled("write_data")
BLKPG = 0x1269
NULL_BLK = "/sys/kernel/config/nullb"


class Writer(Program):
	"""A write_data beside the test."""

	def __init__(self, disk, *options):
		super().__init__(WRITE_DATA.build(), str(disk), *options)

	def succeed(self, timeout=300):
		"""Wait for its end, which must be a good one. Return the writes and bytes that it
		says."""
		status, output = self.finish(timeout)
		assert status == 0, f"write_data ended with {status}: {output}"
		words = output.split()
		return int(words[0]), int(words[3])


def write_data(disk, *options):
	"""Have write_data write to DISK, to its end. Return the writes and bytes."""
	return Writer(disk, *options).succeed()


class Disk:
	"""A block device by its name under /dev."""

	def __init__(self, name):
		self.name = name
		self.path = f"/dev/{name}"

	def __str__(self):
		return self.path

	def get(self, offset, length):
		"""What is there."""
		fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
		try:
			# Of what a tap's server writes, the page cache knows; not of O_DIRECT.
			os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
			found = os.pread(fd, length, offset)
			assert len(found) == length, (len(found), length)
			return found
		finally:
			os.close(fd)

	def set(self, name, value):
		"""Have /sys/block say VALUE of it, such as of "queue/scheduler"."""
		with open(f"/sys/block/{self.name}/{name}", "w", encoding="ascii") as file:
			file.write(str(value))

	@property
	def size(self):
		"""Its size in bytes."""
		path = os.path.realpath(f"/sys/class/block/{self.name}")
		with open(f"{path}/size", encoding="ascii") as file:
			return int(file.read()) * 512

	def requests(self):
		"""How many requests it has completed: reads, writes, discards, flushes."""
		fields = block.stat(self.name)
		return fields[0], fields[4], fields[11], fields[15]

	def moved(self):
		"""How many bytes it has read and written."""
		fields = block.stat(self.name)
		return (fields[2] + fields[6]) * 512

	def rewrite(self):
		"""Write again what is there, a page at the beginning."""
		page = [(0, mmap.PAGESIZE)]
		with block.Raw(self, mmap.PAGESIZE) as raw:
			raw.read(0, page)
			raw.write(0, page)


@contextlib.contextmanager
def null_blk(name, size=64 * MIB, **options):
	"""Within, a null_blk of that name and SIZE in bytes. OPTIONS are those of its
	configuration."""
	if "fua" in options:
		age.needs("null_blk_fua")
	subprocess.run(("modprobe", "null_blk", "nr_devices=0"), check=True)
	options = {"size": size // MIB, "memory_backed": 1, "blocksize": 512, "discard": 1,
		   "irqmode": 0, "submit_queues": 2} | options
	directory = f"{NULL_BLK}/{name}"
	os.mkdir(directory)
	try:
		for key, value in options.items():
			_write(f"{directory}/{key}", value)
		_write(f"{directory}/power", 1)
		try:
			yield Disk(name)
		finally:
			# It may have been switched off.
			_write(f"{directory}/power", 0)
	finally:
		os.rmdir(directory)


def check():
	"""No null_blk is left."""
	left = os.listdir(NULL_BLK) if os.path.isdir(NULL_BLK) else []
	assert [each for each in left if each != "features"] == [], left


def add_partition(disk, number, start, length):
	"""Have the kernel see a partition of a disk. It goes with the disk."""
	# struct blkpg_partition, struct blkpg_ioctl_arg for BLKPG_ADD_PARTITION.
	partition = ctypes.create_string_buffer(struct.pack("=qqi", start, length, number), 152)
	argument = struct.pack("@iiiP", 1, 0, len(partition), ctypes.addressof(partition))
	fd = os.open(disk.path, os.O_RDONLY | os.O_CLOEXEC)
	try:
		fcntl.ioctl(fd, BLKPG, argument)
	finally:
		os.close(fd)
	part = Disk(f"{disk.name}{number}")
	wait_for(lambda: os.path.exists(part.path))
	return part


def switch_off(disk):
	"""Take a null_blk away from whoever uses it."""
	configure(disk, "power", 0)


def configure(disk, name, value):
	"""Have the configuration of a null_blk say VALUE."""
	_write(f"{NULL_BLK}/{disk.name}/{name}", value)


def _write(path, value):
	with open(path, "w", encoding="ascii") as file:
		file.write(str(value))


class Tap:
	"""A tap of DISK to the server on PORT. Within, it takes requests; at the end it is
	interrupted, unless it has ended."""

	def __init__(self, disk, port, options=""):
		self.tag = new_tag()
		self.disk = disk
		name = disk.name
		others = [line.thread for line in krping.lines()]
		self.log = krping.Log()
		self.command = Command(f"client,tap={name},addr={ADDR},port={port},tag={self.tag}"
				       f"{options and ','}{options}")
		wait_for(lambda: self.log.find(rf": tapping {name} ") or not self.command.is_alive(),
			 20, self.log.text())
		assert self.command.is_alive(), f"{krping.name(self.command.wait())}: {self.log.text()}"
		# Its server's thread has a line without figures of a tap.
		self.thread = next((line.thread for line in self._lines()
				    if line.thread not in others), None)
		self.before = disk.moved()

	def _lines(self):
		return [line for line in krping.lines() if line.name == self.disk.name
			and "dropped" in line.figures]

	def line(self):
		"""Its krping.Line."""
		found = [line for line in self._lines() if line.thread == self.thread]
		assert len(found) == 1, krping.lines()
		return found[0]

	def idle(self, requests=None, moved=None):
		"""Wait until it has forwarded so many REQUESTS, or those that have MOVED so many bytes.
		Without either: all that its disk has been asked for, which is not busy any more. The tap
		must then have the whole disk, and whatever program's requests."""
		if requests is None and moved is None:
			# Requests without data, such as flushes, come before this.
			self.disk.rewrite()
			moved = self.disk.moved() - self.before
		key, least = ("bytes", moved) if requests is None else ("requests", requests)
		wait_for(lambda: self.line().figures[key] >= least, 300,
			 lambda: f"{least} {key}, but {self.line().figures}")

	def end(self):
		"""Interrupt it. Return its result."""
		assert self.command.interrupt() == errno.EINTR
		return self.result()

	def wait(self, expect=0):
		"""Wait for its end with errno EXPECT. Return its result."""
		number = self.command.wait()
		assert number == expect, f"{krping.name(number)}: {self.log.text()}"
		return self.result()

	def result(self):
		"""The result that it left."""
		return krping.result(self.tag, "client")

	def __enter__(self):
		return self

	def __exit__(self, *_):
		if self.command in Command.running:
			self.command.interrupt()


class Server:
	"""A server of taps, with a store or a log, on a port of its own."""

	def __init__(self, options):
		self.port, self.tag = new_port(), new_tag()
		self.log = krping.Log()
		self.command = Command(f"server,tap,persist,port={self.port},tag={self.tag},{options}")
		wait_for(lambda: krping.listens(self.port) or not self.command.is_alive())
		assert self.command.is_alive(), f"{krping.name(self.command.wait())}: {self.log.text()}"

	def tap(self, disk, options=""):
		"""A Tap of DISK to it."""
		if "comm=" in options:
			age.needs("io_start")
		return Tap(disk, self.port, options)

	def results(self):
		"""What its clients left."""
		return krping.results(self.tag)

	def __enter__(self):
		return self

	def __exit__(self, kind, *_):
		if self.command in Command.running and self.command.is_alive():
			assert self.command.interrupt() == errno.EINTR
