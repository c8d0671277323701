# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Servers that outlive the writers of their commands, and how they end."""

import errno
import os
import signal
import subprocess

import block
import krping
import microbench
from krping import (
	ADDR,
	ADDR6,
	Command,
	Log,
	listens,
	new_port,
	new_tag,
	run,
	run_fails,
	run_ok,
	wait_for,
)
from ktap import Suite

# Those of this test.
ports = []


def check():
	"""No server is left."""
	left = [port for port in ports if stop(port, force=True) == 0]
	ports.clear()
	block.check()
	assert not left, f"the test left servers on {left}"


suite = Suite(check=check)


def a_port():
	"""A port of this test's."""
	ports.append(new_port())
	return ports[-1]


def writes(text, *enter):
	"""Write TEXT by a shell, entered by the words ENTER. Return what that complains of."""
	done = subprocess.run([*enter, "bash", "-c", f"echo {text} >{krping.PROC}"],
			      capture_output=True, text=True, check=False)
	return done.stderr if done.returncode else ""


def stop(port, force=False):
	"""The errno of stopping the servers on PORT."""
	return run(f"stop=server:{port}{',force' if force else ''}")


def gone(port):
	"""Nothing listens on PORT, and nothing runs."""
	return not listens(port) and not krping.lines()


@suite.test("the command returns when the server listens, and stop= returns when it is gone")
def listening():
	for options in ("", ",persist", ",threads=2"):
		port, tag, log = a_port(), new_tag(), Log()
		run_ok(f"server,port={port},detach,tag={tag}{options}")
		assert listens(port), krping.lines()
		log.wait(f"listens; stop=server:{port} ends it")
		run_ok(f"client,addr={ADDR},port={port},count=10,validate")
		if not options:
			wait_for(lambda: gone(port))
			continue
		wait_for(lambda: len(krping.lines()) == 1)
		assert stop(port) == 0
		assert gone(port), krping.lines()
		log.wait(f"server,port={port},.*detach.*: done")
		assert [each["status"] for each in krping.results(tag)] == ["ok"]


@suite.test("what keeps it from listening is the command's failure")
def not_begun():
	port = a_port()
	run_ok(f"server,port={port},persist,detach")
	run_fails(f"server,port={port},persist,detach", errno.EADDRINUSE, "EADDRINUSE")
	run_fails(f"server,addr=192.0.2.7,port={a_port()},detach", errno.EADDRNOTAVAIL,
		  "EADDRNOTAVAIL")
	run_fails(f"server,blk,store=/tmp/none,port={a_port()},detach", errno.ENOENT, "ENOENT")
	assert stop(port) == 0


@suite.test("it goes on when its writer is gone, with the shell and by Ctrl-C")
def writer_gone():
	port, log = a_port(), Log()
	shell = subprocess.Popen(["sh", "-c", f"echo server,port={port},persist,detach "
				  f">{krping.PROC}; sleep 100"], start_new_session=True)
	# From here on it needs its writer no more; before that, a thread may not be begun.
	log.wait(f"listens; stop=server:{port} ends it", 30)
	assert listens(port)
	os.killpg(shell.pid, signal.SIGINT)
	shell.wait(60)
	run_ok(f"client,addr={ADDR},port={port},count=10,validate")
	assert listens(port)
	assert stop(port) == 0


@suite.test("without force it stays while it serves; with it clients see the end: ECONNRESET")
def serving():
	port, log = a_port(), Log()
	run_ok(f"server,port={port},persist,detach")
	clients = [Command(f"client,addr={ADDR},port={port}") for _ in range(2)]
	# Both sides of both connections.
	wait_for(lambda: microbench.moving(4))
	assert stop(port) == errno.EBUSY
	log.wait(f"stop: the server on port {port} serves 2 connection")
	assert all(client.is_alive() for client in clients)
	assert stop(port, force=True) == 0
	assert [client.wait() for client in clients] == [errno.ECONNRESET] * 2
	wait_for(lambda: gone(port))


