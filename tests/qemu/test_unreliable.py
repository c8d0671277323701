# SPDX-License-Identifier: GPL-2.0
"""Unreliable queue pairs: qp=uc and qp=ud. Messages may be lost, which is counted, and
what arrives is what was sent."""

import contextlib
import errno
import time

import compiled
import krping
import network
from krping import ADDR, DEVICE, Program, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite, diag
from microbench import amid, moving, warmup

suite = Suite(check=krping.check)

SENDS = ("slat", "sbw")
# The tests that each has.
CASES = [("uc", test) for test in ("wlat", "slat", "bw", "sbw")] + [("ud", test) for test in SENDS]
# With the warm-up more than there are receives at a time.
COUNT = 64
# The network device's 1500 bytes hold 1024 of data, the next smaller power of two.
PATH = 1024
QKEY = "0x01234567"
# Opcodes of packets: the service, and parts of a message.
UC, SEND_MIDDLE, WRITE_MIDDLE = 0x20, 0x01, 0x07
STRANGER = compiled.Compiled("krping-stranger")


def figures(found, service, sent):
	"""The result FOUND is of a run over SERVICE with SENT messages, all of which are
	accounted for. Returns its figures."""
	assert (found["status"], found["qp"]) == ("ok", service), found
	loss = found["loss"]
	assert loss["sent"] == sent, (sent, loss)
	if "arrived" in loss:
		assert loss["arrived"] + loss["lost"] == sent and loss["arrived"] > 0, loss
	return loss


