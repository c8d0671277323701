# SPDX-License-Identifier: GPL-2.0
"""Random lies of peers in any number: --seed S --rounds N has at least N of them arrive.
Clients that lie meet servers that go on serving good clients; servers that lie meet
clients that must find out. The same seed tells the same lies."""

import argparse
import atexit
import collections
import errno
import os
import random
import threading

import block
import krping
import liar
import microbench
import network
import tap
from block import MIB
from krping import ADDR, Command, new_tag, wait_for
from ktap import Suite, diag

# What may become of a run whose peer lies.
NOTICED = {errno.EPROTO, errno.EBADMSG, errno.ECONNRESET, errno.ECONNREFUSED, errno.EREMOTEIO,
	   errno.ETIMEDOUT, errno.EOPNOTSUPP}
# What a tap may find in a geometry that is none of its server's, or in a refusal.
REFUSED = {errno.EROFS, errno.ENOSPC, errno.EBUSY, errno.EIO}
# The deadline of everything that meets a liar: some are silent.
TIMEOUT = 4000 if krping.SLOW == 1 else 30000
STORE = "/tmp/hostile-store"
IWARP = krping.DEVICE.startswith("siw")
# What clients of ours ask liars for. Without poll wlat wants immediates.
TESTS = ["", "", "", *microbench.TESTS]
if IWARP:
	TESTS.remove("wlat")
	# siw has "QP fatal error" for what it cannot send any more, and posts nothing to a
	# queue pair whose stream ends.
	NOTICED |= {errno.EIO, errno.ENOTCONN}
# How a server may see a client end that lies.
SEEN = {"ok"} | {krping.name(number) for number in NOTICED | {errno.ERANGE}}
WHOLE = 2 * MIB

total = liar.Counts()
outcomes = collections.Counter()


def name(number):
	"""An errno's name, or "ok"."""
	return krping.name(number) if number else "ok"


def check():
	"""Nothing is left, and the module is whole."""
	block.check()
	krping.run_ok(f"loopback,addr={ADDR},count=3,validate,mem_mode=reg,server_inv")


class Beside(threading.Thread):
	"""Within, somebody does again and again what must go well."""

	def __init__(self, function):
		super().__init__(daemon=True)
		self.function = function
		self.runs = 0
		self.error = None
		self.ending = threading.Event()

	def run(self):
		krping.block_signals()
		while not self.ending.wait(0.02) and not self.error:
			try:
				self.function(self.runs)
				self.runs += 1
			except BaseException as error:
				self.error = error

	def __enter__(self):
		self.start()
		return self

	def __exit__(self, kind, *_):
		self.ending.set()
		self.join(60 * krping.SLOW)
		assert not self.is_alive(), "what goes on beside the liar hangs"
		if self.error and kind is None:
			raise self.error
		diag(f"{self.runs} times somebody else was served well")
		assert kind or self.runs > 0


