# SPDX-License-Identifier: GPL-2.0
# oldest: yes
"""Disks over RDMA: how they come and go, what they say of themselves, stores, file
systems, partitions, discard."""

import contextlib
import errno
import glob
import os
import random
import re
import struct
import subprocess
import time

import age
import block
import krping
from block import MIB, Disk, Raw, Server, call
from krping import ADDR, ADDR6, new_tag, wait_for
from ktap import Suite

suite = Suite(check=block.check)

# On the guest's own file system, which is memory.
FILE = "/tmp/store"


def pattern(length, seed=1):
	"""LENGTH bytes in which no sector is like another."""
	return random.Random(seed).randbytes(length)


def put(path, value):
	"""Write VALUE to PATH."""
	with open(path, "w", encoding="ascii") as file:
		file.write(str(value))


def get(path):
	"""What PATH holds."""
	with open(path, encoding="ascii") as file:
		return file.read().strip()


def remove(path=FILE):
	"""Remove the file at PATH, if it is there."""
	if os.path.exists(path):
		os.unlink(path)


# Coming and going

@suite.test("a disk as large as the server says; written, read, stopped")
def simple():
	with Server("size=5M,store=ram") as server, server.disk() as disk:
		assert disk.path == "/dev/krping0" and disk.size == 5 * MIB, disk.size
		assert disk.attribute("queue/logical_block_size") == "512"
		assert disk.attribute("ro") == "0"
		data = pattern(5 * MIB)
		with Raw(disk) as raw:
			block.compare(raw.get(0, 5 * MIB), bytes(5 * MIB), "at first")
			raw.put(0, data)
			block.compare(raw.get(0, 5 * MIB), data, "written")
			assert block.stop(disk.number) == errno.EBUSY
		disk.stop()
		assert block.stop(disk.number) == errno.ENOENT
	client, served = disk.result(), krping.result(server.tag, "server")
	for each in (client, served):
		assert each["status"] == "ok" and each["size_bytes"] == 5 * MIB, each
	assert client["disk"] == "krping0" and client["state"] == "closed", client


@suite.test("a loopback makes server and disk, and a stop ends both")
def loopback():
	disk = Disk(f"loopback,blk,addr={ADDR},size=1M,store=ram")
	with Raw(disk) as raw:
		raw.put(0, pattern(MIB))
		block.compare(raw.get(0, MIB), pattern(MIB))
	disk.stop()
	assert disk.result()["status"] == "ok"
	assert krping.result(disk.tag, "server")["status"] == "ok"


@suite.test("over IPv6")
def ipv6():
	with Server(f"addr6={ADDR6},size=1M,store=ram") as server:
		with Disk(f"client,blk,addr6={ADDR6},port={server.port}") as disk, Raw(disk) as raw:
			raw.put(4096, pattern(8192))
			block.compare(raw.get(4096, 8192), pattern(8192))


@suite.test("Ctrl-C takes a disk that nobody has open within a second")
def interrupted():
	with Server("size=1M,store=ram") as server:
		disk = server.disk()
		start = time.monotonic()
		number = disk.command.interrupt()
		taken = time.monotonic() - start
		assert number == errno.EINTR, krping.name(number)
		assert block.gone(disk.number)
		assert taken < krping.SOON, f"took {taken:.1f} s"


@suite.test("Ctrl-C leaves a disk that is open: EBUSY, and a stop takes it later")
def interrupted_open():
	with Server("size=1M,store=ram") as server:
		disk = server.disk()
		with Raw(disk) as raw:
			number = disk.command.interrupt()
			assert number == errno.EBUSY, krping.name(number)
			raw.put(0, pattern(4096))
			block.compare(raw.get(0, 4096), pattern(4096))
			assert disk.line(), krping.lines()
			assert block.stop(disk.number) == errno.EBUSY
		assert block.stop(disk.number) == 0
		assert block.gone(disk.number)


@suite.test("detach: the command ends, with the disk's name in its result")
def detached():
	with Server("size=1M,store=ram") as server:
		tag = new_tag()
		krping.run_ok(f"client,blk,addr={ADDR},port={server.port},detach,tag={tag}")
		found = krping.result(tag, "client")
		assert (found["state"], found["disk"], found["disk_id"]) == ("attached", "krping0", 0)
		assert found["status"] == "ok" and os.path.exists("/dev/krping0"), found
		with Raw("/dev/krping0") as raw:
			raw.put(0, pattern(4096))
			block.compare(raw.get(0, 4096), pattern(4096))
		assert block.stop(0) == 0 and block.gone(0)
		states = wait_for(lambda: len(found := krping.results(tag)) == 2 and found)
		assert [each["state"] for each in states] == ["attached", "closed"], states
		assert states[1]["write_requests"] == 1, states


