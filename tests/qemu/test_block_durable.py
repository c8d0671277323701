# SPDX-License-Identifier: GPL-2.0
"""Flushes tell the truth: whatever a store has lost is told to each client whom it may concern,
over queues, connections and servers; and a store is the one that it was, or is refused."""

import contextlib
import errno
import os
import random
import subprocess
import threading

import block
import krping
import network
import puppet
import tap
from block import MIB, Raw, Server, call
from fragile import Mapping
from krping import Log, new_port, run_fails, wait_for
from ktap import Suite, diag
from puppet import CLOSE, DATA, FLUSH, FUA, IO, OK, PING, READ, WRITE, geometry, hello, request, response

suite = Suite(check=block.check)

FILE = "/tmp/store"
BAD = 800 * 512
BLOCK = b"D" * 4096
DEPTH = 8

puppet.PUPPET.begin()


def remove():
	"""Remove the file of a store."""
	if os.path.exists(FILE):
		os.unlink(FILE)


@contextlib.contextmanager
def bad_device():
	"""Within, a block device whose sector at BAD cannot be written. Gives its path."""
	with tap.null_blk("lost", size=8 * MIB, badblocks="+800-807") as disk:
		yield disk.path


def on_cpu(cpu, function):
	"""FUNCTION() on CPU, so by the hardware queue of that."""
	before = os.sched_getaffinity(0)
	os.sched_setaffinity(0, {cpu})
	try:
		return function()
	finally:
		os.sched_setaffinity(0, before)


def drop_caches():
	"""Have what is read come from the devices."""
	with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
		file.write("3")


# What was lost is told

@suite.test("two disks of one server: both are told of a lost write, whoever flushes first")
def two_disks():
	with bad_device() as device, Server(f"store={device},threads=2") as server, \
	     server.disk() as first, server.disk() as second:
		with Raw(first) as good, Raw(second) as bad:
			good.put(0, BLOCK)
			bad.put(BAD, BLOCK)
			assert (good.flush(), bad.flush()) == ("EIO", "EIO")


@suite.test("a disk that is attached after the loss has nothing to do with it")
def later_disk():
	with bad_device() as device, Server(f"store={device},threads=2") as server:
		with server.disk() as first, Raw(first) as raw:
			raw.put(BAD, BLOCK)
			assert raw.flush() == "EIO"
		with server.disk() as second, Raw(second) as raw:
			raw.put(0, BLOCK)
			assert raw.flush() == "ok"


def lose(device, raws):
	"""Have each of RAWS write where nobody else does, and DEVICE lose it all when the first
	flushes. Return how the flush of each ends."""
	for number, raw in enumerate(raws):
		on_cpu(number % 2, lambda raw=raw, at=number * MIB: raw.put(at, BLOCK))
	device.fail()
	ended = [on_cpu(0, raws[0].flush)]
	device.mend()
	drop_caches()
	return ended + [on_cpu(number % 2, raw.flush)
			for number, raw in enumerate(raws) if number]


@suite.test("two programs on two queues of one disk: both are told, on a block device and a file")
def two_queues():
	with Mapping() as device:
		with Server(f"size=8M,store={device.path}") as server, \
		     server.disk("queues=2") as disk, Raw(disk) as one, Raw(disk) as other:
			assert lose(device, (one, other)) == ["EIO", "EIO"]
			block.compare(other.get(MIB, 4096), bytes(4096), "what was lost")
	with Mapping() as device:
		call("mkfs.ext4", "-q", "-F", "-O", "^has_journal", device.path)
		os.makedirs("/tmp/lost", exist_ok=True)
		call("mount", "-t", "ext4", device.path, "/tmp/lost")
		try:
			call("fallocate", "-l", "8M", "/tmp/lost/store")
			with open("/tmp/lost/store", "r+b") as file:
				file.write(bytes(8 * MIB))
				os.fsync(file.fileno())
			with Server("store=/tmp/lost/store") as server, \
			     server.disk("queues=2") as disk, Raw(disk) as one, Raw(disk) as other:
				assert lose(device, (one, other)) == ["EIO", "EIO"]
		finally:
			call("umount", "/tmp/lost")


