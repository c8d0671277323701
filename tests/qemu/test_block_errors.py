# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Commands of disks that cannot be: the right errno, and what is wrong in the log; and
stores that fail."""

import contextlib
import errno
import os
import re
import time

import block
import krping
import network
import tap
from block import MIB, Disk, Raw, Server, call
from krping import ADDR, Command, Log, new_port, run_fails, wait_for
from ktap import Suite

suite = Suite(check=block.check)

CLIENT = f"client,blk,addr={ADDR}"
LOOPBACK = f"loopback,blk,addr={ADDR}"
RAM = "size=1M,store=ram"
FILE = "/tmp/store"

# What is no command, and what the log says of it.
INVALID = (
	("client,blk", "client needs the server's address"),
	(LOOPBACK, "blk needs a place for the blocks"),
	("server,blk", "blk needs a place for the blocks"),
	("server,blk,size=1M", "blk needs a place for the blocks"),
	("server,blk,store=ram", "size"),
	("server,blk,store=", "store"),
	("server,blk,store=disk.img", "store=disk.img: must be"),
	("server,blk,store=ram,size=4097", "512"),
	("server,blk,store=ram,size=1M,size=2M", "size is given twice"),
	(f"{CLIENT},size=1M", "the server says how large the disk is"),
	(f"{CLIENT},{RAM}", "(size|store)"),
	(f"{CLIENT},ro", "ro is for server,blk"),
	(f"server,blk,{RAM},queues=2", "queues is for client,blk"),
	(f"server,blk,{RAM},depth=2", "depth is for client,blk"),
	(f"server,blk,{RAM},reconnect=2", "reconnect is for client,blk"),
	(f"server,blk,{RAM},log", "log is for server,tap"),
	(f"{CLIENT},comm=dd", "comm is for client,tap"),
	(f"{CLIENT},persist", "persist is for a server"),
	(f"{CLIENT},threads=2", "threads must be 1 for a disk"),
	(f"{CLIENT},count=5", "count does not go with blk"),
	(f"{CLIENT},poll", "poll does not go with blk"),
	(f"{CLIENT},validate", "validate"),
	(f"{CLIENT},wlat", "blk and wlat are both given|wlat and blk are both given"),
	(f"{CLIENT},tap=sda", "both given"),
	("server,store=ram,size=1M", "store is for server,blk"),
	(f"client,addr={ADDR},detach", "detach is for server, client,blk"),
	("force", "force is for the end of a disk"),
	("stop=0,tag=x", "tag does not go with stop"),
	(f"{CLIENT},stop=0", "does not go with stop"),
	("stop=x", "stop=x: must be a number"),
	("stop=", "stop"),
	("stop", "stop"),
)
OUT_OF_RANGE = (
	("server,blk,store=ram,size=512", "size=512: must be from 4096"),
	("server,blk,store=ram,size=0", "size=0: must be from 4096"),
	("server,blk,store=ram,size=9223372036854775808", "size=9223372036854775808: must be from"),
	(f"{CLIENT},queues=0", "queues=0: must be from 1 to 64"),
	(f"{CLIENT},queues=65", "queues=65: must be from 1 to 64"),
	(f"{CLIENT},depth=0", "depth=0: must be from 1 to 1024"),
	(f"{CLIENT},depth=1025", "depth=1025: must be from 1 to 1024"),
	(f"{CLIENT},reconnect=86401", "reconnect=86401: must be from 0 to 86400"),
	("stop=4294967296", "stop=4294967296: must be from 0"),
)


def remove():
	"""Remove the file of a store."""
	if os.path.exists(FILE):
		os.unlink(FILE)


@suite.test("what is no command: EINVAL, and the log says why")
def invalid():
	for text, sentence in INVALID:
		run_fails(text, errno.EINVAL, sentence)


@suite.test("numbers out of range: ERANGE")
def out_of_range():
	for text, sentence in OUT_OF_RANGE:
		run_fails(text, errno.ERANGE, sentence)


@suite.test("stop= of a disk that there is not: ENOENT")
def no_disk():
	for number in (0, 1, 4294967295):
		for force in ("", ",force"):
			assert krping.run(f"stop={number}{force}") == errno.ENOENT
	with block.loopback("size=1M,store=ram") as disk:
		assert block.stop(disk.number + 1) == errno.ENOENT


# Stores

@suite.test("stores that cannot be: the server says so at once")
def no_store():
	remove()
	for text, number in (("store=/nonexistent/store,size=1M", errno.ENOENT),
			     ("store=/nonexistent", errno.ENOENT),
			     (f"store={FILE},ro", errno.ENOENT),
			     ("store=/tmp,size=1M", (errno.EISDIR, errno.EINVAL)),
			     ("store=/dev/null,size=1M", errno.EINVAL),
			     (f"store=/{'x' * 255},size=1M", errno.EINVAL)):
		log = Log()
		found = krping.run(f"server,blk,{text}")
		assert found in (number if isinstance(number, tuple) else (number,)), \
			(text, krping.name(found), log.text())
		assert log.text(), text
	assert not os.path.exists(FILE)
	# Empty, and none of its own size.
	with open(FILE, "wb"):
		pass
	assert krping.run(f"server,blk,store={FILE}") == errno.EINVAL
	remove()


@suite.test("ro of a file that is smaller than size=: it is not made larger")
def read_only_small():
	with open(FILE, "wb") as file:
		file.truncate(8192)
	assert krping.run(f"server,blk,store={FILE},size=1M,ro") in (errno.ENOSPC, errno.EROFS)
	assert os.stat(FILE).st_size == 8192
	remove()


@suite.test("a block device that is too small: ENOSPC")
def small_device():
	call("modprobe", "brd", "rd_nr=1", "rd_size=1024")
	try:
		run_fails("server,blk,store=/dev/ram0,size=2M", errno.ENOSPC, "ENOSPC")
		with block.loopback("store=/dev/ram0") as disk:
			assert disk.size == MIB
	finally:
		call("rmmod", "brd")


@suite.test("more memory than there is: ENOMEM, and all of it is given back")
def no_memory():
	def free():
		with open("/proc/meminfo", encoding="ascii") as file:
			words = dict(line.split(":") for line in file)
		return int(words["MemAvailable"].split()[0])

	before = free()
	for size in ("1000G", "8000000G"):
		start = time.monotonic()
		run_fails(f"server,blk,store=ram,size={size}", errno.ENOMEM, "ENOMEM")
		assert time.monotonic() - start < 20
	wait_for(lambda: free() > before * 0.9, what=f"{free()} of {before}")


@suite.test("a file system without room: ENOSPC for what does not fit, all else goes on")
def full():
	where = "/tmp/small"
	os.makedirs(where, exist_ok=True)
	call("mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", where)
	log = Log()
	try:
		with Server(f"store={where}/store,size=8M") as server, server.disk() as disk, \
		     Raw(disk) as raw:
			log.wait("store [0-9a-f]{16}: its file system has 1 MiB free, "
				 "and it may need 8 MiB")
			raw.put(0, b"a" * 65536)
			with failing(errno.ENOSPC, errno.EIO):
				raw.put(4 * MIB, b"b" * 4 * MIB)
			block.compare(raw.get(0, 65536), b"a" * 65536)
			raw.put(4096, b"c" * 4096)
			block.compare(raw.get(0, 12288), b"a" * 4096 + b"c" * 4096 + b"a" * 4096)
			assert disk.figures()["errors"] >= 1, disk.figures()
			assert disk.figures()["reconnects"] == 0, disk.figures()
			# Once on each side, however many writes fail.
			with failing(errno.ENOSPC, errno.EIO):
				raw.put(4 * MIB, b"b" * 4 * MIB)
			for line in ("store [0-9a-f]{16}: no room for a client's write",
				     f"{disk.name}: the server has no room for a write"):
				log.wait(line)
				assert len(re.findall(line, log.text())) == 1, log.text()
		log = Log()
		with Server(f"store={where}/store,size=1M,persist"):
			assert "MiB free" not in log.text(), log.text()
	finally:
		call("umount", where)


@contextlib.contextmanager
def failing(*numbers):
	"""What is done within fails with one of the errnos NUMBERS."""
	try:
		yield
	except OSError as error:
		assert error.errno in numbers, error
	except AssertionError as short:	# a part of it was done
		assert "wrote " in str(short) or "read " in str(short), short
	else:
		raise AssertionError("it did not fail")


@suite.test("sectors that fail: EIO for a read and for a flush, all else goes on")
def bad_sectors():
	with tap.null_blk("bad", size=8 * MIB, badblocks="+800-807") as bad, \
	     Server(f"store={bad.path}") as server, server.disk() as disk, Raw(disk) as raw:
		data = os.urandom(65536)
		raw.put(0, data)
		os.fsync(raw.fd)
		with failing(errno.EIO):
			raw.get(796 * 512, 8192)
		# The server has a cache, so only a flush shows it.
		raw.put(800 * 512, data[:4096])
		with failing(errno.EIO):
			os.fsync(raw.fd)
		block.compare(raw.get(0, 65536), data)
		raw.put(4 * MIB, data)
		block.compare(raw.get(4 * MIB, 65536), data)
		figures = disk.figures()
		assert figures["errors"] >= 2 and figures["reconnects"] == 0, figures
	assert krping.result(server.tag, "server")["errors"] >= 2


@suite.test("a file that gets shorter: EIO for what it has lost, and all else goes on")
def truncated():
	remove()
	with Server(f"store={FILE},size=2M") as server, server.disk() as disk, Raw(disk) as raw:
		raw.put(0, b"x" * 2 * MIB)
		os.truncate(FILE, MIB + 100)
		for offset in (MIB - 4096, MIB, 2 * MIB - 8192):
			with failing(errno.EIO):
				raw.get(offset, 8192)
		block.compare(raw.get(0, MIB), b"x" * MIB)
		# What is written makes it longer again, with a hole before.
		raw.put(2 * MIB - 4096, b"y" * 4096)
		block.compare(raw.get(2 * MIB - 8192, 8192), bytes(4096) + b"y" * 4096)
	remove()


# Who meets whom

@suite.test("nothing listens: ECONNREFUSED, and there is no disk")
def nobody():
	run_fails(f"{CLIENT},port={new_port()}", errno.ECONNREFUSED, "nothing listens")
	run_fails(f"{CLIENT},port={new_port()},detach", errno.ECONNREFUSED, "nothing listens")
	assert not block.numbers()


@suite.test("an address without an RDMA device: ENODEV")
def no_device():
	with network.plain_interface("10.97.0.1"):
		run_fails("client,blk,addr=10.97.0.1", errno.ENODEV, "ENODEV")


@suite.test("a server of something else refuses a disk, and a server of blocks all else")
def strangers():
	port = new_port()
	server = krping.serve(f"server,persist,port={port}")
	run_fails(f"{CLIENT},port={port}", errno.ECONNREFUSED, "ECONNREFUSED")
	run_fails(f"{CLIENT},queues=4,port={port}", errno.ECONNREFUSED, "ECONNREFUSED")
	krping.run_ok(f"client,addr={ADDR},port={port},count=3")
	assert server.interrupt() == errno.EINTR

	with Server(f"{RAM},persist") as blocks, blocks.disk() as disk:
		for test in ("count=3", "wlat", "bw", "fr"):
			found = krping.run(f"client,addr={ADDR},port={blocks.port},{test}")
			assert found == errno.ECONNREFUSED, (test, krping.name(found))
		with Raw(disk) as raw:
			raw.put(0, b"x" * 4096)


@suite.test("a server for one disk has no place for a second")
def second():
	with Server(RAM) as server, server.disk() as disk:
		found = krping.run(f"{CLIENT},port={server.port}")
		assert found == errno.ECONNREFUSED, krping.name(found)
		with Raw(disk) as raw:
			raw.put(0, b"x" * 4096)


@suite.test("two servers on one port: EADDRINUSE")
def port_in_use():
	with Server(f"{RAM},persist") as server:
		run_fails(f"server,blk,{RAM},port={server.port}", errno.EADDRINUSE, "EADDRINUSE")


@suite.test("a host that does not answer: ETIMEDOUT; Ctrl-C ends the wait")
def deaf():
	with network.deaf("10.99.0.2") as addr:
		start = time.monotonic()
		run_fails(f"client,blk,addr={addr},timeout=1000", errno.ETIMEDOUT, "ETIMEDOUT")
		assert time.monotonic() - start < krping.SOON
		command = Command(f"client,blk,addr={addr},timeout=60000")
		wait_for(krping.lines)
		start = time.monotonic()
		assert command.interrupt() == errno.EINTR
		assert time.monotonic() - start < krping.SOON
	assert not block.numbers()


@suite.test("no client comes: ETIMEDOUT for a server, and it gives its memory back")
def no_client():
	run_fails(f"server,blk,{RAM},port={new_port()},timeout=500", errno.ETIMEDOUT, "ETIMEDOUT")


@suite.test("a server's Ctrl-C ends it while a disk is there")
def server_interrupted():
	server = Server(RAM)
	disk = server.disk("reconnect=0")
	start = time.monotonic()
	server.kill()
	assert time.monotonic() - start < krping.SOON
	number = disk.command.wait()
	assert number in (errno.ECONNRESET, errno.ECONNREFUSED), krping.name(number)
	wait_for(lambda: block.gone(disk.number))
	assert krping.result(server.tag, "server")["errno"] == "EINTR"


@suite.test("expect= of a disk's command")
def expected():
	krping.run_ok(f"{CLIENT},port={new_port()},expect=ECONNREFUSED")
	disk = Disk(f"{LOOPBACK},{RAM},expect=EIO")
	assert block.stop(disk.number) == 0
	assert disk.command.wait() == errno.ERANGE


suite.main()
