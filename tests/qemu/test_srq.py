# SPDX-License-Identifier: GPL-2.0
"""Shared receive queues of servers: srq=."""

import errno
import os
from pathlib import Path

import age
import krping
import network
from krping import ADDR, Command, Log, new_port, new_tag, rdma, run, run_fails, run_ok, wait_for
from ktap import Suite, diag
from microbench import TESTS, Case, moving

suite = Suite(check=krping.check)

CLIENTS = 64
MESSAGES = 200 // krping.SLOW


def queues():
	"""The shared receive queues that krping has."""
	return [each for each in rdma("resource", "show", "srq")
		if each.get("comm", "").strip("[]") == "krping"]


def serves(options):
	"""A server with OPTIONS, its port and its tag."""
	port, tag = new_port(), new_tag()
	return krping.serve(f"server,addr={ADDR},port={port},tag={tag},{options}"), port, tag


def shared(found, **wanted):
	"""The result FOUND has figures of a shared receive queue, with those that are WANTED."""
	figures = found["srq"]
	assert {key: figures[key] for key in wanted} == wanted, (wanted, figures)
	return figures


@suite.test("each microbenchmark moves what it moves, and says what it shares")
def microbenchmarks():
	for test in TESTS:
		client, servers = Case(test, count=50, options="srq=32").loopback()
		assert "srq" not in client, client
		shared(servers[0], receives=32, limit=16, room=64, connections=1)
	for polling in ("poll", "spin=50"):
		run_ok(f"loopback,addr={ADDR},slat,count=50,size=4096,srq=32,{polling}")


@suite.test("all of several connections, in both directions, take receives of one queue")
def together():
	for test, options in (("sbw", {"duplex": True}), ("slat", {}), ("bw", {"imm": True})):
		_, servers = Case(test, count=100, qps=4, options="srq=64", **options).loopback()
		for each in servers:
			assert 1 <= shared(each, receives=64)["connections"] <= 4, each


@suite.test("what arrives is compared, each message too")
def validated():
	for validate in ("validate", "validate=full"):
		for size in (1, 64, 5000, 65536):
			run_ok(f"loopback,addr={ADDR},sbw,size={size},count=50,srq=32,{validate}")
	run_ok(f"loopback,addr={ADDR},sbw,size=64,count=500,duplex,qps=3,srq=32,validate=full")


@suite.test("the device tells that few are posted, and they are posted again")
def refilled():
	count = 5000 // krping.SLOW
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},sbw,size=64,count={count},srq=64,tag={tag},timeout=60000")
	found = krping.result(tag, "server")
	figures = shared(found, receives=64)
	# All that came took a receive; those of the end may not be posted again.
	assert found["recv_msgs"] - 64 <= figures["reposted"] <= found["recv_msgs"], found
	assert 0 < figures["refills"] <= figures["reposted"], figures
	# It tells so each time; some are posted after a pause, unasked.
	assert 2 * figures["limit_events"] > figures["refills"], figures


@suite.test("fewer receives than messages under way: senders repeat, and nothing is lost")
def scarce():
	for options in ("sbw,qps=4", "sbw,qps=2,duplex", "slat,qps=4", "bw,imm,qps=2"):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{options},size=64,count={MESSAGES},srq=2,timeout=60000,"
		       f"tag={tag}" + (",validate=full" if options.startswith("sbw") else ""))
		found = krping.result(tag, "client")["hw_counters"]
		assert found["send_rnr_err"] > 0 and found["rcvd_rnr_err"] > 0, found


@suite.test("the counters of the device say what it has sent, and only what has moved")
def device_counters():
	def now():
		path = f"/sys/class/infiniband/{krping.DEVICE}/ports/1/hw_counters"
		found = {}
		for name in os.listdir(path):
			with open(f"{path}/{name}", encoding="ascii") as file:
				found[name] = int(file.read())
		return found
	before, tag = now(), new_tag()
	run_ok(f"loopback,addr={ADDR},sbw,size=64,count=1000,tag={tag}")
	after = now()
	for role in ("client", "server"):
		found = krping.result(tag, role)["hw_counters"]
		assert all(0 < by <= after[name] - before[name] for name, by in found.items()), found
		# Each message is a packet.
		assert found["sent_pkts"] >= 1000 and found["rdma_sends"] >= 1000, found


