# SPDX-License-Identifier: GPL-2.0
"""Allocations fail, one in each run: what fails says so, leaves nothing, and the next run works.

For each thing that krping does, and for slabs and pages, it is the first allocation behind
krping that fails, then in the next run the second, until a run comes through. With --rounds N
each has some N failures: the first, fourth, sixteenth and so on, then random ones.

What is behind krping: see injection.py. A failure may also come to nothing, where the kernel or
krping do without. What has leaked the guest's runner finds.
"""

import collections
import contextlib
import errno
import os
import shutil
import threading

import block
import injection
import krping
import soak
import tap
from block import Raw
from injection import Injector, Nth
from krping import ADDR, Command, Log, wait_for
from ktap import Skip, Suite, diag

MIB = 1 << 20
STORE = "/tmp/soak-alloc.img"
MODULE = "/tmp/krping.ko"
# Of a run that waits for something that has not come for lack of memory.
TIMEOUT = f"timeout={1500 * soak.SLOW}"


def check():
	"""Nothing is left, and krping works."""
	block.check()
	tap.check()
	if os.path.exists(STORE):
		os.unlink(STORE)
	krping.run_ok(f"loopback,addr={ADDR},count=1,validate")


suite = Suite(check=check, limit=7200)


# Opening /proc/krping has failed, of which krping knows nothing.
UNOPENED = "open() failed"


def run(text):
	"""Run a command, and return its errno, or UNOPENED."""
	try:
		return krping.run(text)
	except OSError as error:
		assert error.errno in (errno.ENOMEM, errno.EFAULT, errno.ENFILE), error
		return UNOPENED


# What is done with failures: a function that does it once and returns an errno. In it nothing
# else reads from krping, which would have the failure in place of what is tested.

def loopback(options):
	"""A run of both sides."""
	return lambda: run(f"loopback,addr={ADDR},{TIMEOUT},{options}")


def remove():
	"""Stop the disks that there are, as often as it takes. Return the first errno."""
	first = 0
	for number in block.numbers():
		for _ in range(3):
			failed = run(f"stop={number}")
			first = first or failed
			if not failed:
				break
	return first


def use(number):
	"""Write to disk NUMBER and read it: a small one, and a large one of many segments."""
	with Raw(block.node(number), area=MIB) as raw:
		for offset, pieces in ((0, [(0, 512)]),
				       (65536, [(4096 * 2 * n, 4096) for n in range(32)])):
			size = sum(length for _, length in pieces)
			data = os.urandom(size)
			at = 0
			for start, length in pieces:
				raw.area[start:start + length] = data[at:at + length]
				at += length
			raw.write(offset, pieces)
			block.compare(raw.get(offset, size), data, f"at {offset}")


def disk(store):
	"""A disk that is made, used and removed."""
	def once():
		failed = run(f"loopback,blk,addr={ADDR},{TIMEOUT},store={store},size=1M,detach")
		if not failed:
			for number in block.numbers():
				use(number)
		return failed or remove()
	return once


class Tapped:
	"""A tap that is begun, has something to do, and ends."""

	def __init__(self):
		self.stack = contextlib.ExitStack()
		self.disk = self.server = self.raw = None

	def __enter__(self):
		self.disk = self.stack.enter_context(tap.null_blk("a"))
		self.server = self.stack.enter_context(tap.Server(f"store={STORE},size=64M"))
		self.raw = self.stack.enter_context(Raw(self.disk, area=65536))
		return self

	def __exit__(self, *details):
		return self.stack.__exit__(*details)

	def __call__(self):
		log, ended = Log(), []
		text = (f"client,tap={self.disk.name},addr={ADDR},port={self.server.port},"
			f"{TIMEOUT},count=4")

		def client():
			krping.block_signals()
			ended.append(run(text))
		thread = threading.Thread(target=client, daemon=True)
		thread.start()
		wait_for(lambda: log.find(": tapping a ") or not thread.is_alive(), what=log.text())
		data = os.urandom(65536)
		self.raw.area[:] = data
		for offset in range(0, 4 * 65536, 65536):
			self.raw.write(offset, [(0, 65536)])
		block.compare(self.raw.get(0, 65536), data, "the disk's own I/O")
		thread.join(60)
		assert not thread.is_alive(), f"a tap does not end: {log.text()}"
		if ended[0] == 0:
			with open(STORE, "rb") as file:
				block.compare(file.read(65536), data, "the copy")
		return ended[0]