@suite.test("programs on one queue: each flush and FUA fails until all have closed the disk")
def until_closed():
	with Mapping() as device, Server(f"size=8M,store={device.path},persist") as server, \
	     server.disk("timeout=1000") as disk:
		with Raw(disk) as one:
			with Raw(disk) as other:
				assert lose(device, (one, other)) == ["EIO", "EIO"]
				log = Log()
				with Raw(disk, flags=os.O_RDWR | os.O_DSYNC) as durable:
					try:
						durable.put(0, BLOCK)
						raise AssertionError("a write with FUA succeeded")
					except OSError as error:
						assert error.errno == errno.EIO, error
				assert other.flush() == "EIO" and one.flush() == "EIO"
			# One of them has it open still.
			assert one.flush() == "EIO"
			one.put(MIB, BLOCK)
			assert one.flush() == "EIO"
			assert "has lost" not in log.text(), log.text()

		def healed():
			with Raw(disk) as raw:
				raw.put(2 * MIB, BLOCK)
				return raw.flush() == "ok"
		# The server hears that the disk was told by its next pings, if not before.
		try:
			wait_for(healed, what="a flush after all have closed the disk")
		except AssertionError:
			diag(f"{disk.line()}\n{log.text()}")
			raise


class Client(puppet.Client):
	"""A puppet that has said a good hello, which names DISK."""

	def __init__(self, server, disk, generation=1):
		super().__init__(server.port, hello(disk=disk, generation=generation, depth=DEPTH,
						    hold_ms=60000))
		self.connected()
		self.seq = 0

	def does(self, action, status, tag=0, **more):
		"""Ask for ACTION, which must be answered with STATUS."""
		self.seq += 1
		self.ask(request(action, tag, self.seq, **more), response(tag, self.seq, status))

	def leaves(self):
		"""Say that it does not come back. Until then the module stays loaded for one that
		has not been told of a failure."""
		self.does(CLOSE, OK, DEPTH)


@suite.test("a failure whose answer may be lost is told again, until the client shows that it knows")
def told_again():
	number = random.randrange(1 << 64)
	with bad_device() as device, Server(f"store={device},persist") as server:
		with Client(server, number) as client:
			client.does(WRITE, OK, 1, offset=BAD, size=4096, flags=DATA, data=BLOCK)
			client.does(FLUSH, IO, 2)
		for generation in range(2, 4):
			with Client(server, number, generation) as client:
				client.does(FLUSH, IO, 2)
				# Other tags show nothing.
				client.does(FLUSH, IO, 3)
				client.does(WRITE, IO, 4, offset=4096, size=4096, flags=DATA | FUA,
					    data=BLOCK)
		# A tag is used again when its answer has come.
		with Client(server, number, 4) as client:
			client.does(FLUSH, IO, 2)
			client.does(WRITE, OK, 2, offset=0, size=4096, flags=DATA, data=BLOCK)
			client.does(FLUSH, OK, 3)
		with Client(server, number, 5) as client:
			client.does(FLUSH, OK, 2)
			# The next loss.
			client.does(WRITE, OK, 1, offset=BAD, size=4096, flags=DATA, data=BLOCK)
			client.does(FLUSH, IO, 2)
			# A ping that came after the answer was answered after it.
			client.does(PING, OK, DEPTH)
			# To be told once more meanwhile does not put that off.
			client.does(FLUSH, IO, 3)
			client.does(PING, OK, DEPTH)
			client.does(FLUSH, OK, 4)


@suite.test("a server that is started anew on the same store knows who has not been told")
def server_anew():
	first, second, third = (random.randrange(1 << 64) for _ in range(3))
	with bad_device() as device, Server(f"store={device},persist") as server:
		with Client(server, first) as one, Client(server, second) as other:
			other.does(WRITE, OK, 1, offset=BAD, size=4096, flags=DATA, data=BLOCK)
			one.does(FLUSH, IO, 1)
		for generation in range(2, 4):
			server.kill()
			server.start()
			with Client(server, third + generation) as stranger:
				stranger.does(FLUSH, OK, 1)
			with Client(server, first, generation) as one, \
			     Client(server, second, generation) as other:
				one.does(FLUSH, IO, 1)
				other.does(FLUSH, IO, 1)
				if generation == 3:
					one.leaves()
					other.leaves()


@suite.test("a client that the server does not know any more is told of a loss, a new one is not")
def forgotten():
	first, second, third = (random.randrange(1 << 64) for _ in range(3))
	with bad_device() as device, Server(f"store={device},persist") as server:
		with Client(server, first) as one:
			one.does(WRITE, OK, 1, offset=BAD, size=4096, flags=DATA, data=BLOCK)
			one.does(FLUSH, IO, 1)
			# It has been connected before, here or to an earlier server.
			with Client(server, second, 2) as other, Client(server, third) as stranger:
				other.does(FLUSH, IO, 1)
				stranger.does(FLUSH, OK, 1)
				other.leaves()
			one.leaves()


