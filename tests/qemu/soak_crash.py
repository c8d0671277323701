# SPDX-License-Identifier: GPL-2.0
"""Crash consistency: random writes, flushes and FUA writes of two disks of one server, each
with two queues, while the server ends, the link is lost, or the store fails.

What a flush or a FUA write has promised must be on the medium from then on, which is looked
at past the server's page cache at random moments and after each flush: as it is then, a crash
of the server's host would leave it. What was answered must be read again for as long as that
host stays up. A write that the medium did not take must be told to its client by EIO; then
its programs close the disk, open it again, write what they are not sure of, and go on.

A round repeats by its seed and number, as far as the kernel's timing does: --seed S --only N.
"""

import collections
import contextlib
import errno
import mmap
import os
import threading

import block
import krping
import media
import network
import promises
import soak
import tap
from block import Server
from krping import Log, wait_for
from ktap import Suite, diag
from promises import BLOCK

DISKS, QUEUES = 2, 2
# Blocks of each writer, of which each queue of each disk has one.
AREA = 32
SIZE = 4 * block.MIB
# The most blocks of a write.
MOST = 8
# How long a disk holds requests: longer than any fault.
RECONNECT = 120
# How long a writer may take to do some more, in seconds.
LATEST = 120
# How many flushes fail at most when the store is whole again.
TELLINGS = 10
# What a slow medium takes for a request, in ns.
DELAY = 100_000_000

# What breaks: the server, the link, the store.
Kind = collections.namedtuple("Kind", ("name", "server", "link", "store"))
KINDS = {kind.name: kind for kind in (
	Kind("server", True, False, False),
	Kind("link", False, True, False),
	Kind("store", False, False, True),
	Kind("store and server", True, False, True),
	Kind("store and link", False, True, True),
)}


def check():
	"""Nothing is left."""
	network.plug()
	block.check()
	tap.check()


suite = Suite(check=check, limit=6 * LATEST)


class Client:
	"""A disk, what it has promised, and the programs that have it open."""

	def __init__(self, disk, first):
		self.disk = disk
		self.promises = promises.Promises(range(first, first + QUEUES * AREA))
		self.users = 0
		# It has told of a loss, and not been closed by all since.
		self.lost = False
		self.changed = threading.Condition()

	def __str__(self):
		return self.disk.name

	def enter(self):
		"""One more program opens the disk, when all have closed it that were told of a
		loss."""
		with self.changed:
			assert self.changed.wait_for(lambda: not self.lost, LATEST * krping.SLOW), \
				f"{self}: it was not closed by all"
			self.users += 1

	def leave(self):
		"""One has closed it."""
		with self.changed:
			self.users -= 1
			if self.users == 0:
				self.lost = False
				self.changed.notify_all()

	def told(self):
		"""It has told of a loss."""
		with self.changed:
			self.lost = True

	def settle(self, writers):
		"""All is whole again: what is lost is told, and WRITERS, which have ended, write
		it again. Then they are sure of all they have."""
		for _ in range(TELLINGS):
			with contextlib.ExitStack() as stack:
				for writer in writers:
					stack.enter_context(writer.opened())
				for writer in writers:
					writer.write_again()
				if all(writer.flush() for writer in writers) \
				   and not self.promises.unsure():
					for writer in writers:
						writer.check_all()
					return
		raise AssertionError(f"{self} told {TELLINGS} times of a loss, though its store is whole")


