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
from pathlib import Path

import block
import krping
import messenger_puppet
import network
import puppet
from krping import ADDR, Command, Log, name, new_port, new_tag, run_ok, wait_for
from ktap import Suite

suite = Suite(check=block.check)
puppet.PUPPET.build()

# Lines that pass in each interval of so many seconds.
BURST, INTERVAL = 10, 5
# Bytes of a message of which a hog asks for the reply.
LARGE = 40000
CHUNK = 4096
PATIENT = f"timeout={60000 * krping.SLOW}"


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
	good = f"client,addr={ADDR},port={port},messenger,tcp,count=20,echo,validate,timeout={10000 * krping.SLOW}"
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


suite.main()
