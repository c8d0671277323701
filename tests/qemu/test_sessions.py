# SPDX-License-Identifier: GPL-2.0
"""Many commands at once and one after the other, and the module around them."""

import errno
import time

import krping
from krping import (
	ADDR,
	Command,
	Log,
	assert_done,
	listens,
	name,
	new_port,
	new_tag,
	run_ok,
	serve_new,
	wait_for,
)
from ktap import Suite

suite = Suite(check=krping.check)


def busy():
	"""The lines of connections that have moved something."""
	return [line for line in krping.lines() if line.counters.get("recv_msgs")]


def assert_all_done(tag, role, number, count, size):
	"""There are NUMBER results of TAG and ROLE, all of them successful."""
	def find():
		found = [each for each in krping.results(tag) if each["role"] == role]
		return found if len(found) >= number else None
	found = wait_for(find, what=f"{number} results of {role}s")
	assert len(found) == number, (len(found), number)
	for each in found:
		assert_done(each, count, size)


def loopbacks(mode):
	"""64 loopback runs at once."""
	tag = new_tag()
	# So many on so few CPUs may well make a peer wait for seconds.
	text = f"loopback,addr={ADDR},count=100,size=256,validate,{mode},timeout=60000,tag={tag}"
	log = Log()
	begin = time.monotonic_ns()
	commands = [Command(text) for _ in range(64)]
	ended = [name(command.wait(100)) for command in commands]
	taken = time.monotonic_ns() - begin
	assert ended == ["success"] * 64, log.text()
	assert_all_done(tag, "client", 64, 100, 256)
	assert_all_done(tag, "server", 64, 100, 256)
	found = krping.results(tag)
	assert len({each["id"] for each in found}) == 64
	# How many ran at a time, on average.
	together = sum(each["elapsed_ns"] for each in found if each["role"] == "client") / taken
	assert together > 8, together


for memory in ("mem_mode=dma", "mem_mode=reg"):
	suite.test(f"64 loopback runs at once, each to its end, {memory}")(
		lambda memory=memory: loopbacks(memory))


@suite.test("loopback runs without an end make progress side by side, until interrupted")
def endless():
	tag = new_tag()
	commands = [Command(f"loopback,addr={ADDR},timeout=60000,tag={tag}") for _ in range(8)]
	first = wait_for(lambda: found if len(found := busy()) == 16 else None)
	before = {line.thread: line.counters["recv_msgs"] for line in first}

	def all_moved():
		now = {line.thread: line.counters["recv_msgs"] for line in busy()}
		assert now.keys() == before.keys(), (before, now)
		return all(now[thread] > before[thread] for thread in before)
	wait_for(all_moved)
	ended = [name(command.interrupt()) for command in commands]
	assert ended == ["EINTR"] * 8, ended
	found = [each["errno"] for each in krping.results(tag) if each["role"] == "client"]
	assert found == ["EINTR"] * 8, found


@suite.test("a persistent server serves 100 clients one after the other")
def successive():
	server, port, tag = serve_new("persist")
	modes = ("mem_mode=dma", "mem_mode=reg", "mem_mode=reg,server_inv", "pattern=binary")
	client = new_tag()
	for number in range(100):
		run_ok(f"client,addr={ADDR},port={port},count=5,size=1000,validate,tag={client},"
		       + modes[number % len(modes)])
	assert_all_done(client, "client", 100, 5, 1000)
	assert_all_done(tag, "server", 100, 5, 1000)
	# Clients that are gone leave no thread behind.
	wait_for(lambda: len(krping.lines()) == 1)
	assert server.interrupt() == errno.EINTR


@suite.test("a persistent server serves 16 clients at once, each as it asks")
def at_once():
	server, port, tag = serve_new("persist")
	command = f"client,addr={ADDR},port={port}"
	endless = [Command(command) for _ in range(16)]
	wait_for(lambda: len(busy()) == 32, what="16 connections")
	# While they run, others come and go.
	for size in (1, 65, 4096, 70000):
		client = new_tag()
		run_ok(f"{command},count=10,validate,tag={client},size={size}")
		assert_done(krping.result(client, "client"), 10, size)
	client = new_tag()
	run_ok(f"{command},count=50,threads=16,validate,tag={client}")
	assert_all_done(client, "client", 16, 50, 64)
	assert len(busy()) >= 32, krping.lines()
	for each in endless:
		assert each.interrupt() == errno.EINTR
	wait_for(lambda: len(krping.lines()) == 1)
	# The server has seen four of them, and the 16, to their end; and the
	# endless ones, which may leave between iterations.
	found = krping.results(tag)
	assert len(found) == 36, len(found)
	assert sum(each["status"] == "ok" and each["iterations"] in (10, 50)
		   for each in found) == 20, found
	assert server.interrupt() == errno.EINTR


