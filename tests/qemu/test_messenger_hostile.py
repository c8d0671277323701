# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Peers of messages that break the protocol, on either side: each is found out by its name."""

import collections
import contextlib
import errno
import socket

import krping
import messages
import messenger_puppet
import puppet
from krping import ADDR, Log, name, new_port, run_ok
from ktap import Suite, diag
from messenger_puppet import END, ONE_WAY, REPLY, REQUEST, SIZE, TIMEOUT, Client, Server, say

suite = Suite(check=messages.check)
puppet.PUPPET.build()

PROTO = errno.EPROTO
# Chunks of KIND, and the sentence about the last of them.
LIES = (
	(lambda kind: ("send ab",), "began a message with 1 bytes, less than a header"),
	(lambda kind: (f"send {'00' * 16}",), "sent a message of a wrong kind (0x00000000)"),
	(lambda kind: (say(9),), "sent a message of a wrong kind (0x09000000)"),
	(lambda kind: (say(kind, zero=1),), "sent a message of a wrong kind"),
	(lambda kind: (say(REPLY if kind != REPLY else ONE_WAY),), "sent a message of a wrong kind"),
	(lambda kind: (say(kind, size=99, length=99),), "sent a message of 99 bytes instead of 100"),
	(lambda kind: (say(kind, size=0xffffffff),), "a message of 4294967295 bytes instead of 100"),
	(lambda kind: (say(kind, number=1),), "sent message number 1 where 0 is the next"),
	(lambda kind: (say(kind), say(kind)), "sent message number 0 where 1 is the next"),
	(lambda kind: (say(kind, length=101),), "a chunk of 101 bytes for a message that has 100 left"),
	(lambda kind: (say(kind, length=60), say(kind, length=41, start=60)),
	 "a chunk of 41 bytes for a message that has 40 left"),
	(lambda kind: (say(kind, length=60), END), "ended its direction 40 bytes before the end"),
)

# What a client says, and the sentence about it.
HELLOS: tuple[tuple[dict[str, object], str], ...] = (
	({"role": 2}, "announces the wrong side"),
	({"test": 1}, "is of another test (pingpong)"),
	({"test": 99}, "names a test that does not exist (99)"),
	({"zero": 1}, "has reserved bytes that are not zero"),
	({"padding": 1}, "has reserved bytes that are not zero"),
	({"silence": 1 << 24}, "has a number out of range (silence)"),
	({"chunk": 63}, "has a number out of range (chunk)"),
	({"size": 0}, "has a number out of range (size)"),
	({"conns": 0}, "has a number out of range (conns)"),
	({"conns": 257}, "has a number out of range (conns)"),
	({"index": 1}, "has a number out of range (index)"),
	({"inflight": 0}, "has a number out of range (inflight)"),
	({"number": 1 << 24}, "has a number out of range (queue pair)"),
	({"psn": 1 << 24}, "has a number out of range (psn)"),
	({"mtu": 1025}, "has a number out of range (mtu)"),
)
# What a server answers, and the sentence about it.
ANSWERS: tuple[tuple[dict[str, object], str], ...] = (
	({"size": 99}, "has a number out of range (size)"),
	({"conns": 2}, "has a number out of range (conns)"),
	({"inflight": 9}, "has a number out of range (inflight)"),
	({"chunk": 1}, "has a number out of range (chunk)"),
)
# The same of what only counts without the CM.
OVER_TCP: tuple[tuple[dict[str, object], int, str], ...] = (
	({"mtu": 0}, PROTO, "has a number out of range (mtu)"),
	({"number": 0}, PROTO, "has a number out of range (queue pair)"),
	({"gid": bytes(15) + b"\1"}, errno.EOPNOTSUPP, "is not the one that the route leads to"),
)
HERE = {"number": 17, "mtu": 1024, "gid": bytes(10) + b"\xff\xff" + socket.inet_aton(ADDR)}


@suite.test("chunks to a server that no peer sends")
def to_server():
	for lines, sentence in LIES:
		for kind in (ONE_WAY, REQUEST):
			port, log = new_port(), Log()
			server = krping.serve(f"server,port={port},messenger")
			with Client(port) as peer:
				peer.connected().tell(*lines(kind))
				number = server.wait()
				assert number == PROTO, (sentence, name(number), log.text())
				log.expect(sentence)
				peer.thrown_out()


