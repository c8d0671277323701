# SPDX-License-Identifier: GPL-2.0
"""Peers that take all that they can get of a server, while its other clients are served as before:
threads that spin, silence, chunks, TCP connections and lines in the log.
"""

import contextlib
import errno
import os
import re
import socket
import struct
import time

import block
import krping
import messenger_puppet
import network
import puppet
from hogs import CHUNK, LARGE, ask, wlat
from krping import ADDR, Command, Log, name, new_port, new_tag, run_ok, wait_for
from ktap import Suite
from messenger_puppet import REQUEST, say
from writing import slept

suite = Suite(check=block.check)
puppet.PUPPET.build()

# Lines that pass in each interval of so many seconds.
BURST, INTERVAL = 10, 5
PATIENT = f"timeout={60000 * krping.SLOW}"


# Threads that spin, and silence

@suite.test("of clients whose servers' threads are to spin no more do than there are other CPUs")
def spinning():
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},persist")
	most = max(1, (os.cpu_count() or 1) - 1)
	with contextlib.ExitStack() as stack:
		for _ in range(8):
			stack.enter_context(puppet.Client(port, wlat(20000))).connected()
		wait_for(lambda: len(krping.lines()) == 9, what=krping.lines)
		before = slept()
		# One of the threads listens, and sleeps all the time.
		sleeping = 8 - most

		def restless():
			now = slept()
			return sum(now[thread] > count + 5 for thread, count in before.items()) >= sleeping
		wait_for(restless, 30, lambda: f"before {before}, now {slept()}")
		run_ok(f"loopback,addr={ADDR},count=200,validate")
		run_ok(f"client,addr={ADDR},port={port},count=100,wlat,poll")
	assert server.interrupt() == errno.EINTR


@suite.test("the server limits for how long a client may be silent, whatever that announces")
def silence():
	port, log = new_port(), Log()
	server = krping.serve(f"server,addr={ADDR},port={port},persist,silence={3000 * krping.SLOW}")
	with puppet.Client(port, wlat(2000 * krping.SLOW)) as peer:
		peer.connected().thrown_out()
	log.wait(f"nothing happened for {3000 * krping.SLOW} ms")
	with puppet.Client(port, wlat(1200000)) as peer:
		peer.refused()
	log.wait("the client may be silent for 1200000 ms, longer than the")
	run_ok(f"client,addr={ADDR},port={port},count=100,wlat,poll,timeout={3000 * krping.SLOW}")
	assert server.interrupt() == errno.EINTR


# Chunks

def thrown_out(peer):
	"""Whether the server has ended the connection of PEER."""
	return any(re.search(puppet.THROWN_OUT, line) for line in peer.lines)


@suite.test("clients that take no replies leave chunks to the others, and are thrown out in time")
def chunks():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,chunks=32,persist,"
			      f"timeout={10000 * krping.SLOW}")
	good = (f"client,addr={ADDR},port={port},messenger,count=20,echo,size=100,validate,"
		f"timeout={20000 * krping.SLOW}")
	hello = messenger_puppet.hello(size=LARGE, chunk=CHUNK, inflight=1)
	with contextlib.ExitStack() as stack:
		peers = [stack.enter_context(puppet.Client(port, hello, receives=0)).connected()
			 for _ in range(2)]
		for peer in peers:
			ask(peer)
			wait_for(lambda peer=peer: peer.arrived() >= 10, what=peer.output)
		client, at = Command(good), 0
		# They go on to say something, and take nothing.
		while client.is_alive() or not all(map(thrown_out, peers)):
			assert client.is_alive() or not client.errno, log.text()
			for peer in peers:
				if not thrown_out(peer):
					peer.tell(say(REQUEST, 1, 1, at, size=LARGE))
			if client.is_alive():
				assert not any(map(thrown_out, peers)), "the client had to wait"
			at += 1
			krping.pass_time(0.1, "the pace at which they ask")
			assert at < 600 * krping.SLOW, "they are never thrown out"
		assert client.wait() == 0, log.text()
	log.wait("waiting for the peer to post receives")
	run_ok(good)
	assert server.interrupt() == errno.EINTR


# TCP

