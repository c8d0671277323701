# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Peers of streams that break the protocol, on either side: each is found out by its name."""

import collections
import errno

import krping
import puppet
import stream_puppet
import streams
from krping import ADDR, Log, name, new_port
from ktap import Suite, diag
from stream_puppet import (
	CONTROL,
	DATA,
	DISCONNECT,
	GRANT,
	KEEPALIVE,
	MAPPED,
	SHUTDOWN,
	TIMEOUT,
	Client,
	Server,
	hello,
	mapping,
	open_memory,
	renew,
	say,
	segment,
)

suite = Suite(check=streams.check)
puppet.PUPPET.build()

PROTO = errno.EPROTO
# Messages, and the sentence about the last of them.
LIES = (
	((say(1, 0),), "sent a message of an unknown kind (1)"),
	((say(2, 4),), "sent a message of an unknown kind (2)"),
	((say(3, 0),), "sent a message of an unknown kind (3)"),
	((say(5, 0x1fffffff),), "sent a message of an unknown kind (5)"),
	((say(CONTROL, 3),), "sent an unknown control message (3)"),
	((say(CONTROL, KEEPALIVE), say(CONTROL, 0x1fffffff)), "unknown control message (536870911)"),
	((say(DATA, 0),), "sent a data message of no bytes"),
	((say(DATA, 2049),), "wrote 2049 bytes into a part of the ring that has room for 2048"),
	((say(DATA, 2047), say(DATA, 2)), "wrote 2 bytes into a part of the ring that has room for 1"),
	((say(DATA, 0x1fffffff),), "wrote 536870911 bytes into"),
	((say(GRANT, 101),), "granted credits that leave 101, where there were 100"),
	((say(GRANT, 99),), "granted credits that leave 99, where there were 100"),
	((say(GRANT, 0),), "granted credits that leave 0, where there were 100"),
	((say(GRANT, 1 << 17),), "granted credits up to 131072, which no count has"),
	((say(MAPPED, 0),), "updated mapping 0 of 0"),
	((say(MAPPED, 0xffff),), "updated mapping 65535 of 0"),
	((say(MAPPED, 0x10000),), "updated mapping 65536 of 0"),
	((say(CONTROL, SHUTDOWN), say(DATA, 1)), "sent data after it had shut down its direction"),
	((say(CONTROL, DISCONNECT), say(DATA, 1)), "sent data after it had shut down its direction"),
	(("send ab",), "sent a message of 1 bytes instead of 4"),
	(("send abababab",), "sent a message of 4 bytes instead of 4"),
)


# To a client, that the server takes no more is a bad end of another kind, or comes with the first.
ENDS = {lines: (PROTO, errno.ECONNRESET) for lines, _ in LIES if say(CONTROL, DISCONNECT) in lines}


@suite.test("messages to a server that no peer sends")
def to_server():
	for lines, sentence in LIES:
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},stream,rbuf=4K")
		with Client(port) as peer:
			peer.meet().tell(*lines)
			number = server.wait()
			assert number == PROTO, (lines, name(number), log.text())
			log.expect(sentence)


@suite.test("messages to a client that no peer sends")
def to_client():
	for lines, sentence in LIES:
		if "bytes instead of 4" in sentence:
			continue
		port, log = new_port(), Log()
		with Server(port) as peer:
			# It waits for the answer to its 64 bytes, a message.
			client = krping.Command(f"client,addr={ADDR},port={port},stream,echo,rbuf=4K,"
						"size=64")
			peer.meet().tell(*(say(GRANT, 102) if line == say(GRANT, 101) else line
					   for line in lines))
			number = client.wait()
			assert number in ENDS.get(lines, (PROTO,)), (lines, name(number), log.text())


@suite.test("private data of which no stream can be made, from a client and from a server")
def hellos():
	top = (1 << 64) - 1
	for private, sentence in (
			(hello(version=2), "private data of version 2"),
			(hello(receives=0), "grants no credit"),
			(hello(entries=1), "whose list has 1 entries"),
			(hello(entries=0), "whose list has 0 entries"),
			(hello(entries=0xffffffff, list=top - 31), "ends beyond the last address"),
			(hello(mappings=0xff, list=top - 100), "ends beyond the last address"),
			(hello(ring=0), "whose ring has no byte"),
			(hello(ring=0x1000, at=top - 100), "ends beyond the last address")):
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},stream")
		with puppet.Client(port, private) as peer:
			peer.refused()
			assert server.wait() == PROTO, log.text()
			log.expect(sentence)
		port, log = new_port(), Log()
		with puppet.Server(port) as peer:
			client = krping.Command(f"client,addr={ADDR},port={port},stream,size=1")
			peer.expect("^request ")
			peer.tell(f"accept {private}")
			assert client.wait() == PROTO, log.text()
			log.expect(sentence)


