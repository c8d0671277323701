# SPDX-License-Identifier: GPL-2.0
# debug: yes
# oldest: yes
"""Streams of rsocket: rdma-core's rstream, and its library, against the kernel's server."""

import errno

import krping
from krping import ADDR, Log, new_port, new_tag, run_fails
from ktap import Suite
from streams import RSOCKET, program

suite = Suite(check=krping.check)


def client(port, *steps):
	"""Run a client with STEPS against PORT."""
	done = program(RSOCKET, ADDR, str(port), *steps)
	assert done.returncode == 0, done.stderr


def rstream(port, *options):
	"""Run rstream against PORT, with every byte that comes back verified."""
	done = program("rstream", "-s", ADDR, "-p", str(port), "-T", "v", *options)
	# It exits with 0 whatever happens.
	assert not done.returncode and not done.stderr, (done.returncode, done.stderr)
	assert "failed" not in done.stdout and "custom" in done.stdout, done.stdout


class Server:
	"""A server with OPTIONS."""

	def __init__(self, options=""):
		self.tag, self.port = new_tag(), new_port()
		timeout = 20000 * krping.SLOW
		self.command = krping.serve(f"server,port={self.port},stream,timeout={timeout},"
					    f"tag={self.tag}{options}")

	def ended(self, received, sent):
		"""It has moved so many bytes, and ended well."""
		assert self.command.wait(60) == 0
		found = krping.result(self.tag, "server")
		assert (found["status"], found["test"]) == ("ok", "stream"), found
		assert (found["recv_bytes"], found["write_bytes"]) == (received, sent), found
		assert found["iterations"] == found["recv_msgs"] > 0, found

	def failed(self, number):
		"""It has ended with the errno NUMBER."""
		found = self.command.wait(60)
		assert found == number, krping.name(found)


def echoes(size, count, *options):
	"""COUNT exchanges of SIZE bytes with rstream."""
	server = Server(",echo,validate")
	rstream(server.port, "-S", str(size), "-C", "1", "-I", str(count), *options)
	# One exchange of 16 bytes goes before.
	total = 16 + size * count
	server.ended(total, total)


for each in (1, 65, 4096, 65535, 131072, 131073, 1 << 20):
	suite.test(f"rstream: {each} bytes there and back, all compared at both ends")(
		lambda each=each: echoes(each, 10 if each < 1 << 20 else 2))


@suite.test("reverse: rsocket's client takes what the server sends")
def reverse():
	for size, count in ((1, 700), (4096, 100), (1 << 20, 5)):
		server = Server(f",reverse,size={size},count={count}")
		client(server.port, f"receive={size * count}", "end", "close")
		assert server.command.wait(60) == 0
		found = krping.result(server.tag, "server")
		assert (found["recv_bytes"], found["write_bytes"]) == (0, size * count), found
		assert found["iterations"] == count, found


@suite.test("rstream: blocking, and with poll()")
def ways():
	echoes(5000, 10, "-T", "b")
	echoes(5000, 10, "-T", "a")


@suite.test("rstream: small buffers of its own, so that its ring wraps all the time")
def small():
	echoes(3000, 20, "-B", "1500")


@suite.test("a sink takes all, and the end of its client's direction ends it")
def sink():
	server = Server(",validate")
	# The server has nothing to send.
	client(server.port, "send=1", "send=100000", "send=3", "send=300000", "send=262144",
	       "shutdown", "end", "close")
	server.ended(662148, 0)


@suite.test("an echo sends all back, though its client has ended its direction")
def half_closed():
	server = Server(",echo,validate")
	client(server.port, "send=200000", "shutdown", "receive=200000", "end", "close")
	server.ended(200000, 200000)


@suite.test("more messages than a count of 16 bits has")
def wraps():
	server = Server(",validate")
	# A message of a byte takes a credit as any other.
	count = 66000 // krping.SLOW
	client(server.port, f"single={count}", "close")
	server.ended(count, 0)


@suite.test("a byte that is wrong is found")
def wrong():
	server, log = Server(",validate"), Log()
	client(server.port, "wrong=4097", "vanish")
	server.failed(errno.EBADMSG)
	log.wait(r"data mismatch in iteration [0-9]+: byte 4097 is 0x00 instead of 0x01, 1 wrong")


@suite.test("a client that disappears ends its stream with ECONNRESET")
def disappears():
	server = Server()
	client(server.port, "send=1", "vanish")
	server.failed(errno.ECONNRESET)


@suite.test("the first byte of private data tells protocols apart")
def apart():
	server, log = Server(), Log()
	run_fails(f"client,addr={ADDR},port={server.port},count=1", errno.ECONNREFUSED,
		  "the peer refused")
	server.failed(errno.EPROTO)
	log.wait("private data of version 107 of rsocket's protocol")
	port = new_port()
	other = krping.serve(f"server,port={port}")
	assert program(RSOCKET, ADDR, str(port), "send=1").returncode
	assert other.wait() == errno.EOPNOTSUPP
	log.wait("the client speaks rsocket's protocol, which 'stream' serves")


suite.main()