def loopback(service, test, size, options="", qps=1, count=COUNT):
	"""The figures of the client and of the servers of a loopback."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},{test},qp={service},size={size},count={count},qps={qps},"
	       f"timeout={20000 * krping.SLOW},tag={tag}{options and ','}{options}")
	servers = wait_for(lambda: len(found := [each for each in krping.results(tag)
						 if each["role"] == "server"]) == qps and found)
	client = krping.result(tag, "client")
	every = 1 if "sig_all" in options else 16
	sent = count + warmup(size, every)
	assert client["iterations"] == count * qps, client
	said = figures(client, service, sent * qps)
	told = [figures(server, service, sent) for server in servers]
	for key in ("arrived", "lost", "late", "repeated"):
		# WRITEs without immediate data are noticed by nobody.
		assert (key in said) == all(key in each for each in told), (said, told)
		assert key not in said or said[key] == sum(each[key] for each in told), (key, said, told)
	if test.endswith("lat") and "arrived" in said:
		assert said["lost"] == 0, said
	return said, told


@suite.test("each test moves its messages, and none is unaccounted for")
def each():
	for service, test in CASES:
		for size in (1, 64, PATH):
			# One size has all options, others those that look at the data's memory or copy it.
			for options in ("", "poll", "inline", "spin=50", "cq=pool", "sig_all", "untimed"):
				if (options == "inline" and size > 64) or \
				   (options == "untimed" and test.endswith("bw")) or \
				   (options not in ("", "poll", "inline") and size != 64):
					continue
				said, _ = loopback(service, test, size, options)
				quiet = test == "bw" or (test == "wlat" and options == "poll")
				assert ("arrived" in said) != quiet, (test, options, said)


@suite.test("several queue pairs, lists, pieces of memory, and long messages of uc")
def several():
	for service, test in CASES:
		loopback(service, test, 1000, "sge=3", qps=3)
		if test.endswith("bw"):
			loopback(service, test, 1000, "postlist=8,signal_every=16", qps=2)
	for test in ("bw,imm", "sbw", "slat", "wlat"):
		loopback("uc", test, 65536, count=16)


@suite.test("what arrives is compared, each message too")
def compared():
	for service in ("uc", "ud"):
		for size in (1, 24, 64, 1000, PATH):
			for options in ("validate,pattern=text", "validate=full"):
				loopback(service, "sbw", size, options)
		# With full each message has data of its own, whatever the pattern.
		for size in (24, PATH):
			for options in ("validate,pattern=binary", "validate=full,cq=pool"):
				loopback(service, "sbw", size, options)
	loopback("uc", "sbw", 65536, "validate=full", count=16)
	for size, count in ((64, COUNT), (65536, 16)):
		said, _ = loopback("uc", "bw", size, "validate", count=count)
		assert "arrived" in said, said


@suite.test("a datagram is one packet: more than the path MTU is refused before anything is connected")
def packets():
	sentence = "the size is above %u bytes, the path MTU, and a datagram is one packet"
	for mtu in (256, 512, PATH):
		for test in SENDS:
			run_ok(f"loopback,addr={ADDR},{test},qp=ud,size={mtu},mtu={mtu},count=10")
			tag = new_tag()
			run_fails(f"client,addr={ADDR},port={new_port()},{test},qp=ud,size={mtu + 1},"
				  f"mtu={mtu},count=10,tag={tag}", errno.ERANGE, sentence % mtu)
	run_ok(f"loopback,addr={ADDR},slat,qp=uc,size={PATH + 1},count=10")


@suite.test("a server with a shared receive queue has receives of its own for these")
def beside_shared():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,addr={ADDR},port={port},threads=3,srq=16,tag={tag}")
	for service in ("rc", "uc", "ud"):
		run_ok(f"client,addr={ADDR},port={port},sbw,qp={service},size=64,count={COUNT},"
		       "validate=full")
	assert server.wait() == 0
	assert ["srq" in found for found in krping.results(tag)] == [True, False, False]


def ready_datagrams(device=DEVICE):
	"""The numbers, as text, of the queue pairs of DEVICE that send and receive datagrams."""
	return [str(each["lqpn"]) for each in krping.ready_pairs("UD", device)]


@suite.test("datagrams of strangers are counted, and change nothing")
def strangers():
	program = STRANGER.build()
	for test, size in (("slat", 64), ("sbw", 256)):
		validate = ",validate=full" if test == "sbw" else ""
		words = f"loopback,addr={ADDR},{test},qp=ud,size={size}{validate}"

		def send(run, size=size):
			found = wait_for(lambda: (len(found := ready_datagrams()) == 2 and found)
					 or not run.is_alive())
			# Those with a wrong Q_Key do not even arrive.
			for qkey in (QKEY, "0x7654321") if run.is_alive() else ():
				status, output = Program(program, DEVICE, ADDR, "50", str(size), qkey,
							 *found).finish()
				assert status == 0, output
		tag = amid(lambda seconds, tag, words=words: krping.Command(
			f"{words},duration={seconds},tag={tag}"), send, seconds=2)
		client, server = (krping.result(tag, role)["loss"] for role in ("client", "server"))
		diag(f"{test}: {client} {server}")
		assert 0 < client["foreign"] + server["foreign"] <= 100, (client, server)
		assert client["repeated"] == 0, client


@suite.test("neither side takes strangers, or its own datagrams, for signs of its peer")
def kept():
	program = STRANGER.build()
	with network.Lab() as lab:
		port, tag = new_port(), new_tag()
		timeout = f"timeout={2000 * krping.SLOW}"
		server = krping.serve(f"server,addr={lab.NEAR},port={port},tag={tag},{timeout}")
		client = lab.command(f"client,addr={lab.NEAR},port={port},sbw,qp=ud,size=64,count=0,"
				     f"{timeout}")
		wait_for(lambda: moving(1))
		found = ready_datagrams("rxe8")
		assert len(found) == 1, found
		stranger = Program(program, "rxe8", lab.NEAR, "200000", "64", QKEY, *found)
		wait_for(lambda: len(ready_datagrams("rxe8")) == 2, what=stranger.output)
		lab.cut()
		# Its client's keepalive interval is a third of that.
		assert server.wait(20) == errno.ETIMEDOUT
		assert stranger.poll() is None, "it did not send to the end"
		foreign = krping.result(tag, "server")["loss"]["foreign"]
		assert foreign > 100, foreign
		assert client.wait(20) == errno.ETIMEDOUT
		stranger.stop()
		lab.mend()


@contextlib.contextmanager
def far(options="", each=0):
	"""Within, another host on whose link something is wrong, and a server there. Either end loses
	one in EACH packets of UC."""
	with network.Lab() as lab, lab.lose_each(each, UC, 0xe0) if each else contextlib.nullcontext():
		# A connection takes seconds more for each message of the CM that is lost.
		timeout = "timeout=120000"
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,port={port},persist,tag={tag},{timeout}", lab.command)
		lab.disturb(options)

		def run(text):
			own = new_tag()
			run_ok(f"client,addr={lab.FAR},port={port},{text},{timeout},tag={own}")
			return krping.result(own, "client")
		try:
			yield run
		finally:
			lab.calm()
			assert server.interrupt() == errno.EINTR


@suite.test("messages that the network loses are counted, and no error")
def lost():
	with far("loss 10%") as run:
		for service, test, size in (("uc", "bw,imm", PATH), ("uc", "sbw,validate=full", 64),
					    ("ud", "sbw,validate=full", PATH)):
			found = run(f"{test},qp={service},size={size},count=600")
			loss = figures(found, service, 600 + warmup(size, 16))
			# 10%, and what a receiver is too slow for.
			assert 30 < loss["lost"] < loss["sent"], (service, test, loss)
		# Long ones of many packets are lost more often.
		found = run("sbw,qp=uc,size=16K,count=120,validate=full")
		assert found["loss"]["lost"] > 100, found["loss"]


def answered_at_last(run, words):
	"""RUN a latency of WORDS, of which messages are lost and sent again."""
	start = time.monotonic()
	found = run(f"{words},size=64,count=40,signal_every=1")
	diag(f"{words}: {found['loss']} {found['p50_ns']} {time.monotonic() - start:.0f} s")
	assert found["iterations"] == 40, found
	assert found["loss"]["unanswered"] > 0, found["loss"]
	# What was sent again is not timed.
	timed = sum(count for _, _, count in found["histogram_ns"])
	assert timed < 40 and found["max_ns"] < 200_000_000, found


@suite.test("a latency goes on where its messages are lost")
def unanswered():
	with far("loss 10%") as run:
		for service, test in CASES:
			if not test.endswith("lat"):
				continue
			answered_at_last(run, f"{test},qp={service}")
	# Polling goes on while nothing comes, and costs. So no more is lost than must be.
	with far(each=30) as run:
		for test in ("wlat", "slat"):
			answered_at_last(run, f"{test},qp=uc,poll")


@suite.test("a latency that nothing answers any more ends, although the peer is there")
def all_lost():
	with network.Lab() as lab, lab.lose(UC, 0xe0):
		for test in ("slat", "wlat", "wlat,poll"):
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,port={port},tag={tag}", lab.command)
			run_fails(f"client,addr={lab.FAR},port={port},{test},qp=uc,size=64,count=0,"
				  f"timeout={2000 * krping.SLOW},tag={tag}", errno.ETIMEDOUT,
				  r"no message was answered for \d+ ms.*: all are lost")
			assert server.wait() == errno.ECONNRESET
			assert krping.result(tag, "client")["loss"]["unanswered"] > 1


def arrived():
	"""Messages that all threads have received."""
	return sum(line.counters["recv_msgs"] for line in krping.lines())


# What soft-RoCE lacks, for which the other tests have short WRITEs where messages are lost.
@suite.test("soft-RoCE takes no WRITE any more after a part of a long one was lost; SENDs go on")
def part_lost():
	with network.Lab() as lab:
		for test, opcode, timeout in (("slat", SEND_MIDDLE, 60000), ("wlat", WRITE_MIDDLE, 4000)):
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,port={port},tag={tag}", lab.command)
			client = krping.Command(f"client,addr={lab.FAR},port={port},{test},qp=uc,size=16K,"
						f"count=0,timeout={timeout * krping.SLOW},tag={tag}")
			wait_for(lambda: moving(1, warmup(16384, 16) + 10))
			with lab.lose(UC | opcode):
				# A message has 14 of these packets.
				wait_for(lambda: lab.has_lost(15), 20, "parts of two messages to be lost")
			if test == "slat":
				before = arrived()
				wait_for(lambda before=before: arrived() > before + 100)
				assert client.interrupt() == errno.EINTR
			else:
				assert client.wait() == errno.ETIMEDOUT
			assert server.wait() == errno.ECONNRESET
			loss = krping.result(tag, "client")["loss"]
			assert loss["unanswered"] > 0, (test, loss)


@suite.test("messages that come twice or late are counted, and compared all the same")
def strange_order():
	with far("delay 2ms duplicate 20%") as run:
		loss = run("sbw,qp=ud,size=64,count=600,validate=full")["loss"]
		assert loss["repeated"] > 50, loss
		run("slat,qp=ud,size=64,count=50")
		run("slat,qp=uc,size=64,count=50")
	with far("delay 5ms reorder 50% 50%") as run:
		loss = run("sbw,qp=ud,size=64,count=600,validate=full")["loss"]
		assert loss["late"] > 50 and loss["repeated"] == 0, loss


@suite.test("a signal ends it, and leaves nothing")
def interrupted():
	for service, test in CASES:
		run = krping.Command(f"loopback,addr={ADDR},{test},qp={service},size=64,count=0")
		wait_for(lambda: moving(least=20))
		assert run.interrupt() == errno.EINTR
		krping.check()


if __name__ == "__main__":
	suite.main()