class Writer(threading.Thread):
	"""A program on one CPU, so on one queue of a disk. It writes blocks of its own, reads
	them again, and flushes the disk, until it is told to stop."""

	def __init__(self, client, queue, kind, medium, rng):
		super().__init__(daemon=True)
		self.client, self.kind, self.medium, self.rng = client, kind, medium, rng
		self.promises = client.promises
		self.cpu = queue % os.cpu_count()
		first = min(self.promises.blocks) + queue * AREA
		self.area = range(first, first + AREA)
		self.memory = mmap.mmap(-1, MOST * BLOCK)
		self.fd = self.fua = None
		self.counts = collections.Counter()
		self.done = 0
		self.error = None
		self.stopping = threading.Event()

	@contextlib.contextmanager
	def opened(self):
		"""Within, it has the disk open."""
		flags = os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC
		self.client.enter()
		try:
			self.fd = os.open(self.client.disk.path, flags)
			self.fua = os.open(self.client.disk.path, flags | os.O_DSYNC)
			yield
		finally:
			for fd in filter(None, (self.fd, self.fua)):
				os.close(fd)
			self.fd = self.fua = None
			self.client.leave()

	def run(self):
		krping.block_signals()
		os.sched_setaffinity(0, {self.cpu})
		try:
			while not self.stopping.is_set():
				with self.opened():
					self.write_again()
					self.work()
		except BaseException as error:	# told by finish()
			self.error = error

	def work(self):
		"""Do something until a loss is told, or it is to end."""
		steps = (self.write, self.fua_write, self.read, self.flush)
		while not (self.stopping.is_set() or self.client.lost):
			self.rng.choices(steps, (50, 10, 20, 20))[0]()
			self.done += 1
			krping.pass_time(self.rng.choice((0, 0, 0.01)) * self.rng.random(), "its pace")

	def _attempt(self, what, function, *arguments):
		"""Call FUNCTION of the system, which may fail where the store does. Return whether
		it has succeeded."""
		self.counts[what] += 1
		try:
			function(*arguments)
		except OSError as error:
			if error.errno != errno.EIO or not self.kind.store:
				raise AssertionError(f"{what} of {self.client}: {error}") from error
			self.counts["eio"] += 1
			return False
		return True

	def _some(self):
		"""Blocks next to each other."""
		count = self.rng.choice((1, 1, 1, 2, MOST))
		first = self.rng.randrange(AREA - count + 1)
		return self.area[first:first + count]

	def _put(self, fd, numbers, data):
		self.memory[:len(data)] = data
		done = os.pwritev(fd, [memoryview(self.memory)[:len(data)]], numbers[0] * BLOCK)
		assert done == len(data), (done, len(data))

	def write(self, numbers=None):
		"""Write blocks."""
		numbers = numbers or self._some()
		data = self.promises.write_begins(numbers)
		succeeded = self._attempt("write", self._put, self.fd, numbers, data)
		self.promises.write_ends(numbers, succeeded)

	def fua_write(self):
		"""Write blocks so that they are on the medium."""
		numbers = self._some()
		begun = self.promises.flush_begins()
		data = self.promises.write_begins(numbers)
		succeeded = self._attempt("fua", self._put, self.fua, numbers, data)
		self.promises.write_ends(numbers, succeeded)
		self._flushed(begun, succeeded, numbers)

	def flush(self):
		"""Have all that was answered be on the medium. Return whether it is."""
		begun = self.promises.flush_begins()
		succeeded = self._attempt("flush", os.fdatasync, self.fd)
		self._flushed(begun, succeeded)
		return succeeded

	def _flushed(self, begun, succeeded, numbers=()):
		self.promises.flush_ends(begun, succeeded, numbers)
		if not succeeded:
			self.client.told()
		elif self.medium and self.promises.check_medium(self.medium):
			self.counts["look"] += 1

	def write_again(self):
		"""Write what it is not sure of."""
		for number in self.promises.unsure():
			if number in self.area:
				self.write((number,))

	def read(self):
		"""Read blocks, which must be what was written."""
		self.check(self._some())

	def check(self, numbers):
		"""Blocks NUMBERS are what was written to them."""
		length = len(numbers) * BLOCK
		if not self._attempt("read", self._get, numbers[0] * BLOCK, length):
			return
		for place, number in enumerate(numbers):
			data = self.memory[place * BLOCK:(place + 1) * BLOCK]
			self.promises.check_read(number, data, exact=not self.kind.store)

	def _get(self, offset, length):
		done = os.preadv(self.fd, [memoryview(self.memory)[:length]], offset)
		assert done == length, (done, length)

	def progresses(self):
		"""It does some more."""
		before = self.done
		wait_for(lambda: self.done > before + 3 or self.error, LATEST,
			 f"{self.client} to go on after {before}")

	def finish(self):
		"""End it, which must be well."""
		self.stopping.set()
		self.join(LATEST * krping.SLOW)
		assert not self.is_alive(), f"{self.client}: a request hangs after {self.done}"
		if self.error:
			raise self.error

	def check_all(self):
		"""All of its blocks are what was written to them."""
		for first in range(0, AREA, MOST):
			self.check(self.area[first:first + MOST])


