# SPDX-License-Identifier: GPL-2.0
# time: real (floods, and what goes on beside them)
"""Clients and servers of disks that break the protocol: what they ask for wrongly is
refused, whoever breaks the rules is thrown out, and nobody else notices."""

import contextlib
import errno
import os
import random
import struct
import time

import block
import krping
import puppet
from block import MIB, Raw, Server
from krping import ADDR, Command, Log, new_port, wait_for
from ktap import Suite, diag
from puppet import (
	CLOSE,
	DATA,
	DISCARD,
	FLUSH,
	FUA,
	KEEP,
	PING,
	READ,
	TAP,
	THROWN_OUT,
	WRITE,
	ZEROES,
	geometry,
	hello,
	request,
	response,
)

suite = Suite(check=block.check)

FILE = "/tmp/store"
WHOLE = 2 * MIB
DEPTH = 8

puppet.PUPPET.begin()


def remove():
	"""Remove the file of a store."""
	if os.path.exists(FILE):
		os.unlink(FILE)


class Victim:
	"""A server with a store of WHOLE bytes, and a disk of it that is used while somebody
	else misbehaves. Within, they are there; at the end the store holds what the disk has
	written, and nothing else."""

	def __init__(self, store="ram"):
		remove()
		self.store = store
		self.server = Server(f"size={WHOLE},store={store},persist")
		self.port = self.server.port

	def __enter__(self):
		self.disk = self.server.disk()
		self.raw = Raw(self.disk)
		self.expected = bytearray(random.Random(3).randbytes(WHOLE))
		self.raw.put(0, self.expected)
		return self

	def __exit__(self, kind, *_):
		try:
			if kind is None:
				self.check()
		except BaseException as error:
			kind = type(error)
			raise
		finally:
			os.close(self.raw.fd)
			self.disk.__exit__(kind)
			self.server.__exit__(kind)
			remove()

	def check(self):
		"""The disk works, and has never been away."""
		at = 4096 * random.randrange(WHOLE // 4096)
		data = os.urandom(4096)
		self.raw.put(at, data)
		self.expected[at:at + 4096] = data
		block.compare(self.raw.get(0, WHOLE), bytes(self.expected), "the store")
		figures = self.disk.figures()
		assert figures["reconnects"] == figures["errors"] == 0, figures

	def client(self, **more):
		"""A puppet that has said a good hello, but for MORE."""
		more = {"disk": random.randrange(1 << 64), "depth": DEPTH} | more
		return puppet.Client(self.port, hello(**more))


def both():
	"""A Victim of each kind of store."""
	for store in ("ram", FILE):
		with Victim(store) as victim:
			yield victim


def connected(**more):
	"""The same, each with a client() of it that is connected."""
	for victim in both():
		with victim.client(**more) as client:
			yield victim, client.connected()


@suite.test("a client that keeps to the protocol is served")
def good():
	for victim, client in connected():
		data = os.urandom(4096)
		victim.expected[8192:12288] = data
		client.tell(f"put 0 {data.hex()}")
		client.ask(request(WRITE, 1, 1, 8192, 4096, client.addr, client.key, KEEP),
			   response(1, 1))
		client.ask(request(READ, 2, 1, 8192, 4096, client.addr + 8192, client.key, KEEP),
			   response(2, 1))
		block.compare(client.get(8192, 4096), data)
		victim.expected[0:512] = data[:512]
		client.ask(request(WRITE, 3, 1, 0, 512, flags=DATA, data=data[:512]),
			   response(3, 1))
		client.ask(request(FLUSH, 4, 1), response(4, 1))
		client.ask(request(PING, DEPTH, 1), response(DEPTH, 1))
		client.ask(request(CLOSE, DEPTH, 2), response(DEPTH, 2))
		client.tell("disconnect")
		client.thrown_out()


def refused_requests(client):
	"""Requests that decode, and the status that each must be answered with."""
	there = {"addr": client.addr, "key": client.key, "flags": KEEP}
	for action in (READ, WRITE):
		for offset, size in ((WHOLE, 512), (WHOLE - 512, 1024), (1 << 63, 512),
				     ((1 << 64) - 512, 512), ((1 << 64) - 512, 1024)):
			yield request(action, offset=offset, size=size, **there), puppet.OUT_OF_RANGE
		for offset, size in ((0, 0), (0, 511), (0, 513), (1, 512), (511, 512),
				     (WHOLE - 1, 512), (0, MIB + 512), (0, 0xfffffe00), (0, 0xffffffff)):
			yield request(action, offset=offset, size=size, **there), puppet.INVALID
	for action in (DISCARD, ZEROES):
		for offset, size in ((WHOLE, 512), (WHOLE - 512, 1024), ((1 << 64) - 512, 1024)):
			yield request(action, offset=offset, size=size), puppet.OUT_OF_RANGE
		for offset, size in ((0, 0), (0, 100), (7, 512), (0, 0xffffffff)):
			yield request(action, offset=offset, size=size), puppet.INVALID
	for offset, size, status in ((WHOLE, 512, puppet.OUT_OF_RANGE), (WHOLE - 512, 4096,
									 puppet.OUT_OF_RANGE),
				     (256, 512, puppet.INVALID), (0, 100, puppet.INVALID)):
		yield request(WRITE, offset=offset, size=size, flags=DATA, data=b"!" * size), status
		yield request(READ, offset=offset, size=size, flags=DATA), status
	yield request(WRITE, offset=1 << 40, size=512, flags=DATA | FUA, data=b"!" * 512), \
		puppet.OUT_OF_RANGE


@suite.test("requests beyond the store or not in blocks get their status")
def bad_requests():
	for victim, client in connected():
		client.tell(f"put 0 {os.urandom(8192).hex()}")
		before = client.get(0, 8192)
		# Each with one kind of store, as no store is asked.
		ram = victim.store == "ram"
		for number, (text, status) in enumerate(list(refused_requests(client))[ram::2], 1):
			# Its tag and number are those of the one before.
			raw = bytearray.fromhex(text)
			raw[2:8] = struct.pack(">HI", number % DEPTH, number)
			client.ask(raw.hex(), response(number % DEPTH, number, status))
		assert client.get(0, 8192) == before
		client.ask(request(PING, DEPTH, 1), response(DEPTH, 1))


@suite.test("a read-only store refuses all that would change it")
def read_only():
	with Server("size=1M,store=ram,ro,persist") as server:
		with puppet.Client(server.port, hello()) as client:
			client.connected()
			for text in (request(WRITE, 1, 1, 0, 512, client.addr, client.key, KEEP),
				     request(WRITE, 1, 1, 0, 512, flags=DATA, data=b"!" * 512),
				     request(DISCARD, 1, 1, 0, 512), request(ZEROES, 1, 1, 0, 512)):
				client.ask(text, response(1, 1, puppet.READ_ONLY))
			# What goes without a header as well: tag 1, the second block of 4 KiB.
			client.ask(request(READ, 2, 1, 0, 4096, client.addr, client.key, KEEP),
				   response(2, 1))
			assert client.get(0, 4096) == bytes(4096)


def broken_messages():
	"""Messages that are none: what, and what the client is told."""
	good = request(FLUSH, 1, 1)
	for length in (0, 1, 15, 16, 31):
		yield f"{length} bytes", [f"send {good[:2 * length]}"]
	yield "33 bytes", [f"send {good}00"]
	yield "4129 bytes", [f"send {good}{'00' * 4097}"]
	yield "8192 bytes", [f"send {'02' * 8192}"]
	for action in (0, 10, 0x81, 255):
		yield f"action {action}", [f"send {request(action, 1, 1)}"]
	for action, flags in ((READ, FUA), (READ, 8), (WRITE, 0x80), (FLUSH, FUA), (PING, DATA),
			      (DISCARD, DATA), (WRITE, DATA | KEEP)):
		yield f"action {action} with flags {flags}", [
			f"send {request(action, 1, 1, 0, 512, 4096, 7, flags)}"]
	yield "a flush of a place", [f"send {request(FLUSH, 1, 1, 512, 512)}"]
	yield "a discard with a key", [f"send {request(DISCARD, 1, 1, 0, 512, 4096, 7)}"]
	yield "a read without a key", [f"send {request(READ, 1, 1, 0, 512, 4096, 0)}"]
	yield "less data than it says", [
		f"send {request(WRITE, 1, 1, 0, 1024, flags=DATA, data=b'!' * 512)}"]
	yield "more data than it says", [
		f"send {request(WRITE, 1, 1, 0, 512, flags=DATA, data=b'!' * 1024)}"]
	yield "data of a write of 8 KiB", [
		f"send {request(WRITE, 1, 1, 0, 8192, flags=DATA, data=b'!' * 4096)}"]
	for tag in (DEPTH + 1, 1024, 65535):
		yield f"tag {tag}", [f"send {request(FLUSH, tag, 1)}"]
	yield "a number without a block of data", [f"number 11 {'21' * 512}"]
	yield "a number and nothing", ["number 11"]
	yield "a key invalidated that is none", [f"invalidate 1234 {good}"]


@suite.test("whoever sends what is no request is thrown out, and nobody else notices")
def bad_messages():
	for victim in both():
		# Each with one kind of store.
		ram = victim.store == "ram"
		for what, lines in list(broken_messages())[ram::2]:
			with victim.client() as client:
				client.connected().tell(*lines)
				try:
					client.thrown_out()
				except AssertionError as error:
					raise AssertionError(f"{what}: {error}") from None


@suite.test("a flood of requests, more than were agreed upon")
def flood():
	for victim in both():
		for times in (DEPTH + 2, 200):
			with victim.client() as client:
				client.connected()
				text = request(READ, 1, 1, 0, 65536, client.addr, client.key, KEEP)
				client.tell(f"repeat {times:x} {text}")
				# Unless the server is that fast.
				client.expect(f"^received|{THROWN_OUT}")
				victim.check()


@suite.test("two requests of one tag at once")
def same_tag():
	for _, client in connected():
		# Both are answered, or the client is thrown out.
		text = request(READ, 1, 1, 0, MIB, client.addr, client.key, KEEP)
		client.tell(f"repeat 2 {text}")
		client.expect(f"^received|{THROWN_OUT}")


@suite.test("numbers that stand for writes beyond the store")
def bare_writes():
	numbers = (0xffffffff, WHOLE // 4096 << 3 | 1, WHOLE // 4096 << 3 | 7, 0x7fffffff)
	for victim in both():
		# Each with one kind of store, as no store is asked.
		for number in numbers[victim.store == "ram"::2]:
			with victim.client() as client:
				client.connected()
				client.tell(f"number {number:x} {'21' * 4096}")
				client.expect(f"^received 81|{THROWN_OUT}")


@suite.test("keys and addresses that are none: only that client is lost")
def bad_keys():
	places = ((0, 0x1234, 0), ((1 << 64) - 512, None, KEEP), (1 << 47, None, KEEP), (0x1000, None, 0))
	for victim in both():
		for action in (READ, WRITE):
			# Each with both kinds of stores, and with both actions.
			first = (victim.store == "ram") == (action == READ)
			for addr, key, flags in places[first::2]:
				with victim.client() as client:
					client.connected()
					key = client.key if key is None else key
					text = request(action, 1, 1, 0, 4096, addr, key, flags)
					client.tell(f"send {text}")
					client.thrown_out()


@suite.test("a client that takes no answers")
def no_receives():
	def refused():
		"""Messages that a device was told that there is no receive for."""
		path = f"/sys/class/infiniband/{krping.DEVICE}/ports/1/hw_counters/rcvd_rnr_err"
		with open(path, encoding="ascii") as file:
			return int(file.read())
	with Victim() as victim:
		with puppet.Client(victim.port, hello(disk=5, depth=DEPTH), receives=0) as client:
			client.connected()
			before = refused()
			client.tell(*[f"send {request(PING, each, 1)}" for each in range(DEPTH)])
			wait_for(lambda: refused() > before)


def bad_hellos():
	"""Private data that no server of disks takes."""
	yield "version 0", hello(version=0)
	yield "version 2", hello(version=2)
	yield "a server's role", hello(role=2)
	yield "role 9", hello(role=9)
	yield "test 200", hello(test=200)
	yield "a tap", hello(test=TAP)
	yield "flags", hello(flags=1)
	for name in ("zero", "zero2"):
		yield name, hello(**{name: 1})
	yield "the last byte", hello(rest=bytes(11) + b"\1")
	yield "generation 0", hello(generation=0)
	yield "no queues", hello(queues=0)
	yield "65 queues", hello(queues=65)
	yield "index 1 of 1", hello(index=1)
	yield "index 65535", hello(index=65535, queues=64)
	yield "depth 0", hello(depth=0)
	yield "depth 1025", hello(depth=1025)
	yield "depth 65535", hello(depth=65535)
	yield "max_bytes 0", hello(max_bytes=0)
	yield "max_bytes 4095", hello(max_bytes=4095)
	yield "alive 0", hello(alive_ms=0)
	yield "alive for ever", hello(alive_ms=0xffffffff)
	yield "hold for ever", hello(hold_ms=0xffffffff)
	yield "nothing but a magic number", hello()[:8]
	yield "20 bytes", hello()[:40]
	yield "nothing", ""
	yield "noise", "a5" * 56


@suite.test("hellos that make no sense are refused")
def hellos():
	with Victim() as victim:
		for what, private in bad_hellos():
			with puppet.Client(victim.port, private) as client:
				try:
					client.refused()
				except AssertionError as error:
					raise AssertionError(f"{what}: {error}") from None


@suite.test("a disk's name used twice: the newer one ends the older, never the other way")
def same_name():
	with Victim() as victim:
		with victim.client(disk=7, generation=5) as old:
			old.connected()
			for generation in (4, 1):
				log = Log()
				with victim.client(disk=7, generation=generation) as older:
					older.refused()
				# Not for what else is wrong with it.
				log.wait("a client was refused: the client has connected anew")
			with victim.client(disk=7, generation=5) as same:
				same.refused()
			old.ask(request(PING, 1, 1), response(1, 1))
			with victim.client(disk=7, generation=6) as new:
				new.connected()
				old.thrown_out()
				new.ask(request(PING, 1, 1), response(1, 1))


@suite.test("clients that die at any moment")
def dying():
	for victim in both():
		rng = random.Random(9)
		for number in range(4):
			with victim.client() as client:
				client.connected()
				there = {"key": client.key, "flags": KEEP}
				texts = (request(READ, 1, 1, MIB, 65536, client.addr + 65536, **there),
					 request(WRITE, 2, 1, 0, 4096, client.addr, **there))
				client.tell(f"put 0 {bytes(victim.expected[:4096]).hex()}",
					    *[f"send {text}" for text in texts])
				krping.pass_time(rng.random() * 0.03, "it dies at any moment")
				if number % 2:
					client.tell("disconnect")
			# Its end is that of its process.


@suite.test("a client that connects and says nothing is lost, and its place is free again")
def silent():
	remove()
	with Server(f"size=1M,store={FILE},persist,timeout=3000") as server:
		log, start = Log(), time.monotonic()
		with puppet.Client(server.port, hello(alive_ms=200)) as client:
			client.connected()
			client.thrown_out()
			assert time.monotonic() - start > 2, time.monotonic() - start
		log.wait("a connection was lost: waiting for the client: nothing happened for 3000 ms")
		wait_for(lambda: len(krping.lines()) == 1, what=krping.lines())
		with server.disk() as disk, Raw(disk) as raw:
			raw.put(0, b"x" * 4096)
	remove()


@suite.test("many that connect at once")
def many():
	with Victim() as victim:
		with contextlib.ExitStack() as stack:
			clients = [stack.enter_context(victim.client()) for _ in range(6)]
			for client in clients:
				client.connected()
			for client in clients:
				client.ask(request(PING, 0, 1), response(0, 1))


@suite.test("a protocol error ends a server without persist: EPROTO")
def not_persistent():
	server = Server("size=1M,store=ram")
	with puppet.Client(server.port, hello()) as client:
		client.connected().tell("send 00")
		client.thrown_out()
		found = server.wait()
	assert found == errno.EPROTO, krping.name(found)


# Servers

def bad_geometries():
	"""What no disk is made of."""
	yield "version 2", geometry(version=2)
	yield "a client's role", geometry(role=1)
	yield "a tap", geometry(test=TAP)
	yield "test 1", geometry(test=1)
	yield "flag 2", geometry(flags=2)
	yield "flag 0x80", geometry(flags=0x80)
	yield "zero", geometry(zero=1)
	yield "size 0", geometry(size=0)
	yield "size of a part of a block", geometry(size=4096 + 256)
	yield "size 2^64 - 512", geometry(size=(1 << 64) - 512)
	for size in (0, 1, 256, 513, 3072, 8192, 1 << 31):
		yield f"block {size}", geometry(block=size, size=1 << 32)
	yield "max_bytes 0", geometry(max_bytes=0)
	yield "max_bytes 512", geometry(max_bytes=512)
	yield "max_bytes 4100", geometry(max_bytes=4100)
	yield "max_discard 100", geometry(max_discard=100)
	yield "depth 0", geometry(depth=0)
	yield "inline 4097", geometry(inline=4097)
	yield "alive 0", geometry(alive_ms=0)
	yield "noise", "a5" * 56
	yield "nothing", ""


@suite.test("servers that describe what is no disk: EPROTO, and there is none")
def geometries():
	port = new_port()
	with puppet.Server(port) as server:
		for what, private in bad_geometries():
			log = Log()
			client = Command(f"client,blk,addr={ADDR},port={port}")
			server.expect("^request ")
			server.tell(f"accept {private}")
			found = client.wait()
			assert found in (errno.EPROTO, errno.EOPNOTSUPP), \
				(what, krping.name(found), log.text())
			assert not block.numbers(), what


class Lying:
	"""A disk of a puppet that plays its server. Within, it is there."""

	def __init__(self, timeout=20000, server=None, **more):
		"""Its TIMEOUT in ms is for a test and a puppet that are slow to answer. The puppet may
		be a SERVER that others had before and will have."""
		self.stays = server is not None
		self.server = server or puppet.Server(new_port())
		self.timeout = timeout * krping.SLOW
		self.geometry = geometry(**more)

	def __enter__(self):
		self.command = Command(f"client,blk,addr={ADDR},port={self.server.port},reconnect=0,"
				       f"timeout={self.timeout}")
		self.server.accept(self.geometry)
		# Whoever looks for partitions reads zeroes.
		wait_for(lambda: block.numbers() or not self.command.is_alive())
		assert self.command.is_alive(), krping.name(self.command.wait())
		return self

	def __exit__(self, kind, *_):
		if not self.stays:
			self.server.end()
		if kind is None and self.command in Command.running:
			self.command.wait()
			wait_for(lambda: not block.numbers())

	def answer(self, asked):
		"""Answer a read well, with zeroes."""
		if asked.flags & DATA:
			self.server.tell(f"number {asked.tag << 16 | asked.seq & 0xffff:x} "
					 f"{'00' * asked.size}")
			return
		self.server.tell(f"write {asked.addr:x} {asked.key:x} {asked.size:x}")
		say = response(asked.tag, asked.seq)
		self.server.tell(f"send {say}" if asked.flags & KEEP
				 else f"invalidate {asked.key:x} {say}")


def wrong_answers():
	"""What a server answers to a read, and no server may. Each takes what was asked: at
	first that has a key."""
	yield "another tag", lambda a: f"invalidate {a.key:x} {response(a.tag + 1, a.seq)}"
	yield "tag 65535", lambda a: f"invalidate {a.key:x} {response(65535, a.seq)}"
	yield "another number", lambda a: f"invalidate {a.key:x} {response(a.tag, a.seq + 1)}"
	yield "status 99", lambda a: f"invalidate {a.key:x} {response(a.tag, a.seq, 99)}"
	yield "another kind", lambda a: f"invalidate {a.key:x} {response(a.tag, a.seq, kind=1)}"
	yield "no zeroes", lambda a: \
		f"invalidate {a.key:x} {response(a.tag, a.seq, rest=b'1234567' + bytes(1))}"
	for length in (0, 1, 15):
		yield f"{length} bytes", lambda a, n=length: \
			f"invalidate {a.key:x} {response(a.tag, a.seq)[:2 * n]}"
	yield "17 bytes", lambda a: f"invalidate {a.key:x} {response(a.tag, a.seq)}00"
	yield "two answers and the key", lambda a: \
		f"invalidate {a.key:x} {response(a.tag, a.seq)}{response(a.tag, a.seq)}"
	yield "two answers, the key not invalidated", lambda a: \
		f"send {response(a.tag, a.seq)}{response(a.tag + 1, a.seq)}"
	yield "8192 bytes", lambda a: f"send {'81' * 8192}"
	yield "the key not invalidated", lambda a: f"send {response(a.tag, a.seq)}"
	yield "another key invalidated", lambda a: f"invalidate {a.key + 1:x} {response(a.tag, a.seq)}"
	yield "data in place of an answer", lambda a: \
		f"number {a.tag << 16 | a.seq & 0xffff:x} {'00' * a.size}"
	yield "a request", lambda a: f"send {request(READ, 0, 1, 0, 512, 4096, 7)}"
	yield "nothing more", lambda a: "disconnect"


def wrong_data():
	"""The same where the data is to be the answer."""
	for what, tag, seq in (("another tag", 1, 0), ("tag 65535", 65535, 0), ("another number", 0, 1)):
		yield f"data for {what}", lambda a, t=tag, s=seq: \
			f"number {(a.tag + t & 0xffff) << 16 | a.seq + s & 0xffff:x} {'00' * a.size}"
	for length in (0, 512):
		yield f"data of {length} bytes", lambda a, n=length: \
			f"number {a.tag << 16 | a.seq & 0xffff:x} {'00' * n}"
	yield "more data", lambda a: f"number {a.tag << 16 | a.seq & 0xffff:x} {'00' * (a.size + 512)}"
	yield "success without data", lambda a: f"send {response(a.tag, a.seq)}"
	yield "a key that was never given", lambda a: f"invalidate 1 {response(a.tag, a.seq)}"


def wrong_messages():
	"""The same where some answers in a message are wrong, or there are too many."""
	for count in (9, 200):
		yield f"{count} answers", lambda a, n=count: f"send {response(a.tag, a.seq, puppet.IO) * n}"
	yield "an answer and a half", lambda a: \
		f"send {response(a.tag, a.seq, puppet.IO)}{response(a.tag, a.seq)[:16]}"
	for what, more in (("itself", lambda a: response(a.tag, a.seq, puppet.IO)),
			   ("one to nothing", lambda a: response(a.tag + 1 & 0xffff, a.seq)),
			   ("one of no tag", lambda a: response(65535, a.seq)),
			   ("one to a ping that was not sent", lambda a: response(128, 1)),
			   ("zeroes", lambda a: "00" * 16)):
		yield f"an answer, and {what}", lambda a, m=more: \
			f"send {response(a.tag, a.seq, puppet.IO)}{m(a)}"


def answer_wrongly(inline, wrong):
	"""Have disks that ask for INLINE bytes in messages meet WRONG answers."""
	with puppet.Server(new_port()) as server:
		for what, answer in wrong:
			with Lying(server=server, inline=inline) as lying:
				log = Log()
				asked = server.asked()
				assert asked.action == READ, (what, vars(asked))
				assert (asked.key == 0) == (inline > 0), (what, vars(asked))
				server.tell(answer(asked))
				found = lying.command.wait(20)
				expected = errno.ECONNRESET if what == "nothing more" else errno.EPROTO
				assert found == expected, (what, krping.name(found), log.text())
				wait_for(lambda: not block.numbers(), what=what)


@suite.test("servers that answer wrongly: the disk goes")
def answers():
	answer_wrongly(0, wrong_answers())
	answer_wrongly(4096, wrong_data())


@suite.test("servers that send several answers wrongly: the disk goes")
def messages():
	answer_wrongly(4096, wrong_messages())


def under_way(lying, count):
	"""Write to COUNT blocks of the disk of LYING at once, and have all of it under way: what
	is asked, by block; and programs that end as their writes do."""
	disk = f"/dev/krping{block.numbers()[0]}"
	writers = [krping.Program("dd", "if=/dev/urandom", f"of={disk}", "bs=512", "count=1",
				  f"seek={each}", "oflag=direct") for each in range(count)]
	found = {}
	while len(found) < count:
		asked = lying.server.asked()
		if asked.action == WRITE:
			found[asked.offset // 512] = asked
		else:
			lying.answer(asked)
	return found, writers


@suite.test("a message of several answers ends all of their requests, in any order")
def joined():
	with Lying() as lying:
		for count in (2, 8):
			found, writers = under_way(lying, count)
			texts = [response(asked.tag, asked.seq, puppet.IO if at == 1 else puppet.OK)
				 for at, asked in found.items()]
			random.Random(count).shuffle(texts)
			lying.server.tell(f"send {''.join(texts)}")
			for at, writer in enumerate(writers):
				status, output = writer.finish(60)
				assert (status != 0) == (at == 1), (at, status, output)
		assert block.stop(block.numbers()[0], force=True) == 0


@suite.test("what comes before a wrong answer in its message has been answered")
def joined_wrongly():
	with puppet.Server(new_port()) as server:
		for wrong in (lambda a: response(a.tag, a.seq), lambda a: response(a.tag + 64, a.seq),
			      lambda a: response(a.tag, a.seq, 99)):
			with Lying(server=server) as lying:
				found, writers = under_way(lying, 3)
				right = "".join(response(found[at].tag, found[at].seq) for at in (0, 1))
				server.tell(f"send {right}{wrong(found[1])}")
				statuses = [writer.finish(20)[0] for writer in writers]
				assert statuses[:2] == [0, 0] and statuses[2], statuses
				found = lying.command.wait(20)
				assert found == errno.EPROTO, krping.name(found)
				wait_for(lambda: not block.numbers())


@suite.test("answers to many requests at once share messages, and each has its own")
def shared():
	count = 48
	texts = [request(READ, each, 7, 256, 512, flags=DATA) if each % 3 else request(FLUSH, each, 7)
		 for each in range(count)]
	expected = {response(each, 7, puppet.INVALID if each % 3 else puppet.OK)
		    for each in range(count)}
	for victim, client in connected(depth=count):
		deadline = time.monotonic() + 30
		lengths = set()
		while not lengths or max(lengths) == 1:
			assert time.monotonic() < deadline, lengths
			client.tell(*[f"send {text}" for text in texts])
			found = []
			while len(found) < count:
				text = client.expect("^received ([0-9a-f]*)$")[1]
				answers = [text[at:at + 32] for at in range(0, len(text), 32)]
				lengths.add(len(answers))
				found += answers
			assert len(found) == count and set(found) == expected, found
		diag(f"{victim.store}: messages of {sorted(lengths)} answers")
		assert max(lengths) <= 8


@suite.test("a server that never answers: the disk gives up after its timeout")
def never():
	log = Log()
	with Lying(timeout=3000) as lying:
		lying.server.asked()
		found = lying.command.wait()
		assert found == errno.ETIMEDOUT, krping.name(found)
		log.wait("waiting for the server's answer to a (keepalive|request): nothing happened for "
			 f"{lying.timeout} ms")


@suite.test("a server that says that all fails: EIO, and the disk stays")
def all_fails():
	with Lying() as lying:
		deadline = time.monotonic() + 2
		with contextlib.suppress(AssertionError):
			while time.monotonic() < deadline:
				asked = lying.server.asked(0.5)
				say = response(asked.tag, asked.seq, puppet.IO)
				lying.server.tell(f"invalidate {asked.key:x} {say}"
						  if asked.key and not asked.flags & KEEP
						  else f"send {say}")
		assert block.numbers(), lying.server.output()
		assert block.stop(block.numbers()[0], force=True) == 0


suite.main()