@contextlib.contextmanager
def alone(function):
	"""FUNCTION needs nothing beside it."""
	yield function


# What lack of memory becomes on its way to krping: of soft-RoCE's, for the socket of a queue
# pair, and of the kernel's, for a neighbour's address.
KERNEL = {errno.ENFILE, errno.ENOBUFS}
# What the CM and soft-RoCE lose for lack of memory is lost as on a network: nobody is told.
LOST = {errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT}
# What a failed allocation may become, beside ENOMEM: the errno, and why.
Case = collections.namedtuple("Case", ("make", "consequences"), defaults=({},))

BLOCK = {errno.EINVAL: "what the block layer makes of it where it adds a disk"}

CASES = {
	"ping/pong": Case(lambda: alone(loopback("count=3,validate"))),
	"ping/pong, reg": Case(lambda: alone(loopback(
		"count=3,validate,mem_mode=reg,server_inv,pattern=binary"))),
	"fast registration": Case(lambda: alone(loopback("fr,count=5"))),
	"write latency": Case(lambda: alone(loopback("wlat,count=4"))),
	"write bandwidth": Case(lambda: alone(loopback("bw,count=4,qps=2,size=4K,validate"))),
	"compare-and-swap rate": Case(lambda: alone(loopback("casbw,count=4,duplex,validate"))),
	"all messages compared": Case(lambda: alone(loopback("sbw,count=4,validate=full"))),
	"spin": Case(lambda: alone(loopback("slat,count=4,spin=20"))),
	"solicited": Case(lambda: alone(loopback("sbw,count=4,solicited"))),
	"WRITEs that may be lost": Case(lambda: alone(loopback("bw,qp=uc,count=4,validate"))),
	"datagrams": Case(lambda: alone(loopback("slat,qp=ud,count=4"))),
	"multicast": Case(lambda: alone(loopback("sbw,qp=ud,mcast=239.9.0.1,count=4"))),
	"transfers by READ": Case(lambda: alone(loopback("rwread,count=4,size=4K,txdepth=2"))),
	"transfers by WRITE": Case(lambda: alone(loopback(
		"rwwrite,count=4,size=8K,segs=2,offset=7,biovec"))),
	"a stream": Case(lambda: alone(loopback("stream,echo,count=3,size=5K,validate"))),
	"a reversed stream": Case(lambda: alone(loopback("stream,reverse,count=3,validate"))),
	"direct writes of a stream": Case(lambda: alone(loopback("stream,iomap,count=3,validate"))),
	"messages": Case(lambda: alone(loopback(
		"messenger,conns=2,echo,count=3,size=5K,chunks=16,validate"))),
	"caps": Case(lambda: alone(lambda: run(f"caps,addr={ADDR}"))),
	"conformance": Case(lambda: alone(lambda: run(
		f"neg=stale_rkey+wrong_pd+rnr+flush_order,addr={ADDR},{TIMEOUT}")), {
		errno.EBADE: "a case that could not be tried, which the others survive"}),
	"a disk in memory": Case(lambda: alone(disk("ram")), BLOCK),
	"a disk in a file": Case(lambda: alone(disk(STORE)), BLOCK),
	# Its server is another command, whose failure it sees from afar.
	"a tap": Case(Tapped, dict.fromkeys(LOST, "its server's failure")),
}


def assert_clean(what):
	"""Nothing is left of WHAT, and the next run works."""
	try:
		assert not block.numbers(), block.numbers()
		# What runs beside has resources of its own.
		if not Command.running:
			krping.check()
		krping.run_ok(f"loopback,addr={ADDR},count=1,validate")
	except AssertionError as error:
		raise AssertionError(f"after {what}: {error}") from None


def steps(rng, rounds):
	"""Which allocation is to fail, until told by send() that there are not so many: a
	generator. All where there are no ROUNDS."""
	if not rounds:
		number = 1
		while (yield number):
			number += 1
		return
	most, done = 1, 0
	while (yield most):
		done += 1
		most *= 4
	for _ in range(rounds - done):
		yield rng.randrange(1, most)