@suite.test("the module stays while there is a disk")
def unload():
	with Server("size=1M,store=ram") as server:
		krping.run_ok(f"client,blk,addr={ADDR},port={server.port},detach")
		assert "in use" in krping.unload()
		with Raw("/dev/krping0") as raw:
			assert "in use" in krping.unload()
			raw.put(0, pattern(4096))
		assert block.stop(0) == 0
	wait_for(lambda: not krping.lines())
	assert krping.unload() == "" and not krping.loaded()
	krping.load()


@suite.test("force takes a disk that is mounted, and nothing hangs")
def forced():
	log = krping.Log()
	with Server("size=32M,store=ram") as server:
		disk = server.disk()
		call("mkfs.ext4", "-q", disk)
		with mounted(disk) as where:
			with open(f"{where}/a", "wb") as file:
				file.write(pattern(MIB))
				file.flush()
				assert block.stop(disk.number) == errno.EBUSY
				assert disk.command.is_alive()
				start = time.monotonic()
				assert block.stop(disk.number, force=True) == 0
				assert disk.command.wait() == 0
				assert time.monotonic() - start < krping.SOON
				# What is in the cache cannot be written any more.
				if not age.has("lost_is_told"):
					# The file system knows it all the same.
					os.fsync(file.fileno())
					log.expect("Data will be lost")
				else:
					try:
						os.fsync(file.fileno())
						raise AssertionError("fsync() wrote to a disk that is gone")
					except OSError as error:
						assert error.errno in (errno.EIO, errno.EROFS), error
		wait_for(lambda: block.gone(disk.number))


@suite.test("force with I/O under way: it fails, and the disk goes at once")
def forced_busy():
	with Server("size=32M,store=ram") as server:
		disk = server.disk()
		fio = block.Fio([{"filename": disk, "rw": "randwrite", "bs": 4096, "iodepth": 32,
				  "time_based": 1, "runtime": 30}])
		wait_for(lambda: disk.figures()["requests"] > 100)
		assert block.stop(disk.number, force=True) == 0
		status, jobs, output = fio.finish(10)
		# A disk that is gone has no size, so there is no room for what comes later.
		assert status != 0 and jobs[0]["error"] in (errno.EIO, errno.ENODEV, errno.ENOSPC), \
			(status, output)
		assert disk.command.wait() == 0
		wait_for(lambda: block.gone(disk.number))


# What it is

@suite.test("two disks and two servers at once, and numbers are used again")
def two():
	remove()
	with Server("size=8M,store=ram") as ram, Server(f"size=12M,store={FILE}") as file, \
	     ram.disk() as first, file.disk() as second:
		assert (first.number, second.number) == (0, 1)
		assert (first.size, second.size) == (8 * MIB, 12 * MIB)
		jobs = [{"filename": disk, "size": "8M", "bs": 4096, **block.VERIFY,
			 "io_size": "3M"} for disk in (first, second)]
		block.Fio(jobs).succeed()
		first.stop()
		with Server("size=1M,store=ram") as other, other.disk() as third:
			assert third.number == 0 and third.size == MIB
	remove()


@suite.test("two disks of one server have the same blocks")
def shared():
	with Server("size=1M,store=ram,threads=2") as server, server.disk() as one, \
	     server.disk() as two, Raw(one) as raw_one, Raw(two) as raw_two:
		raw_one.put(0, pattern(MIB))
		block.compare(raw_two.get(0, MIB), pattern(MIB))


@suite.test("queues=: so many hardware queues and connections")
def queues():
	remove()
	for store in ("ram", FILE):
		with Server(f"size=16M,store={store}") as server, \
		     server.disk("queues=2,depth=16") as disk:
			assert len(glob.glob(f"/sys/block/{disk.name}/mq/*")) == 2
			assert disk.attribute("queue/nr_requests") == "16"
			found = [each for each in krping.rdma("resource", "show", "qp")
				 if each["type"] == "RC"]
			assert len(found) == 4, found
			jobs = [{"filename": disk, "offset": f"{8 * each}M", "size": "8M",
				 "bs": 8192, **block.VERIFY, "io_size": "2M",
				 "cpus_allowed": each} for each in (0, 1)]
			block.Fio(jobs).succeed()
	remove()