@suite.test("chunks to a client that no peer sends")
def to_client():
	for lines, sentence in LIES + (
			(lambda kind: (say(kind), say(kind, 1)), "replied to message number 1,"),
			(lambda kind: (END,), "ended its direction with 1 replies missing")):
		port, log = new_port(), Log()
		with Server(port) as peer:
			client = krping.Command(f"client,addr={ADDR},port={port},messenger,echo,size=100,"
						f"count=1,{TIMEOUT}")
			peer.meet()
			# It waits for the reply.
			peer.expect("^received 02")
			peer.tell(*lines(REPLY))
			number = client.wait()
			if sentence.startswith(("replied", "sent message number 0")):
				# One reply is what it waits for: it may have gone before the other.
				assert number in (PROTO, 0, errno.ETIMEDOUT), (name(number), log.text())
				continue
			assert number == PROTO, (sentence, name(number), log.text())
			log.expect(sentence)


@suite.test("replies to messages that ask for none")
def unasked():
	port, log = new_port(), Log()
	with Server(port) as peer:
		client = krping.Command(f"client,addr={ADDR},port={port},messenger,size=100,inflight=64,"
					f"duration=600,{TIMEOUT}")
		peer.meet()
		# Many are under way at any time.
		peer.expect("^received 01")
		peer.tell(say(REPLY))
		number = client.wait()
		assert number == PROTO, (name(number), log.text())
		log.expect("replied to message number 0,")


@suite.test("wrong bytes, at either side")
def wrong():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,validate")
	with Client(port) as peer:
		text = bytearray.fromhex(say(ONE_WAY)[5:])
		text[16 + 70] ^= 1
		peer.connected().tell(f"send {text.hex()}")
		assert server.wait() == errno.EBADMSG, log.text()
		log.expect("byte 70 is")


@suite.test("a chunk that is longer than the receives")
def longer():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,chunk=64")
	with Client(port, size=200) as peer:
		peer.connected().tell(say(ONE_WAY, size=200))
		number = server.wait()
		assert number == PROTO, (name(number), log.text())


@suite.test("private data of which no connection can be made, from a client and from a server")
def hellos():
	for changes, sentence in HELLOS:
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},messenger")
		with Client(port, **changes) as peer:
			peer.refused()
			assert server.wait() == PROTO, (changes, log.text())
			log.expect(sentence)
	for changes, sentence in ANSWERS:
		port, log = new_port(), Log()
		with Server(port) as peer:
			client = krping.Command(f"client,addr={ADDR},port={port},messenger,size=100,"
						f"{TIMEOUT}")
			peer.meet(**changes)
			number = client.wait()
			assert number == PROTO, (changes, name(number), log.text())
			log.expect(sentence)


@suite.test("tcp: descriptions of which no connection can be made, at either side")
def tcp_hellos():
	known = [(changes, PROTO, sentence) for changes, sentence in HELLOS]
	for changes, expected, sentence in known + list(OVER_TCP):
		port, log = new_port(), Log()
		server = krping.serve(f"server,port={port},messenger,tcp,{TIMEOUT}")
		with socket.create_connection((ADDR, port), 10) as stream:
			stream.sendall(bytes.fromhex(messenger_puppet.hello(**HERE | changes)))
			number = server.wait()
			assert number == expected, (changes, name(number), log.text())
			log.expect(sentence)
			assert stream.recv(1) == b"", changes
	known = [(changes, PROTO, sentence) for changes, sentence in ANSWERS]
	for changes, expected, sentence in known + list(OVER_TCP):
		log = Log()
		with socket.create_server((ADDR, 0)) as listener:
			port = listener.getsockname()[1]
			client = krping.Command(f"client,addr={ADDR},port={port},messenger,tcp,"
						f"size={SIZE},{TIMEOUT}")
			stream, _ = listener.accept()
			with stream:
				asked = stream.recv(56, socket.MSG_WAITALL)
				assert asked[32:48] == HERE["gid"], asked
				told = {"role": 2, "inflight": int.from_bytes(asked[48:50])} | HERE
				answer = messenger_puppet.hello(**told | changes)
				stream.sendall(bytes.fromhex(answer))
				number = client.wait()
		assert number == expected, (changes, name(number), log.text())
		log.expect(sentence)


