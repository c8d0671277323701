# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""The client of streams, against the kernel's server and against rdma-core's rsocket."""

import errno
import signal

import krping
from krping import ADDR, ADDR6, Log, Program, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite
from streams import RSOCKET, sides

suite = Suite(check=krping.check)

PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
REASONS = ("queue_entry", "send_buffer", "credit", "ring_space")


def moved(found, received, sent):
	"""The result FOUND says that so many bytes were moved."""
	stream = found["stream"]
	assert (found["recv_bytes"], found["write_bytes"]) == (received, sent), found
	assert (stream["received_bytes"], stream["sent_bytes"]) == (received, sent), found
	assert (found["status"], found["test"]) == ("ok", "stream"), found
	assert found["write_msgs"] == stream["sent_msgs"], found


def loopback(size, count, options="", echo=False, addr=f"addr={ADDR}"):
	"""COUNT writes of SIZE bytes, compared at all ends."""
	client, server = sides(f",size={size},count={count},validate{',echo' if echo else ''}{options}",
			       addr)
	total = size * count
	moved(client, total if echo else 0, total)
	moved(server, total, total if echo else 0)
	assert (client["iterations"], client["size"]) == (count, size), client
	assert server["iterations"] == server["recv_msgs"] == client["write_msgs"], server
	return client, server


@suite.test("a source: sizes from a byte to 1 MiB arrive whole")
def source():
	for size, count in ((1, 500), (64, 500), (4097, 100), (65536, 50), (1 << 20, 10)):
		client, server = loopback(size, count)
		assert client["elapsed_ns"] > 0 and client["stream"]["sent_bytes_per_s"] > 0, client
		assert "p50_ns" not in client and "p50_ns" not in server, client


@suite.test("echo: each write comes back, and half of its time is the latency")
def echo():
	for size, count in ((1, 200), (64, 200), (4097, 50), (1 << 20, 5)):
		client, _ = loopback(size, count, echo=True)
		assert 0 < client["p50_ns"] <= client["p99_ns"] <= client["max_ns"], client
		assert client["mean_ns"] * 2 * count <= client["elapsed_ns"] * 1.01, client


@suite.test("buffers and queues of any size")
def sizes():
	for options in (",sbuf=2,rbuf=2", ",sbuf=5001,rbuf=7001,rqdepth=3,txdepth=2",
			",rqdepth=1,txdepth=1", ",sbuf=1M,rbuf=64K", ",rbuf=3,rqdepth=65534",
			",txdepth=500"):
		for back in (False, True):
			loopback(3001 // krping.SLOW, 2, options, echo=back)


@suite.test("poll, spin=, cq=pool, mtu=, threads=, IPv6")
def ways():
	for options in (",poll", ",spin=50", ",cq=pool", ",mtu=256"):
		loopback(5000, 50, options, echo=True)
	loopback(100, 50, echo=True, addr=f"addr6={ADDR6}")
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},stream,echo,validate,threads=3,count=100,tag={tag}")
	found = krping.results(tag)
	assert [each["iterations"] for each in found if each["role"] == "client"] == [100] * 3, found


@suite.test("reverse: the server sends, and the client compares")
def reverse():
	for size, count in ((1, 500), (4097, 100), (1 << 20, 10)):
		client, server = sides(f",size={size},count={count},validate,reverse")
		moved(client, size * count, 0)
		moved(server, 0, size * count)
		assert server["iterations"] == count and server["elapsed_ns"] > 0, server
	client, server = sides(",duration=1,size=1000,validate,reverse,poll")
	assert client["recv_bytes"] == 1000 * server["iterations"] > 0, client


@suite.test("coalesce: writes that wait go together, and arrive whole")
def coalesce():
	for size, count, options in ((1, 20000, ""), (64, 20000, ""), (1000, 3000, ",sbuf=5001,rbuf=7001"),
				     (64, 5000, ",rqdepth=1"), (64, 5000, ",txdepth=1,poll")):
		client, server = sides(f",size={size},count={count},validate,coalesce{options}")
		for found, received, sent in ((client, 0, size * count), (server, size * count, 0)):
			stream = found["stream"]
			assert (stream["received_bytes"], stream["sent_bytes"]) == (received, sent), found
			assert found["status"] == "ok", found
		assert client["iterations"] == count, client
		assert client["write_msgs"] == server["recv_msgs"] < count, client
	client, server = sides(",size=64,duration=1,validate,coalesce")
	assert server["recv_bytes"] == 64 * client["iterations"] > 64 * client["write_msgs"], client
	peer = Peer("receive=640000", "end", "close")
	found = peer.run(",size=64,count=10000,coalesce")
	assert found["stream"]["sent_bytes"] == 640000 and found["write_msgs"] < 10000, found
	peer.ended()