@suite.test("more queues than CPUs do no harm")
def many_queues():
	with block.loopback("size=4M,store=ram", "queues=64,depth=4") as disk, Raw(disk) as raw:
		raw.put(0, pattern(4 * MIB))
		block.compare(raw.get(0, 4 * MIB), pattern(4 * MIB))


@suite.test("ro: it can be read only, and so can its store")
def read_only():
	data = pattern(MIB)
	with open(FILE, "wb") as file:
		file.write(data)
	os.chmod(FILE, 0o400)
	with Server(f"store={FILE},ro") as server, server.disk() as disk:
		assert disk.attribute("ro") == "1" and disk.size == MIB
		with Raw(disk, flags=os.O_RDONLY) as raw:
			block.compare(raw.get(0, MIB), data)
		for program in (("dd", "if=/dev/zero", f"of={disk}", "bs=4096", "count=1",
				 "oflag=direct"),
				("blkdiscard", disk.path), ("blkdiscard", "-z", disk.path)):
			done = subprocess.run(program, capture_output=True, text=True, check=False)
			assert done.returncode != 0, program
	with open(FILE, "rb") as file:
		block.compare(file.read(), data)
	remove()
	with Server("size=1M,store=ram,ro") as server, server.disk() as disk:
		assert disk.attribute("ro") == "1"


@suite.test("store=PATH on a file: made, grown, and kept")
def on_file():
	remove()
	with Server(f"size=8M,store={FILE}") as server, server.disk() as disk:
		status = os.stat(FILE)
		assert status.st_size == 8 * MIB and status.st_blocks == 0, status
		assert disk.size == 8 * MIB
		with Raw(disk) as raw:
			raw.put(MIB, pattern(2 * MIB))
			block.compare(raw.get(0, 4 * MIB),
				      bytes(MIB) + pattern(2 * MIB) + bytes(MIB))
	with open(FILE, "rb") as file:
		block.compare(file.read(), bytes(MIB) + pattern(2 * MIB) + bytes(5 * MIB), FILE)
	# All that it has, and more.
	with Server(f"store={FILE}") as server, server.disk() as disk, Raw(disk) as raw:
		assert disk.size == 8 * MIB
		block.compare(raw.get(MIB, 2 * MIB), pattern(2 * MIB))
	with Server(f"store={FILE},size=9M") as server, server.disk() as disk, Raw(disk) as raw:
		assert disk.size == 9 * MIB == os.stat(FILE).st_size
		block.compare(raw.get(0, 9 * MIB), bytes(MIB) + pattern(2 * MIB) + bytes(6 * MIB))
	remove()


@suite.test("store=PATH on block devices, and their block size")
def on_device():
	call("modprobe", "loop")
	for size in (512, 4096):
		remove()
		with open(FILE, "wb") as file:
			file.truncate(8 * MIB)
		device = call("losetup", "--show", "-f", "-b", size, FILE).strip()
		try:
			with Server(f"store={device}") as server, server.disk() as disk:
				assert disk.size == 8 * MIB
				assert disk.attribute("queue/logical_block_size") == str(size)
				with Raw(disk) as raw:
					raw.put(size, pattern(MIB, size))
					block.compare(raw.get(size, MIB), pattern(MIB, size))
				call("blkdiscard", "-z", "-o", size, "-l", size, disk)
				with Raw(device) as raw:
					block.compare(raw.get(0, MIB), bytes(2 * size)
						      + pattern(MIB, size)[size:MIB - size])
			# A part of it.
			with Server(f"store={device},size=4M") as server, server.disk() as disk:
				assert disk.size == 4 * MIB
		finally:
			call("losetup", "-d", device)
	remove()


# What systems do with disks

class mounted:
	"""Within, DISK is mounted at the directory that this gives."""

	def __init__(self, disk, options="rw", where="/tmp/mnt"):
		self.disk, self.options, self.where = disk, options, where

	def __enter__(self):
		os.makedirs(self.where, exist_ok=True)
		call("mount", "-t", "ext4", "-o", self.options, self.disk, self.where)
		return self.where

	def __exit__(self, *_):
		call("umount", self.where)


