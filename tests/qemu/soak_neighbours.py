# SPDX-License-Identifier: GPL-2.0
"""First connections: of every kind of client, to a host whose link-layer address is not known.

Both hosts forget each other before each round. No round may fail. How long they took is printed,
and how long rping takes for the same.
"""

import contextlib
import errno
import statistics
import subprocess
import time

import block
import krping
import network
import soak
import tap
from krping import Command, Log, Program, new_port, wait_for
from ktap import Suite, diag

# Who waits for that has failed.
TIMEOUT = "timeout=5000"


def check():
	"""Nothing is left."""
	block.check()
	tap.check()


suite = Suite(check=check, limit=3600)
FAR = network.Lab.FAR


@contextlib.contextmanager
def far_server(lab, options=""):
	"""Within, a server on the far host. Yields its port."""
	port = new_port()
	log = Log()
	server = lab.command(f"server,persist,port={port},{TIMEOUT}{options and ','}{options}")
	wait_for(lambda: any(line.device is None for line in krping.lines())
		 or not server.is_alive(), what=log.text())
	try:
		yield port
	finally:
		number = server.interrupt()
	assert number == errno.EINTR, krping.name(number)


def runs(options):
	"""A kind of client that comes to its end."""
	@contextlib.contextmanager
	def prepare(lab):
		with far_server(lab) as port:
			yield lambda: krping.run(f"{options},addr={FAR},port={port},{TIMEOUT}")
	return prepare


@contextlib.contextmanager
def capabilities(_lab):
	"""A look at the device that leads there."""
	yield lambda: krping.run(f"caps,addr={FAR},{TIMEOUT}")


@contextlib.contextmanager
def disk(lab):
	"""A disk that is added, and removed again."""
	def add():
		number = krping.run(f"client,blk,addr={FAR},port={port},{TIMEOUT},detach")
		for each in block.numbers():
			assert block.stop(each) == 0
		return number
	with far_server(lab, "blk,store=ram,size=1M") as port:
		yield add


@contextlib.contextmanager
def tapped(lab):
	"""A tap that begins, and ends."""
	def begin():
		log = Log()
		client = Command(f"client,tap=n,addr={FAR},port={port},{TIMEOUT}")
		wait_for(lambda: log.find(": tapping n ") or not client.is_alive(), what=log.text())
		number = client.interrupt() if client.is_alive() else client.wait()
		return 0 if number == errno.EINTR else number
	with tap.null_blk("n", size=tap.MIB), far_server(lab, "tap,log") as port:
		yield begin


KINDS = {
	"ping/pong": runs("client,count=1"),
	"fr": runs("client,fr,count=1"),
	"wlat": runs("client,wlat,count=1"),
	"bw with two queue pairs": runs("client,bw,count=1,qps=2"),
	"caps": capabilities,
	"disk": disk,
	"tap": tapped,
}


@contextlib.contextmanager
def rping(lab):
	"""Yields what runs rping once, to the far host."""
	port = new_port()
	server = Program("ip", "netns", "exec", lab.NAME,
			 "rping", "-s", "-P", "-a", FAR, "-p", str(port))
	wait_for(lambda: f":{port} " in lab.exec("rdma", "resource", "show", "cm_id"))

	def once():
		try:
			return subprocess.run(("rping", "-c", "-a", FAR, "-p", str(port), "-C", "1"),
					      stdin=subprocess.DEVNULL, capture_output=True,
					      timeout=60, check=False).returncode
		except subprocess.TimeoutExpired:
			return 1
	try:
		yield once
	finally:
		server.stop()


def took(lab, run):
	"""Have the hosts forget each other, and RUN. Returns how it ended, and in how many ms."""
	lab.forget()
	start = time.monotonic()
	found = run()
	return found, (time.monotonic() - start) * 1000


def told(times):
	"""These TIMES in ms, as text."""
	return f"{statistics.median(times):.0f} ms, {max(times):.0f} at most" if times else "never"


def add_kind(options, kind, prepare):
	"""The test of a KIND of client."""
	def connect():
		times, failed, log = [], [], Log()
		with network.Lab(introduce=False) as lab, prepare(lab) as run:
			for number in options.numbers():
				found, taken = took(lab, run)
				if found:
					failed.append(f"round {number}: {krping.name(found)} "
						      f"after {taken:.0f} ms")
				times.append(taken)
		options.counts["connections"] += len(times)
		diag(f"{kind}: {told(times)}")
		assert not failed, f"{len(failed)} of {len(times)}: {failed}: {log.text()[-2000:]}"
	suite.test(f"{kind}: the first connection to a neighbour")(connect)


def compare(options):
	"""Beside rping, one after the other. Nothing is demanded of that."""
	times, theirs = [], []
	with network.Lab(introduce=False) as lab, runs("client,count=1")(lab) as run, \
	     rping(lab) as other:
		for _ in range(0, len(options.numbers()), 4):
			for program, found in ((run, times), (other, theirs)):
				status, taken = took(lab, program)
				if status == 0:
					found.append(taken)
	diag(f"ping/pong: {told(times)}; rping, with its program's start: {told(theirs)}")
	assert times


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=200, argv=argv)
	for kind, prepare in KINDS.items():
		add_kind(options, kind, prepare)
	suite.test("how long that takes, beside rping")(lambda: compare(options))
	soak.main(suite, options)


if __name__ == "__main__":
	main()