@suite.test("what is written back while no server runs, and fails, is told by the next one")
def between_servers():
	number = random.randrange(1 << 64)
	with bad_device() as device, Server(f"store={device},persist") as server:
		with Client(server, number) as client:
			client.does(WRITE, OK, 1, offset=BAD, size=4096, flags=DATA, data=BLOCK)
		server.kill()
		# Somebody else takes the one error that the kernel tells.
		fd = os.open(device, os.O_RDWR)
		try:
			os.fsync(fd)
		except OSError as error:
			assert error.errno == errno.EIO, error
		os.close(fd)
		server.start()
		with Client(server, number, 2) as client:
			client.does(FLUSH, IO, 1)
			client.leaves()


@suite.test("a flush fails while its connection is lost: the disk is told when it is back")
def lost_flush():
	with Mapping() as device, device.slow(10000) as slow, \
	     Server(f"size=8M,store={slow},persist") as server, server.disk() as disk, \
	     Raw(disk) as raw:
		raw.put(0, BLOCK)
		flush = subprocess.Popen(("python3", "-c",
					  f"import os; os.fsync(os.open('{disk}', os.O_RDWR))"),
					 stderr=subprocess.PIPE, text=True)
		try:
			wait_for(lambda: disk.figures()["in_flight"], what="the flush to be under way")
			failures = write_failures()
			device.fail()
			network.unplug(limit=30)
			wait_for(lambda: write_failures() > failures, what="the write-back to fail")
			device.mend()
			network.plug()
			_, said = flush.communicate(timeout=60)
		finally:
			flush.kill()
		assert flush.returncode != 0 and "Errno 5" in said, (flush.returncode, said)
		assert disk.figures()["reconnects"] >= 1, disk.figures()


def write_failures():
	"""How often the kernel has said that a write-back failed."""
	return call("dmesg").count("lost async page write")


class Far:
	"""A server that a puppet plays, which says in which start of its host it runs. Within, it
	serves the disk that connects to it."""

	def __init__(self, port, boot):
		self.server = puppet.Server(port)
		self.said = geometry(inline=0) + (bytes(4) + b"krpx" + bytes(4)
						  + boot.to_bytes(8, "big")).hex()
		self.flushes = 0
		self.thread = threading.Thread(target=self._serve, daemon=True)
		self.ends = False

	def __enter__(self):
		self.server.accept(self.said)
		self.thread.start()
		return self

	def __exit__(self, *_):
		self.ends = True
		self.thread.join()
		self.server.end()

	def _serve(self):
		while not self.ends:
			try:
				asked = self.server.asked(0.2)
			except AssertionError:
				continue
			self.flushes += asked.action == FLUSH
			say = response(asked.tag, asked.seq)
			if asked.action == READ:
				self.server.tell(f"write {asked.addr:x} {asked.key:x} {asked.size:x}")
			self.server.tell(f"invalidate {asked.key:x} {say}" if asked.key
					 else f"send {say}")


@suite.test("the server's host has crashed: what was not flushed is lost, and the disk is told")
def host_restarted():
	port = new_port()
	log = Log()
	far = Far(port, 7)
	# A puppet may be slow to answer.
	command = krping.Command(f"client,blk,addr={krping.ADDR},port={port},"
				 f"timeout={20000 * krping.SLOW}")
	with far:
		wait_for(lambda: log.find("/dev/krping[0-9]+: "), what=log.text())
		disk = block.node(block.numbers()[0])
		raw = Raw(disk)
		raw.put(0, BLOCK)
	with Far(port, 7) as far:
		# Another server of the same start: it has all.
		assert raw.flush() == "ok" and far.flushes == 1, far.flushes
		raw.put(4096, BLOCK)
	with Far(port, 8) as far:
		assert raw.flush() == "EIO" and raw.flush() == "EIO" and far.flushes == 0, far.flushes
		os.close(raw.fd)
		raw = Raw(disk)
		raw.put(0, BLOCK)
		assert raw.flush() == "ok" and far.flushes == 1, far.flushes
	with Far(port, 9) as far:
		# Nothing had been written that was not flushed.
		assert raw.flush() == "ok", far.flushes
		os.close(raw.fd)
		assert block.stop(block.numbers()[0]) == 0 and command.wait() == 0


# A cache that cannot lose anything

@suite.test("a store in memory has no cache: no flush is sent")
def no_cache():
	with Server("size=4M,store=ram") as server, server.disk() as disk:
		assert disk.attribute("queue/write_cache") == "write through"
		with Raw(disk) as raw:
			raw.put(0, BLOCK)
			os.fsync(raw.fd)
	assert disk.result()["other_requests"] == 0, disk.result()
	remove()
	with Server(f"size=4M,store={FILE}") as server, server.disk() as disk:
		assert disk.attribute("queue/write_cache") == "write back"
	remove()


