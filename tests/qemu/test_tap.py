# SPDX-License-Identifier: GPL-2.0
# oldest: yes
"""Taps: what a program writes to an existing disk arrives elsewhere, byte for byte; the
disk's own I/O is as it was; and what was not forwarded is counted.

The random parts of some tests follow from SEED in the environment.
"""

import contextlib
import errno
import mmap
import os
import random
import re
import subprocess
import threading
import time

import krping
import tap
from krping import ADDR, SOON, Command, new_port, run_fails, wait_for
from ktap import Skip, Suite, diag
from tap import MIB, Server, Writer, null_blk, write_data

SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
COPY = "/tmp/tap-copy.img"


def check():
	"""Nothing is left, neither of krping nor of what was tapped."""
	if os.path.exists(COPY):
		os.unlink(COPY)
	krping.check()
	tap.check()


suite = Suite(check=check)


def to_copy(size=64 * MIB):
	"""A server that applies to COPY."""
	return Server(f"store={COPY},size={size}")


def stored(offset, length):
	"""What COPY has there."""
	with open(COPY, "rb") as file:
		file.seek(offset)
		return file.read(length)


def compare(found, expected, where):
	"""Both are the same bytes."""
	if found == expected:
		return
	assert len(found) == len(expected), f"{where}: {len(found)} bytes, not {len(expected)}"
	wrong = next(at for at in range(len(found)) if found[at] != expected[at])
	raise AssertionError(f"{where}: differs from byte {wrong} on: "
			     f"{found[wrong:wrong + 16].hex()}, not {expected[wrong:wrong + 16].hex()}")


def assert_same(disk, offset=0, length=None):
	"""COPY has what DISK has, in that range."""
	length = disk.size - offset if length is None else length
	for at in range(offset, offset + length, 8 * MIB):
		part = min(8 * MIB, offset + length - at)
		compare(stored(at, part), disk.get(at, part), f"the copy at {at}")


def assert_clear(offset, length):
	"""COPY has nothing in that range."""
	compare(stored(offset, length), bytes(length), f"what is not to be copied, at {offset}")


def assert_counted(found, **figures):
	"""The result FOUND is a good tap's, or that of one which was interrupted, with these
	figures."""
	assert found["test"] == "tap" and found["role"] == "client", found
	moved = {key: found[key] for key in figures}
	assert moved == figures, (figures, found)
	kinds = [found[f"{kind}_requests"] for kind in ("read", "write", "other")]
	assert sum(kinds) + found["errors"] == found["requests"], found
	for stage in ("queued_ns", "wire_ns", "total_ns"):
		assert found[stage]["count"] == found["requests"], (stage, found)


@suite.test("a client waits, write_data writes, and its request arrives at the server")
def scenario():
	with null_blk("a") as disk, Server("log") as server:
		with server.tap(disk, "comm=write_data,count=1") as watch:
			# Others are not intercepted.
			write_data(disk, "name=somebody", "size=8K", "offset=1M")
			assert watch.command.is_alive()
			assert write_data(disk, "offset=4096", "size=512", "block=512") == (1, 512)
			found = watch.wait()
		assert_counted(found, requests=1, write_requests=1, disk_write_bytes=512, errors=0,
			       dropped=0, size_bytes=64 * MIB)
		assert found["status"] == "ok", found
		server.log.wait(r"krping: \d+: tap: write offset 4096 bytes 512\b")
		lines = re.findall(r": tap: \S+ offset \d+ bytes \d+", server.log.text())
		assert len(lines) == 1, lines


def writes(disk, *options, **more):
	"""Start write_data with OPTIONS."""
	return Writer(disk, *options, *(f"{key}={value}" for key, value in more.items()))


@suite.test("12 MB of write_data among other writers arrive byte for byte")
def among_others():
	diag(f"SEED={SEED}")
	size = 12 * 10 ** 6 // (128 << 10) * (128 << 10)
	# So few requests at a time that many are handed over by whoever is there.
	with null_blk("a", size=64 * MIB, hw_queue_depth=2) as disk, \
	     to_copy(64 * MIB) as server:
		disk.set("queue/scheduler", "mq-deadline")
		with server.tap(disk, "comm=write_data,size=32M") as watch:
			others = [writes(disk, f"name=other{n}", f"offset={16 + 16 * n}M", "size=16M",
					 "block=4K", "order=random", f"seed={SEED + n}")
				  for n in range(3)]
			done = [writes(disk, f"offset={part * size // 2}", f"size={size // 2}",
				       "block=64K", "order=random", f"seed={SEED}")
				for part in range(2)]
			wrote = [writer.succeed() for writer in done]
			assert sum(bytes_ for _, bytes_ in wrote) == size, wrote
			for writer in others:
				writer.stop()
			watch.idle(moved=size)
			found = watch.end()
		assert_counted(found, dropped=0, errors=0, disk_write_bytes=size,
			       read_requests=0)
		diag(f"{found['write_requests']} requests of {size} bytes in "
		     f"{found['elapsed_ns'] / 1e9:.1f} s")
		assert_same(disk, 0, size)
		assert_clear(size, disk.size - size)