@suite.test(f"{CLIENTS} clients share one queue")
def fan_in():
	age.needs("workqueue")
	server, port, tag = serves(f"threads={CLIENTS},srq=512,timeout=60000")
	clients = Command(f"client,addr={ADDR},port={port},threads={CLIENTS},sbw,size=64,"
			  f"count={MESSAGES * 4},timeout=60000,tag={tag}c")
	wait_for(lambda: moving(CLIENTS, 1), 120)
	assert len(queues()) == 1, queues()
	assert clients.wait(240) == 0
	assert server.wait(60) == 0
	served = krping.results(tag)
	assert len(served) == CLIENTS, len(served)
	for each in served:
		shared(each, receives=512)
		assert each["peer_iterations"] == MESSAGES * 4, each
	assert max(each["srq"]["connections"] for each in served) > 1, "they came one by one"
	rates = [each["peer_iterations"] * 10**9 // each["peer_elapsed_ns"] for each in served]
	last = max((each["srq"] for each in served), key=lambda figures: figures["measured"])
	assert (last["measured"], last["slowest_per_s"], last["fastest_per_s"]) == \
		(CLIENTS, min(rates), max(rates)), (last, rates)
	diag(f"operations per second of the slowest and the fastest: {min(rates)} {max(rates)}")
	assert not queues()


@suite.test("longer messages than the receives are for: ERANGE, until the others have gone")
def longer():
	log = Log()
	server, port, tag = serves("persist,srq=32")
	client = f"client,addr={ADDR},port={port},slat"
	small = Command(f"{client},size=1000,count=0")
	wait_for(moving)
	assert run(f"{client},size=1001,count=10") == errno.ECONNREFUSED
	log.wait("the server takes a size of at most 1000 bytes")
	refused = wait_for(lambda: krping.results(tag))
	assert refused[0]["errno"] == "ERANGE", refused
	assert "1000 bytes, which the receives have that other clients share" \
		in refused[0]["reason"], refused
	run_ok(f"{client},size=1000,count=10")
	run_ok(f"client,addr={ADDR},port={port},bw,size=65536,count=10,validate")
	small.interrupt()
	wait_for(lambda: not queues())
	run_ok(f"{client},size=1001,count=10")
	assert server.interrupt() == errno.EINTR


@suite.test("clients that are cut off take no receives along")
def cut_off():
	server, port, _ = serves("persist,srq=16")
	client = f"client,addr={ADDR},port={port},size=64"
	stays = Command(f"{client},slat,count=0")
	# The server of a slat sends, too.
	for test, sending in (("sbw", 3), ("slat", 4)) * 8:
		going = Command(f"{client},{test},count=0")
		wait_for(lambda number=sending: moving(number))
		going.interrupt()
	assert stays.is_alive(), "the other has ended"
	run_ok(f"{client},sbw,count={MESSAGES * 5},validate=full")
	stays.interrupt()
	assert server.interrupt() == errno.EINTR


@suite.test("the server interrupted, and the device unplugged, in mid-run")
def ended():
	server, port, _ = serves("threads=4,srq=16")
	client = Command(f"client,addr={ADDR},port={port},sbw,size=64,threads=4,count=0")
	wait_for(lambda: moving(4))
	assert server.interrupt() == errno.EINTR
	assert client.wait() != 0
	assert not queues()
	client = Command(f"loopback,addr={ADDR},sbw,size=64,threads=4,srq=16,count=0")
	wait_for(lambda: moving(4))
	try:
		network.unplug()
		assert client.wait() == errno.ENODEV
	finally:
		network.plug()
	run_ok(f"loopback,addr={ADDR},sbw,size=64,count=50,srq=16")


@suite.test("the queue's thread sleeps as one that has nothing to do, without a part in the load average")
def sleeps():
	server, port, _ = serves("srq=64,persist")
	client = Command(f"client,addr={ADDR},port={port},sbw,count=0,rate=200")
	wait_for(lambda: moving(least=20))
	threads = [path.parent for path in Path("/proc").glob("[0-9]*/comm")
		   if path.read_text(encoding="ascii").startswith("krping_srq")]
	assert len(threads) == 1, threads
	states = set()

	def seen():
		states.add((threads[0] / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[0])
		return "S" in states or "I" in states
	for _ in range(50):
		wait_for(seen)
		states -= {"S", "I", "R"}
		assert not states, states
	assert client.interrupt() == errno.EINTR
	assert server.interrupt() == errno.EINTR


@suite.test("receives beyond max_memory: ENOMEM; those of a ping/pong are its own")
def bounds():
	server, port, tag = serves("srq=512,max_memory=1M")
	assert run(f"client,addr={ADDR},port={port},slat,count=5") == errno.ECONNREFUSED
	assert server.wait() == errno.ENOMEM
	assert "max_memory" in krping.result(tag, "server")["reason"]
	server, port, tag = serves("srq=512")
	run_ok(f"client,addr={ADDR},port={port},count=5,validate")
	assert server.wait() == 0
	assert "srq" not in krping.result(tag, "server")


@suite.test("where it makes no sense: EINVAL, and ERANGE")
def refused_options():
	run_fails(f"loopback,addr={ADDR},slat,cq=pool,srq=32", errno.EINVAL,
		  "cq=pool and srq are both given; give one of them")
	for text, expected in (("loopback,slat,srq=1", errno.ERANGE),
			       ("loopback,slat,srq=16385", errno.ERANGE),
			       ("loopback,srq=32", errno.EINVAL),
			       ("client,slat,srq=32", errno.EINVAL),
			       ("server,blk,store=ram,srq=32", errno.EINVAL)):
		found = run(text.replace(",", f",addr={ADDR},", 1))
		assert found == expected, (text, found)


if __name__ == "__main__":
	suite.main()
