# SPDX-License-Identifier: GPL-2.0
"""What the two sides of a stream say, so that a puppet can be told to say it wrongly; and
puppets that say anything."""

import errno
import random
import struct
import sys

import krping
import puppet
from krping import ADDR, new_port

DATA, GRANT, MAPPED, CONTROL = 0, 4, 6, 7
DISCONNECT, KEEPALIVE, SHUTDOWN = range(3)
ORDER = "<" if sys.byteorder == "little" else ">"
SEGMENT, MAPPING = struct.Struct(f"{ORDER}QII"), struct.Struct(f"{ORDER}QQII")

# How a stream may end whose peer lies.
# A server waits no longer for its client, either, which takes its time to start.
TIMEOUT = f"timeout={3000 * krping.SLOW}"
NOTICED = {errno.EPROTO, errno.EREMOTEIO, errno.ECONNRESET, errno.ETIMEDOUT, errno.EIO}


def hello(version=1, big=sys.byteorder == "big", receives=100, mappings=0, memory=(0x10000, 0x1234),
	  entries=2, ring=4096, **changes):
	"""Private data, with a list and a ring in MEMORY unless CHANGES say another place. They are not
	at its beginning, which puppets WRITE from."""
	addr, key = memory
	fields = {"list": addr + 2048, "list_key": key, "at": addr + 4096, "ring_key": key} | changes
	return struct.pack(">BBHBBBBQIIQII", version, 2 | big, receives, 0, 0, 0, mappings,
			   fields["list"], fields["list_key"], entries, fields["at"],
			   fields["ring_key"], ring).hex()


class Theirs:
	"""The private data of krping, taken apart."""

	def __init__(self, text):
		(_, _, self.credits, _, self.list, self.key, _, self.ring, self.ring_key,
		 self.half) = struct.unpack(">BBHIQIIQII", bytes.fromhex(text)[:40])


def say(operation, value):
	"""The line that has a puppet send a message."""
	return f"number {operation << 29 | value:x}"


def segment(addr, key, length):
	"""An entry of a list, as hexadecimal digits."""
	return SEGMENT.pack(addr, key, length).hex()


def mapping(offset, addr, key, length):
	"""An entry of a list of mappings."""
	return MAPPING.pack(offset, addr, key, length).hex()


def renew(theirs, index, entry):
	"""The lines that have a puppet write ENTRY into the list."""
	return (f"put 0 {entry}", f"write {theirs.list + 16 * index:x} {theirs.key:x} 10")


def open_memory(theirs, entry):
	"""The lines that have a puppet tell of the mapping ENTRY."""
	at = theirs.list + 2 * SEGMENT.size
	return f"put 0 {entry}", f"write {at:x} {theirs.key:x} {MAPPING.size:x}", say(MAPPED, 0)


class Client(puppet.Client):
	"""A client of a server of streams, which has said CHANGES. The server may write to its list
	and its ring, but with DEAF finds no receive for its messages."""

	def __init__(self, port, deaf=False, **changes):
		super().__init__(port, "-", receives=0 if deaf else 0x100)
		self.tell(f"connect {hello(memory=(self.addr, self.key), **changes)}")
		self.theirs = None

	def meet(self):
		"""Wait for the server's answer."""
		self.theirs = Theirs(self.expect("^connected ([0-9a-f]*)")[1])
		return self


class Server(puppet.Server):
	"""A server of a client of streams: the client may write to its list and its ring."""

	def __init__(self, port):
		super().__init__(port)
		self.theirs = None

	def meet(self, **changes):
		"""Take the client, and say CHANGES."""
		self.theirs = Theirs(self.expect("^request ([0-9a-f]*)")[1])
		self.tell("prepare")
		memory = self.memory()
		self.tell(f"accept {hello(memory=memory, **changes)}")
		self.expect("^connected")
		return self


class Liar:
	"""Lines that make sense, or do not, the same for each seed."""

	def __init__(self, seed):
		self.random = random.Random(seed)
		self.limit = self.sent = 0

	def value(self):
		"""A number that may be at a border."""
		pick = self.random
		return pick.choice((0, 1, 2, 63, 64, 2047, 2048, 4096, 0xffff, 0x10000, 0x1ffff,
				    0x20000, (1 << 29) - 1, pick.randrange(1 << 29), pick.randrange(5000)))

	def lines(self, theirs):
		"""One or two lines of a lie, or of the truth."""
		pick = self.random
		if pick.random() < 0.95:
			return (say(*pick.choice(((DATA, 1), (DATA, 3), (CONTROL, KEEPALIVE)))),)
		what = pick.randrange(12)
		if what < 4:
			return (say(DATA, self.value()),)
		if what == 4:
			return (say(GRANT, pick.choice((100, 101, 200, self.value()))),)
		if what == 5:
			return (say(CONTROL, pick.choice((KEEPALIVE,) * 8 + (SHUTDOWN, self.value()))),)
		if what == 6:
			return (say(pick.randrange(8), self.value()),)
		if what == 7:
			return (say(MAPPED, pick.choice((0, 1, self.value()))),)
		if what == 8:
			return (f"send {'ab' * pick.choice((1, 2, 4))}",)
		if what == 9:
			entry = segment(pick.choice((1, 4096, 1 << 40, (1 << 64) - 8)),
					pick.randrange(1 << 32), pick.choice((0, 1, 4096, 1 << 31)))
			return renew(theirs, pick.randrange(2), entry) \
				+ (say(GRANT, pick.choice((100, 101, 102))),)
		if what == 10:
			length = pick.choice((1, 100, theirs.half, theirs.half + 1))
			return (f"write {theirs.ring + pick.choice((0, 1, theirs.half)):x} "
				f"{theirs.ring_key:x} {length:x}", say(DATA, length))
		return (say(CONTROL, KEEPALIVE),)


def lie_to_server(seed, count):
	"""Tell COUNT lies to a server, and return how it ended and how many of them arrived."""
	liar, port = Liar(seed), new_port()
	echo = liar.random.choice(("", ",echo"))
	rqdepth = liar.random.choice((1, 2, 16, 384))
	server = krping.serve(f"server,port={port},stream{echo},rqdepth={rqdepth},{TIMEOUT}")
	with Client(port, receives=liar.random.choice((1, 2, 100)),
		    ring=liar.random.choice((1, 64, 4096))) as peer:
		peer.meet()
		_tell(peer, liar, count)
		number = server.wait(60)
		return number, peer.arrived()


def lie_to_client(seed, count):
	"""The same to a client."""
	liar, port = Liar(seed), new_port()
	echo = liar.random.choice(("", ",echo"))
	with Server(port) as peer:
		client = krping.Command(f"client,addr={ADDR},port={port},stream{echo},"
					f"size={liar.random.choice((1, 64, 5000))},"
					f"{TIMEOUT}")
		peer.meet(receives=liar.random.choice((1, 2, 100)))
		_tell(peer, liar, count)
		number = client.wait(60)
		return number, peer.arrived()


def lie(seed, count):
	"""Tell COUNT lies to a server and as many to a client, which find them out or end well.
	Returns how both ended, and how many lies have arrived."""
	return puppet.lie((lie_to_server, lie_to_client), NOTICED, seed, count)


def _tell(peer, liar, count):
	for _ in range(count):
		peer.tell(*liar.lines(peer.theirs))
