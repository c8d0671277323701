# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Messages over many connections, one pool of chunks and one dispatcher a side."""

import errno
import socket
import time

import krping
import messages
import network
from krping import ADDR, ADDR6, Command, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Skip, Suite
from messages import TIMEOUT

suite = Suite(check=messages.check)


def counted(found, sent, received, connections):
	"""The result FOUND says that so many messages were moved, and that no chunk is missing."""
	figures = found["messenger"]
	assert found["status"] == "ok" and found["test"] == "messenger", found
	assert (figures["sent"], figures["received"]) == (sent, received), found
	assert (figures["connections"], figures["lost_chunks"]) == (connections, 0), found
	assert figures["completions"] >= sent + received, found
	return figures


def loopback(size, count, options="", conns=1, echo=False, addr=f"addr={ADDR}"):
	"""COUNT messages of SIZE bytes on each connection, all compared. Returns both figures."""
	tag = new_tag()
	run_ok(f"loopback,{addr},messenger,size={size},count={count},conns={conns},validate,{TIMEOUT},"
	       f"tag={tag}{',echo' if echo else ''}{options}")
	client, server = krping.result(tag, "client"), krping.result(tag, "server")
	total = count * conns
	back = total if echo else 0
	moved = [found[f"{way}_bytes"] for found in (client, server) for way in ("send", "recv")]
	assert moved == [size * total, size * back, size * back, size * total], (client, server)
	assert client["iterations"] == server["iterations"] == total, (client, server)
	assert 0 < client["p50_ns"] <= client["p99_ns"] <= client["max_ns"], client
	return counted(client, total, back, conns), counted(server, back, total, conns)


def under_way():
	"""Wait until many messages were sent."""
	wait_for(lambda: any(line.counters.get("send_msgs", 0) > 100 for line in krping.lines()))


@suite.test("messages of a byte to 3 MiB arrive whole, one-way and with replies")
def sizes():
	for size, count in ((1, 200), (64, 200), (4096, 100), (16368, 20), (16369, 20), (3 << 20, 3)):
		for echo in (False, True):
			loopback(size, count, echo=echo)


@suite.test("1 to 256 connections share a pool, and each has its part")
def connections():
	for conns, count, words in ((2, 100, ""), (16, 30, ""), (64, 10, ""), (256, 3, ""),
				    (256, 3, ",inflight=64")):
		for figures in loopback(1000, count, words, conns=conns, echo=True):
			assert figures["measured"] == conns, figures
			# Of 256 on a slow machine one may well be below 1.
			least = 1 if conns == 2 else 0
			assert least <= figures["slowest_per_s"] <= figures["fastest_per_s"], figures


@suite.test("an idle connection takes less than 16 KiB of memory, with the device's part")
def memory():
	if krping.SLOW > 1:
		raise Skip("the debug kernel's objects are larger")
	taken = messages.memory_of_connection()
	assert 0 < taken < 16 * 1024, taken


@suite.test("runs so short that they may be over before the CM says that there is a connection")
def short():
	for _ in range(40):
		loopback(64, 2, conns=2, echo=True)


@suite.test("a batch has completions of several connections")
def batches():
	figures = loopback(64, 50, conns=64)[1]
	assert figures["batches"] < figures["completions"] / 2, figures
	assert figures["largest_batch"] > 8, figures


@suite.test("few chunks: connections wait for one, and are served in turn")
def exhaustion():
	for options in (",chunks=4", ",chunks=8,chunk=64", ",chunks=5,inflight=64"):
		client, server = loopback(500, 20, options, conns=8, echo=True)
		assert client["exhausted"] > 0 and client["exhausted_ns"] > 0, client
		assert server["chunks"] == client["chunks"] < 16, server


@suite.test("the device tells when few receives are posted")
def limit():
	figures = loopback(100, 50, ",chunks=16,inflight=64", conns=16)[1]
	assert figures["limit_events"] > 0, figures


@suite.test("chunks, messages under way, poll, spin=, mtu=, IPv6")
def options():
	for words in (",chunk=64", ",chunk=1M,chunks=8", ",inflight=1", ",inflight=1024", ",poll",
		      ",spin=50", ",mtu=256"):
		loopback(5000, 20, words, conns=3, echo=True)
	loopback(5000, 20, conns=2, addr=f"addr6={ADDR6}")


@suite.test("poll never sleeps, and without it the dispatcher does")
def sleeps():
	assert loopback(64, 50, ",poll", echo=True)[0]["sleeps"] == 0
	assert loopback(64, 50, echo=True)[0]["sleeps"] > 0


