# SPDX-License-Identifier: GPL-2.0
"""A signal ends a command at each of its stages, soon, and leaves nothing behind.

The moments of some signals are random: SEED in the environment repeats them.
"""

import collections
import contextlib
import errno
import os
import random
import signal
import time

import krping
import network
import peer
from krping import ADDR, SOON, listens, new_port, wait_for
from ktap import Suite, diag
from writing import DEADLY, Writer, check_writers, threads

# On the link of the RDMA device, and nobody's.
ABSENT = "10.99.0.2"


def check():
	"""Nothing is left, not even for a moment, and the module is whole."""
	check_writers()
	assert not threads(), threads()
	assert not krping.lines(), krping.lines()
	krping.check()
	krping.run_ok(f"loopback,addr={ADDR},count=3,validate")


suite = Suite(check=check)


# How far a command has come, as others can see.

def connecting(_port):
	"""It has a device, and waits for the other side."""
	return any(line.device for line in krping.lines())


def waiting(_port):
	"""It has a thread, and no device. The line is there before the thread."""
	return krping.lines() and threads()


def moving(number):
	"""NUMBER connections have moved something."""
	def predicate(_port):
		return len([line for line in krping.lines()
			    if line.counters.get("recv_msgs", 0) > 10]) >= number
	return predicate


def connected(number):
	"""NUMBER connections are up."""
	def predicate(_port):
		return len(krping.ready_pairs()) >= number
	return predicate


# A stage: the command, what it needs beside it, when it is there, and how many results
# of which errnos it then has.
Stage = collections.namedtuple("Stage", ("command", "beside", "there", "results"))


def nothing(_port):
	"""It needs nothing beside it."""
	return contextlib.nullcontext()


def deaf(_port):
	"""A host that never answers."""
	return network.deaf(ABSENT)


@contextlib.contextmanager
def silent(port):
	"""A server that accepts and then is silent."""
	server = peer.server(port, "stop=connected", "how=silent")
	yield
	server.finish()


@contextlib.contextmanager
def unanswered(port):
	"""A client that connects and then is silent."""
	client = None

	def come():
		nonlocal client
		client = peer.client(port, "stop=connected", "how=silent")
	yield come
	client.finish()


@contextlib.contextmanager
def server(port):
	"""A server of ours."""
	writer = Writer(f"server,persist,port={port}")
	wait_for(lambda: listens(port))
	yield
	writer.end(signal.SIGKILL)


@contextlib.contextmanager
def clients(port):
	"""Clients of ours, of which there are four."""
	writers = []

	def come():
		writers.extend(Writer(f"client,addr={ADDR},port={port},{options}")
			       for options in ("count=1000000", "count=1000000,poll",
					       "threads=2,count=1000000"))
	yield come
	for writer in writers:
		assert writer.wait() == errno.ECONNRESET


STAGES = {
	"a client waits for its neighbour's address":
		Stage(f"client,addr={ABSENT}", nothing, waiting, 1),
	"a client waits for an answer":
		Stage(f"client,addr={ABSENT}", deaf, connecting, 1),
	"a polling client waits for an answer":
		Stage(f"client,addr={ABSENT},poll", deaf, connecting, 1),
	"a client waits for a silent peer":
		Stage(f"client,addr={ADDR},port=", silent, connected(2), 1),
	"a polling client waits for a silent peer":
		Stage(f"client,poll,addr={ADDR},port=", silent, connected(2), 1),
	"a client in mid-run": Stage(f"client,addr={ADDR},port=", server, moving(2), 1),
	"a polling client in mid-run":
		Stage(f"client,poll,addr={ADDR},port=", server, moving(2), 1),
	"a client with large data in mid-run":
		Stage(f"client,mem_mode=reg,size=2M,addr={ADDR},port=", server,
		      connected(2), 1),
	"a server waits for a client": Stage("server,port=", nothing, listens, 0),
	"a persistent server waits for a client":
		Stage("server,persist,port=", nothing, listens, 0),
	"a server waits for a silent client":
		Stage("server,port=", unanswered, connected(2), 1),
	"a server in mid-run": Stage("server,threads=4,port=", clients, moving(8), 4),
	"a persistent server with clients":
		Stage("server,persist,port=", clients, moving(8), 4),
	"a polling server with clients":
		Stage("server,persist,poll,port=", clients, moving(8), 4),
	"a loopback of four threads":
		Stage(f"loopback,addr={ADDR},threads=4", nothing, moving(8), 8),
	"a polling loopback of four threads":
		Stage(f"loopback,addr={ADDR},threads=4,poll", nothing, moving(8), 8),
	"a stress of fast registration":
		Stage(f"loopback,addr={ADDR},fr", nothing, connected(2), 2),
	"a polling stress of fast registration":
		Stage(f"loopback,addr={ADDR},fr,poll,threads=2", nothing, connected(4), 4),
}


def interrupt(stage, number, handle):
	"""Bring a command to STAGE, and send its writer signal NUMBER. Return how many
	seconds it then took to end."""
	port = new_port()
	text = stage.command + str(port) if stage.command.endswith("port=") else stage.command
	with stage.beside(port) as come:
		writer = Writer(text, handle)
		if callable(come):
			wait_for(lambda: listens(port))
			come()
		wait_for(lambda: stage.there(port), what=f"{text} to get there")
		status, taken = writer.end(number)
	wanted = errno.EINTR if handle else -number
	assert status == wanted, f"{text}: {signal.Signals(number).name}: ended with {status}"
	assert taken < SOON, f"{text}: took {taken:.2f} s"
	found = krping.results(writer.tag)
	assert len(found) == stage.results, f"{text}: {found}"
	for each in found:
		assert (each["errno"], each["reason"]) == ("EINTR", "interrupted by a signal"), each
	return taken