def stranger(port, said, reset=False):
	"""Connect to PORT over TCP, say SAID and close the connection, in order or not."""
	with socket.create_connection((ADDR, port), 10) as stream:
		if reset:
			stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		stream.sendall(said)


def strangers(port):
	"""All kinds of those who do not want messages."""
	hello = bytes.fromhex(messenger_puppet.hello())
	for said in (b"", b"GET / HTTP/1.1\r\n" * 8, b"\x16\x03\x01\x02\x00", hello[:30]):
		for reset in (False, True):
			stranger(port, said, reset)


@suite.test("tcp: strangers who connect and close end nothing")
def scanned():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},messenger,tcp,threads=2,{PATIENT}")
	strangers(port)
	first = Command(f"client,addr={ADDR},port={port},messenger,tcp,echo,size=100,duration=2,{PATIENT}")
	wait_for(lambda: any(line.counters for line in krping.lines()))
	strangers(port)
	assert first.wait() == 0, log.text()
	strangers(port)
	run_ok(f"client,addr={ADDR},port={port},messenger,tcp,count=20,echo,validate,{PATIENT}")
	assert server.wait() == 0, log.text()
	log.expect("a client was not served to its end: ")


@suite.test("tcp: more silent strangers than may wait: the oldest go, and clients are served")
def silent_strangers():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,port={port},messenger,tcp,persist,tag={tag},{PATIENT}")
	good = (f"client,addr={ADDR},port={port},messenger,tcp,count=20,echo,validate,"
		f"timeout={10000 * krping.SLOW}")
	with contextlib.ExitStack() as stack:
		streams = [stack.enter_context(socket.create_connection((ADDR, port), 10))
			   for _ in range(140)]
		for _ in range(5):
			run_ok(good)
		# It is told, and the newest is not.
		streams[0].settimeout(30 * krping.SLOW)
		assert streams[0].recv(1) == b""
		streams[-1].setblocking(False)
		try:
			raise AssertionError(f"it was told {streams[-1].recv(1)!r}")
		except BlockingIOError:
			pass
	assert server.interrupt() == errno.EINTR


@suite.test("tcp: a server without clients ends with its device: ENODEV")
def device_gone():
	with network.Lab() as lab:
		port, log = new_port(), Log()
		server = krping.serve(f"server,addr={lab.NEAR},port={port},messenger,tcp,persist")
		lab.unplug_near()
		try:
			found = server.wait(20)
		finally:
			lab.plug_near()
		assert found == errno.ENODEV, name(found)
		log.expect("the RDMA device was removed")


# Lines

def lines_of(log, sentence):
	"""The lines that say SENTENCE, and the number of those that are counted only."""
	counted = re.findall(r"([0-9]+) lines about peers suppressed", log.text())
	return sum(sentence in line for line in log.lines()), sum(map(int, counted))


@suite.test("lines about what clients' queues are lowered to are rate limited and counted")
def lowered():
	count, log, begun, port = 40, Log(), time.monotonic(), new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},txdepth=65536,persist")
	for _ in range(count):
		run_ok(f"client,addr={ADDR},port={port},count=1")
	assert server.interrupt() == errno.EINTR
	# Of each interval that has begun.
	most = BURST * (int((time.monotonic() - begun) / INTERVAL) + 2)
	said, suppressed = lines_of(log, "txdepth=65536 lowered")
	assert said <= most and said + suppressed >= count, (said, most, suppressed)
	if most < count:
		assert suppressed


# Reconnecting

@suite.test("a disk whose server drops each connection waits longer and longer before the next")
def dropped():
	rounds, log, port = 11, Log(), new_port()
	with puppet.Server(port) as server:
		client = Command(f"client,blk,addr={ADDR},port={port},detach")
		server.accept(puppet.geometry())
		wait_for(lambda: block.numbers() == [0])
		begun = time.monotonic()
		for _ in range(rounds):
			server.tell("disconnect")
			server.accept(puppet.geometry())
		took = time.monotonic() - begun
		assert block.stop(0, force=True) == 0
		assert client.wait() == 0, log.text()
	# Half of 50, 100, 200, 400, 800 and 1600 ms and four times 2 s: the first goes without.
	assert took > 5.5, f"{rounds} connections in {took:.1f} s"


suite.main()