@suite.test("tcp: clients that say little, or nothing, do not keep the others waiting")
def tcp_silent():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,tcp,persist,timeout={60000 * krping.SLOW}")
	with contextlib.ExitStack() as stack:
		for count in range(100):
			stream = socket.create_connection((ADDR, port), 10)
			stack.enter_context(stream)
			stream.sendall(bytes.fromhex(messenger_puppet.hello())[:count % 56])
		run_ok(f"client,addr={ADDR},port={port},messenger,tcp,conns=3,count=20,echo,validate,"
		       f"{TIMEOUT}")
	# They have gone, and the server says so of each.
	log.wait("a client was not served to its end")
	assert server.interrupt() == errno.EINTR


@suite.test("a peer that says nothing is given up at the deadline")
def silent():
	port = new_port()
	server = krping.serve(f"server,port={port},messenger,timeout={4000 * krping.SLOW}")
	with Client(port) as peer:
		peer.connected().tell(say(ONE_WAY, length=50))
		assert server.wait(60) == errno.ETIMEDOUT
	port = new_port()
	with Server(port) as peer:
		client = krping.Command(f"client,addr={ADDR},port={port},messenger,echo,size=100,"
					f"timeout={4000 * krping.SLOW}")
		peer.meet()
		assert client.wait(60) == errno.ETIMEDOUT


@suite.test("a client that makes fewer connections than it has said is given up at the deadline")
def missing():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,timeout={4000 * krping.SLOW}")
	with Client(port, conns=64) as peer:
		peer.connected().tell(say(ONE_WAY), END)
		# The server's end.
		peer.expect("^received $")
		peer.tell("disconnect")
		assert server.wait(60) == errno.ETIMEDOUT, log.text()
	log.expect("waiting for a client")


@suite.test("a client that ends and stays: its connection is taken down at the deadline")
def stays():
	port = new_port()
	server = krping.serve(f"server,port={port},messenger,timeout={4000 * krping.SLOW}")
	with Client(port) as peer:
		# Nothing counts behind the end of both directions.
		peer.connected().tell(say(REQUEST), END, say(9))
		assert server.wait(60) in (0, PROTO)
		peer.thrown_out()


@suite.test("one connection that lies ends a server, or with persist only itself")
def persists():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,persist,validate")
	good = f"client,addr={ADDR},port={port},messenger,conns=3,count=20,echo,validate,{TIMEOUT}"
	for _ in range(3):
		with Client(port) as peer, Client(port, conns=2) as other:
			peer.connected()
			other.connected().tell(say(REQUEST, length=30))
			peer.tell(say(REQUEST), say(7))
			run_ok(good)
			peer.thrown_out()
			other.tell(say(REQUEST, length=70, start=30))
			other.expect("^received 03")
	log.expect("wrong kind (0x07000000)")
	assert server.interrupt() == errno.EINTR


@suite.test("connections that have ended and stay keep no chunk from the others")
def idle():
	port = new_port()
	server = krping.serve(f"server,port={port},messenger,persist,chunks=4,"
			      f"timeout={60000 * krping.SLOW}")
	with Client(port) as one, Client(port) as two, Client(port) as three:
		for peer in (one, two, three):
			peer.connected().tell(END)
			# The server's end.
			peer.expect("^received $")
		run_ok(f"client,addr={ADDR},port={port},messenger,count=20,echo,validate,{TIMEOUT}")
	assert server.interrupt() == errno.EINTR


@suite.test("a flood of requests whose replies nobody takes")
def flood():
	port = new_port()
	server = krping.serve(f"server,port={port},messenger,chunks=16,timeout={6000 * krping.SLOW}")
	with Client(port, inflight=1) as peer:
		peer.connected()
		peer.tell(*(say(REQUEST, number) for number in range(300)))
		# Its 100 receives are taken at once, and it posts them again as it hears of them.
		peer.tell("disconnect")
		assert server.wait(60) in (errno.ECONNRESET, errno.ETIMEDOUT)


@suite.test("any lies, on either side, the same each time")
def random_lies():
	ends, arrived = collections.Counter(), 0
	for seed in range(1, 15 if krping.SLOW == 1 else 9):
		came, found = messenger_puppet.lie(seed, 40)
		arrived += came
		ends.update(found)
	diag(f"{arrived} messages arrived, {dict(ends)}")
	assert ends["EPROTO"] > 2, ends


suite.main()
