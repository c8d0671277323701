# SPDX-License-Identifier: GPL-2.0
"""Stores past the page cache: what is answered is on the medium, and what the medium refuses is
told at once."""

import contextlib
import ctypes
import errno
import mmap
import os
import random

import block
import media
import tap
from block import MIB, Fio, Raw, Server, call
from krping import new_port, run_fails
from ktap import Suite

suite = Suite(check=block.check)

FILE = "/tmp/direct/store"
SIZE = 8 * MIB


@contextlib.contextmanager
def file_system():
	"""Within, a file system whose files can be read and written past the page cache."""
	with tap.null_blk("fs", size=64 * MIB) as disk:
		call("mkfs.ext4", "-q", disk)
		os.makedirs(os.path.dirname(FILE), exist_ok=True)
		call("mount", "-t", "ext4", disk, os.path.dirname(FILE))
		try:
			yield
		finally:
			call("umount", os.path.dirname(FILE))


@contextlib.contextmanager
def stores():
	"""Within, the options of a store on a device and in a file."""
	with media.medium("direct", SIZE) as medium, file_system():
		yield f"store={medium},direct", f"store={FILE},size={SIZE},direct"


def cached(path):
	"""How many pages of PATH the page cache holds."""
	with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
		pages = (ctypes.c_ubyte * (len(mapped) // mmap.PAGESIZE))()
		first = ctypes.c_char.from_buffer(mapped)
		done = ctypes.CDLL(None).mincore(ctypes.byref(first), ctypes.c_size_t(len(mapped)), pages)
		# A mapping cannot be closed that is referred to.
		del first
		assert done == 0, done
		return sum(page & 1 for page in pages)


def refuses(function, number=errno.EIO):
	"""FUNCTION() fails with NUMBER."""
	try:
		function()
	except OSError as error:
		assert error.errno == number, error
	else:
		raise AssertionError("it did not fail")


@suite.test("requests of all sizes: what is written is read again")
def sizes():
	with stores() as both:
		for store in both:
			with Server(store) as server, server.disk("queues=2") as disk:
				job = {"filename": disk, "bsrange": "512-256k", "size": SIZE,
				       "io_size": 2 * MIB, **block.VERIFY, "iodepth": 16}
				Fio([job]).succeed()


@suite.test("small writes, of which the data comes in the message, with FUA and without")
def small():
	rng = random.Random(3)
	with stores() as both:
		for store in both:
			expected = bytearray(MIB)
			with Server(store) as server, server.disk() as disk, \
			     Raw(disk) as raw, Raw(disk, flags=os.O_RDWR | os.O_DSYNC) as fua:
				for _ in range(100):
					data = rng.randbytes(512 * rng.randint(1, 9))
					offset = 512 * rng.randrange((MIB - len(data)) // 512)
					rng.choice((raw, fua)).put(offset, data)
					expected[offset:offset + len(data)] = data
				block.compare(raw.get(0, MIB), bytes(expected))


@suite.test("what is answered is on the medium, and the page cache has nothing of it")
def on_medium():
	with media.medium("direct", SIZE) as medium, \
	     Server(f"store={medium},direct") as server, server.disk() as disk, Raw(disk) as raw:
		for number, length in enumerate((512, 4096, 65536, MIB)):
			data = os.urandom(length)
			raw.put(number * MIB, data)
			block.compare(medium.get(number * MIB, length), data)
			block.compare(raw.get(number * MIB, length), data)
	with file_system(), Server(f"store={FILE},size={SIZE},direct") as server, \
	     server.disk() as disk, Raw(disk) as raw:
		raw.put(0, os.urandom(MIB))
		raw.get(0, MIB)
		assert cached(FILE) == 0, cached(FILE)


@suite.test("without it the page cache has what was written")
def not_direct():
	with file_system(), Server(f"store={FILE},size={SIZE}") as server, \
	     server.disk() as disk, Raw(disk) as raw:
		raw.put(0, os.urandom(MIB))
		assert cached(FILE) >= MIB // 4096, cached(FILE)


@suite.test("a write that the medium refuses fails itself, and the next flush has nothing to tell")
def refused():
	with media.medium("direct", SIZE) as medium, \
	     Server(f"store={medium},direct,threads=2") as server, \
	     server.disk() as disk, server.disk() as other, Raw(disk) as raw, Raw(other) as second:
		medium.fail(8, 8)
		try:
			for data in (b"x" * 512, b"x" * 4096, b"x" * 16384):
				refuses(lambda data=data: raw.put(4096, data))
			refuses(lambda: raw.get(4096, 4096))
			raw.put(65536, b"y" * 4096)
			os.fsync(raw.fd)
			os.fsync(second.fd)
		finally:
			medium.mend()
		raw.put(4096, b"z" * 4096)
		block.compare(medium.get(4096, 4096), b"z" * 4096)


@suite.test("a device without a cache makes a disk without one, and no flush is sent")
def no_cache():
	with media.medium("direct", SIZE) as medium:
		for direct, mode, flushes in (("", "write back", 1), (",direct", "write through", 0)):
			with Server(f"store={medium}{direct}") as server, server.disk() as disk, \
			     Raw(disk) as raw:
				assert disk.attribute("queue/write_cache") == mode, direct
				before = disk.figures()["requests"]
				raw.put(0, b"x" * 4096)
				os.fsync(raw.fd)
				assert disk.figures()["requests"] - before == 1 + flushes, direct


@suite.test("a device that has a cache, and a file, make disks that have one")
def has_cache():
	with tap.null_blk("cache", size=SIZE, cache_size=1) as device, file_system():
		for store in (f"store={device}", f"store={FILE},size={SIZE}"):
			with Server(f"{store},direct") as server, server.disk() as disk, \
			     Raw(disk) as raw:
				assert disk.attribute("queue/write_cache") == "write back", store
				before = disk.figures()["requests"]
				raw.put(0, b"x" * 4096)
				os.fsync(raw.fd)
				assert disk.figures()["requests"] - before == 2, store


@suite.test("a device of blocks of 4096 bytes makes a disk of these")
def large_blocks():
	with tap.null_blk("large", size=SIZE, blocksize=4096) as device, \
	     Server(f"store={device},direct") as server, server.disk() as disk, Raw(disk) as raw:
		assert disk.attribute("queue/logical_block_size") == "4096"
		data = os.urandom(3 * 4096)
		raw.put(4096, data)
		block.compare(raw.get(4096, len(data)), data)


@suite.test("zeroes and discards, also where zeroes must be written")
def zeroes():
	with stores() as both:
		for store in both:
			with Server(store) as server, server.disk() as disk, Raw(disk) as raw:
				for discard in (False, True):
					raw.put(0, b"\xff" * MIB)
					raw.zero(4096, 512 * 1024, discard)
					found = raw.get(0, MIB)
					block.compare(found[:4096], b"\xff" * 4096)
					block.compare(found[4096:4096 + 512 * 1024], bytes(512 * 1024))
					block.compare(found[4096 + 512 * 1024:],
						      b"\xff" * (MIB - 4096 - 512 * 1024))


@suite.test("the server is killed and started again: the disk goes on with the same store")
def again():
	with stores() as both:
		for store in both:
			with Server(f"{store},persist") as server, server.disk() as disk, Raw(disk) as raw:
				raw.put(0, b"1" * 65536)
				server.kill()
				server.start()
				block.compare(raw.get(0, 65536), b"1" * 65536)
				raw.put(0, b"2" * 65536)
				os.fsync(raw.fd)
				assert disk.figures()["reconnects"] == 1


@suite.test("a copy that a tap makes past the page cache is like the disk")
def copied():
	with tap.null_blk("source", size=SIZE) as disk, media.medium("direct", SIZE) as medium, \
	     tap.Server(f"store={medium},direct") as server, server.tap(disk) as copy, \
	     Raw(disk) as raw:
		for number in range(64):
			raw.put(number * 65536, os.urandom(512 << number % 8))
		copy.idle(64)
		block.compare(medium.get(0, SIZE), disk.get(0, SIZE))


@suite.test("a file system without direct I/O: EOPNOTSUPP, which the log explains")
def without():
	os.makedirs("/tmp/ramfs", exist_ok=True)
	call("mount", "-t", "ramfs", "none", "/tmp/ramfs")
	try:
		run_fails(f"server,blk,store=/tmp/ramfs/store,size={SIZE},direct,port={new_port()}",
			  errno.EOPNOTSUPP, "whose file system has no direct I/O for it")
	finally:
		call("umount", "/tmp/ramfs")


@suite.test("direct goes with a path: EINVAL, which names it")
def only_paths():
	for text in ("server,blk,store=ram,size=8M,direct", "client,blk,addr=192.0.2.1,direct",
		     "server,tap,log,direct"):
		run_fails(text, errno.EINVAL, "direct is for store=PATH")


suite.main()
