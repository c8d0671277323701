# SPDX-License-Identifier: GPL-2.0
"""Peers of krping that misbehave: peer.c.

	server = peer.server(port, "on=sink", "scribble=3:0x20:1")
	assert run(f"client,addr={ADDR},port={port},count=1,validate") == errno.EBADMSG
	peer.end(server, "status 10 of request")
"""

import re
import struct

import krping
from compiled import Compiled
from krping import ADDR, Program

PEER = Compiled("krping-peer")

MAGIC = 0x6b727067
REJECT_MAGIC = 0x6b727072
CLIENT, SERVER = 1, 2
PINGPONG, FASTREG = 1, 2
DMA, REG = 1, 2
SERVER_INV, READ_INV, VALIDATE, BINARY_DATA = 1, 2, 4, 8


def client(port, *options, addr=ADDR, before=()):
	"""A client of the server on PORT. BEFORE is what shall run it."""
	return Program(*before, PEER.build(), "client", addr, str(port), *options)


def server(port, *options):
	"""A server for one client, which listens already."""
	program = Program(PEER.build(), "server", ADDR, str(port), *options)
	krping.wait_for(lambda: "listening" in program.output() or program.poll() is not None)
	assert program.poll() is None, program.output()
	return program


def end(program, *seen, status=0, timeout=15):
	"""Wait for PROGRAM's end with STATUS. It must have printed what matches each
	regular expression of SEEN."""
	found, output = program.finish(timeout)
	assert found == status, f"the peer ended with {found}, not {status}: {output}"
	for each in seen:
		assert re.search(each, output), f"the peer saw no {each!r}: {output}"
	return output


def private_data(role=CLIENT, magic=MAGIC, version=1, test=PINGPONG, mem_mode=DMA, flags=0,
		 size=64, count=0, seed=0, max_size=0, reserved=bytes(24)):
	"""A krping's private data, as the hexadecimal digits that the peer takes."""
	return (struct.pack(">IBBBBIIQII", magic, version, role, test, mem_mode, flags, size,
			    count, seed, max_size) + reserved).hex()


def reject_data(reason, value=0, version=1, magic=REJECT_MAGIC):
	"""What a krping says when it refuses, as hexadecimal digits."""
	return struct.pack(">IBBHII", magic, version, reason, 0, value, 0).hex()