def add_stages():
	"""A test for each."""
	def test(stage):
		took = []
		# The errno of the write, and the deaths.
		for number, handle in ((signal.SIGTERM, True), (signal.SIGINT, False),
				       (signal.SIGKILL, False)):
			taken = interrupt(stage, number, handle)
			took.append(f"{signal.Signals(number).name} {taken:.2f} s")
		diag(", ".join(took))

	for what, stage in STAGES.items():
		suite.test(f"{what}: interrupted")(lambda stage=stage: test(stage))


add_stages()


@suite.test("interrupted while the cable is cut: nobody answers the end of the connection")
def cut():
	with network.Lab() as lab:
		port, took = new_port(), []
		# Its clients must move something before a machine that stalls has it give them up.
		far = lab.command(f"server,persist,port={port},timeout={4000 * krping.SLOW}")
		wait_for(krping.lines)
		for number, handle in ((signal.SIGTERM, True), (signal.SIGKILL, False)):
			writer = Writer(f"client,addr={lab.FAR},port={port},threads=2", handle)
			wait_for(lambda: moving(4)(port))
			lab.cut()
			try:
				wait_for(lambda: krping.rests(krping.lines, 0.1), what=krping.lines)
				status, taken = writer.end(number)
			finally:
				lab.mend()
			assert status == (errno.EINTR if handle else -number), status
			assert taken < SOON, f"took {taken:.2f} s"
			took.append(f"{taken:.2f} s")
			wait_for(lambda: len(krping.lines()) == 1)
		diag(", ".join(took))
		assert far.interrupt() == errno.EINTR


@suite.test("interrupted when all is done, and nobody acknowledges the end")
def unacknowledged():
	with network.Lab() as lab:
		for number, handle in ((signal.SIGTERM, True), (signal.SIGKILL, False)):
			writer = lab.unacknowledged(
				lambda text, handle=handle: Writer(text, handle))
			status, taken = writer.end(number)
			# It was done.
			assert status in ((errno.EINTR, 0) if handle else (-number,)), status
			diag(f"{taken:.2f} s")
			assert taken < SOON, f"took {taken:.2f} s"


@suite.test("two signals at once, and a signal to a writer that is being killed")
def twice():
	for numbers in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGKILL)):
		writer = Writer(f"loopback,addr={ADDR},threads=4")
		wait_for(lambda: moving(8)(None))
		os.kill(writer.pid, numbers[0])
		status, taken = writer.end(numbers[1])
		assert status in [-number for number in numbers], status
		assert taken < SOON, f"took {taken:.2f} s"


@suite.test("a command that nothing interrupts is not bothered by an ignored signal")
def ignored():
	# SIGWINCH and SIGCHLD are ignored unless a program wants them.
	writer = Writer(f"loopback,addr={ADDR},count=2000")
	for part in range(20):
		# Of 8000.
		wait_for(lambda part=part: not writer.is_alive() or sum(
			line.counters.get("send_msgs", 0) for line in krping.lines()) >= 350 * part)
		os.kill(writer.pid, signal.SIGWINCH)
	assert writer.wait() == 0


@suite.test("signals at random moments, 30 rounds")
def random_moments():
	seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
	diag(f"SEED={seed}")
	rng = random.Random(seed)
	port = new_port()
	commands = [f"loopback,addr={ADDR}",
		    f"loopback,addr={ADDR},threads=5",
		    f"loopback,addr={ADDR},mem_mode=reg,server_inv,validate",
		    f"loopback,addr={ADDR},poll,threads=2",
		    f"loopback,addr={ADDR},size=1M,validate",
		    f"loopback,addr={ADDR},fr",
		    f"loopback,addr={ADDR},fr,poll",
		    f"client,addr={ADDR},port={port},threads=3",
		    f"client,addr={ABSENT}",
		    f"client,addr={ADDR},port=9,count=1,timeout=1000",
		    f"server,port={new_port()}",
		    f"server,persist,addr={ADDR},port={new_port()}"]
	slowest = 0
	with server(port):
		for _ in range(30):
			text = rng.choice(commands)
			number = rng.choice(DEADLY)
			# Most stages are short: most moments are early ones.
			delay = rng.choice((0.002, 0.02, 0.2)) * rng.random()
			writer = Writer(text)
			krping.pass_time(delay, "the signal comes at any moment")
			status, taken = writer.end(number)
			told = f"{text}: {signal.Signals(number).name} after {delay:.4f} s"
			assert status in (-number, errno.ECONNREFUSED), f"{told}: {status}"
			assert taken < SOON, f"{told}: took {taken:.2f} s"
			slowest = max(slowest, taken)
			left = [each for each in threads() if each.startswith("krping/")]
			lines = len(krping.lines())
			# The listener of the server, and its clients for the moment that they take.
			if lines > 1 or len(left) > 1:
				wait_for(lambda: len(krping.lines()) <= 1 and len(threads()) <= 1,
					 what=f"{told}: the end of {left}")
	diag(f"the slowest end took {slowest:.2f} s")


@suite.test("many writers interrupted at once")
def at_once():
	writers = [Writer(f"loopback,addr={ADDR},threads={1 + n % 3}") for n in range(16)]
	wait_for(lambda: moving(32)(None))
	start = time.monotonic()
	for writer in writers:
		os.kill(writer.pid, signal.SIGTERM)
	for writer in writers:
		assert writer.wait() == -signal.SIGTERM
	taken = time.monotonic() - start
	diag(f"took {taken:.2f} s")
	assert taken < SOON


if __name__ == "__main__":
	peer.PEER.begin()
	suite.main()