class Host(threading.Thread):
	"""What else the server's host does: it writes back at random moments, and may crash at
	any, so that the medium must always hold what was promised."""

	def __init__(self, clients, medium, rng):
		super().__init__(daemon=True)
		self.clients, self.medium, self.rng = clients, medium, rng
		self.error = None
		self.looks = 0
		self.stopping = threading.Event()

	def run(self):
		krping.block_signals()
		try:
			while not self.stopping.wait(0.1 * self.rng.random()):
				if self.rng.random() < 0.1:
					os.sync()
				for client in self.clients:
					self.looks += client.promises.check_medium(self.medium)
		except BaseException as error:	# told by finish()
			self.error = error

	def finish(self):
		"""End it."""
		self.stopping.set()
		self.join(LATEST)
		if self.error:
			raise self.error


def breaks(kind, medium, server, rng):
	"""One fault of this KIND: what breaks, and when each of it is mended."""
	def pause(most):
		krping.pass_time(most * rng.random() * soak.SLOW, "the fault lasts")

	with contextlib.ExitStack() as stack:
		if kind.store:
			if rng.random() < 0.5:
				medium.fail()
			else:
				first = rng.randrange(DISKS * QUEUES * AREA)
				medium.fail(first * 8, 8 * rng.randint(1, 2 * AREA))
			stack.callback(medium.mend)
			pause(rng.choice((0.1, 0.5)))
		if kind.link:
			network.unplug(limit=LATEST)
			stack.callback(network.plug)
		elif kind.server:
			server.kill()
			stack.callback(server.start)
		pause(rng.choice((0.02, 0.3)))
		if kind.store and rng.random() < 0.5:
			medium.mend()
			pause(0.1)


@contextlib.contextmanager
def setting(kind, rng):
	"""Within, a medium (None where the store is memory), its server, and clients."""
	with contextlib.ExitStack() as stack:
		if kind.link and not kind.store and rng.random() < 0.5:
			medium, store = None, f"ram,size={SIZE}"
		else:
			slow = kind.store and rng.random() < 0.5
			options = {"irqmode": 2, "completion_nsec": DELAY} if slow else {}
			medium = stack.enter_context(media.medium("crash", SIZE, **options))
			store = medium
		server = stack.enter_context(Server(f"store={store},persist,threads={DISKS}"))
		clients = []
		for number in range(DISKS):
			disk = server.disk(f"queues={QUEUES},reconnect={RECONNECT}")
			stack.enter_context(disk)
			clients.append(Client(disk, number * QUEUES * AREA))
		yield medium, server, clients


def play(options, kind, rng):
	"""A round."""
	log = Log()
	with setting(kind, rng) as (medium, server, clients):
		writers = [Writer(client, queue, kind, medium, options.rng(f"{rng.random()}"))
			   for client in clients for queue in range(QUEUES)]
		host = Host(clients, medium, options.rng(f"{rng.random()}")) if medium else None
		everybody = writers + [host] if host else writers
		try:
			for each in everybody:
				each.start()
			for _ in range(rng.randint(1, 3)):
				krping.pass_time(rng.choice((0.05, 0.3)) * rng.random() * soak.SLOW,
						 "a fault comes at any moment")
				breaks(kind, medium, server, rng)
				for writer in writers:
					writer.progresses()
			for each in everybody:
				each.finish()
			for client in clients:
				client.settle([each for each in writers if each.client is client])
			if medium:
				for client in clients:
					assert client.promises.check_medium(medium)
		except BaseException as error:
			for each in everybody:
				each.stopping.set()
			diag("\n".join(log.lines()[-40:]))
			options.counts["false_ok"] += isinstance(error, promises.FalseOk)
			options.counts["lost"] += isinstance(error, promises.Lost)
			raise
		finally:
			for writer in writers:
				options.counts.update(writer.counts)
			for client in clients:
				figures = client.disk.figures()
				options.counts["reconnects"] += figures["reconnects"]
	if host:
		options.counts["look"] += host.looks
	options.counts[f"fault.{kind.name.replace(' ', '_')}"] += 1


def add_round(options, number):
	"""The test of round NUMBER."""
	kind = KINDS[options.deal(KINDS, number)]
	rng = options.rng(number)
	suite.test(f"round {number}: {kind.name}")(lambda: play(options, kind, rng))


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=20, argv=argv)
	options.counts.update(lost=0, false_ok=0)
	for number in options.numbers():
		add_round(options, number)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
