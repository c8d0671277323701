# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Clients that come before their servers (wait=)."""

import errno
from pathlib import Path

import krping
from krping import ADDR, Command, Log, name, new_port, new_tag, run_fails
from ktap import Suite

# Clients, and what their servers are given.
PAIRS = (("count=5", ""), ("bw,count=5", ""), ("slat,count=5,qps=3", ""), ("rwread,count=5", ""),
	 ("stream,count=5", "stream"), ("messenger,count=5,conns=3", "messenger"),
	 ("messenger,tcp,count=5,conns=3", "messenger,tcp"), ("count=5,threads=3", "threads=3"))

suite = Suite(check=krping.check)


def late(port):
	"""The end of the address of a client that waits."""
	return f"client,addr={ADDR},port={port},timeout={10000 * krping.SLOW},wait={60000 * krping.SLOW}"


def tries():
	"""How many tries to connect have found that nothing listens, over TCP too."""
	lines = Path("/proc/net/snmp").read_text(encoding="ascii").splitlines()
	names, values = (line.split() for line in lines if line.startswith("Tcp:"))
	return krping.cm_received("rej") + int(values[names.index("AttemptFails")])


@suite.test("the server comes later")
def later():
	for words, serves in PAIRS:
		port, tag, before = new_port(), new_tag(), tries()
		client = Command(f"{late(port)},{words},tag={tag}")
		# Of each of three threads, too.
		krping.wait_for(lambda before=before: tries() > before + 5)
		assert client.is_alive(), words
		server = Command(f"server,port={port},timeout={10000 * krping.SLOW}"
				 f"{serves and ','}{serves}")
		assert (client.wait(), server.wait()) == (0, 0), words
		found = krping.results(tag)
		assert found and all(each["status"] == "ok" for each in found), found


@suite.test("no server comes: the reason is that of a client that does not wait")
def never():
	for words, sentence in (("", "nothing listens on that port"),
				("messenger,tcp,", "connecting over TCP failed with ECONNREFUSED")):
		port, tag = new_port(), new_tag()
		run_fails(f"client,addr={ADDR},port={port},{words}count=1,wait=600,tag={tag}",
			  errno.ECONNREFUSED, sentence)
		assert len(krping.results(tag)) == 1, krping.results(tag)


@suite.test("a signal ends a client that waits, and a stop of the others")
def interrupted():
	for words in ("", "messenger,", "threads=4,"):
		before = tries()
		client = Command(f"client,addr={ADDR},port={new_port()},{words}count=1,wait=3600000")
		krping.wait_for(lambda before=before: tries() > before + 5)
		assert client.interrupt() == errno.EINTR, words


@suite.test("a server that refuses it ends it at once, with its reason")
def refused():
	port, log = new_port(), Log()
	server = krping.serve(f"server,port={port},stream,persist")
	number = krping.run(f"{late(port)},messenger,count=1")
	assert number not in (0, errno.ETIMEDOUT), (name(number), log.text())
	assert server.interrupt() == errno.EINTR


@suite.test("what does not go with it")
def apart():
	"""Servers, caps and disks have waits of their own, or none."""
	run_fails(f"server,port={new_port()},wait=5", errno.EINVAL,
		  "wait is for a client; give client,wait")
	run_fails(f"client,addr={ADDR},caps,wait=5", errno.EINVAL, "wait does not go with caps")
	run_fails(f"client,addr={ADDR},blk,wait=5", errno.EINVAL, "wait does not go with")


suite.main()
