# SPDX-License-Identifier: GPL-2.0
"""A client keeps 80% of its rate beside others that take all that they can get of its server.

Rates are operations in a time that is counted in instructions, as this file runs by virtual time.
"""

import contextlib
import errno
import os
import socket
import time

import krping
import messenger_puppet
import network
import puppet
from hogs import CHUNK, LARGE, ask, wlat
from krping import ADDR, new_port, new_tag, result, run_ok, wait_for
from ktap import Suite

suite = Suite(check=krping.check)
puppet.PUPPET.build()

KEPT = 0.8
MIB = 1 << 20
# Connections that a server serves at a time.
MOST = 1024
# And requests of theirs that may wait for it.
BACKLOG = 128
PAGE = 4096
# Milliseconds for which clients may wait for their time.
WAIT_MS = 600000
# Milliseconds for which hogs may say nothing.
ALIVE = 50000


def rate(text):
	"""Operations in a second of the client that TEXT describes: the median of three runs."""
	rates = []
	for _ in range(3):
		tag = new_tag()
		run_ok(f"{text},tag={tag}")
		rates.append(result(tag, "client")["iterations_per_s"])
	return sorted(rates)[1]


@contextlib.contextmanager
def fair(options, client):
	"""A server with OPTIONS, whose CLIENT keeps its rate while what the body has brought is there."""
	port = new_port()
	server = krping.serve(f"server,port={port},persist{options}")
	client = f"client,addr={ADDR},port={port},{client}"
	with contextlib.ExitStack() as stack:
		alone = rate(client)
		yield port, stack
		beside = rate(client)
		print(f"# {client}: {alone} alone, {beside} beside the others", flush=True)
		assert beside >= KEPT * alone, (alone, beside)
	assert server.interrupt() == errno.EINTR


@suite.test("threads that spin: 16 clients that have one each and say nothing")
def spinning():
	with fair("", "wlat,poll,count=3000") as (port, stack):
		for _ in range(16):
			stack.enter_context(puppet.Client(port, wlat(ALIVE))).connected().pause()


def available():
	"""Bytes of memory that are."""
	with open("/proc/meminfo", encoding="ascii") as file:
		return 1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))


def taken(size):
	"""Bytes that a server of wlat takes for a client: two buffers of SIZE, and seven pages besides."""
	return 2 * -(-size // PAGE) * PAGE + 7 * PAGE


@suite.test("memory: as many large buffers as the server gives, without max_memory=")
def memory():
	# Little is available when the server begins, so half of that is soon taken; then there is more.
	room, place, log = 200 * MIB, "/tmp/filled", krping.Log()
	os.mkdir(place)
	network.call("mount", "-t", "tmpfs", "-o", "size=100%", "filled", place)
	with contextlib.ExitStack() as filled:
		filled.callback(os.rmdir, place)
		filled.callback(network.call, "umount", place)
		with open(f"{place}/file", "wb") as file:
			os.posix_fallocate(file.fileno(), 0, available() - room)
		with fair("", "count=1000,validate") as (port, stack):
			filled.close()
			given = 0
			for _ in range(room // (2 * MIB)):
				peer = stack.enter_context(puppet.Client(port, wlat(ALIVE, 2 * MIB)))
				if peer.expect("^(connected|rejected)")[1] == "rejected":
					break
				given += taken(2 * MIB)
				peer.pause()
			else:
				raise AssertionError("all of them were given memory")
			said = log.wait("connections have left of the ([0-9]+) bytes of max_memory")
			left = int(said[1]) - given
			# There is room for it, but no buffer may take more than half of what is left.
			peer = puppet.Client(port, wlat(ALIVE, min((left - 64 * 1024) // 2, 2 * MIB)))
			stack.enter_context(peer).expect("^rejected")
			while left > 256 * 1024:
				peer = puppet.Client(port, wlat(ALIVE, left // 4))
				stack.enter_context(peer).connected().pause()
				left -= taken(left // 4)


@suite.test("chunks: 12 clients that take none of the replies that they ask for")
def chunks():
	with fair(",messenger,chunks=64,timeout=60000",
		  "messenger,count=2000,echo,size=100,inflight=1") as (port, stack):
		for _ in range(12):
			hello = messenger_puppet.hello(size=LARGE, chunk=CHUNK, inflight=2)
			peer = stack.enter_context(puppet.Client(port, hello, receives=0)).connected()
			wanted = sum(ask(peer, number) for number in range(2))
			wait_for(lambda peer=peer, wanted=wanted: peer.arrived() >= wanted,
				 what=peer.output)
			peer.pause()


@suite.test("connections: 48 that say nothing, and 140 over TCP")
def silent():
	with fair("", "count=1000,validate") as (port, stack):
		for _ in range(48):
			stack.enter_context(puppet.Client(port, "00")).connected().pause()
	with fair(",messenger,tcp,timeout=60000",
		  "messenger,tcp,count=2000,echo,size=100,inflight=1") as (port, stack):
		for _ in range(140):
			stack.enter_context(socket.create_connection((ADDR, port), 10))


@suite.test("connections: all that a server takes but one, which wait for their time")
def most():
	log = krping.Log()
	with fair(f",timeout={WAIT_MS}", "count=1000,validate") as (port, stack):
		text = f"client,addr={ADDR},port={port},count=1,timeout={WAIT_MS}," \
		       f"start_at={time.time_ns() + WAIT_MS * 10**6}"

		def waiting(threads, pairs):
			"""Have THREADS clients connect: then there are so many PAIRS of queue pairs."""
			command = krping.Command(f"{text},threads={threads}")
			wait_for(lambda: not command.is_alive() or len(krping.ready_pairs()) == 2 * pairs,
				 300, what=lambda: f"{len(krping.ready_pairs())} queue pairs")
			assert command.is_alive(), krping.name(command.errno)
			return command
		for there in range(0, MOST - 1, BACKLOG):
			more = min(BACKLOG, MOST - 1 - there)
			stack.callback(waiting(more, there + more).interrupt)
		last = waiting(1, MOST)
		number = krping.run(f"client,addr={ADDR},port={port},count=1")
		assert number == errno.ECONNREFUSED, krping.name(number)
		log.expect("the peer refused: the server is busy")
		last.interrupt()
		wait_for(lambda: len(krping.ready_pairs()) == 2 * (MOST - 1), 300)


suite.main()
