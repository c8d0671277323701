# SPDX-License-Identifier: GPL-2.0
"""Disks whose server is slow and alive: what takes long is waited for, devices and CPUs are
not held up by it, and what never ends is ended."""

import contextlib
import errno
import os
import threading
import time

import age
import block
import krping
import network
import puppet
import tap
from block import MIB, Raw, Server
from hotplug import cpu_online
from krping import ADDR, Command, Log, new_port, wait_for
from ktap import Suite
from puppet import DATA, READ, WRITE, geometry, response

suite = Suite(check=block.check)

SURVEY = 9
# What a server of surveys says behind the rest.
SURVEYS = b"+f\x00\x01".hex()
DEPTH = 128

puppet.PUPPET.begin()


class Slow:
	"""A server whose store takes a second for each of RATE MiB that reach it, and a disk of
	it. Within, they are there; at the end all is well with both."""

	def __init__(self, options, rate=1, size=32):
		self.options, self.rate, self.size = options, rate, size

	def __enter__(self):
		with contextlib.ExitStack() as stack:
			self.store = stack.enter_context(
				tap.null_blk("slow", self.size * MIB, mbps=self.rate, discard=0))
			path = os.path.realpath(f"/sys/class/block/{self.store.name}")
			with open(f"{path}/queue/max_sectors_kb", "w", encoding="ascii") as file:
				file.write("16")
			self.server = stack.enter_context(
				Server(f"store={self.store.path},persist,timeout=4000"))
			self.disk = stack.enter_context(self.server.disk(f"timeout=4000,{self.options}"))
			self.raw = stack.enter_context(Raw(self.disk))
			self.stack = stack.pop_all()
		return self

	def __exit__(self, *wrong):
		return self.stack.__exit__(*wrong)

	def fill(self, mebibytes):
		"""Have MEBIBYTES wait in the server's page cache."""
		for at in range(mebibytes):
			self.raw.put(at * MIB, os.urandom(MIB))

	def written(self):
		"""How many MiB have reached the store."""
		return block.stat(self.store.name)[6] // 2048


class Beside(threading.Thread):
	"""FUNCTION() beside the test: `errno` is 0 or that of its error, once it is done."""

	def __init__(self, function):
		super().__init__(daemon=True)
		self.function, self.errno = function, None
		self.start()

	def run(self):
		try:
			self.function()
			self.errno = 0
		except OSError as error:
			self.errno = error.errno

	def ends(self, timeout=60):
		"""Wait for its end, and return the errno."""
		wait_for(lambda: self.errno is not None, timeout, "an I/O to end")
		return self.errno


@suite.test("a flush longer than timeout= and reconnect= is waited for")
def slow_flush():
	with Slow("reconnect=1") as slow:
		slow.fill(8)
		start = time.monotonic()
		os.fsync(slow.raw.fd)
		taken = time.monotonic() - start
		figures = slow.disk.figures()
		assert taken > 5, f"{taken:.1f} s: the store is not slow"
		assert figures["reconnects"] == figures["errors"] == 0, figures
		slow.raw.put(0, b"x" * 4096)


@suite.test("zeroes that take longer than timeout= are written once")
def slow_zeroes():
	with Slow("reconnect=1", rate=4) as slow:
		before = slow.written()
		slow.raw.zero(0, 24 * MIB)
		os.fsync(slow.raw.fd)
		figures = slow.disk.figures()
		assert figures["reconnects"] == figures["errors"] == 0, figures
		assert 20 <= slow.written() - before <= 30, slow.written()
		# They are pieces of what such a store does in a moment.
		assert int(slow.disk.attribute("queue/write_zeroes_max_bytes")) <= 32 * MIB


@suite.test("the RDMA device goes while the store works, and the disk waits for that work")
def unplugged():
	# Above what it takes to find the device again, and below what the store takes.
	with Slow("reconnect=12") as slow:
		slow.fill(18)
		log = Log()
		flush = Beside(lambda: os.fsync(slow.raw.fd))
		wait_for(lambda: slow.disk.figures()["in_flight"] > 0)
		try:
			# The store is busy for 18 s.
			network.unplug(limit=9)
		finally:
			network.plug()
		assert flush.errno is None, "the flush was done before"
		# The server's words keep it from giving up after 12 s.
		wait_for(lambda: log.find("still works on a request of the old connection"),
			 what=log.text())
		number = flush.ends(90)
		assert number == 0, (krping.name(number), log.text())
		wait_for(lambda: log.find("the store is done with the flush"), what=log.text())
		assert slow.disk.figures()["errors"] == 0, slow.disk.figures()
		slow.raw.put(0, b"y" * 4096)


