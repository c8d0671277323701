# SPDX-License-Identifier: GPL-2.0
"""validate=full: each message of a bandwidth test is compared."""

import errno
import itertools
import struct

import krping
import peer
import puppet
from krping import ADDR, Command, new_port, new_tag, run_fails, run_ok
from ktap import Suite
from microbench import warmup

suite = Suite(check=krping.check)

TESTS = ("bw", "rbw", "sbw")
SEND_BW, READ_BW = 8, 7
VALIDATE, FULL = 4, 256
SIZE, SEED = 64, 7
MASK = (1 << 64) - 1
GOLDEN, STEP = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03


def mix(x):
	"""The output of SplitMix64 for its state number X."""
	x = x * GOLDEN & MASK
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
	x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
	return x ^ x >> 31


def message(number, seed=SEED):
	"""The data of message NUMBER."""
	key = mix(seed) + number * GOLDEN
	return b"".join(struct.pack("<Q", key + i * STEP & MASK) for i in range(SIZE // 8))


def control(kind, body):
	"""A control message, in hexadecimal."""
	return (b"krpc" + bytes([kind, 0, 0, 0]) + body).hex()


@suite.test("all sizes, loads and ways to wait, and both sides at once")
def loads():
	sizes = (1, 7, 24, 64, 4099, 65536, 131072)
	for test, size in itertools.product(TESTS, sizes):
		run_ok(f"loopback,addr={ADDR},{test},size={size},count=150,validate=full")
	for test, options in itertools.product(TESTS, (
			"poll", "spin=5", "duplex", "qps=3,duplex,poll", "txdepth=1,signal_every=1",
			"postlist=4,signal_every=3", "postlist=8", "sge=3", "threads=2")):
		run_ok(f"loopback,addr={ADDR},{test},size=1000,count=500,{options},validate=full")
	for test in ("bw", "sbw"):
		run_ok(f"loopback,addr={ADDR},{test},inline,count=300,validate=full")


@suite.test("the result says so, and each WRITE is a message")
def told():
	for test in TESTS:
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},count=200,validate=full,tag={tag}")
		found = krping.result(tag, "client")
		assert ",validate=full" in found["options"], found
		assert found["imm"] is (test == "bw"), found
		server = krping.result(tag, "server")
		arrived = 0 if test == "rbw" else 200 + found["warmup"]
		assert server["recv_msgs"] == arrived + 2, server


def sender(port, count):
	"""A client that has told the server at PORT that it is ready to send COUNT messages."""
	load = struct.pack(">HHIHHB3xII", 1, 0, 16, 1, 1, 1, 0, 1000)
	private = peer.private_data(test=SEND_BW, flags=VALIDATE | FULL, size=SIZE, count=count,
				    seed=SEED, reserved=load)
	client = puppet.Client(port, private)
	client.connected()
	client.tell("send " + control(1, bytes(16)))
	client.expect("^received 6b72706301")
	return client


def swapped(messages, at):
	"""MESSAGES of which two are exchanged."""
	messages[at:at + 2] = messages[at + 1], messages[at]


def doubled(messages, at):
	"""MESSAGES of which one comes again in place of the next."""
	messages[at] = messages[at - 1]


def torn(messages, at):
	"""MESSAGES of which one ends as the next does."""
	messages[at] = messages[at][:40] + messages[at + 1][40:]


def changed(messages, at):
	"""MESSAGES of which one has a wrong bit."""
	messages[at] = messages[at][:63] + bytes([messages[at][63] ^ 1])


def lost(messages, at):
	"""MESSAGES of which one is missing, and a later one comes twice."""
	del messages[at]
	messages.append(messages[-1])


@suite.test("messages that are wrong, torn, lost, doubled or exchanged are named")
def wrong_messages():
	count = 20
	total = warmup(SIZE, 1) + count
	for wrong, offset in ((None, 0), (changed, 63), (torn, 40), (lost, 0), (doubled, 0),
			      (swapped, 0)):
		for at in (5, total - 3):
			port, tag = new_port(), new_tag()
			server = Command(f"server,addr={ADDR},port={port},tag={tag}")
			krping.wait_for(lambda port=port: krping.listens(port))
			messages = [message(number) for number in range(total)]
			if wrong:
				wrong(messages, at)
			with sender(port, count) as client:
				client.tell(*(f"send {each.hex()}" for each in messages),
					    "send " + control(3, struct.pack(">QQ", count, 1000)))
				done = client.expect("^received 6b72706303(..)")[1]
				client.tell("disconnect")
				found = server.wait()
			assert done == ("01" if wrong else "00"), (wrong, done)
			assert found == (errno.EBADMSG if wrong else 0), (wrong, krping.name(found))
			if wrong:
				reason = krping.result(tag, "server")["reason"]
				expected = f"data mismatch in iteration {at}: byte {offset} is"
				assert reason.startswith(expected), (wrong, reason)


@suite.test("READs that bring what is elsewhere are named")
def wrong_reads():
	for wrong in (None, 3, 63):
		port, tag = new_port(), new_tag()
		with puppet.Server(port) as server:
			command = Command(f"client,addr={ADDR},port={port},rbw,count=10,txdepth=4,"
					  f"validate=full,tag={tag}")
			request = bytearray.fromhex(server.expect("^request ([0-9a-f]+)")[1])
			request[5] = 2
			seed = struct.unpack(">I", request[24:28])[0]
			server.tell(f"accept {bytes(request[:56]).hex()}")
			addr, key = server.memory()
			places = [message(number, seed) for number in range(64)]
			if wrong is not None:
				places[wrong] = places[(wrong + 1) % 64]
			server.tell(f"put 0 {b''.join(places).hex()}")
			server.expect("^received 6b72706301")
			server.tell("send " + control(1, struct.pack(">QII", addr, key, 4096)))
			server.expect("^received 6b72706303")
			server.tell("send " + control(3, bytes(16)))
			found = command.wait()
		if wrong is None:
			assert found == 0, krping.name(found)
			continue
		assert found == errno.EBADMSG, krping.name(found)
		reason = krping.result(tag, "client")["reason"]
		assert reason.startswith(f"data mismatch in iteration {wrong}: byte 0 is"), reason


@suite.test("what it does not go with, and what an old server says")
def refused():
	base = f"loopback,addr={ADDR},count=1,validate=full"
	for option, sentence in (
			("", "validate=full does not go with the ping/pong; it is for bw, rbw or sbw"),
			("slat", "validate does not go with slat"),
			("abw", "validate=full does not go with abw; it is for bw, rbw or sbw"),
			("bw,size=128K", None),
			("bw,size=64K,signal_every=9",
			 "8 messages of size=65536 under way at most; lower postlist or signal_every")):
		text = f"{base},{option}" if option else base
		if sentence:
			run_fails(text, errno.EINVAL, sentence)
		else:
			run_ok(text)
	run_fails(f"{base},bw,size=131073", errno.ERANGE,
		  "size is above 131072 bytes, the most with validate=full")
	run_fails(f"loopback,addr={ADDR},bw,count=1,validate=half", errno.EINVAL,
		  "validate=half: must be full")


if __name__ == "__main__":
	suite.main()
