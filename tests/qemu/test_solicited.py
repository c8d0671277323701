# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""solicited: who receives is woken by solicited messages only."""

import contextlib
import errno
import re
import struct

import krping
import network
import puppet
from krping import ADDR, Command, name, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite, diag
from microbench import Case, ceil, moving, warmup
from peer import CLIENT, private_data
from writing import slept

suite = Suite(check=krping.check)

TESTS = ("slat", "wlat", "sbw", "bw")
COUNT = 400 // krping.SLOW
# Events beside those of solicited data: two control messages, and two of the side's own, for
# each of which the device may still have to raise one when the next are asked for.
OTHERS = 6
# The number of sbw, the flag of solicited, and a size.
SBW, SOLICITED, SIZE = 8, 1 << 13, 64
TIMEOUT = 8000 * krping.SLOW
UNHEARD = "messages came, but none raised an event for [0-9]+ ms"


def case(test, **options):
	"""A run whose WRITEs have what they need to raise events."""
	words = ",".join(filter(None, ("solicited", options.pop("options", ""))))
	return Case(test, imm=test in ("wlat", "bw"), options=words, **options)


@suite.test("each test moves what it moves otherwise, and counts events")
def microbenchmarks():
	for test in TESTS:
		runs = [case(test, count=COUNT), case(test, count=COUNT, qps=3),
			case(test, count=COUNT, signal_every=1, options="txdepth=1"),
			case(test, count=COUNT, signal_every=1, options="sig_all"),
			case(test, count=COUNT, size=20000, sge=2)]
		if test.endswith("bw"):
			runs += [case(test, count=COUNT, postlist=16),
				 case(test, count=COUNT, postlist=64, signal_every=3),
				 case(test, count=COUNT, signal_every=1024),
				 case(test, count=COUNT, options="validate"),
				 case(test, count=COUNT, size=4096, options="validate=full")]
		for run in runs:
			if "validate=full" in run.options:
				# So that there is room for what is under way.
				run_ok(f"loopback,addr={ADDR},{run.text()}")
				continue
			client, servers = run.loopback()
			for found in (client, *servers):
				assert found["events"] > 0 and found["poll"] is False, found


@suite.test("WRITEs have immediate data without imm")
def immediate():
	for test in ("wlat", "bw"):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},solicited,count={COUNT},tag={tag}")
		for role in ("client", "server"):
			found = krping.result(tag, role)
			assert found["imm"] is True and found["recv_msgs"] > 0, found