@suite.test("a list entry that ends beyond the last address, or that nobody has registered")
def entries():
	for entry, number, sentence in (
			(segment((1 << 64) - 4096, 1, 8192), PROTO, "which end beyond the last address"),
			(segment(4096, 0xdead00, 64), errno.EREMOTEIO, "RDMA WRITE of iteration")):
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},stream,echo")
		with Client(port, ring=1) as peer:
			theirs = peer.meet().theirs
			# A byte fills the ring, so the next one goes where the entry says.
			peer.tell(*renew(theirs, 1, entry), say(GRANT, 100), say(DATA, 2))
			found = server.wait()
			assert found == number, (name(found), log.text())
			log.expect(sentence)


@suite.test("a WRITE beyond the ring, and one with a key that is none, reach nothing")
def beyond():
	for at, length, key in ((0, 0x2001, 0), (0x2000, 1, 0), (-1, 1, 0), (0, 1, 1)):
		port = new_port()
		server = krping.serve(f"server,port={port},stream,rbuf=8K")
		with Client(port) as peer:
			theirs = peer.meet().theirs
			peer.tell(f"write {theirs.ring + at:x} {theirs.ring_key + key:x} {length:x}")
			# Or the connection has ended before that was told.
			peer.expect(f"^done [1-9]|{puppet.THROWN_OUT}")
			number = server.wait()
			assert number in stream_puppet.NOTICED, name(number)


@suite.test("mappings that lie")
def mappings():
	top = (1 << 64) - 1
	for entry, number, sentence in (
			(mapping(0, top - 10, 1, 64), PROTO, "which end beyond the last address"),
			(mapping(top - 10, 4096, 1, 64), PROTO, "which end beyond the last one"),
			(mapping(0, 4096, 1, 63), PROTO, "has mapped 63 bytes at offset 0"),
			(mapping(0, 4096, 1, 0), PROTO, "has mapped 0 bytes at offset 0"),
			(mapping(1, 4096, 1, 64), PROTO, "has mapped 0 bytes at offset 0"),
			(mapping(0, 4096, 0xdead00, 64), errno.EREMOTEIO, "RDMA WRITE of iteration")):
		port, log = new_port(), Log()
		with Server(port) as peer:
			client = krping.Command(f"client,addr={ADDR},port={port},stream,iomap,size=64")
			theirs = peer.meet(mappings=1).theirs
			# What it waits for before it writes.
			peer.tell(*open_memory(theirs, entry), say(DATA, 16))
			found = client.wait()
			assert found == number, (sentence, name(found), log.text())
			log.expect(sentence)
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},stream,iomap,echo,poll")
	with Client(port) as peer:
		peer.meet().tell(say(DATA, 16))
		assert server.wait() == PROTO, log.text()
		log.expect("has no room for the mapping of this side")


@suite.test("a flood of messages without credits, and of such as take none")
def flood():
	for message, numbers in ((say(DATA, 1), {PROTO}), (say(CONTROL, KEEPALIVE), {0, errno.ECONNRESET})):
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},stream,rqdepth=16,rbuf=1M")
		# Without receives for grants there are no more credits, however slow it floods.
		with Client(port, deaf=PROTO in numbers) as peer:
			peer.meet().tell(*[message] * 400)
			if PROTO not in numbers:
				# They are all taken, and the end that follows.
				peer.tell(say(CONTROL, DISCONNECT))
			number = server.wait()
			assert number in numbers, (message, name(number), log.text())
			if PROTO in numbers:
				log.expect("sent more messages than it has credits for")


@suite.test("a peer that says nothing is given up at the deadline")
def silent():
	# The last two look for what comes without an end of their own.
	for options in ("", ",echo", ",poll", ",iomap,echo,poll"):
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},stream{options},{TIMEOUT}")
		with Client(port) as peer:
			peer.meet()
			assert server.wait() == errno.ETIMEDOUT, (options, log.text())
	port = new_port()
	with Server(port) as peer:
		client = krping.Command(f"client,addr={ADDR},port={port},stream,{TIMEOUT}")
		# Credits for two messages, and no more come.
		peer.meet(receives=2)
		assert client.wait() == errno.ETIMEDOUT, log.text()


@suite.test("any lies, on either side, the same each time")
def random_lies():
	arrivals, ends = 0, collections.Counter()
	for seed in range(24 // krping.SLOW):
		came, ended = stream_puppet.lie(seed, 40)
		arrivals += came
		ends.update(ended)
	diag(f"{arrivals} messages arrived: {dict(ends)}")


suite.main()