@suite.test("writes over one another arrive in their order")
def overlapping():
	diag(f"SEED={SEED}")
	with null_blk("a", size=16 * MIB) as disk, to_copy(16 * MIB) as server:
		with server.tap(disk, "size=32M") as watch:
			# Small and large ones: some carry their data, the server fetches others'. The
			# last ones count, as all before is written over; so there are some writers.
			writers = [writes(disk, "order=overlap", "count=60", "size=256K",
					  f"offset={n}M", "block=128K", f"seed={SEED + n}")
				   for n in range(4)]
			wrote = [writer.succeed() for writer in writers]
			watch.idle(moved=sum(bytes_ for _, bytes_ in wrote))
			found = watch.end()
		assert_counted(found, dropped=0, errors=0)
		assert found["write_requests"] >= 240, found
		assert_same(disk)


@suite.test("a ring that is used many times over loses nothing")
def around():
	block = 401 * 512
	with null_blk("a", size=16 * MIB, max_sectors=1024) as disk, to_copy(16 * MIB) as server:
		with server.tap(disk, "size=1M") as watch:
			# It has room for so many at a time.
			for number in range(0, 42, 3):
				write_data(disk, f"offset={number * block}", f"size={3 * block}",
					   f"block={block}")
				watch.idle(number + 3)
			found = watch.end()
		assert_counted(found, requests=42, disk_write_bytes=42 * block, dropped=0, errors=0)
		assert_same(disk)


@suite.test("requests larger than the server takes at once arrive in parts")
def large():
	with null_blk("a", size=16 * MIB, max_sectors=8192) as disk, to_copy(16 * MIB) as server:
		disk.set("queue/max_sectors_kb", 4096)
		with server.tap(disk, "size=16M") as watch:
			write_data(disk, "size=12M", "block=4M")
			watch.idle(moved=12 * MIB)
			found = watch.end()
		assert_counted(found, disk_write_bytes=12 * MIB, errors=0, dropped=0)
		if found["write_requests"] > 3:
			raise Skip("no huge pages, and so no large requests")
		assert_counted(found, requests=3, write_requests=3, write_msgs=12)
		assert_same(disk)


@suite.test("discards, zeroes, flushes and reads are forwarded as such")
def others_than_writes():
	with null_blk("a", size=8 * MIB, fua=1, cache_size=16) as disk, \
	     Server(f"log,store={COPY},size=8M") as server:
		with server.tap(disk) as watch:
			write_data(disk, "size=6M", "block=64K", "how=dsync")
			subprocess.run(("blkdiscard", "-o", "1M", "-l", "1M", disk.path), check=True)
			subprocess.run(("blkdiscard", "-z", "-o", "3M", "-l", "1M", disk.path),
				       check=True)
			fd = os.open(disk.path, os.O_RDWR | os.O_DIRECT)
			area = mmap.mmap(-1, 4096)
			os.preadv(fd, [area], 5 * MIB)
			os.fsync(fd)
			os.close(fd)
			watch.idle()
			found = watch.end()
		assert_counted(found, errors=0, dropped=0)
		assert found["read_requests"] >= 1, found
		assert_same(disk)
		assert_clear(MIB, MIB)
		assert_clear(3 * MIB, MIB)
		for action, offset, length in (("write", 0, 64 << 10), ("discard", MIB, MIB),
					       ("note", 5 * MIB, 4096)):
			server.log.wait(rf": tap: {action} offset {offset} bytes {length}\b")
		server.log.wait(r": tap: flush ")