@suite.test("the time without a queue entry, buffer, credit or ring space is told")
def stalls():
	for reason, options in (("queue_entry", ",txdepth=1"), ("credit", ",rqdepth=1"),
				("send_buffer", ",size=100K,sbuf=4K"),
				("ring_space", ",size=100K,rbuf=4K")):
		client, server = sides(f",count=30{options}")
		told = client["stream"]["stalled_ns"]
		assert sorted(told) == sorted(REASONS), told
		assert 0 < told[reason] <= sum(told.values()) <= client["elapsed_ns"], (reason, told)
		assert not any(server["stream"]["stalled_ns"].values()), server


@suite.test("duration= ends it behind a write")
def duration():
	for options in ("", ",echo"):
		client, server = sides(f",duration=1,size=1000,validate{options}")
		assert client["write_bytes"] == 1000 * client["iterations"] > 0, client
		assert server["recv_bytes"] == client["write_bytes"], server


@suite.test("sides of which only one has echo")
def unlike():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},stream,echo")
	run_fails(f"client,addr={ADDR},port={port},stream,count=100", errno.EPROTO,
		  "bytes that were not asked for")
	server.wait()
	port = new_port()
	server = krping.serve(f"server,port={port},stream")
	run_fails(f"client,addr={ADDR},port={port},stream,echo,count=1,timeout=1000",
		  errno.ETIMEDOUT, "nothing happened for 1000 ms")
	assert server.wait() == errno.ECONNRESET, log.text()


@suite.test("servers of other protocols refuse it")
def refused():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port}")
	run_fails(f"client,addr={ADDR},port={port},stream,count=1", errno.ECONNREFUSED, "refused")
	assert server.wait() == errno.EOPNOTSUPP, log.text()


@suite.test("options that do not go together")
def options():
	for text, sentence in (
			("server,stream,size=4K", "size needs iomap"),
			("server,stream,iomap,echo", "iomap with echo needs poll"),
			("server,stream,count=4", "count needs reverse"),
			("server,stream,coalesce", "coalesce is for the client or loopback"),
			(f"client,addr={ADDR},stream,reverse,coalesce",
			 "coalesce and reverse are both given"),
			(f"client,addr={ADDR},stream,echo,coalesce", "coalesce and echo are both given"),
			(f"client,addr={ADDR},stream,iomap,coalesce", "coalesce and iomap are both given"),
			(f"client,addr={ADDR},stream,reverse,size=4K", "size and reverse are both given"),
			(f"client,addr={ADDR},stream,bw", "bw and stream are both given"),
			(f"client,addr={ADDR},echo", "echo does not go with the ping/pong"),
			(f"client,addr={ADDR},bw,rbuf=4K", "rbuf does not go with bw"),
			(f"client,addr={ADDR},stream,verbose", "verbose does not go with stream"),
			(f"client,addr={ADDR},stream,mem_mode=dma", "mem_mode does not go with")):
		run_fails(text, errno.EINVAL, sentence)
	for text in ("sbuf=1", "rbuf=1073741825", "rqdepth=0", "rqdepth=65535"):
		run_fails(f"client,addr={ADDR},stream,{text}", errno.ERANGE, text.partition("=")[0])
	run_fails(f"loopback,addr={ADDR},stream,count=1,rbuf=1G", errno.ERANGE, "the size is above")


# Peers in user space

class Peer:
	"""A server of rsocket that does STEPS with its client."""

	def __init__(self, *steps, program=(RSOCKET,)):
		self.port = new_port()
		self.program = Program(*program, "listen", str(self.port), *steps)
		wait_for(lambda: "listens" in self.program.output())

	def run(self, options, number=0, sentence=None, timeout=10000):
		"""Run a client with OPTIONS, which ends with the errno NUMBER."""
		tag = new_tag()
		text = f"client,addr={ADDR},port={self.port},stream,tag={tag}," \
		       f"timeout={timeout * krping.SLOW}{options}"
		if number:
			run_fails(text, number, sentence)
		else:
			run_ok(text)
		return krping.result(tag, "client")

	def gone(self):
		"""Wait for its end, good or not."""
		self.program.finish()

	def ended(self):
		"""It has done all of its steps."""
		status, output = self.program.finish()
		assert status == 0, output

	def waits(self):
		"""It waits for what does not come, until it is stopped."""
		status, output = self.program.stop()
		assert status == -signal.SIGTERM, output


@suite.test("rsocket's server takes what a source sends")
def to_rsocket():
	for size, count in ((1, 700), (4096, 100), (1 << 20, 5)):
		peer = Peer(f"receive={size * count}", "end", "close")
		moved(peer.run(f",size={size},count={count}"), 0, size * count)
		peer.ended()


@suite.test("rsocket's server sends back what comes, all compared at both ends")
def from_rsocket():
	for size, count in ((1, 300), (65, 100), (4096, 50), (131073, 10), (1 << 20, 3)):
		peer = Peer("echo", "close")
		moved(peer.run(f",size={size},count={count},echo,validate"), size * count,
		      size * count)
		peer.ended()


