# SPDX-License-Identifier: GPL-2.0
"""Signals at random moments of random commands.

A command must end within a second (more with a kernel that checks everything), say EINTR where
its writer can hear it, and leave nothing: no thread, object, disk or line; and krping must go on
to work. A command that has come to its end before says that instead.
"""

import collections.abc
import contextlib
import errno
import signal

import block
import krping
import soak
import tap
from krping import ADDR, listens, new_port, wait_for
from ktap import Suite, diag
from writing import DEADLY, Writer, check_writers, threads

# On the link of the RDMA device, and nobody's.
ABSENT = "10.99.0.2"
# A second, and much slack: this is emulated, and other guests may run beside it.
SOON = 5 * soak.SLOW
# After how long a signal is repeated that may have come before the writer wrote.
AGAIN = 1.25 * soak.SLOW
# Whose writer can tell what its write() returned.
HEARD = (signal.SIGINT, signal.SIGTERM)


def check():
	"""Nothing is left, not even for a moment, and krping works."""
	check_writers()
	assert not threads(), threads()
	assert not krping.lines(), krping.lines()
	block.check()
	krping.run_ok(f"loopback,addr={ADDR},count=1,validate")


suite = Suite(check=check, limit=60 * soak.SLOW)


def nothing():
	"""It needs nothing beside it."""
	return contextlib.nullcontext("")


@contextlib.contextmanager
def server(options=""):
	"""A server beside it, that goes on. Yields its port."""
	port = new_port()
	writer = Writer(f"server,persist,port={port}{options and ','}{options}", handle=True)
	wait_for(lambda: listens(port))
	yield port
	status, taken = writer.end(signal.SIGINT)
	assert status == errno.EINTR and taken < SOON, (krping.name(status), taken)


@contextlib.contextmanager
def tapped():
	"""A disk that is tapped, and a server of taps."""
	with tap.null_blk("t", size=tap.MIB * 16), server("tap,log") as port:
		yield port


# What is interrupted, and what it needs beside it, which gives the port.
COMMANDS: dict[str, tuple[str, collections.abc.Callable]] = {
	"ping/pong": (f"loopback,addr={ADDR}", nothing),
	"threads": (f"loopback,addr={ADDR},threads=3,poll", nothing),
	"reg": (f"loopback,addr={ADDR},mem_mode=reg,server_inv,validate", nothing),
	"large": (f"loopback,addr={ADDR},size=1M,validate", nothing),
	"fr": (f"loopback,addr={ADDR},fr,threads=2", nothing),
	"wlat": (f"loopback,addr={ADDR},wlat", nothing),
	"rlat": (f"loopback,addr={ADDR},rlat,poll", nothing),
	"bw": (f"loopback,addr={ADDR},bw,size=16K,qps=4,duplex", nothing),
	"sbw": (f"loopback,addr={ADDR},sbw,postlist=4,validate", nothing),
	"casbw": (f"loopback,addr={ADDR},casbw,qps=2,duplex", nothing),
	"all compared": (f"loopback,addr={ADDR},bw,size=16K,duplex,validate=full", nothing),
	"uc": (f"loopback,addr={ADDR},bw,qp=uc,imm,qps=2", nothing),
	"ud": (f"loopback,addr={ADDR},slat,qp=ud,qps=2", nothing),
	"multicast": (f"loopback,addr={ADDR},sbw,qp=ud,mcast=239.9.0.1,qps=2", nothing),
	"spin": (f"loopback,addr={ADDR},slat,qps=2,spin=20", nothing),
	"solicited": (f"loopback,addr={ADDR},sbw,qps=2,solicited", nothing),
	"stream": (f"loopback,addr={ADDR},stream,size=20K,validate", nothing),
	"stream, echo": (f"loopback,addr={ADDR},stream,echo,threads=2", nothing),
	"direct writes": (f"loopback,addr={ADDR},stream,iomap,echo,poll", nothing),
	"stream server": ("server,stream", nothing),
	"messages": (f"loopback,addr={ADDR},messenger,conns=4,size=20K,validate", nothing),
	"messages, echo": (f"loopback,addr={ADDR},messenger,conns=8,chunks=16,echo,threads=2", nothing),
	"message server": ("server,messenger", nothing),
	"client": (f"client,addr={ADDR},threads=2,port=%s", server),
	"bw client": (f"client,addr={ADDR},bw,qps=3,port=%s", server),
	"server": ("server", nothing),
	"bound server": (f"server,persist,addr={ADDR}", nothing),
	"disk server": ("server,blk,store=ram,size=16M", nothing),
	"no neighbour": (f"client,addr={ABSENT}", nothing),
	"disk": (f"client,blk,addr={ADDR},queues=2,port=%s",
		 lambda: server("blk,store=ram,size=4M")),
	"disk of both": (f"loopback,blk,addr={ADDR},store=ram,size=4M", nothing),
	"disk without a server": (f"client,blk,addr={ADDR},port=9,reconnect=60", nothing),
	"tap": (f"client,tap=t,addr={ADDR},port=%s", tapped),
}
# What may end by itself before, as nobody listens.
BY_ITSELF = {"disk without a server": {errno.ECONNREFUSED}}


def play(options, what, rng):
	"""A round."""
	sent, handle = rng.choice(DEADLY), rng.random() < 0.5
	handle = handle and sent in HEARD
	# Most stages are short: most moments are early ones.
	delay = rng.choice((0.002, 0.02, 0.2, 1)) * rng.random() * soak.SLOW
	text, beside = COMMANDS[what]
	told = f"{text}: {signal.Signals(sent).name} after {delay:.4f} s"
	with beside() as port:
		writer = Writer(text.replace("%s", str(port)), handle)
		krping.pass_time(delay, "the signal comes at any moment")
		status, taken = writer.end(sent, again=AGAIN if handle else None)
		before = BY_ITSELF.get(what, set())
		assert status in {errno.EINTR if handle else -sent} | before, f"{told}: ended with {status}"
		assert taken < SOON, f"{told}: took {taken:.2f} s"
		for result in krping.results(writer.tag):
			# A disk that was there has been stopped, and its server has served it:
			# neither is a failure of its own.
			stopped = result["status"] == "ok" and result["test"] == "blk"
			found = result.get("errno_number")
			assert stopped or found in {errno.EINTR} | before, (told, result)
		wait_for(lambda: not block.numbers(), what=f"{told}: the disk to go")
	diag(f"{told}: {krping.name(status) if handle else 'killed'}, {taken:.2f} s")
	options.counts[f"signal.{signal.Signals(sent).name}"] += 1
	options.counts[f"command.{what.replace(' ', '_')}"] += 1


def add_round(options, number):
	"""The test of round NUMBER."""
	rng = options.rng(number)
	what = options.deal(COMMANDS, number)
	suite.test(f"round {number}: {what}")(lambda: play(options, what, rng))


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=50, argv=argv)
	for number in options.numbers():
		add_round(options, number)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
