# SPDX-License-Identifier: GPL-2.0
# time: real (threads spin on CPUs of their own)
"""spin=: a thread polls, and sleeps where nothing comes."""

import errno
import glob
import re

import krping
import network
import peer
from krping import ADDR, Command, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite
from microbench import BANDWIDTH, LATENCY

suite = Suite(check=krping.check)

SPINS = (1, 50, 1000000)


def states():
	"""The states of krping's threads that have a connection's work, by their numbers."""
	found = {}
	for path in glob.glob("/proc/[0-9]*/stat"):
		try:
			with open(path, encoding="utf-8", errors="replace") as file:
				text = file.read()
		except OSError:
			continue
		thread = re.match(r"\d+ \(krping/(\d+)\) (\w) ", text)
		if thread:
			found[int(thread[1])] = thread[2]
	return found


@suite.test("ping/pong, each side in its own way")
def pingpong():
	for spin in SPINS:
		for options in ("", ",mem_mode=reg,server_inv", ",size=64K", ",threads=3"):
			tag = new_tag()
			run_ok(f"loopback,addr={ADDR},spin={spin},count=100,validate{options},tag={tag}")
			clients = [one for one in krping.results(tag) if one["role"] == "client"]
			assert [one["iterations"] for one in clients] == [100] * len(clients)
			assert len(clients) == (3 if "threads" in options else 1), clients
	for ours, theirs in (("spin=1", "poll"), ("poll", "spin=20"), ("spin=20", "timeout=10000")):
		port = new_port()
		server = krping.serve(f"server,port={port},{theirs}")
		run_ok(f"client,addr={ADDR},port={port},{ours},count=100,validate")
		assert server.wait() == 0


@suite.test("microbenchmarks do what they do otherwise")
def microbenchmarks():
	for test in (*LATENCY, *BANDWIDTH):
		for options in ("spin=1", "spin=50,qps=3", "spin=1000000"):
			tag = new_tag()
			run_ok(f"loopback,addr={ADDR},{test},{options},count=200,tag={tag}")
			found = krping.result(tag, "client")
			assert found["iterations"] == (600 if "qps" in options else 200), found
			assert found["poll"] is False and "spin=" in found["options"], found


@suite.test("a thread that finds nothing sleeps, once its time has passed; with poll it does not")
def sleeps():
	for option, slept in (("spin=1", True), ("spin=1000", True), ("poll", False)):
		port = new_port()
		server = peer.server(port, "stop=connected", "how=silent")
		command = Command(f"client,addr={ADDR},port={port},timeout=600000,{option}")
		# It waits for the answer to its first message.
		wait_for(lambda: any(line.counters.get("send_msgs") for line in krping.lines()))
		thread = max(states())
		if slept:
			wait_for(lambda thread=thread: states()[thread] == "S")
		else:
			seen = {states()[thread] for _ in range(20)}
			assert seen == {"R"}, seen
		assert command.interrupt() == errno.EINTR
		server.finish()


@suite.test("a peer that leaves, and a deadline, end a sleep")
def ends():
	port = new_port()
	server = krping.serve(f"server,port={port},spin=1")
	client = peer.client(port, "stop=connected", "how=disconnect")
	assert server.wait() == 0
	client.finish()
	port = new_port()
	server = peer.server(port, "stop=connected", "how=silent")
	run_fails(f"client,addr={ADDR},port={port},spin=1,count=1,timeout=5000", errno.ETIMEDOUT,
		  "waiting for the peer")
	server.finish()


@suite.test("the removal of the device ends a sleep")
def unplugged():
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},spin=1")
	# Its server hears nothing but keepalives.
	client = Command(f"client,addr={ADDR},port={port},fr")
	wait_for(lambda: len([line for line in krping.lines() if line.device]) >= 2)
	try:
		network.unplug()
		for command in (server, client):
			found = command.wait()
			assert found == errno.ENODEV, (command.text, krping.name(found))
	finally:
		network.plug()


@suite.test("it is not for what does not wait so, and not with poll")
def refused():
	base = f"loopback,addr={ADDR},count=1"
	for number in (0, 1000001):
		run_fails(f"{base},spin={number}", errno.ERANGE, "must be from 1 to 1000000")
	for text, sentence in (
			(f"{base},poll,spin=5", "poll and spin are both given"),
			(f"client,caps,addr={ADDR},spin=5", "spin does not go with caps"),
			("server,blk,store=ram,size=1M,spin=5", "spin does not go with blk")):
		run_fails(text, errno.EINVAL, sentence)


if __name__ == "__main__":
	suite.main()