# Space

@suite.test("zeroes that keep their space keep it, and others give it back")
def keeps_space():
	call("modprobe", "loop")
	call("truncate", "-s", "48M", "/tmp/fs.img")
	call("mkfs.ext4", "-q", "-F", "/tmp/fs.img")
	os.makedirs("/tmp/fs", exist_ok=True)
	call("mount", "-o", "loop", "/tmp/fs.img", "/tmp/fs")
	store = "/tmp/fs/store"

	def kept():
		os.sync()
		return os.stat(store).st_blocks * 512 >> 20
	try:
		call("fallocate", "-l", "16M", store)
		with block.loopback(f"store={store}") as disk:
			with Raw(disk) as raw:
				raw.put(MIB, b"x" * MIB)
			assert kept() == 16
			call("fallocate", "-z", "-n", "-o", 0, "-l", "8M", disk)
			assert kept() == 16, kept()
			with Raw(disk) as raw:
				block.compare(raw.get(0, 4 * MIB), bytes(4 * MIB))
			call("fallocate", "-p", "-n", "-o", 0, "-l", "4M", disk)
			assert kept() == 12, kept()
			call("blkdiscard", "-o", 4 * MIB, "-l", 4 * MIB, disk)
			assert kept() == 8, kept()
	finally:
		call("umount", "/tmp/fs")
		os.unlink("/tmp/fs.img")


# Which store it is

@contextlib.contextmanager
def loop_device(image, node="/dev/loop3"):
	"""Within, NODE has what is in IMAGE."""
	call("modprobe", "loop", "max_loop=16")
	call("truncate", "-s", "8M", image)
	call("losetup", node, image)
	try:
		yield node
	finally:
		call("losetup", "-d", node)
		wait_for(lambda: not os.path.exists(f"/sys/block/{os.path.basename(node)}/loop"))


@suite.test("another medium behind the same device number is another store: ESTALE")
def other_medium():
	with contextlib.ExitStack() as stack:
		first = stack.enter_context(contextlib.ExitStack())
		node = first.enter_context(loop_device("/tmp/a.img"))
		server = stack.enter_context(Server(f"store={node},persist"))
		disk = server.disk()
		with Raw(disk) as raw:
			raw.put(0, BLOCK)
			os.fsync(raw.fd)
			# The same medium goes on.
			server.kill()
			server.start()
			block.compare(raw.get(0, 4096), BLOCK)
		server.kill()
		first.close()
		with loop_device("/tmp/b.img"):
			server.start()
			number = disk.command.wait(30)
			assert number == errno.ESTALE, krping.name(number)
			wait_for(lambda: block.gone(disk.number))
			server.kill()
	os.unlink("/tmp/a.img")
	os.unlink("/tmp/b.img")


@suite.test("a file has one server that writes to it, and any that only read")
def one_writer():
	remove()
	with Server(f"size=1M,store={FILE},persist") as server:
		run_fails(f"server,blk,store={FILE},port={new_port()}", errno.EBUSY,
			  "another server of this host writes to")
		with Server(f"store={FILE},ro,persist"):
			pass
		server.kill()
		with Server(f"store={FILE},persist"):
			pass
		server.start()
	remove()


@suite.test("paths that are no place for a store: refused, and nothing is made")
def no_place():
	for path in ("/dev/krping-missing", "/dev/mapper/krping-missing", "/proc/krping-missing",
		     "/sys/krping-missing"):
		run_fails(f"server,blk,size=1M,store={path}", errno.ENOENT, "is not made below /dev")
		assert not os.path.lexists(path), path
	for path in ("/proc/krping", "/proc/version", "/sys/kernel/uevent_seqnum"):
		for size in ("", "size=4096,"):
			found = krping.run(f"server,blk,{size}store={path}")
			assert found in (errno.EINVAL, errno.EACCES), (path, krping.name(found))
	run_fails("server,blk,size=4096,store=/proc/krping", errno.EINVAL, "keeps no data")
	links = ["/tmp/link-a", "/tmp/link-b", "/tmp/link-c"]
	os.symlink(links[1], links[0])
	os.symlink(links[0], links[1])
	os.symlink("/tmp/nothing", links[2])
	try:
		run_fails(f"server,blk,size=1M,store={links[0]}", errno.ELOOP, "ELOOP")
		run_fails(f"server,blk,size=1M,store={links[2]}", errno.ENOENT, "symbolic link")
		assert not os.path.exists("/tmp/nothing")
	finally:
		for link in links:
			os.unlink(link)


suite.main()