@suite.test("sides with chunks of different sizes, and a client of several threads")
def apart():
	for server, client, threads in ((",chunk=64", ",chunk=32K", 1), (",chunk=32K", ",chunk=64", 1),
					(",threads=3", ",threads=3", 3)):
		tag, port = new_tag(), new_port()
		run = krping.serve(f"server,port={port},messenger,validate,{TIMEOUT},tag={tag}{server}")
		run_ok(f"client,addr={ADDR},port={port},messenger,conns=4,size=3000,count=20,echo,"
		       f"validate,{TIMEOUT},tag={tag}{client}")
		assert run.wait() == 0
		results = krping.results(tag)
		assert sum(each["iterations"] for each in results) == 2 * 80 * threads, results
		assert all(each["messenger"]["lost_chunks"] == 0 for each in results), results


@suite.test("duration= ends behind whole messages")
def duration():
	for echo in ("", ",echo"):
		tag = new_tag()
		begun = time.monotonic()
		run_ok(f"loopback,addr={ADDR},messenger,conns=4,size=1000,duration=1,validate,{TIMEOUT},"
		       f"tag={tag}{echo}")
		assert time.monotonic() - begun >= 1
		client, server = krping.result(tag, "client"), krping.result(tag, "server")
		assert client["iterations"] == server["iterations"] > 0, (client, server)


def persisting(turns, at_once, words=""):
	"""Start a server that persists, and have it serve TURNS clients one after the other, and then
	AT_ONCE. Returns it, its port and tag, and the text of the clients."""
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,port={port},messenger{words},persist,validate,{TIMEOUT},tag={tag}")
	text = f"client,addr={ADDR},port={port},messenger{words},conns=3,count=20,echo,validate,{TIMEOUT}"
	for _ in range(turns):
		run_ok(text)
	clients = [Command(text) for _ in range(at_once)]
	assert [client.wait() for client in clients] == [0] * at_once
	return server, port, tag, text


@suite.test("a server that persists serves one client after the other, and many at a time")
def persists():
	server, port, tag, text = persisting(3, 4)
	# A client that is interrupted does not end it.
	client = Command(f"client,addr={ADDR},port={port},messenger,conns=3,echo,{TIMEOUT}")
	under_way()
	assert client.interrupt() == errno.EINTR
	run_ok(text)
	assert server.interrupt() == errno.EINTR
	served = krping.results(tag)
	assert sum(each["messenger"]["lost_chunks"] for each in served) == 0, served
	assert sum(each["iterations"] for each in served) >= 60 * 8, served


@suite.test("a client of many connections that is interrupted keeps no other client waiting")
def departure():
	port = new_port()
	server = krping.serve(f"server,port={port},messenger,persist,validate,{TIMEOUT}")
	text = f"client,addr={ADDR},port={port},messenger,echo,validate,{TIMEOUT}"
	other = Command(f"{text},conns=2,inflight=16")
	under_way()
	pairs = messages.pairs()
	many = Command(f"{text},conns=96")
	messages.wait_for_pairs(pairs + 2 * 96)
	under_way()
	assert many.interrupt() == errno.EINTR
	wait_for(lambda: messages.pairs() <= pairs)
	run_ok(f"{text},conns=3,count=20")
	# Had all waited for each of the connections, this one would have ended with ETIMEDOUT; on iWARP
	# with ECONNRESET, as nobody would have posted its receives.
	assert other.interrupt() == errno.EINTR
	assert server.interrupt() == errno.EINTR


@suite.test("a server that persists keeps nothing of connections that are gone")
def memory_of_departed():
	port, idle, conns, turns = new_port(), messages.pairs(), 64, 6
	server = krping.serve(f"server,port={port},messenger,persist,{TIMEOUT}")
	text = f"client,addr={ADDR},port={port},messenger,{TIMEOUT}"

	def turn(pairs, count):
		"""So many more clients come and go."""
		for _ in range(count):
			run_ok(f"{text},conns={conns},count=1")
		messages.wait_for_pairs(pairs)

	# A client that stays, and none: the pool stays, or goes each time.
	for stays in (True, False):
		other = Command(text) if stays else None
		if stays:
			under_way()
		turn(idle + 2 * stays, 1)
		before = messages.objects()
		turn(idle + 2 * stays, turns)

		def most(before=before):
			"""The cache of which there are most objects more, and how many."""
			return max(((name, count - before.get(name, 0))
				    for name, count in messages.objects().items()),
				   key=lambda each: each[1])
		# The CM itself keeps those that have ended for some seconds.
		wait_for(lambda most=most: most()[1] < conns * turns / 2, what=most)
		assert not other or other.interrupt() == errno.EINTR
	assert server.interrupt() == errno.EINTR