def drop_caches():
	"""Forget what is cached of disks."""
	os.sync()
	with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
		file.write("3")


@suite.test("mkfs, mount, copy a tree, unmount, fsck, compare")
def file_system():
	tree = "/tmp/tree"
	call("cp", "-a", os.path.dirname(os.path.abspath(__file__)), tree)
	with open(f"{tree}/large", "wb") as file:
		file.write(os.urandom(8 * MIB))
	for options in ("size=64M,store=ram", f"size=64M,store={FILE}"):
		remove()
		with block.loopback(options) as disk:
			call("mkfs.ext4", "-q", disk)
			with mounted(disk) as where:
				call("cp", "-a", tree, where)
			call("fsck.ext4", "-fn", disk)
			drop_caches()
			with mounted(disk, "ro") as where:
				call("diff", "-r", tree, f"{where}/tree")
	call("rm", "-r", tree, FILE)


def boot_record(*partitions):
	"""The first sector of a disk with PARTITIONS, of (first sector, sectors)."""
	entries = b"".join(struct.pack("<4xB3xII", 0x83, *each) for each in partitions)
	return bytes(446) + entries.ljust(64, b"\0") + b"\x55\xaa"


@suite.test("partitions: found when made, and found again")
def partitions():
	remove()
	with Server(f"size=16M,store={FILE},persist") as server:
		with server.disk() as disk:
			with Raw(disk) as raw:
				raw.put(0, boot_record((2048, 8192), (16384, 4096)))
			call("blockdev", "--rereadpt", disk)
			parts = [wait_part(disk, each) for each in (1, 2)]
			for each, part in enumerate(parts):
				with Raw(part) as raw:
					raw.put(0, pattern(MIB, each))
			with Raw(disk) as raw:
				block.compare(raw.get(2048 * 512, MIB), pattern(MIB, 0), "p1")
				block.compare(raw.get(16384 * 512, MIB), pattern(MIB, 1), "p2")
			with Raw(parts[0]) as raw:
				assert block.stop(disk.number) == errno.EBUSY
		assert not glob.glob("/dev/krping*"), glob.glob("/dev/krping*")
		with server.disk() as disk, Raw(wait_part(disk, 2)) as raw:
			block.compare(raw.get(0, MIB), pattern(MIB, 1), "p2 again")
	remove()


def wait_part(disk, number):
	"""Partition NUMBER of DISK, once it is there."""
	return wait_for(lambda: os.path.exists(f"{disk}p{number}") and f"{disk}p{number}")


@suite.test("what is discarded or zeroed reads as zeroes, and nothing else does")
def discard():
	ways = {"blkdiscard": ("blkdiscard",), "blkdiscard -z": ("blkdiscard", "-z"),
		"fallocate -p": ("fallocate", "-p"), "fallocate -z": ("fallocate", "-z")}
	whole = 4 * MIB
	for store in ("ram", FILE):
		remove()
		with block.loopback(f"size=4M,store={store}") as disk:
			if store == "ram":
				# Zeroed in a softirq: 32 bytes must not cost others much of a CPU.
				assert disk.attribute("queue/discard_max_hw_bytes") == "65536"
				assert disk.attribute("queue/write_zeroes_max_bytes") == "65536"
			for what, words in ways.items():
				data = bytearray(pattern(whole))
				with Raw(disk) as raw:
					raw.put(0, data)
				# Within a sector's neighbours, over the largest request, and the end.
				for start, length in ((512, 512), (4096, 4096), (MIB + 512, 2 * MIB),
						      (whole - 1024, 1024)):
					if "fallocate" in what and (start | length) % 4096:
						start, length = start & ~4095, (length + 4095) & ~4095
						length = min(length, whole - start)
					call(*words, "-o", start, "-l", length, disk)
					data[start:start + length] = bytes(length)
				with Raw(disk) as raw:
					block.compare(raw.get(0, whole), bytes(data),
						      f"{what} of {store}")
			call("blkdiscard", disk)
			with Raw(disk) as raw:
				block.compare(raw.get(0, whole), bytes(whole), f"all of {store}")
			if store == FILE:
				os.sync()
				assert os.stat(FILE).st_blocks == 0, os.stat(FILE)
	remove()