@suite.test("request_timeout=: a request that takes longer ends with ETIMEDOUT, the disk stays")
def limited():
	with Slow("request_timeout=2,reconnect=60") as slow:
		slow.fill(6)
		log = Log()
		number = Beside(lambda: os.fsync(slow.raw.fd)).ends()
		assert number in (errno.ETIMEDOUT, errno.EIO), krping.name(number)
		# The request ends before that is said.
		log.wait("within request_timeout=2", 30)
		wait_for(lambda: slow.disk.figures()["in_flight"] == 0)
		assert slow.disk.figures()["errors"] > 0, slow.disk.figures()
		slow.raw.put(0, b"z" * 4096)
		assert slow.raw.get(0, 4096) == b"z" * 4096


def take_device(disk, most):
	"""Take the RDMA device away at a moment at which DISK has more than MOST requests under
	way, as both of its queues have some then."""
	def held():
		with contextlib.suppress(AssertionError):
			wait_for(lambda: disk.figures()["in_flight"] > most, 2)
			return True
		return False

	for _ in range(10):
		figures = disk.figures()
		network.unplug()
		if held():
			return
		network.plug()
		wait_for(lambda: disk.figures()["reconnects"] > figures["reconnects"])
		wait_for(lambda: disk.figures()["requests"] > figures["requests"] + 100)
	raise AssertionError(f"{disk} never has more than {most} requests under way")


@suite.test("a CPU goes offline while requests are held, and they are done when the disk is back")
def cpu_offline():
	# Answers come too soon for many to be under way.
	age.needs("workqueue")
	cpu_online()
	with Server("size=16M,store=ram,persist") as server, \
	     server.disk("queues=2,reconnect=60") as disk:
		# However few are done in a second, all may be under way while none is answered.
		job = {"filename": disk, "size": "8M", "time_based": 1, "runtime": 20,
		       "rate_iops": 50, **block.VERIFY, "iodepth": 16}
		fio = block.Fio([job | {"cpus_allowed": 0},
				 job | {"cpus_allowed": 1, "offset": "8M"}])
		wait_for(lambda: disk.figures()["requests"] > 100)
		offline = None
		try:
			take_device(disk, 16)
			before = disk.figures()["reconnects"]
			offline = Beside(lambda: cpu_online(False))
			assert offline.ends() == 0
			assert disk.figures()["in_flight"] > 16, disk.figures()
			network.plug()
			wait_for(lambda: disk.figures()["reconnects"] > before, what=disk.line())
			fio.succeed()
		finally:
			network.plug()
			if offline:
				offline.ends(90)
				cpu_online(True)
		assert disk.figures()["errors"] == 0, disk.figures()