@suite.test("rstream's server: exchanges of 16 bytes, all compared at both ends")
def rstream():
	port = new_port()
	program = Program("rstream", "-p", str(port), "-S", "16", "-C", "1", "-I", "100", "-T", "v")
	wait_for(lambda: krping.listens(port))
	# One exchange goes before.
	run_ok(f"client,addr={ADDR},port={port},stream,echo,validate,size=16,count=101,"
	       f"timeout={20000 * krping.SLOW}")
	status, output = program.finish()
	assert status == 0 and "failed" not in output, output


@suite.test("rstream's server that expects one exchange more: the sentence says that it may")
def rstream_expects():
	port = new_port()
	program = Program("rstream", "-p", str(port), "-S", "16", "-C", "1", "-I", "100")
	wait_for(lambda: krping.listens(port))
	run_fails(f"client,addr={ADDR},port={port},stream,echo,size=16,count=100,"
		  f"timeout={2000 * krping.SLOW}", errno.ETIMEDOUT,
		  "waiting for the peer to end, which may expect more data: nothing happened for")
	program.stop(signal.SIGKILL)


@suite.test("a program of plain sockets under librspreload.so sends back what comes")
def preloaded():
	peer = Peer("echo", "close", program=("env", f"LD_PRELOAD={PRELOAD}", RSOCKET, "--plain"))
	moved(peer.run(",size=30000,count=20,echo,validate"), 600000, 600000)
	peer.ended()


@suite.test("reverse: rsocket's server sends, a program and a plain one")
def sources():
	for size in (1, 5000, 3 << 20):
		peer = Peer(f"send={size}", "shutdown", "end", "close")
		moved(peer.run(",reverse,validate"), size, 0)
		peer.ended()
	peer = Peer("send=100000", "close", program=("env", f"LD_PRELOAD={PRELOAD}", RSOCKET, "--plain"))
	moved(peer.run(",reverse,validate"), 100000, 0)
	peer.ended()
	peer = Peer("wrong=5000", "vanish")
	peer.run(",reverse,validate", errno.EBADMSG, "byte 5000 is")
	peer.gone()


@suite.test("a byte that comes back wrong is found")
def wrong():
	peer = Peer("receive=5000", "wrong=4097", "vanish")
	peer.run(",echo,validate,size=5000,count=1", errno.EBADMSG,
		 "byte 4097 is 0x00 instead of 0x01")
	peer.gone()


@suite.test("bytes that nobody asked for")
def unasked():
	peer = Peer("send=1", "receive=1", "vanish")
	peer.run(",size=1,duration=60", errno.EPROTO, "sent 1 bytes that were not asked for")
	# Where the client has found it before its first byte was sent, the server waits for that.
	peer.program.stop()


@suite.test("rsocket's server that waits does not see a client disconnect that has failed: its defect")
def unseen():
	peer = Peer("receive=100", "end")
	peer.run(",echo,size=100,count=1", errno.ETIMEDOUT, "nothing happened", 2000)
	krping.pass_time(2, "the server does not notice")
	peer.waits()


@suite.test("a server that stops while nothing is due is given up at the deadline")
def stopped():
	peer = Peer("receive=100000")
	client = krping.Command(f"client,addr={ADDR},port={peer.port},stream,size=1,rate=50,duration=20,"
				f"timeout={2000 * krping.SLOW}")
	wait_for(lambda: any(line.counters.get("write_msgs", 0) > 10 for line in krping.lines()))
	peer.program.send_signal(signal.SIGSTOP)
	assert client.wait() == errno.ETIMEDOUT
	peer.program.stop(signal.SIGKILL)


@suite.test("a server that ends or goes in the middle")
def gone():
	for steps in (("receive=100", "close"), ("receive=100", "vanish")):
		for options in (",echo,size=100,count=2", ",size=100K,duration=60"):
			peer = Peer(*steps)
			peer.run(options, errno.ECONNRESET, "disconnected")
			peer.gone()


@suite.test("a server that goes without a DISCONNECT: good once all has come back, not before")
def silent_end():
	peer = Peer("receive=100", "send=100", "vanish")
	moved(peer.run(",echo,validate,size=100,count=1"), 100, 100)
	peer.gone()
	# Nothing says that the last bytes of a direction were read.
	peer = Peer("receive=100", "vanish")
	peer.run(",size=100,count=1", errno.ECONNRESET, "disconnected")
	peer.gone()


@suite.test("an interrupted client ends its stream")
def interrupted():
	for options in ("", ",echo"):
		port = new_port()
		server = krping.serve(f"server,port={port},stream{options}")
		client = krping.Command(f"client,addr={ADDR},port={port},stream{options}")
		wait_for(lambda: any(line.counters.get("write_msgs", 0) > 100
				     for line in krping.lines()), 20)
		assert client.interrupt() == errno.EINTR
		assert server.wait() == errno.ECONNRESET


suite.main()