@suite.test("results of a server that persists count what came meanwhile, and its line all that has come")
def counters_of_departed():
	port, tag, idle = new_port(), new_tag(), messages.pairs()
	server = krping.serve(f"server,port={port},messenger,persist,{TIMEOUT},tag={tag}")
	for turn in range(1, 4):
		run_ok(f"client,addr={ADDR},port={port},messenger,size=100,conns=2,count={turn},echo,{TIMEOUT}")
		messages.wait_for_pairs(idle)
		wait_for(lambda: len(krping.results(tag)) == turn)
	moved = [[found[f"{way}_{what}"] for way in ("send", "recv") for what in ("msgs", "bytes")]
		 for found in krping.results(tag)]
	assert moved == [[2 * turn, 200 * turn] * 2 for turn in range(1, 4)], moved
	line, = krping.lines()
	assert line.counters == krping.traffic(send_msgs=12, send_bytes=1200, recv_msgs=12,
					       recv_bytes=1200), line
	assert server.interrupt() == errno.EINTR


def interruptions(options=""):
	"""An interrupted side ends with EINTR, the other one with ECONNRESET, and no chunk is lost."""
	for ends in ("client", "server"):
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,port={port},messenger,{TIMEOUT},tag={tag}{options}")
		client = Command(f"client,addr={ADDR},port={port},messenger,conns=8,echo,{TIMEOUT},"
				 f"tag={tag}{options}")
		under_way()
		if ends == "client":
			assert client.interrupt() == errno.EINTR
			assert server.wait() == errno.ECONNRESET
		else:
			assert server.interrupt() == errno.EINTR
			assert client.wait() == errno.ECONNRESET
		found = krping.results(tag)
		assert len(found) == 2, found
		assert all(each["messenger"]["lost_chunks"] == 0 for each in found), found


@suite.test("an interrupted client, and an interrupted server")
def interrupted():
	interruptions()


@suite.test("soft-RoCE's defect: a message that is cut off keeps its receive, so the pool runs out")
def receives_lost():
	port, posted = new_port(), 4

	def sent():
		"""Messages and bytes sent by each of the near end's threads."""
		return {line.thread: (line.counters["send_msgs"], line.counters["send_bytes"])
			for line in krping.lines() if line.device == "rxe8"}
	with network.Lab() as lab:
		server = krping.serve(f"server,addr={lab.FAR},port={port},messenger,persist,chunk=256K,"
				      f"chunks={2 * posted},{TIMEOUT}", lab.command)
		# The device of a client that has gone sends what its interface has, not the whole chunk.
		lab.narrow(20)
		text = f"client,addr={lab.FAR},port={port},messenger,echo,chunk=256K"
		stays = Command(f"{text},size=1,inflight=1,timeout={2000 * krping.SLOW}")
		under_way()
		thread, = sent()

		def goes_on():
			"""Whether its messages still arrive: of two, one was sent from now on."""
			before, _ = sent().get(thread, (0, 0))
			wait_for(lambda: not stays.is_alive() or sent().get(thread, (0, 0))[0] > before + 1)
			return stays.is_alive()
		# A client that ends between two messages has none cut off.
		for turn in range(8 * posted):
			client = Command(f"{text},size=1M,{TIMEOUT}")
			wait_for(lambda: any(count > 1 << 20 for _, count in sent().values()))
			assert client.interrupt() == errno.EINTR
			if turn + 1 >= posted and not goes_on():
				break
			assert stays.is_alive(), krping.name(stays.errno)
		else:
			raise AssertionError(f"{turn + 1} clients have gone, and there are still receives")
		assert stays.wait() == errno.ETIMEDOUT
		# Nobody is connected any more, so there is a new one.
		run_ok(f"{text},size=1M,count=2,{TIMEOUT}")
		assert server.interrupt() == errno.EINTR


@suite.test("a client without a server, and a server without a client")
def alone():
	port = new_port()
	run_fails(f"client,addr={ADDR},port={port},messenger,timeout=2000", errno.ECONNREFUSED, "reject")
	run_fails(f"server,port={port},messenger,timeout=500", errno.ETIMEDOUT, "waiting for a client")


@suite.test("servers of other protocols refuse it, and it refuses theirs")
def others():
	port = new_port()
	server = krping.serve(f"server,port={port}")
	run_fails(f"client,addr={ADDR},port={port},messenger", errno.ECONNREFUSED, "the server")
	assert server.wait() == errno.EOPNOTSUPP
	for text in ("", ",bw", ",stream"):
		port = new_port()
		server = krping.serve(f"server,port={port},messenger")
		number = krping.run(f"client,addr={ADDR},port={port},count=1{text}")
		assert number == errno.ECONNREFUSED, (text, number)
		assert server.wait() == errno.EPROTO, text