class Played:
	"""A disk of a puppet that plays a server of surveys. Within, it is there."""

	def __init__(self, options, timeout=6000, server=None):
		"""TIMEOUT is for a test and a puppet that are slow to answer. The puppet may be a SERVER
		that others had before and will have."""
		self.stays = server is not None
		self.server = server or puppet.Server(new_port())
		self.options = f"timeout={timeout},{options}"

	def __enter__(self):
		self.tried = Command(f"client,blk,addr={ADDR},port={self.server.port},{self.options}")
		self.accept()
		# Whoever looks for partitions reads zeroes.
		wait_for(lambda: block.numbers() or not self.tried.is_alive())
		assert self.tried.is_alive(), krping.name(self.tried.wait())
		return self

	def __exit__(self, kind, *_):
		for number in block.numbers():
			Beside(lambda each=number: block.stop(each, force=True))
		wait_for(lambda: not block.numbers())
		if not self.stays:
			self.server.end()
		if self.tried in Command.running:
			self.tried.wait(20)

	def accept(self):
		"""Take the disk's next connection."""
		self.server.accept(geometry() + SURVEYS)

	def asked(self, timeout=20):
		"""What the disk asks for next, surveys among it; reads are answered with zeroes."""
		while True:
			text = self.server.expect("^received ([0-9a-f]*)", timeout)[1]
			# With an immediate it is nothing but data.
			found = puppet.Asked(text) if len(text) < 8192 else None
			if found and found.action == READ and found.flags & DATA:
				self.server.tell(f"number {found.tag << 16 | found.seq & 0xffff:x} "
						 f"{'00' * found.size}")
			elif found and found.action == READ:
				self.server.tell(f"write {found.addr:x} {found.key:x} {found.size:x}",
						 f"invalidate {found.key:x} "
						 f"{response(found.tag, found.seq)}")
			else:
				return found

	def survey(self, wanted=SURVEY, timeout=20):
		"""The next survey, or what else is WANTED; surveys before that are answered, as the
		disk sends the next one after the answer only."""
		while True:
			found = self.asked(timeout)
			if found and found.action == wanted:
				return found
			if found and found.action == SURVEY:
				self.tell(found)

	def tell(self, asked, tags=(), kind=0x82, length=24):
		"""Answer a survey with a list of TAGS, LENGTH bytes in all."""
		bits = bytearray(length - 8)
		for tag in tags:
			bits[tag // 8] |= 1 << tag % 8
		head = bytes((kind, 0)) + asked.tag.to_bytes(2, "big") + asked.seq.to_bytes(4, "big")
		self.server.tell(f"send {(head + bits).hex()}")


def write(number):
	"""Write a block of disk NUMBER, of a size that is no bare write."""
	with Raw(block.node(number)) as raw:
		raw.put(512, b"w" * 512)


@suite.test("a request that the server works on is waited for, another one is sent again")
def lists():
	timeout = 3
	with Played("reconnect=30", 1000 * timeout) as played:
		number = block.numbers()[0]
		log = Log()
		writer = Beside(lambda: write(number))
		asked = played.survey(WRITE)
		end = time.monotonic() + 2.5 * timeout
		while time.monotonic() < end:
			with contextlib.suppress(AssertionError):
				played.tell(played.survey(timeout=1), [asked.tag])
			assert not log.find("connection lost"), log.text()
		assert writer.errno is None, log.text()
		# It is alive, and the request is not with it.
		end = time.monotonic() + 60
		while not log.find("connection lost"):
			assert time.monotonic() < end, log.text()
			with contextlib.suppress(AssertionError):
				played.tell(played.survey(timeout=1))
		played.accept()
		log.expect("waiting for the server's answer to a request")
		again = played.survey(WRITE)
		assert (again.offset, again.size) == (asked.offset, asked.size)
		played.server.tell(f"send {response(again.tag, again.seq)}")
		assert writer.ends() == 0


@suite.test("answers to surveys that are none end the connection")
def false_lists():
	with puppet.Server(new_port()) as server:
		for wrong in ({"tags": [5]}, {"kind": 0x83}, {"length": 40}, {"length": 136},
			      {"length": 32}):
			with Played("reconnect=0", server=server) as played:
				log = Log()
				played.tell(played.survey(), **wrong)
				found = played.tried.wait(20)
				assert found == errno.EPROTO, (wrong, krping.name(found), log.text())


@suite.test("a request that is never answered fails after 15 repetitions and reconnect=, not before")
def repeated():
	# Longer than eighteen connections take, between which the disk waits for up to two seconds.
	patience = 40 * krping.SLOW
	# The puppet answers nothing while this test sleeps, no keepalive either.
	with Played(f"reconnect={patience}", timeout=4000 * patience) as played:
		number = block.numbers()[0]
		# One that is old soon is given up for how often it was lost, and one that was lost often
		# enough for its age.
		for times, old in ((16, 1), (18, 18)):
			log, first = Log(), None
			writer = Beside(lambda: write(number))
			for sent in range(1, times + 1):
				asked = played.survey(WRITE)
				first = first or time.monotonic()
				assert asked.offset == 512
				assert writer.errno is None, sent
				if sent == old:
					krping.pass_time(max(0, first + patience - time.monotonic()),
							 "it becomes as old as reconnect=")
				played.server.tell("disconnect")
				played.accept()
			assert writer.ends() == errno.EIO
			assert log.find(f"was sent {times} times and never answered"), log.text()
		# The disk is as good as before.
		writer = Beside(lambda: write(number))
		asked = played.survey(WRITE)
		played.server.tell(f"send {response(asked.tag, asked.seq)}")
		assert writer.ends() == 0


@suite.test("a disk says farewell after the answer to its keepalive, not in place of it")
def farewell():
	for _ in range(20):
		with Played("reconnect=0") as played:
			number = block.numbers()[0]
			asked = played.survey()
			stop = Beside(lambda: block.stop(number))
			wait_for(lambda: block.gone(number))
			assert "received 07" not in played.server.output()
			played.tell(asked)
			# It waits for half a second, which may be too short here.
			found = played.server.expect("^received (07.*)|^event RDMA_CM_EVENT_DISC", 30)
			stop.ends()
			if found[1]:
				close = puppet.Asked(found[1])
				assert (close.tag, close.seq) == (DEPTH, asked.seq + 1), vars(close)
				return
	raise AssertionError("no farewell in twenty ends")


@suite.test("a disk that is stopped as soon as it has a number goes at once")
def stopped_early():
	for _ in range(20):
		client = Command(f"client,blk,addr=10.98.77.1,port={new_port()},timeout=60000")
		start = time.monotonic()
		# There is none yet, at first.
		while block.stop(0, force=True) == errno.ENOENT and client.is_alive():
			assert time.monotonic() - start < 20
		client.wait(20)


suite.main()