@suite.test("a server that is interrupted takes its clients down")
def server_interrupted():
	server, port, _ = serve_new("persist")
	clients = [Command(f"client,addr={ADDR},port={port}") for _ in range(4)]
	wait_for(lambda: len(busy()) == 8)
	assert server.interrupt() == errno.EINTR
	ended = [name(client.wait(10)) for client in clients]
	assert ended == ["ECONNRESET"] * 4, ended
	assert not listens(port)


@suite.test("a server with threads=3 ends after three clients")
def three():
	server, port, tag = serve_new("threads=3")
	for number in range(3):
		assert server.is_alive()
		run_ok(f"client,addr={ADDR},port={port},count=7,size={100 + number},validate")
	assert server.wait() == 0
	found = krping.results(tag)
	assert len(found) == 3, found
	for number, each in enumerate(found):
		assert_done(each, 7, 100 + number)
	assert not listens(port)
	assert krping.run(f"client,addr={ADDR},port={port},count=1") == errno.ECONNREFUSED

	server, port, tag = serve_new("threads=3")
	run_ok(f"client,addr={ADDR},port={port},count=20,threads=3")
	assert server.wait() == 0
	assert_all_done(tag, "server", 3, 20, 64)


@suite.test("two servers on two ports, each with its own clients")
def two_servers():
	one, one_port, one_tag = serve_new()
	two, two_port, two_tag = serve_new(f"addr={ADDR}")
	second = Command(f"client,addr={ADDR},port={two_port},count=40,size=4000,validate")
	run_ok(f"client,addr={ADDR},port={one_port},count=30,size=3000,validate")
	assert (second.wait(), one.wait(), two.wait()) == (0, 0, 0)
	assert_done(krping.result(one_tag, "server"), 30, 3000)
	assert_done(krping.result(two_tag, "server"), 40, 4000)


@suite.test("a port can be used again at once")
def reuse():
	port = new_port()
	for number in range(20):
		server = Command(f"server,addr={ADDR},port={port}")
		wait_for(lambda: len(krping.lines()) == 1)
		run_ok(f"client,addr={ADDR},port={port},count={number + 1}")
		assert server.wait() == 0
	for _ in range(10):
		run_ok(f"loopback,addr={ADDR},count=1,port={port}")
	# Nor does an interrupted one keep it.
	for _ in range(5):
		server = Command(f"server,addr={ADDR},port={port}")
		wait_for(lambda: len(krping.lines()) == 1)
		assert server.interrupt() == errno.EINTR
	run_ok(f"loopback,addr={ADDR},count=1,port={port}")


@suite.test("rmmod says busy while anything runs")
def busy_module():
	def refused():
		# Without a reference rmmod would wait for the run's end, and not die.
		with open("/sys/module/krping/refcnt", encoding="ascii") as file:
			assert int(file.read()) > 0
		said = krping.unload()
		assert "in use" in said, f"rmmod: {said!r}"
		assert krping.loaded()

	server, port, _ = serve_new("persist")
	refused()
	client = Command(f"client,addr={ADDR},port={port}")
	wait_for(lambda: len(busy()) == 2)
	refused()
	assert client.interrupt() == errno.EINTR
	refused()
	assert server.interrupt() == errno.EINTR
	assert krping.unload() == ""
	assert not krping.loaded()
	krping.load()
	run_ok(f"loopback,addr={ADDR},count=10,validate")


@suite.test("the module can be loaded and unloaded 20 times")
def load_loop():
	for number in range(20):
		assert krping.unload() == ""
		assert not krping.loaded()
		krping.load()
		assert krping.lines() == []
		if number % 10 == 0:
			tag = new_tag()
			run_ok(f"loopback,addr={ADDR},count=10,validate,tag={tag}")
			found = krping.results(tag)
			# Numbers and results begin anew.
			assert found[0]["id"] == 1 and len(found) == 2, found
	with open(krping.RESULTS, encoding="ascii") as file:
		assert file.read() == ""


suite.main()