@suite.test("tcp: sides that meet without the CM exchange messages of all sizes, with replies and without")
def tcp_messages():
	for size, count in ((1, 200), (4096, 100), (16369, 20), (1 << 20, 3)):
		for echo in (False, True):
			loopback(size, count, ",tcp", echo=echo)
	for conns in (2, 16, 64):
		loopback(1000, 20, ",tcp", conns=conns, echo=True)
	for words in (",mtu=256", ",poll", ",chunks=4"):
		loopback(5000, 20, f",tcp{words}", conns=3, echo=True)
	loopback(5000, 20, ",tcp", conns=2, addr=f"addr6={ADDR6}")
	server, _, tag, _ = persisting(2, 3, ",tcp")
	assert server.interrupt() == errno.EINTR
	assert sum(each["iterations"] for each in krping.results(tag)) == 60 * 5, krping.results(tag)


@suite.test("tcp: an interrupted client, and an interrupted server")
def tcp_interrupted():
	interruptions(",tcp")


@suite.test("tcp: a side that meets by the CM and one that does not find nobody; a peer that is no krping")
def tcp_apart():
	for here, there, sentence in ((",tcp", "", "nothing listens on that port"),
					 ("", ",tcp", "connecting over TCP failed with ECONNREFUSED")):
		port = new_port()
		run = krping.serve(f"server,port={port},messenger,{TIMEOUT}{here}")
		run_fails(f"client,addr={ADDR},port={port},messenger,count=1,{TIMEOUT}{there}",
			  errno.ECONNREFUSED, sentence)
		assert run.interrupt() == errno.EINTR
	for said, sentence in ((b"", "the peer disconnected"),
				  (b"GET / HTTP/1.1\r\n" * 8, "the peer's private data")):
		port, log = new_port(), krping.Log()
		run = krping.serve(f"server,port={port},messenger,tcp,{TIMEOUT}")
		with socket.create_connection((ADDR, port), 10) as stream:
			if said:
				stream.sendall(said)
			else:
				stream.shutdown(socket.SHUT_WR)
			log.wait(f"a client was not served to its end: {sentence}")
			# It is let go, by a reset where not all was received, and the server waits for its
			# client.
			try:
				assert stream.recv(1) == b""
			except ConnectionResetError:
				assert said
		run_ok(f"client,addr={ADDR},port={port},messenger,tcp,count=1,{TIMEOUT}")
		assert run.wait() == 0, said
	# A peer that says nothing, or does not answer, keeps nobody longer than timeout=.
	port = new_port()
	run = krping.serve(f"server,port={port},messenger,tcp,timeout=4000")
	with socket.create_connection((ADDR, port), 10):
		assert run.wait() == errno.ETIMEDOUT
	with socket.create_server((ADDR, 0)) as listener:
		port = listener.getsockname()[1]
		run_fails(f"server,addr={ADDR},port={port},messenger,tcp", errno.EADDRINUSE, "binding")
		text = f"client,addr={ADDR},port={port},messenger,tcp"
		run_fails(f"{text},timeout=500", errno.ETIMEDOUT, "describe itself over TCP")
		listener.accept()[0].close()
		client = Command(f"{text},timeout=60000")
		listener.settimeout(60)
		with listener.accept()[0] as stream:
			# It has described itself, and waits for an answer.
			assert stream.recv(1)
			assert client.interrupt() == errno.EINTR
	# A client from elsewhere is refused.
	port = new_port()
	run = krping.serve(f"server,port={port},messenger,tcp,allow=192.0.2.77,{TIMEOUT}")
	run_fails(f"client,addr={ADDR},port={port},messenger,tcp,{TIMEOUT}", errno.ECONNRESET,
		  "disconnected")
	assert run.interrupt() == errno.EINTR


@suite.test("options that do not go together")
def refused():
	for words, sentence in (
			("server,messenger,conns=4", "conns is for the client or loopback"),
			("server,messenger,size=4", "size is for the client or loopback"),
			("server,messenger,echo", "echo is for the client or loopback"),
			(f"client,addr={ADDR},messenger,txdepth=4", "txdepth does not go with messenger"),
			(f"client,addr={ADDR},messenger,cq=pool", "cq does not go with messenger"),
			(f"client,addr={ADDR},messenger,conns=257", "conns=257: must be from 1 to 256"),
			(f"client,addr={ADDR},conns=2", "conns does not go with the ping/pong")):
		run_fails(words, errno.EINVAL if "=257" not in words else errno.ERANGE, sentence)


suite.main()