def lie_to(protocol, port, tag, seed, messages):
	"""Have a liar and its twin lie to the server on PORT."""
	with liar.Outcomes(tag) as found:
		with liar.Client(protocol, port, seed, messages // 2) as one, \
		     liar.Client(protocol, port, seed + (1 << 32), messages - messages // 2) as two:
			for each in (one, two):
				total.add(each.report(100 + messages))
	diag(f"results: {dict(found.errnos)}")
	outcomes.update(found.errnos)
	assert set(found.errnos) <= SEEN, found.errnos


def clients_of_tests(seed, messages):
	"""Ping/pongs and microbenchmarks."""
	tag = new_tag()
	port = krping.new_port()
	server = krping.serve(f"server,persist,port={port},tag={tag},timeout={TIMEOUT},"
			      "mcast=239.9.0.1")
	modes = (",validate", ",validate,mem_mode=reg,server_inv", ",validate,poll",
		 ",validate,size=20000,pattern=binary", ",validate=full,sbw,spin=20",
		 ",validate=full,bw,size=4096", ",validate,casbw",
		 ",validate=full,sbw,qp=ud,size=1K", ",validate,bw,qp=uc",
		 ",validate,sbw,solicited", ",validate=full,sbw,qp=ud,mcast=239.9.0.1")
	with Beside(lambda run: krping.run_ok(f"client,addr={ADDR},port={port},count=20"
					      + modes[run % len(modes)])):
		lie_to("tests", port, tag, seed, messages)
	assert server.interrupt() == errno.EINTR


def clients_of_disks(store, seed, messages):
	"""Disks. Another disk of the same store has its upper half."""
	half = WHOLE // 2
	rng = random.Random(seed)
	with block.Server(f"size={WHOLE},store={store},persist,timeout={TIMEOUT}") as server, \
	     server.disk() as disk, block.Raw(disk) as raw:
		expected = bytearray(rng.randbytes(half).replace(b"L", b"l"))
		raw.put(half, expected)

		def use(_):
			data = rng.randbytes(4096 * rng.randrange(1, 20)).replace(b"L", b"l")
			at = 512 * rng.randrange((half - len(data)) // 512)
			raw.put(half + at, data)
			expected[at:at + len(data)] = data
			at = 512 * rng.randrange(half // 512 - 64)
			block.compare(raw.get(half + at, 32768), bytes(expected[at:at + 32768]))
		with Beside(use):
			lie_to("disk", server.port, server.tag, seed, messages)
		block.compare(raw.get(half, half), bytes(expected), "the upper half")
		figures = disk.figures()
		assert figures["reconnects"] == figures["errors"] == 0, figures


def clients_of_taps(seed, messages):
	"""Taps, whose records go to a file; its upper half is nobody's."""
	tag, port = new_tag(), krping.new_port()
	canary = random.Random(seed).randbytes(WHOLE // 2)
	with open(STORE, "wb") as file:
		file.write(bytes(WHOLE // 2) + canary)
	server = krping.serve(f"server,tap,persist,store={STORE},port={port},tag={tag},timeout={TIMEOUT}")
	lie_to("tap", port, tag, seed, messages)
	assert server.interrupt() == errno.EINTR
	with open(STORE, "rb") as file:
		found = file.read()
	block.compare(found[WHOLE // 2:], canary, "the upper half")


def commands(rng):
	"""Clients' commands without an address, each of which is over soon."""
	while True:
		words = [f"count={rng.randrange(1, 5)}"]
		test = rng.choice(TESTS)
		if test:
			words += [test, f"size={rng.choice((1, 16, 24, 64, 1000, 4096))}"]
			if test in microbench.BANDWIDTH and rng.random() < 0.3:
				words.append("duplex")
		else:
			words.append(f"size={rng.choice((1, 15, 64, 64, 1000, 4096, 65536))}")
			words.append(rng.choice(("mem_mode=dma", "mem_mode=reg",
						 "mem_mode=reg,server_inv")))
		if not test.endswith("lat") and rng.random() < 0.8:
			words.append("validate")
		if rng.random() < 0.2:
			words.append("poll")
		yield ",".join(words)


def judge(number, server, what, log, also=frozenset()):
	"""The run WHAT ended with errno NUMBER, and the liar SERVER knows what it was told. A lie
	that may be taken may end in one of ALSO, too."""
	outcomes[name(number)] += 1
	try:
		verdict, lie = server.connection()
	except AssertionError as error:
		raise AssertionError(f"{name(number)} from {what}: {error}: {server.output()[-500:]}: "
				     f"{log.text()}") from None
	allowed = {"harmless": {0}, "maybe": NOTICED | {0} | also, "fatal": NOTICED}[verdict]
	assert number in allowed, f"{name(number)} after {lie!r}, {verdict}: {what}: {log.text()}"


def servers_of_tests(seed, messages):
	"""Clients of ours, and servers that lie to them."""
	texts = commands(random.Random(seed))
	with liar.Server(seed) as server:
		for count in range(messages):
			text = (f"client,addr={ADDR},port={server.port},timeout={TIMEOUT},"
				+ next(texts))
			log = krping.Log()
			number = krping.run(text)
			judge(number, server, f"run {count}: {text}", log)
		total.add(server.end())


def servers_of_disks(seed, messages):
	"""Disks of ours, and servers that lie to them."""
	with liar.Server(seed) as server:
		for count in range(messages):
			text = (f"client,blk,addr={ADDR},port={server.port},timeout={TIMEOUT},"
				f"reconnect=0")
			log = krping.Log()
			number = Command(text).wait(60)
			judge(number, server, f"disk {count}", log)
			wait_for(lambda: not block.numbers())
		total.add(server.end())


def servers_of_taps(seed, messages):
	"""Taps of ours, and servers that lie to them. The tapped disk knows nothing of that."""
	rng = random.Random(seed)
	expected = bytearray(MIB)
	with liar.Server(seed) as server, tap.null_blk("lies", size=MIB) as disk, \
	     block.Raw(disk) as raw:
		for count in range(messages):
			log = krping.Log()
			command = Command(f"client,tap={disk.name},addr={ADDR},port={server.port},"
					  f"timeout={TIMEOUT},count=20")
			wait_for(lambda: log.find(": tapping ") or not command.is_alive())
			while command.is_alive():
				data = rng.randbytes(512 * rng.choice((1, 1, 8, 8, 9, 64)))
				at = 512 * rng.randrange((MIB - len(data)) // 512)
				raw.put(at, data)
				expected[at:at + len(data)] = data
				krping.pass_time(0.002, "the pace of the writes")
			judge(command.wait(), server, f"tap {count}", log, REFUSED)
		block.compare(raw.get(0, MIB), bytes(expected), "the tapped disk")
		total.add(server.end())


def summary(seed):
	"""The last line: what was said, and what became of it."""
	words = [f"seed={seed}", f"messages={total.messages}", f"connections={total.connections}"]
	words += [f"lie:{kind.replace(' ', '-')}={count}"
		  for kind, count in sorted(total.kinds.items())]
	words += [f"end:{kind.replace(' ', '-')}={count}"
		  for kind, count in sorted(total.ends.items())]
	words += [f"errno:{kind}={count}" for kind, count in sorted(outcomes.items())]
	print("#", " ".join(words), flush=True)


def main(argv=None):
	"""Run it all."""
	parser = argparse.ArgumentParser(description=__doc__)
	parser.add_argument("--seed", type=int, default=1)
	parser.add_argument("--rounds", type=int, default=2000)
	parser.add_argument("only", nargs="*")
	options = parser.parse_args(argv)
	seed, rounds = options.seed, options.rounds
	liar.LIAR.build()
	suite = Suite(check=check, limit=(300 + rounds) * krping.SLOW)
	# Most lies to a disk's server have an answer, and the connection goes on: there
	# are many in little time.
	for what, share, function in (
			("clients of tests that lie", 17, clients_of_tests),
			("clients of disks in memory that lie", 37,
			 lambda *args: clients_of_disks("ram", *args)),
			("clients of disks in files that lie", 27,
			 lambda *args: clients_of_disks(STORE, *args)),
			("taps that lie", 22, clients_of_taps),
			("servers of tests that lie", 7, servers_of_tests),
			("servers of disks that lie", 1, servers_of_disks),
			("servers of taps that lie", 1, servers_of_taps)):
		suite.test(what)(lambda function=function, share=share:
				 function(seed, max(rounds * share // 100, 10)))

	@suite.test("as many lies have arrived as were asked for")
	def enough():
		assert options.only or total.messages >= rounds, total.messages

	if IWARP:
		network.distance(5)
	atexit.register(summary, seed)
	if os.path.exists(STORE):
		os.unlink(STORE)
	suite.main(options.only)


if __name__ == "__main__":
	main()