@suite.test("one event for one message of signal_every=, and none for the others")
def moderated():
	for test in ("sbw", "bw"):
		for every in (16, 64, 256, 1024):
			count = 8 * every
			client, servers = case(test, count=count, signal_every=every,
					       options="txdepth=1024").loopback()
			total = count + warmup(SIZE, every)
			events = servers[0]["events"]
			diag(f"{test}, signal_every={every}: {events} events of {total} messages; "
			     f"the sender {client['events']}")
			assert 0 < events <= ceil(total, every) + OTHERS, (every, events)
	# The lists are those of the sender; what is solicited depends on signal_every= alone.
	_, servers = case("sbw", count=4096 // krping.SLOW, postlist=16).loopback()
	found = servers[0]
	assert found["events"] <= ceil(found["recv_msgs"], 16) + OTHERS, found


@suite.test("over unreliable queue pairs")
def unreliable():
	for service, test in (("uc", "slat"), ("uc", "wlat"), ("uc", "sbw"), ("uc", "bw"),
			      ("ud", "slat"), ("ud", "sbw")):
		for options in ("", ",qps=2", ",signal_every=1"):
			tag = new_tag()
			run_ok(f"loopback,addr={ADDR},{test},qp={service},solicited,count={COUNT},"
			       f"timeout={60000 * krping.SLOW},tag={tag}{options}")
			found = krping.result(tag, "client")
			assert found["status"] == "ok" and found["events"] > 0, found


@suite.test("a server does so for its client, whatever else it has been told")
def servers():
	for options in ("", ",poll", ",spin=20", ",cq=pool", ",srq=64"):
		for test in ("slat", "sbw"):
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,port={port},tag={tag}{options}")
			run_ok(f"client,addr={ADDR},port={port},{test},solicited,count={COUNT}")
			assert server.wait() == 0
			found = krping.result(tag, "server")
			assert found["events"] > 0 and "srq" not in found, found
	# And not for another.
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,sbw,solicited,port={port},tag={tag}")
	run_ok(f"client,addr={ADDR},port={port},sbw,count={COUNT}")
	assert server.wait() == 0
	assert "events" not in krping.result(tag, "server")


def hello(every=16):
	"""The private data of a client of sbw that is to solicit its messages."""
	alive = TIMEOUT // 3
	load = struct.pack(">HHIHHB3sII", 1, 0, 64, 1, every, 1, bytes(3), 0, alive)
	return private_data(role=CLIENT, test=SBW, flags=SOLICITED, size=SIZE, max_size=SIZE,
			    reserved=load)


def control(kind):
	"""A control message."""
	return (b"krpc" + bytes((kind, 0, 0, 0)) + bytes(16)).hex()


READY = control(1)
DATA = bytes(SIZE).hex()


def received():
	"""The number of messages that the server's one connection has looked at."""
	return [line.counters["recv_msgs"] for line in krping.lines() if line.device]


def wait_for_rest():
	"""Wait until nothing wakes the module's threads any more."""
	wait_for(lambda: krping.rests(slept, 0.3), what=slept)


def begin(client):
	"""Begin with the puppet CLIENT. After that no queue is armed for what the server has
	sent itself."""
	client.connected()
	client.tell(f"solicit {READY}")
	client.expect("^received 6b72706301")
	wait_for_rest()
	# This message may still have raised an event for that.
	client.tell(f"send {DATA}")
	wait_for(lambda: client.lines.count("done 0") == 2)
	wait_for_rest()


@suite.test("a message that is not solicited wakes nobody, and waits for one that is")
def waits():
	port = new_port()
	server = krping.serve(f"server,port={port},timeout={60000 * krping.SLOW}")
	with puppet.Client(port, hello()) as client:
		begin(client)
		# On a busy machine those before may be looked at so late that some of these are, too.
		for sent in range(2, 82, 8):
			before = received()
			client.tell(f"repeat 8 {DATA}")
			wait_for(lambda sent=sent: client.arrived() == sent + 8)
			krping.pass_time(0.5, "the server is not woken")
			if received() == before:
				break
		else:
			raise AssertionError(f"someone is always woken: {received()}, not {before}")
		assert before[0] <= sent, (before, sent)
		client.tell(f"solicit {DATA}")
		# With it all that have come before.
		wait_for(lambda: received() == [sent + 9])
		client.tell("disconnect")
		assert server.wait() == errno.ECONNRESET


@suite.test("a client that solicits nothing is told from one that says nothing")
def unheard():
	# At once, as each takes all of the timeout.
	waits = []
	with contextlib.ExitStack() as stack:
		for line, sentence in (
				(None, "waiting for the peer: nothing happened for [0-9]+ ms"),
				(f"send {READY}", UNHEARD),
				(f"repeat 8 {DATA}", UNHEARD),
				# A message that breaks the protocol is found then, too.
				(f"send {bytes(7).hex()}", "sent a message of 7 bytes")):
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,port={port},tag={tag},timeout={TIMEOUT}")
			client = stack.enter_context(puppet.Client(port, hello()))
			if line and DATA in line:
				begin(client)
			else:
				client.connected()
			waits.append((client, line, server, tag, sentence))
		# A server that is still awake takes what comes.
		wait_for_rest()
		for client, line, *_ in waits:
			client.tell(*filter(None, (line,)))
		for _, _, server, tag, sentence in waits:
			number = server.wait(timeout=60)
			wanted = errno.EPROTO if "7 bytes" in sentence else errno.ETIMEDOUT
			assert number == wanted, (sentence, name(number))
			found = krping.result(tag, "server")
			assert re.search(sentence, found["reason"]), found


@suite.test("a peer that leaves, and a signal, end a sleep")
def ends():
	for how in ("disconnect", "kill"):
		port = new_port()
		server = krping.serve(f"server,port={port}")
		with puppet.Client(port, hello()) as client:
			client.connected()
			client.tell(f"solicit {READY}")
			client.expect("^received ")
			if how == "disconnect":
				client.tell("disconnect")
		number = server.wait()
		assert number == errno.ECONNRESET, name(number)
	for test in TESTS:
		command = Command(f"loopback,addr={ADDR},{test},solicited,qps=2")
		wait_for(moving)
		assert command.interrupt() == errno.EINTR


@suite.test("the removal of the device ends a sleep")
def unplugged():
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port}")
	client = Command(f"client,addr={ADDR},port={port},slat,solicited")
	wait_for(lambda: moving(2))
	try:
		network.unplug()
		for command in (server, client):
			found = command.wait()
			assert found == errno.ENODEV, (command.text, name(found))
	finally:
		network.plug()


@suite.test("it is not for what does not wait so")
def refused():
	base = f"loopback,addr={ADDR},count=1"
	for text, sentence in (
			("sbw,solicited,poll", "poll and solicited are both given"),
			("sbw,solicited,spin=20", "spin and solicited are both given"),
			("sbw,solicited,cq=pool", "cq=pool and solicited are both given"),
			("sbw,solicited,duplex", "solicited and duplex are both given"),
			("sbw,solicited,srq=16", "solicited and srq are both given"),
			("rbw,solicited", "solicited does not go with rbw"),
			("solicited", "solicited does not go with the ping/pong")):
		run_fails(f"{base},{text}", errno.EINVAL, sentence)


if __name__ == "__main__":
	suite.main()