class Failures:
	"""What has become of the injected failures of a test."""

	def __init__(self, what, consequences):
		self.what = what
		self.expected = {0, errno.ENOMEM, UNOPENED} | KERNEL | set(consequences)
		self.counts = collections.Counter()
		self.lost = 0

	def add(self, number, found, log, said=True):
		"""Allocation NUMBER has failed, and the errno was FOUND, which krping has SAID,
		if it was there to say it."""
		where = f"{self.what}: failure {number}"
		name = found if found == UNOPENED else krping.name(found)
		if found not in self.expected:
			diag(f"{where}: {name}: {log.text()}")
			assert found in LOST, f"{where}: {name}"
			self.lost += 1
		if found == errno.ENOMEM and said:
			log.wait("krping: .*ENOMEM")
		self.counts[name] += 1
		assert_clean(where)

	def tell(self, options, kind):
		"""Print and keep the counts. Little must have been lost without a reason."""
		total = sum(self.counts.values())
		diag(f"{total} failures: " +
		     ", ".join(f"{count} {name}" for name, count in self.counts.most_common()))
		for name, count in self.counts.items():
			options.counts[f"{kind}.{name.split('(')[0]}"] += count
		assert self.lost <= 1 + total // 20, f"{self.lost} of {total} have no reason"


def add_case(options, name, case, kind, seed):
	"""The test of CASE with failures of KIND."""
	@suite.test(f"{name}: {kind}")
	def step():
		injector = Injector(kind)
		failures = Failures(name, case.consequences)
		with case.make() as once:
			assert once() == 0, f"{name} without a failure"
			chosen = steps(options.rng(seed), options.rounds)
			number = next(chosen)
			while True:
				log = Log()
				asked = injector.arm(number)
				try:
					found = once()
				finally:
					injected = injector.disarm()
					remove()
				if injected:
					failures.add(number if asked else "left over", found, log)
				else:
					assert found == 0, f"{krping.name(found)} without a failure"
					# It comes in a later run.
					continue
				if injector.late():
					continue
				try:
					number = chosen.send(asked)
				except StopIteration:
					break
		assert failures.counts, "there was no failure"
		failures.tell(options, kind)


def add_nth(options, seed):
	"""The tests in which it is the writer's own thread that has the failure."""
	def go(what, once, consequences=()):
		failures = Failures(what, consequences)
		chosen = steps(options.rng(seed), options.rounds)
		number = next(chosen)
		Nth.prepare()
		# From here on nothing that it runs is to be read from a file.
		assert once() == 0
		while True:
			log = Log()
			with Nth(number) as nth:
				found = once()
			if nth.injected:
				failures.add(number, found, log)
			else:
				assert found == 0, f"{krping.name(found)} without a failure"
			try:
				number = chosen.send(nth.injected)
			except StopIteration:
				break
		failures.tell(options, "nth")

	@suite.test("the writer's own faults")
	def writer():
		text = f"loopback,addr={ADDR},count=1,{TIMEOUT}"
		go("the writer", lambda: run(text), {errno.EFAULT: "its memory cannot be read"})

	@suite.test("the module's load")
	def load():
		# Not on 9p, which does not live through a failure of its own.
		shutil.copy(krping.MODULE, MODULE)
		assert krping.unload() == ""
		fd = os.open(MODULE, os.O_RDONLY | os.O_CLOEXEC)
		Nth.prepare()
		failures = Failures("the load", {errno.EFAULT: "its parameters cannot be read"})
		chosen = steps(options.rng(seed), options.rounds)
		number = next(chosen)
		try:
			while True:
				log = Log()
				with Nth(number) as nth:
					found = injection.insmod(fd)
				if found:
					assert not krping.loaded(), "not loaded, and there"
					assert nth.injected, krping.name(found)
					krping.load()
				if nth.injected:
					failures.add(number, found, log, said=False)
				assert krping.unload() == ""
				number = chosen.send(nth.injected)
		except StopIteration:
			pass
		finally:
			if not krping.loaded():
				krping.load()
			os.close(fd)
		failures.tell(options, "nth")


def main(argv=None):
	"""Run all of it, or what ARGV says."""
	options = soak.options(__doc__, rounds=0, argv=argv)
	if not injection.available():
		suite.test("allocations that fail")(_unavailable)
		soak.main(suite, options)
	# Loads what it takes.
	with tap.null_blk("warm"):
		pass
	seed = 0
	for name, case in CASES.items():
		for kind in injection.KINDS:
			seed += 1
			add_case(options, name, case, kind, seed)
	# Last, for the counts of the injectors.
	add_nth(options, seed + 1)
	soak.main(suite, options)


def _unavailable():
	raise Skip("this kernel cannot inject failures")


if __name__ == "__main__":
	main()