@suite.test("there is none on that port, or it has a writer: ENOENT")
def none():
	port, log = a_port(), Log()
	assert stop(port) == errno.ENOENT
	log.wait(f"there is no detached server on port {port}")
	server = krping.serve(f"server,port={port},persist")
	assert stop(port) == stop(port, force=True) == errno.ENOENT
	assert server.interrupt() == errno.EINTR
	run_ok(f"server,port={port},detach")
	run_ok(f"client,addr={ADDR},port={port},count=1")
	wait_for(lambda: stop(port) == errno.ENOENT)


@suite.test("several on one port, of other addresses, end together")
def several():
	port = a_port()
	for addr in (f"addr={ADDR}", f"addr6={ADDR6}"):
		run_ok(f"server,{addr},port={port},persist,detach")
	assert len(krping.lines()) == 2
	assert stop(port) == 0
	assert gone(port)


@suite.test("those of another network namespace are out of reach, and it is theirs")
def namespaces():
	port = a_port()
	run_ok(f"server,port={port},persist,detach")
	assert "No such file" in writes(f"stop=server:{port},force", "unshare", "-n")
	assert listens(port)
	assert stop(port) == 0


def a_namespace(name):
	"""Have a server run in a network namespace NAME, and return its port and its number."""
	port, log = a_port(), Log()
	subprocess.run(("ip", "netns", "add", name), check=True)
	assert not writes(f"server,port={port},persist,detach", "ip", "netns", "exec", name)
	return port, int(log.wait(r"(\d+): listens; stop=")[1])


@suite.test("from elsewhere it ends by the number of its command, which the log has")
def by_number():
	port, log = a_port(), Log()
	run_ok(f"server,port={port},persist,detach")
	number = int(log.wait(f"(\\d+): listens; stop=server:{port} ends it, as stop=command:\\1 does")[1])
	assert run(f"stop=command:{number + 1}") == errno.ENOENT
	log.wait(f"there is no detached server with the number {number + 1}")
	client = Command(f"client,addr={ADDR},port={port}")
	wait_for(lambda: microbench.moving(2))
	assert run(f"stop=command:{number}") == errno.EBUSY
	assert run(f"stop=command:{number},force") == 0
	assert client.wait() == errno.ECONNRESET
	wait_for(lambda: gone(port))
	_, number = a_namespace("away8")
	try:
		assert run(f"stop=command:{number}") == 0
		wait_for(lambda: not krping.lines())
	finally:
		subprocess.run(("ip", "netns", "del", "away8"), check=True)


@suite.test("it ends with its network namespace, which nobody is in any more, and has no name")
def namespace_gone():
	log = Log()
	port, _ = a_namespace("gone8")
	subprocess.run(("ip", "netns", "del", "gone8"), check=True)
	wait_for(lambda: not krping.lines(), 20, what=lambda: f"no server: {krping.lines()}")
	log.wait(f"server,port={port},.*: ENETDOWN .*its network namespace is gone")
	assert krping.unload() == ""
	krping.load()


@suite.test("it does not serve a client any more whose command has succeeded")
def at_once():
	for number in range(20):
		port = a_port()
		words = ("messenger,tcp", "messenger", "")[number % 3]
		run_ok(f"server,port={port},persist,detach,{words}".rstrip(","))
		run_ok(f"client,addr={ADDR},port={port},count=3,{words}".rstrip(","))
		assert stop(port) == 0, (words, number)


@suite.test("a server of disks: EBUSY while a disk is there, and the end of it needs CAP_SYS_ADMIN")
def disks():
	port, log = a_port(), Log()
	run_ok(f"server,blk,store=ram,size=1M,port={port},persist,detach")
	disk = block.Disk(f"client,blk,addr={ADDR},port={port}")
	with block.Raw(disk) as raw:
		raw.put(0, b"x" * 4096)
	assert stop(port) == errno.EBUSY
	disk.stop()
	without = ("setpriv", "--bounding-set=-sys_admin")
	assert "not permitted" in writes(f"stop=server:{port}", *without)
	log.wait("to end a server of disks or taps needs CAP_SYS_ADMIN")
	assert listens(port)
	wait_for(lambda: stop(port) != errno.EBUSY)
	assert gone(port)


@suite.test("the module is in use while one runs")
def module():
	port = a_port()
	run_ok(f"server,port={port},persist,detach")
	assert "in use" in krping.unload()
	assert stop(port) == 0


suite.main()
