# SPDX-License-Identifier: GPL-2.0
# guest: --transport siw
# debug: only
"""Streams on soft-iWARP, where a message is a SEND: between kernels, and with rsocket at either end."""

import errno

import krping
import streams
from krping import ADDR, Program, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite
from streams import RSOCKET, TIMEOUT, program

suite = Suite(check=krping.check)

STREAM = f"stream,validate,unsafe_global_rkey,{TIMEOUT}"


def sides(options):
	"""The results of both sides of a loopback with OPTIONS."""
	found = streams.sides(f",validate,unsafe_global_rkey,{options}")
	assert all(each["transport"] == "iWARP" for each in found), found
	return found


@suite.test("a source, an echo, and the server's direction")
def kernels():
	for size, count in ((1, 100), (4097, 30), (1 << 20, 2)):
		for way, ends in (("", (0, 1)), (",echo", (1, 1)), (",reverse", (1, 0))):
			client, server = sides(f"size={size},count={count}{way}")
			total = size * count
			assert (client["recv_bytes"], client["write_bytes"]) \
				== (ends[0] * total, ends[1] * total), client
			assert (server["write_bytes"], server["recv_bytes"]) \
				== (ends[0] * total, ends[1] * total), server


@suite.test("buffers and queues of any size, poll, spin=")
def sizes():
	for options in ("sbuf=2,rbuf=2", "sbuf=5001,rbuf=7001,rqdepth=3,txdepth=2",
			"rqdepth=1,txdepth=1", "rbuf=3", "poll", "spin=50"):
		sides(f"size=33,count=2,echo,{options}")


@suite.test("direct writes")
def direct():
	for options in ("", ",echo,poll"):
		client, _ = sides(f"iomap,size=5000,count=20{options}")
		assert client["stream"]["direct_bytes"] == 100000, client


@suite.test("either side needs the key of all memory")
def refused():
	sentence = "tells of its memory before that can be registered"
	run_fails(f"client,addr={ADDR},stream,port={new_port()}", errno.EOPNOTSUPP, sentence)
	port = new_port()
	server = krping.serve(f"server,port={port},stream")
	run_fails(f"client,addr={ADDR},{STREAM},port={port}", errno.ECONNREFUSED, "rejected")
	assert server.wait() == errno.EOPNOTSUPP


@suite.test("rstream's client, all compared at both ends")
def rstream():
	for size in (64, 65536):
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,port={port},{STREAM},echo,tag={tag}")
		done = program("rstream", "-s", ADDR, "-p", str(port), "-T", "v", "-S", str(size),
			       "-C", "1", "-I", "5", timeout=250)
		assert not done.returncode and not done.stderr and "custom" in done.stdout, done
		assert server.wait(60) == 0
		assert krping.result(tag, "server")["recv_bytes"] == 16 + 5 * size


@suite.test("rsocket's server: it sends back, takes, and sends first")
def server():
	for steps, options, moved in (
			(("echo",), "size=5000,count=10,echo", (50000, 50000)),
			(("receive=50000", "end"), "size=5000,count=10", (0, 50000)),
			(("send=50000", "shutdown", "end"), "reverse", (50000, 0))):
		port, tag = new_port(), new_tag()
		there = Program(RSOCKET, "listen", str(port), *steps, "close")
		wait_for(lambda there=there: "listens" in there.output())
		run_ok(f"client,addr={ADDR},port={port},{STREAM},tag={tag},{options}")
		found = krping.result(tag, "client")
		assert (found["recv_bytes"], found["write_bytes"]) == moved, found
		status, output = there.finish()
		assert status == 0, output


suite.main()
