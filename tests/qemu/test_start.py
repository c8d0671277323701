# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Clients that begin at a time of day (start_at=)."""

import errno
import threading
import time

import krping
from krping import ADDR, Command, new_port, new_tag, run_fails, run_ok
from ktap import Suite

SECOND = 1_000_000_000
TIMEOUT = f"timeout={30000 * krping.SLOW}"
CLIENTS = ("count=50", "wlat,count=50", "slat,count=50,qps=3,poll", "bw,count=50,spin=10",
	   "sbw,count=50,solicited,postlist=4", "rwread,count=50", "fr,count=50", "slat,count=50,qp=ud")

suite = Suite(check=krping.check)


def ahead(seconds):
	"""The time of day in so many SECONDS (of the stock kernel)."""
	return time.time_ns() + int(seconds * krping.SLOW * SECOND)


@suite.test("no operation comes before the time, and the first one soon")
def at_the_time():
	for words in CLIENTS:
		at, tag = ahead(1), new_tag()
		run_ok(f"loopback,addr={ADDR},{words},start_at={at},interval=1000,{TIMEOUT},tag={tag}")
		client = krping.result(tag, "client")
		began = client["series"]["began_unix_ns"]
		# How late a busy machine begins is not tested.
		assert client["start_late_ns"] >= 0 and began >= at + client["start_late_ns"], client


@suite.test("clients of several commands begin together, whatever came before")
def together():
	at, found = ahead(3), {}
	tags = [new_tag() for _ in range(4)]

	def client(delay, tag):
		krping.pass_time(delay * krping.SLOW, "one begins after the other")
		found[tag] = krping.run(f"loopback,addr={ADDR},wlat,count=20,start_at={at},"
					f"interval=1000,{TIMEOUT},tag={tag}")

	threads = [threading.Thread(target=client, args=(0.3 * number, tag))
		   for number, tag in enumerate(tags)]
	for thread in threads:
		thread.start()
	for thread in threads:
		thread.join()
	assert found == dict.fromkeys(tags, 0), found
	assert all(krping.result(tag, "client")["series"]["began_unix_ns"] >= at for tag in tags)


@suite.test("a time that has passed is at once")
def passed():
	at, tag = time.time_ns() - 5 * SECOND, new_tag()
	run_ok(f"loopback,addr={ADDR},wlat,count=20,start_at={at},tag={tag}")
	late = krping.result(tag, "client")["start_late_ns"]
	assert 5 * SECOND <= late < time.time_ns() - at, late


@suite.test("keepalives keep the connection until then")
def keepalives():
	port = new_port()
	server = Command(f"server,port={port},timeout={4000 * krping.SLOW}")
	# A third of its timeout passes between two of them.
	run_ok(f"client,addr={ADDR},port={port},slat,count=20,wait=20000,start_at={ahead(5)},"
	       f"timeout={6000 * krping.SLOW}")
	assert server.wait() == 0


@suite.test("a time that no peer waits for is refused")
def too_far():
	for words in ("wlat", "count=1", "bw,qps=4"):
		run_fails(f"loopback,addr={ADDR},{words},start_at={time.time_ns() + 60 * SECOND}",
			  errno.ERANGE, "start_at is [0-9]+ ms ahead, and no peer waits longer than the "
			  "10000 ms of timeout")


@suite.test("a signal, and a server that goes, end the wait")
def ended():
	at = ahead(20)
	client = Command(f"loopback,addr={ADDR},wlat,start_at={at},{TIMEOUT}")
	krping.wait_for(lambda: any(line.device for line in krping.lines()))
	assert client.interrupt() == errno.EINTR
	port, before = new_port(), krping.cm_received("rtu")
	server = Command(f"server,port={port},{TIMEOUT}")
	client = Command(f"client,addr={ADDR},port={port},wlat,wait=20000,start_at={at},{TIMEOUT}")
	# Before, a server that goes rejects its client.
	krping.wait_for(lambda: krping.cm_received("rtu") > before)
	server.interrupt()
	assert client.wait() == errno.ECONNRESET
	assert time.time_ns() < at


suite.main()