@suite.test("a flush belongs to the program that asked for it")
def flushes():
	# They are handed over by workers.
	with null_blk("a", cache_size=16) as disk, to_copy() as server:
		disk.set("queue/scheduler", "mq-deadline")
		with server.tap(disk, "comm=write_data") as watch:
			other = writes(disk, "name=other", "offset=32M", "size=16M", "order=random")
			write_data(disk, "size=1M", "block=16K", "flush=4")
			other.succeed()
			watch.idle(64 + 16)
			found = watch.end()
		assert_counted(found, write_requests=64, other_requests=16, dropped=0, errors=0)
		assert_same(disk, 0, MIB)
		assert_clear(32 * MIB, 16 * MIB)


@suite.test("the figures in /proc/krping grow while the tap runs")
def figures():
	with null_blk("a") as disk, to_copy() as server:
		with server.tap(disk) as watch:
			assert watch.line().figures == {"requests": 0, "bytes": 0, "dropped": 0,
							"errors": 0}
			write_data(disk, "size=1M", "block=64K")
			watch.idle(16)
			line = watch.line()
			assert line.figures["bytes"] == MIB, line
			# What the server fetches counts as written to it.
			assert line.counters["write_bytes"] == MIB, line
			write_data(disk, "size=8K", "block=4K", "offset=2M")
			watch.idle(18)
			# This it got with the requests.
			line = watch.line()
			assert line.counters["write_bytes"] == MIB, line
			assert line.figures["bytes"] == MIB + 8192, line
			found = watch.end()
		assert_counted(found, requests=18, dropped=0, errors=0)
		assert_same(disk, 0, 4 * MIB)


def issued(disk, before):
	"""How many requests DISK has had since BEFORE."""
	return sum(disk.requests()) - sum(before)


@suite.test("more than the ring and the server take: what is dropped is counted, and the "
	    "disk has all")
def overload():
	diag(f"SEED={SEED}")
	with null_blk("a", size=32 * MIB) as disk, to_copy(32 * MIB) as server:
		with server.tap(disk, "size=1M") as watch:
			before = disk.requests()
			writers = [writes(disk, f"offset={n * 8}M", "size=8M", "block=128K",
					  f"seed={SEED + n}") for n in range(4)]
			wrote = sum(writer.succeed()[0] for writer in writers)
			requests = issued(disk, before)
			assert requests >= wrote, (requests, wrote)

			def seen():
				figures = watch.line().figures
				return figures["requests"] + figures["dropped"]
			wait_for(lambda: seen() >= requests, 300, lambda: f"{seen()} of {requests}")
			found = watch.end()
		watch.log.wait("the ring is full, and requests are dropped")
		diag(f"{found['requests']} forwarded, {found['dropped']} dropped")
		assert found["dropped"] > 0 and found["requests"] > 0, found
		assert found["dropped"] + found["requests"] == requests, (requests, found)
		# The disk has had all of it: written once more, untapped, it is the same.
		for n in range(4):
			there = disk.get(n * 8 * MIB, 8 * MIB)
			write_data(disk, f"offset={n * 8}M", "size=8M", "block=128K",
				   f"seed={SEED + n}")
			compare(disk.get(n * 8 * MIB, 8 * MIB), there, "the disk itself")


@suite.test("count=N ends the tap when N requests have been answered")
def counted():
	with null_blk("a") as disk, to_copy() as server:
		with server.tap(disk, "count=100") as watch:
			write_data(disk, "size=2M", "block=8K")
			found = watch.wait()
		assert_counted(found, requests=100, write_requests=100, dropped=0, errors=0)
		assert found["status"] == "ok", found
		assert_same(disk, 0, 100 * 8192)
		assert_clear(100 * 8192, MIB)


@suite.test("a partition is tapped alone, with offsets of its own")
def partition():
	with null_blk("a", size=32 * MIB) as disk, to_copy(8 * MIB) as server:
		one = tap.add_partition(disk, 1, 4 * MIB, 8 * MIB)
		two = tap.add_partition(disk, 2, 12 * MIB, 8 * MIB)
		with server.tap(one) as watch:
			write_data(two, "size=4M", "block=64K")
			write_data(one, "size=4M", "block=64K", "offset=64K", "seed=2")
			# Through the whole disk, over the beginning of the partition.
			write_data(disk, "offset=4128768", "size=128K", "block=128K", "seed=3")
			watch.idle(moved=4 * MIB + (64 << 10))
			found = watch.end()
		assert_counted(found, dropped=0, errors=0, size_bytes=8 * MIB,
			       disk_write_bytes=4 * MIB + (64 << 10))
		assert_same(one)


