# SPDX-License-Identifier: GPL-2.0
"""What the two sides of messages say, so that a puppet can be told to say it wrongly; and puppets
that say anything."""

import errno
import random
import struct

import krping
import puppet
from krping import ADDR, new_port

ONE_WAY, REQUEST, REPLY = 1, 2, 3
END = "send "
SIZE = 100
# A server waits no longer for its client, either, which takes its time to start.
TIMEOUT = f"timeout={3000 * krping.SLOW}"
NOTICED = {errno.EPROTO, errno.EREMOTEIO, errno.ECONNRESET, errno.ETIMEDOUT, errno.EIO, errno.EBADMSG}


def hello(role=1, chunk=4096, size=SIZE, conns=1, index=0, inflight=8, test=17, zero=0, number=0, psn=0,
	  lid=0, gid=bytes(16), mtu=0, padding=0, silence=0):
	"""Private data, or with the last ones what is said over TCP."""
	return (puppet.MAGIC + struct.pack(">BBBBIIHHIIHH", 1, role, test, zero, chunk, size, conns,
					   index, number, psn, lid, padding) + gid
		+ struct.pack(">HHI", inflight, mtu, silence)).hex()


def header(kind=ONE_WAY, number=0, size=SIZE, zero=0):
	"""The header of a message."""
	return struct.pack(">BBHIQ", kind, 0, zero, size, number)


def data(kind, number, start, length):
	"""Bytes of a message from START on."""
	first = number + start + (128 if kind == REPLY else 0)
	return bytes((first + at) & 0xff for at in range(length))


def say(kind=ONE_WAY, number=0, length=SIZE, start=0, **changes):
	"""The line that has a puppet send the first chunk of a message, with LENGTH of its bytes, or a
	later one, which begins at START."""
	head = header(kind, number, **changes) if not start else b""
	return f"send {(head + data(kind, number, start, length)).hex()}"


class Client(puppet.Client):
	"""A client of a server of messages, which has said CHANGES."""

	def __init__(self, port, **changes):
		super().__init__(port, hello(**changes))


class Server(puppet.Server):
	"""A server of a client of messages."""

	def meet(self, **changes):
		"""Take the client, and say CHANGES."""
		asked = bytes.fromhex(self.expect("^request ([0-9a-f]*)")[1])
		chunk, size, conns, index = struct.unpack(">IIHH", asked[8:20])
		inflight, = struct.unpack(">H", asked[48:50])
		self.tell("prepare")
		self.memory()
		told = {"size": size, "conns": conns, "index": index, "inflight": inflight,
			"chunk": min(chunk, 4096)} | changes
		self.tell(f"accept {hello(role=2, **told)}")
		return self


class Liar:
	"""Lines that make sense, or do not, the same for each seed."""

	def __init__(self, seed, replies):
		self.random = random.Random(seed)
		self.kinds = (REPLY,) if replies else (ONE_WAY, REQUEST)
		self.number = 0

	def lines(self):
		"""A lie, or the truth."""
		pick = self.random
		kind, number = pick.choice(self.kinds), self.number
		what = pick.randrange(60)
		if what == 0:
			return (say(pick.choice((0, 1, 2, 3, 9)), number),)
		if what == 1:
			return (say(kind, number + pick.choice((1, 5, 1 << 40))),)
		if what == 2:
			return (say(kind, number, size=pick.choice((0, 99, 101, (1 << 32) - 1))),)
		if what == 3:
			return (say(kind, number, pick.choice((101, 4000))),)
		if what == 4:
			return (f"send {'ab' * pick.choice((1, 15, 16, 17, 116, 8000))}",)
		if what == 5:
			return (END,)
		if what == 6:
			return (say(kind, number, zero=1),)
		self.number += 1
		if what < 20:
			cut = pick.randrange(1, SIZE)
			return (say(kind, number, cut), say(kind, number, SIZE - cut, cut))
		return (say(kind, number),)


def _lie(peer, liar, count):
	for _ in range(count):
		peer.tell(*liar.lines())


def lie_to_server(seed, count):
	"""Tell COUNT lies to a server, and return how it ended and how many of them arrived."""
	liar, port = Liar(seed, False), new_port()
	chunks = liar.random.choice((4, 16, 1024))
	server = krping.serve(f"server,port={port},messenger,validate,chunks={chunks},{TIMEOUT}")
	with Client(port, inflight=liar.random.choice((1, 8, 1024))) as peer:
		peer.connected()
		_lie(peer, liar, count)
		number = server.wait(60)
		return number, peer.arrived()


def lie_to_client(seed, count):
	"""The same to a client."""
	liar, port = Liar(seed, True), new_port()
	with Server(port) as peer:
		client = krping.Command(f"client,addr={ADDR},port={port},messenger,echo,size={SIZE},"
					f"validate,{TIMEOUT}")
		peer.meet()
		peer.expect("^connected")
		_lie(peer, liar, count)
		number = client.wait(60)
		return number, peer.arrived()


def lie(seed, count):
	"""Tell COUNT lies to a server and as many to a client, which find them out or end well.
	Returns how both ended, and how many lies have arrived."""
	return puppet.lie((lie_to_server, lie_to_client), NOTICED, seed, count)
