# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Peers that nobody asked for: what those who can reach a server's port may bring about
on its host."""

import errno
import os
import re
import time

import block
import krping
import puppet
from krping import ADDR, ADDR6, Log, new_port, new_tag, results, run, run_ok
from ktap import Suite

suite = Suite(check=block.check)
puppet.PUPPET.begin()

# More than results are kept, and than lines pass at once.
FLOOD = 300
# Lines in each interval of so many seconds, the kernel's default.
BURST = 10
INTERVAL = 5

REFUSED = "a client was refused: the client wants neither a disk nor a tap"


def knock(port, count):
	"""Have COUNT clients of a ping/pong be refused on PORT, where disks are served."""
	for _ in range(count):
		assert run(f"client,addr={ADDR},port={port},count=1") != 0


@suite.test("refused clients displace neither runs of this host nor those that were served")
def ring():
	own, served = new_tag(), new_tag()
	run_ok(f"loopback,addr={ADDR},count=10,tag={own}")
	port = new_port()
	server = krping.serve(f"server,port={port},tag={served}")
	run_ok(f"client,addr={ADDR},port={port},count=10,tag={own}")
	assert server.wait() == 0
	with block.Server("store=ram,size=1M,persist") as refusing:
		knock(refusing.port, FLOOD)
		# Half of those that are kept: their clients' are refused connections, too.
		found = refusing.results()
		assert 100 < len(found) < 156 and all(each["status"] == "failed" for each in found), \
			len(found)
		# In the order of their ends.
		assert [each["id"] for each in found] == sorted(each["id"] for each in found)
	krping.result(served, "server")
	assert [each["role"] for each in results(own)] == ["server", "client", "client"] \
		or [each["role"] for each in results(own)] == ["client", "server", "client"]


@suite.test("lines about refused clients are rate limited, and those suppressed are counted")
def limited():
	log, start = Log(), time.monotonic()
	with block.Server("store=ram,size=1M,persist") as server:
		knock(server.port, FLOOD)
		krping.wait_for(lambda: len(krping.lines()) == 1)
	lines = [line for line in log.lines() if REFUSED in line]
	suppressed = [int(count) for count in
		      re.findall(r"([0-9]+) lines about peers suppressed", log.text())]
	assert len(lines) + sum(suppressed) == FLOOD, (len(lines), suppressed)
	# Of each interval that has begun.
	most = BURST * (int((time.monotonic() - start) / INTERVAL) + 2)
	assert BURST <= len(lines) <= most, (len(lines), most, suppressed)


NOT_ALLOWED = "does not accept this address"


def client(port, addr, **others):
	"""The command of a client at ADDR, whose own address that is."""
	words = [f"client,{'addr6' if ':' in addr else 'addr'}={addr},port={port}"]
	return ",".join(words + [f"{name}={value}" for name, value in others.items()])


@suite.test("allow= rejects other addresses, does not count them, and serves its own")
def allow():
	log, port, tag = Log(), new_port(), new_tag()
	server = krping.serve(f"server,addr6=::,port={port},allow=192.0.2.0/24+{ADDR},tag={tag}")
	for _ in range(3):
		krping.run_fails(client(port, ADDR6, count=1), errno.ECONNREFUSED, NOT_ALLOWED)
	assert server.is_alive() and not results(tag)
	# The one client that it waits for.
	run_ok(client(port, ADDR, count=10))
	assert server.wait() == 0
	assert [each["status"] for each in results(tag)] == ["ok"], results(tag)
	lines = [line for line in log.lines()
		 if f"a client at {ADDR6} was refused: not within allow=" in line]
	assert len(lines) == 3, log.text()


@suite.test("clients that allow= rejects do not extend the server's timeout")
def allow_timeout():
	port = new_port()
	server = krping.serve(f"server,addr6=::,port={port},timeout=2000,allow=192.0.2.1")

	def ended():
		assert run(client(port, ADDR6, count=1)) == errno.ECONNREFUSED
		return not server.is_alive()
	krping.wait_for(ended)
	assert server.wait() == errno.ETIMEDOUT


def left():
	"""Wait until the server has taken its connections down, too."""
	krping.wait_for(lambda: not any(line.counters for line in krping.lines()))


OVER = "more than the other connections have left"


@suite.test("max_memory= rejects clients whose buffers are too many, until others leave")
def max_memory():
	log, port, tag = Log(), new_port(), new_tag()
	server = krping.serve(f"server,persist,addr={ADDR},port={port},max_memory=1500K,tag={tag}")
	run_ok(client(port, ADDR, count=10, size="1M") + ",validate")
	left()
	first = krping.Command(client(port, ADDR, size="1M"))
	krping.wait_for(lambda: sum(any(line.counters.values()) for line in krping.lines()) == 2)
	for test in ("", ",bw", ",slat,qps=2", ",mem_mode=reg"):
		krping.run_fails(client(port, ADDR, count=1, size="1M") + test, errno.ECONNREFUSED,
				 "lacks memory")
	log.wait(f"a client was not served: {OVER}|was not served.*{OVER}")
	run_ok(client(port, ADDR, count=10, size="64K"))
	assert first.interrupt() == errno.EINTR
	left()
	run_ok(client(port, ADDR, count=10, size="1M"))
	assert server.interrupt() == errno.EINTR


@suite.test("max_memory= of a server without persist: it ends with ENOMEM")
def max_memory_once():
	log, port = Log(), new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},max_memory=4K")
	assert run(client(port, ADDR, count=1, size=8192)) == errno.ECONNREFUSED
	assert server.wait() == errno.ENOMEM
	log.wait(OVER)


@suite.test("a client that may be silent for longer than silence= hears how long it may")
def silence():
	port = new_port()
	server = krping.serve(f"server,persist,addr={ADDR},port={port},silence=5000")
	krping.run_fails(client(port, ADDR, count=1, timeout=60000) + ",wlat", errno.ECONNREFUSED,
			 r"lets a client be silent for 5000 ms at most \(its silence=\)")
	assert server.interrupt() == errno.EINTR


@suite.test("a client of disks that vanishes ends a server without persist, once it may not come back")
def vanishes():
	log = Log()
	server = block.Server("store=ram,size=1M,timeout=2000")
	with puppet.Client(server.port, puppet.hello(hold_ms=1000)) as peer:
		peer.connected()
	assert server.wait() == errno.ECONNRESET
	log.expect("was lost, and has not come back in time")


@suite.test("a server of disks with max_memory=")
def max_memory_disks():
	with open("/tmp/store", "wb") as file:
		file.truncate(block.MIB)
	with block.Server("store=/tmp/store,persist,max_memory=6M") as server:
		# Each connection has 4.6 MiB.
		krping.run_fails(client(server.port, ADDR, queues=2) + ",blk", errno.ECONNREFUSED,
				 "lacks memory")
		left()
		with server.disk() as disk, block.Raw(disk) as raw:
			raw.put(0, b"!" * 4096)
	os.unlink("/tmp/store")


@suite.test("a server of disks with allow=, and a disk that it accepts no longer")
def allow_disks():
	with block.Server(f"addr6=::,store=ram,size=1M,persist,allow={ADDR6}/64") as server:
		krping.run_fails(client(server.port, ADDR) + ",blk", errno.ECONNREFUSED, NOT_ALLOWED)
		disk = block.Disk(client(server.port, ADDR6, reconnect=3600) + ",blk")
		with block.Raw(disk) as raw:
			raw.put(0, b"!" * 4096)
		server.kill()
		server.options = f"addr6=::,store=ram,size=1M,persist,allow={ADDR}"
		server.start()
		assert disk.command.wait() == errno.ECONNREFUSED
		assert block.gone(disk.number)


suite.main()