@suite.test("two taps of one disk, each of a program of its own")
def two_taps():
	other = "/tmp/tap-copy2.img"
	with null_blk("a") as disk, to_copy() as server, \
	     Server(f"store={other},size=64M") as second:
		try:
			with server.tap(disk, "comm=write_data") as one, \
			     second.tap(disk, "comm=second") as two:
				both = [writes(disk, "size=3M", "block=32K"),
					writes(disk, "size=3M", "block=32K", "offset=3M", "name=second")]
				for writer in both:
					writer.succeed()
				for watch in (one, two):
					watch.idle(96)
				assert_counted(one.end(), requests=96, dropped=0, errors=0)
				assert_counted(two.end(), requests=96, dropped=0, errors=0)
			assert_same(disk, 0, 3 * MIB)
			assert_clear(3 * MIB, 3 * MIB)
			with open(other, "rb") as file:
				compare(file.read(3 * MIB), bytes(3 * MIB), "the second copy")
				compare(file.read(3 * MIB), disk.get(3 * MIB, 3 * MIB), "the second copy")
		finally:
			os.unlink(other)


@suite.test("a file system that is made and filled while it is tapped is whole in the copy")
def file_system():
	target = "/tmp/tap-mount"
	os.makedirs(target, exist_ok=True)
	with null_blk("a", size=32 * MIB, cache_size=16) as disk, to_copy(32 * MIB) as server:
		with server.tap(disk, "size=64M") as watch:
			subprocess.run(("mkfs.ext4", "-q", "-F", disk.path), check=True)
			subprocess.run(("mount", disk.path, target), check=True)
			try:
				subprocess.run(("cp", "-r", "/krping/rust/block", target), check=True)
				os.sync()
			finally:
				subprocess.run(("umount", target), check=True)
			watch.idle()
			found = watch.end()
		assert_counted(found, dropped=0, errors=0)
		assert_same(disk)
		done = subprocess.run(("fsck.ext4", "-fn", COPY), capture_output=True, text=True,
				      check=False)
		assert done.returncode == 0, done.stdout


@suite.test("the tap is its writer's: interrupted it ends within a second, under load too")
def interrupted():
	with null_blk("a") as disk, to_copy() as server:
		with server.tap(disk) as watch:
			begun = time.monotonic()
			found = watch.end()
			taken = time.monotonic() - begun
		assert found["errno"] == "EINTR", found
		diag(f"{taken:.2f} s")
		assert taken < SOON, taken
		with server.tap(disk) as watch:
			writers = [writes(disk, f"offset={n * 16}M", "size=16M", "block=4K")
				   for n in range(3)]
			wait_for(lambda: watch.line().figures["requests"] > 50)
			begun = time.monotonic()
			found = watch.end()
			taken = time.monotonic() - begun
			diag(f"{taken:.2f} s under load")
			for writer in writers:
				writer.stop()
		assert taken < SOON, taken
		assert found["errno"] == "EINTR" and found["errors"] == 0, found


@suite.test("rmmod says busy while a disk is tapped, and the hooks are gone afterwards")
def busy():
	with null_blk("a") as disk:
		with to_copy() as server, server.tap(disk) as watch:
			said = krping.unload()
			assert "in use" in said, f"rmmod: {said!r}"
			watch.end()
		# Gone as soon as the commands are; the disk is used all the while.
		with contextlib.ExitStack() as stack:
			writer = writes(disk, "size=64M", "block=4K")
			stack.callback(lambda: writer.stop() if writer.poll() is None else writer.finish())
			assert krping.unload() == ""
			krping.load()
			write_data(disk, "size=1M", "name=another")


@suite.test("a disk that is removed ends its tap with ENODEV")
def removed():
	with null_blk("a") as disk, to_copy() as server:
		with server.tap(disk) as watch:
			write_data(disk, "size=1M", "block=64K")
			there = disk.get(0, MIB)
			tap.switch_off(disk)
			found = watch.wait(errno.ENODEV)
		assert_counted(found, dropped=0, errors=0)
		watch.log.wait("tapping a disk that has been removed failed with ENODEV")
		compare(stored(0, MIB), there, "the copy")


@suite.test("a server that goes away ends the tap, and the disk goes on")
def server_gone():
	with null_blk("a") as disk:
		server = to_copy()
		with server.tap(disk) as watch:
			write_data(disk, "size=1M", "block=64K")
			assert server.command.interrupt() == errno.EINTR
			found = watch.wait(errno.ECONNRESET)
			assert found["status"] == "failed", found
		write_data(disk, "size=1M", "block=64K", "seed=2")