@suite.test("flush and FUA reach the storage of the server")
def flush():
	# A disk with a cache that can be lost, for which the kernel does not leave these out.
	call("modprobe", "null_blk", "nr_devices=0")
	config = "/sys/kernel/config/nullb/krpingtest"
	os.mkdir(config)
	try:
		for name, value in (("size", 16), ("memory_backed", 1), ("cache_size", 1),
				    ("power", 1)):
			put(f"{config}/{name}", value)
		name = f"nullb{get(f'{config}/index')}" \
			if os.path.exists("/dev/nullb0") else "krpingtest"
		with Server(f"store=/dev/{name}") as server, server.disk() as disk:
			assert disk.attribute("queue/write_cache") == "write back"
			assert disk.attribute("queue/fua") == "1"
			for options, least, most in (({}, 0, 0), ({"fsync": 4}, 63, 70),
						     ({"sync": "dsync"}, 256, 600)):
				with traced(name) as flushes:
					block.fio(disk, rw="randwrite", bs=4096, iodepth=4,
						  size="1M", **options)
					found = flushes()
				assert least <= found <= most, (options, found)
		found = disk.result()
		assert found["write_requests"] == 3 * 256, found
		assert 63 <= found["other_requests"] <= 66, found
	finally:
		os.rmdir(config)


@contextlib.contextmanager
def traced(name):
	"""Within, requests to the disk NAME are traced. Gives a function that returns how
	many of them were flushes or writes with FUA."""
	tracing = "/sys/kernel/tracing"
	event = f"{tracing}/events/block/block_rq_issue"
	number = os.stat(f"/dev/{name}").st_rdev
	# As the kernel has it.
	number = os.major(number) << 20 | os.minor(number)
	put(f"{tracing}/trace", "")
	put(f"{event}/filter", f"dev == {number}")
	put(f"{event}/enable", 1)

	def count():
		with open(f"{tracing}/trace", encoding="ascii") as file:
			return len(re.findall(r"block_rq_issue: [0-9,]+ [A-Z]*F[A-Z]* ", file.read()))
	try:
		yield count
	finally:
		put(f"{event}/enable", 0)
		put(f"{event}/filter", 0)
		put(f"{tracing}/trace", "")


# Figures

@suite.test("statistics: what the disk's line and the results say is what was done")
def figures():
	with Server("size=4M,store=ram") as server, server.disk() as disk:
		# Whoever has looked for partitions has read something.
		start = disk.line()
		with Raw(disk) as raw:
			for each in range(10):
				raw.put(each * 65536, pattern(65536))
			for each in range(20):
				raw.get(each * 8192, 8192)
			raw.put(0, pattern(4096))
		line = disk.line()
		moved = {key: value - start.figures[key] for key, value in line.figures.items()}
		data = 10 * 65536 + 20 * 8192 + 4096
		assert moved == {"requests": 31, "bytes": data, "in_flight": 0, "errors": 0,
				 "reconnects": 0}, moved
		counted = {key: value - start.counters[key]
			   for key, value in line.counters.items()}
		assert line.device == krping.DEVICE
		# The write of 4 KiB goes with its request, beside pings.
		assert counted["read_bytes"] == 20 * 8192, counted
		assert counted["write_bytes"] == 10 * 65536, counted
		assert 31 <= counted["send_msgs"] <= 33 and 31 <= counted["recv_msgs"] <= 33, counted
		seen = start.figures
	found, served = disk.result(), krping.result(server.tag, "server")
	assert found["write_requests"] == 11 and served["write_requests"] == 11, (found, served)
	assert found["disk_write_bytes"] == 10 * 65536 + 4096, found
	assert found["requests"] == 31 + seen["requests"] == served["requests"], (found, served)
	assert found["read_requests"] == found["requests"] - 11, found
	assert found["disk_read_bytes"] == served["disk_read_bytes"] >= 20 * 8192, found
	for stage in ("queued_ns", "wire_ns", "total_ns"):
		took = found[stage]
		assert took["count"] == found["requests"], (stage, found)
		ordered = [took[key] for key in ("min", "p50", "p90", "p99", "p99_9", "max")]
		assert ordered == sorted(ordered) and took["min"] <= took["mean"] <= took["max"], took
	assert found["total_ns"]["max"] >= found["wire_ns"]["max"], found


suite.main()