@suite.test("what cannot be tapped is refused with a reason")
def refused():
	port = new_port()
	client = f"client,addr={ADDR},port={port},tap="
	log = "opening the disk to be tapped failed with"
	run_fails(f"{client}nosuchdisk", errno.ENOENT, f"{log} ENOENT")
	run_fails(f"{client}/dev/no/such/disk", errno.ENOENT, f"{log} ENOENT")
	run_fails(f"{client}/proc/version", errno.ENOTBLK, f"{log} ENOTBLK")
	run_fails(f"{client}null", errno.ENOTBLK, f"{log} ENOTBLK")
	subprocess.run(("modprobe", "brd", "rd_nr=1", "rd_size=4096"), check=True)
	try:
		run_fails(f"{client}ram0", errno.EOPNOTSUPP, "the disk has no queue of requests")
	finally:
		subprocess.run(("rmmod", "brd"), check=True)
	with null_blk("a") as disk:
		run_fails(f"{client}a", errno.ECONNREFUSED, "nothing listens")
		with Server(f"store=ram,size={32 * MIB}") as server:
			run_fails(f"client,addr={ADDR},port={server.port},tap=a", errno.ENOSPC,
				  "which is smaller, failed with ENOSPC")
		with Server(f"store={disk}") as server:
			run_fails(f"client,addr={ADDR},port={server.port},tap=a", errno.EBUSY,
				  "what it writes would come back")
		for options in ("persist", "blk,persist,store=ram,size=64M"):
			other = new_port()
			command = Command(f"server,port={other},{options}")
			wait_for(lambda other=other: krping.listens(other))
			number = krping.run(f"client,addr={ADDR},port={other},tap=a")
			assert number in (errno.ECONNREFUSED, errno.EOPNOTSUPP), krping.name(number)
			assert command.interrupt() == errno.EINTR
		write_data(disk, "size=64K")
	if os.path.exists("/sys/module/null_blk/parameters/zoned"):
		with null_blk("z", size=256 * MIB, zoned=1):
			run_fails(f"{client}z", errno.EOPNOTSUPP, "or is zoned")


@suite.test("requests that the store refuses are counted and told, and the tap goes on")
def refused_by_store():
	# A store that is too large for the room that it has.
	target = "/tmp/tap-small"
	os.makedirs(target, exist_ok=True)
	subprocess.run(("mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", target), check=True)
	try:
		with null_blk("a", size=16 * MIB) as disk, \
		     Server(f"store={target}/copy,size=16M") as server:
			with server.tap(disk) as watch:
				write_data(disk, "size=8M", "block=64K")
				watch.idle(128)
				write_data(disk, "size=64K", "block=64K", "seed=2")
				watch.idle(129)
				found = watch.end()
			watch.log.wait(r"the server refuses write of 65536 bytes at offset \d+: "
				       "no space left")
			assert found["errors"] > 0 and found["write_requests"] > 1, found
			assert_counted(found, requests=129, dropped=0)
	finally:
		subprocess.run(("umount", target), check=True)


@suite.test("a tap that has nothing to do stays, and says that it is alive")
def quiet():
	with null_blk("a") as disk, Server("store=ram,size=64M,timeout=5000") as server:
		with server.tap(disk, "timeout=5000") as watch:
			krping.pass_time(10, "nothing is written for twice the timeout")
			assert watch.command.is_alive(), watch.log.text()
			write_data(disk, "size=64K", "block=64K")
			watch.idle(1)
			found = watch.end()
		assert_counted(found, requests=1, errors=0, dropped=0)


@suite.test("taps come and go while the disk is busy, 12 times")
def comings_and_goings():
	stop = threading.Event()

	def keep_busy(disk):
		while not stop.is_set():
			write_data(disk, "size=4M", "block=16K", "name=busy")
	with null_blk("a") as disk, to_copy() as server:
		tap.WRITE_DATA.build()
		thread = threading.Thread(target=keep_busy, args=(disk,))
		thread.start()
		try:
			for number in range(12):
				options = ("count=20", "comm=busy,count=20", "comm=nobody")[number % 3]
				with server.tap(disk, options) as watch:
					if "nobody" in options:
						found = watch.end()
						assert_counted(found, requests=0, dropped=0)
					else:
						assert_counted(watch.wait(), requests=20, errors=0)
		finally:
			stop.set()
			thread.join()


if __name__ == "__main__":
	tap.WRITE_DATA.build()
	suite.main()
