# SPDX-License-Identifier: GPL-2.0
"""Microbenchmarks that do not come to their end: interrupted, left by the peer, without
a link or a device, or refused before they begin."""

import errno
import itertools
import re
import signal
import struct
import time

import age
import krping
import network
import peer
import puppet
from krping import (
	ADDR,
	SOON,
	Command,
	Log,
	Program,
	name,
	new_port,
	new_tag,
	run_fails,
	wait_for,
)
from ktap import Suite, diag
from microbench import LATENCY, TESTS, Case, any_of, moving

# Longer than any of many runs is silent for, in ms.
LONG = 3000
# As a run may end whose link is down.
CUT = (errno.ETIMEDOUT, errno.ECONNRESET, errno.ENETDOWN)
# Without an end, unless the peer announces one.
ENDLESS = "count=1000000000"
# More messages than those of a warm-up and what is under way at a time.
WARM = 200


def check():
	"""Nothing is left, and the module is whole."""
	krping.check()
	for test in ("slat", "bw,validate"):
		krping.run_ok(f"loopback,addr={ADDR},{test},count=3")


suite = Suite(check=check)


def start_server(options=""):
	"""Start a server; return the command, its port and its tag."""
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,port={port},tag={tag}{options}")
	return server, port, tag


def assert_partial(found, numbers, moved=True):
	"""The result is a failure with one of these errnos, with the figures until then,
	which a passive side has none of, and if not MOVED nobody may have."""
	assert found["status"] == "failed", found
	assert found["errno_number"] in numbers, found
	posts = Case(found["test"], duplex=found["duplex"]).posts(found["role"])
	if moved or not posts:
		assert (found["iterations"] > 0) == posts, found
	assert found.get("partial") == (True if found["iterations"] else None), found
	if found["iterations"]:
		assert found["elapsed_ns"] > 0 and found["iterations_per_s"] > 0, found
		assert found["bytes"] == found["iterations"] * found["size"], found
	if found["role"] == "client" and found["test"] in LATENCY and found["iterations"]:
		krping.assert_latencies(found, found["iterations"])


# Interrupted

def interrupted(options):
	"""Interrupt a loopback in mid-run."""
	tag = new_tag()
	command = Command(f"loopback,addr={ADDR},tag={tag},{options}")
	wait_for(lambda: moving(1, WARM))
	start = time.monotonic()
	assert command.interrupt() == errno.EINTR
	taken = time.monotonic() - start
	assert taken < SOON, f"took {taken:.2f} s"
	found = krping.results(tag)
	assert {each["role"] for each in found} == {"client", "server"}, found
	for each in found:
		assert_partial(each, (errno.EINTR,))
		assert each["reason"] == "interrupted by a signal", each
	return taken


@suite.test("interrupted in mid-run: EINTR, with the figures until then")
def interrupts():
	# Half of them have a duration: bandwidths that poll, and latencies that do not.
	slowest = max(interrupted(test + ",poll" * poll + ",duration=1000" * (poll != (test in LATENCY)))
		      for test, poll in itertools.product(TESTS, (False, True)))
	diag(f"the slowest took {slowest:.2f} s")


@suite.test("interrupted in mid-run with several queue pairs and threads")
def interrupts_many():
	for options in ("slat,qps=4", "bw,poll,qps=4,postlist=4", "rbw,qps=3,threads=2",
			"sbw,duplex,qps=2", "bw,size=256K", "rlat,poll,qps=8"):
		tag = new_tag()
		clients = 1 + ("threads=2" in options)
		command = Command(f"loopback,addr={ADDR},tag={tag},{options}")
		# Each client moves data once all its connections are up.
		wait_for(lambda least=clients: moving(least, 50))
		start = time.monotonic()
		assert command.interrupt() == errno.EINTR, options
		taken = time.monotonic() - start
		assert taken < SOON, f"{options}: took {taken:.2f} s"
		found = krping.results(tag)
		assert {each["errno"] for each in found} == {"EINTR"}, (options, found)
		pairs = int((re.search(r"qps=(\d+)", options) or "11")[1])
		assert len(found) == clients * (1 + pairs), (options, len(found))


@suite.test("interrupted at any moment of the connecting of 16 queue pairs")
def interrupts_early():
	for delay in (0, 0.003, 0.01, 0.03, 0.1):
		command = Command(f"loopback,addr={ADDR},slat,qps=16")
		krping.pass_time(delay, "the signal comes at any moment")
		assert command.interrupt() == errno.EINTR


# Left by the peer

def left(kind, victim):
	"""Interrupt one side in mid-run, which the other notices."""
	server, port, tag = start_server(",poll" if "poll" in kind else "")
	log = Log()
	client = Command(f"client,addr={ADDR},port={port},{ENDLESS},tag={tag},{kind}")
	wait_for(lambda: moving(1, WARM))
	ours = {"client": client, "server": server}
	start = time.monotonic()
	assert ours.pop(victim).interrupt() == errno.EINTR, (kind, victim)
	(other, command), = ours.items()
	number = command.wait(10)
	taken = time.monotonic() - start
	assert number == errno.ECONNRESET, f"{kind}: {other}: {name(number)}: {log.text()}"
	assert taken < SOON, f"{kind}: {other}: took {taken:.2f} s"
	assert_partial(krping.result(tag, victim), (errno.EINTR,))
	found = krping.result(tag, other)
	assert_partial(found, (errno.ECONNRESET,))
	assert found["reason"].startswith("the peer disconnected before the end"), found


# Both sides of wlat,poll watch memory, so either is left there. Each other test polls once.
@suite.test("the server interrupted in mid-run: ECONNRESET at the client")
def server_left():
	for kind in ("wlat", "wlat,poll", "rlat,poll", "slat", "bw,poll", "rbw", "sbw,poll"):
		left(kind, "server")


@suite.test("the client interrupted in mid-run: ECONNRESET at the server")
def client_left():
	for kind in ("wlat", "wlat,poll", "rlat", "slat,poll", "bw", "rbw,poll", "sbw"):
		left(kind, "client")


@suite.test("a persistent server goes on after clients that leave in mid-run")
def persist():
	server, port, tag = start_server(",persist")
	for test in TESTS:
		# The server is still about what the last client left, and that has moved
		# as much as is waited for below.
		wait_for(lambda: len(krping.lines()) == 1)
		client = Command(f"client,addr={ADDR},port={port},qps=2,{test}")
		wait_for(lambda: moving(1))
		assert client.interrupt() == errno.EINTR
		krping.run_ok(f"client,addr={ADDR},port={port},qps=2,count=20,{test}")
	found = wait_for(lambda: krping.results(tag) if len(krping.results(tag)) == 24 else None)
	status = [each.get("errno", "ok") for each in found]
	assert sorted(status) == ["ECONNRESET"] * 12 + ["ok"] * 12, status
	assert server.interrupt() == errno.EINTR


def answer(request):
	"""A server's private data that agrees with a client's REQUEST, both in hexadecimal."""
	data = bytearray.fromhex(request)
	data[5] = 2
	return bytes(data[:56]).hex()


def control(kind, body):
	"""A control message, in hexadecimal."""
	return (b"krpc" + bytes([kind, 0, 0, 0]) + body).hex()


@suite.test("a server that takes all messages and says nothing: ETIMEDOUT, in time")
def silent_servers():
	# Before it is ready, or when it should be done: the client says all the time that it
	# is there, and what it says arrives.
	for options, ready in itertools.product(("bw", "rbw,poll", "slat", "bw,duplex"), (False, True)):
		port = new_port()
		with puppet.Server(port) as server:
			command = Command(f"client,addr={ADDR},port={port},timeout=2000,count=5,{options}")
			server.tell(f"accept {answer(server.expect('^request ([0-9a-f]+)')[1])}")
			addr, key = server.memory()
			server.expect("^received 6b72706301")
			start = time.monotonic()
			if ready:
				server.tell("send " + control(1, struct.pack(">QII", addr, key, 64)))
			found = command.wait(20)
			taken = time.monotonic() - start
			assert found == errno.ETIMEDOUT, (options, ready, name(found))
			assert taken < 2 + SOON, f"{options}, {ready}: took {taken:.2f} s"


@suite.test("a server that goes on after its client says so, as often as the client wants")
def alive():
	# By itself it would say so after 20 s.
	server, port, _ = start_server(",persist,timeout=600000")
	# Both directions, so many operations that there is no end, and a sign of life in 300 ms.
	load = struct.pack(">HHIHHB3xII", 1, 0, 16, 1, 1, 1, 0, 300)
	private = peer.private_data(test=6, flags=16, size=64, count=1 << 40, reserved=load)
	with puppet.Client(port, private) as client:
		client.connected()
		client.tell("send " + control(1, struct.pack(">QII", client.addr, client.key, 64)))
		client.expect("^received 6b72706301")
		client.tell("send " + control(3, bytes(16)))
		wait_for(lambda: [line.counters["recv_msgs"] for line in krping.lines()
				  if line.device] == [2], what=krping.lines)
		client.seen = len(client.lines)
		for _ in range(3):
			client.expect("^received 6b72706302", 10)
	assert server.interrupt() == errno.EINTR


# Without a link or a device

@suite.test("a cut cable in mid-run: ETIMEDOUT at both ends")
def cut_cable():
	with network.Lab() as lab:
		port, tag = new_port(), new_tag()
		server = lab.command(f"server,persist,port={port},timeout={LONG},tag={tag}")
		wait_for(krping.lines)
		clients = {kind: Command(f"client,addr={lab.FAR},port={port},timeout={LONG},"
					 f"tag={tag},{kind}")
			   for kind in TESTS + ("wlat,poll", "bw,poll")}
		# The active servers, too.
		wait_for(lambda: moving(len(clients) + 3, WARM), 120)
		lab.cut()
		start = time.monotonic()
		try:
			for kind, command in clients.items():
				number = command.wait()
				assert number == errno.ETIMEDOUT, f"{kind}: {name(number)}"
			taken = time.monotonic() - start
			assert taken < LONG / 1000 + SOON, f"took {taken:.2f} s"
			found = wait_for(lambda: krping.results(tag)
					 if len(krping.results(tag)) == 2 * len(clients) else None)
		finally:
			lab.mend()
		for each in found:
			assert_partial(each, (errno.ETIMEDOUT,))
		assert server.interrupt() == errno.EINTR


@suite.test("the link goes down in mid-run: both ends end")
def link_down():
	age.needs("workqueue")
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,persist,addr={ADDR},port={port},timeout={LONG},tag={tag}")
	clients = [Command(f"client,addr={ADDR},port={port},timeout={LONG},tag={tag},{kind}")
		   for kind in TESTS + ("slat,poll", "rbw,poll")]
	# The active servers, too.
	wait_for(lambda: moving(len(clients) + 3, WARM), 120)
	start = time.monotonic()
	network.link_down()
	try:
		# Soft-RoCE may put the queue pairs into error, without saying why.
		for command in clients:
			number = command.wait()
			assert number in CUT, name(number)
		taken = time.monotonic() - start
		assert taken < LONG / 1000 + SOON, f"took {taken:.2f} s"
		found = wait_for(lambda: krping.results(tag)
				 if len(krping.results(tag)) == 2 * len(clients) else None)
		for each in found:
			assert_partial(each, CUT)
		assert server.interrupt() == errno.EINTR
	finally:
		network.link_up()


@suite.test("the device unplugged in mid-run: ENODEV everywhere, at once")
def unplugged():
	tag, log = new_tag(), Log()
	kinds = TESTS + ("wlat,poll", "rlat,poll", "sbw,poll,duplex", "slat,qps=3", "bw,threads=2")
	runs = {kind: Command(f"loopback,addr={ADDR},tag={tag},{kind}") for kind in kinds}
	wait_for(lambda: moving(len(kinds) + 1))
	try:
		taken = network.unplug()
		diag(f"unplugged in {taken:.2f} s")
		for kind, command in runs.items():
			number = command.wait()
			assert number == errno.ENODEV, f"{kind}: {name(number)}: {log.text()}"
		for each in krping.results(tag):
			assert each["errno"] in ("ENODEV", "ECANCELED"), each
			if each["errno"] == "ENODEV":
				# So many pollers on so few CPUs.
				assert_partial(each, (errno.ENODEV,), moved=False)
	finally:
		network.plug()


# Refused

@suite.test("a server with a test serves that one only")
def other_test():
	for number, served in enumerate(TESTS):
		server, port, _ = start_server(f",persist,{served}")
		for test in (("", ",fr")[number % 2], f",{TESTS[number - 1]}", f",{TESTS[number - 3]}"):
			run_fails(f"client,addr={ADDR},port={port},count=5{test}", errno.ECONNREFUSED,
				  "the peer refused: the server does not do this test")
		krping.run_ok(f"client,addr={ADDR},port={port},count=5,{served}")
		assert server.interrupt() == errno.EINTR


@suite.test("a server with a test refuses rping, and serves who asks for it")
def legacy():
	for test in ("bw", "wlat"):
		server, port, tag = start_server(f",persist,{test}")
		rping = Program("rping", "-c", "-a", ADDR, "-p", str(port), "-C", "3")
		status, output = rping.finish()
		assert status != 0 and "cma event RDMA_CM_EVENT_REJECTED" in output, (status, output)
		krping.run_ok(f"client,addr={ADDR},port={port},count=5,{test}")
		found = wait_for(lambda: krping.results(tag) if len(krping.results(tag)) == 2 else None)
		assert sorted(each["status"] for each in found) == ["failed", "ok"], found
		assert server.interrupt() == errno.EINTR


@suite.test("rping's server has no microbenchmark")
def legacy_server():
	for test in ("wlat", "rbw"):
		port = new_port()
		rping = Program("rping", "-s", "-a", ADDR, "-p", str(port))
		wait_for(lambda: krping.listens(port))
		run_fails(f"client,addr={ADDR},port={port},count=5,timeout=3000,{test}",
			  errno.EOPNOTSUPP, "the server is not this krping, and does no microbenchmark")
		rping.stop(signal.SIGKILL)


@suite.test("more than the device can do: refused with the limit")
def too_much():
	base = f"loopback,addr={ADDR},count=1"
	for test in TESTS:
		run_fails(f"{base},{test},size=2097153", errno.ERANGE,
			  "size is above 2097152 bytes, the most that can be registered here")
	for test in ("wlat", "slat", "bw", "sbw"):
		run_fails(f"{base},{test},inline,size=65536", errno.EINVAL,
			  "creating the queue pair failed with EINVAL")


@suite.test("options that do not go with the test: EINVAL, and with which they do")
def rules():
	valid = {"latency": any_of("latency"), "bandwidth": any_of("bandwidth"),
		 "any": any_of("latency", "bandwidth"),
		 "sized": any_of("latency", "bandwidth", option="sge")}
	for role, (options, sentence) in itertools.product(
			(f"client,addr={ADDR}", f"loopback,addr={ADDR}"), (
			("duplex", f"duplex does not go with the ping/pong; it is for "
			 f"{valid['bandwidth']}"),
			("slat,duplex", f"duplex does not go with slat; it is for {valid['bandwidth']}"),
			("fr,qps=2", f"qps does not go with fr; it is for {valid['any']}"),
			("rlat,postlist=2", f"postlist does not go with rlat; it is for "
			 f"{valid['bandwidth']}"),
			("rlat,signal_every=1", "signal_every does not go with rlat; it is for "
			 "wlat, slat, bw, rbw, sbw"),
			("rbw,inline", "inline does not go with rbw; it is for wlat, slat, bw or sbw"),
			("sge=2", f"sge does not go with the ping/pong; it is for {valid['sized']}"),
			("sbw,imm", "imm does not go with sbw; it is for wlat or bw"),
			("bw,untimed", f"untimed does not go with bw; it is for {valid['latency']}"),
			("bw,max_p99=1s", "max_p99 does not go with bw; it is for the ping/pong, "
			 + any_of("latency", "rw", option="max_p99")),
			("slat,min_bw=1", f"min_bw does not go with slat; it is for "
			 f"{valid['bandwidth']}"),
			("wlat,max_p99=1s,untimed", "max_p99 and untimed are both given"),
			("wlat,validate", "validate does not go with wlat; it is for the ping/pong, "
			 + any_of("latency", "bandwidth", option="validate").replace(" or ", ", ")
			 # A server's.
			 + ", stream or messenger"),
			("bw,mem_mode=reg", "mem_mode=reg does not go with bw; it is for the "
			 "ping/pong, fr, rwread and rwwrite"),
			("bw,mem_mode=reg,server_inv", "server_inv does not go with bw; it is for "
			 "the ping/pong"),
			("bw,rbw", "bw and rbw are both given; give one of them"),
			("fr,slat", "fr and slat are both given; give one of them"),
			("bw,sge=3,size=2", "sge=3 does not go with size=2; each piece needs a byte"))):
		run_fails(f"{role},{options}", errno.EINVAL, re.escape(sentence))
	run_fails("server,fr", errno.EINVAL, "fr is for the client or loopback")
	for option, limits in (("qps=0", "1 to 256"), ("qps=257", "1 to 256"),
			       ("postlist=1025", "1 to 1024"), ("signal_every=0", "1 to 1024"),
			       ("sge=17", "1 to 16"), ("duration=86401", "1 to 86400 seconds"),
			       ("duration=0", "1 to 86400 seconds"),
			       ("min_bw=0", "1 to 18446744073709551615 bytes per second")):
		run_fails(f"loopback,addr={ADDR},bw,{option}", errno.ERANGE,
			  f"{option}: must be from {limits}")
	for option in ("expect=ENOSUCH", "expect=yes", "expect=0"):
		run_fails(f"loopback,addr={ADDR},bw,{option}", errno.EINVAL,
			  f"{option}: must be ok, EPERM, .* or ")


@suite.test("a server takes its client's options without effect")
def server_options():
	server, port, _ = start_server(",persist,duration=1,max_p99=1ns,postlist=9,qps=7,duplex,imm,"
				       "count=3,size=9")
	for test in TESTS:
		krping.run_ok(f"client,addr={ADDR},port={port},count=20,{test}")
	assert server.interrupt() == errno.EINTR
	for test in TESTS:
		server, port, tag = start_server(f",{test},count=3,size=9,duration=1,timeout=9000,"
						 "signal_every=3" * (test != "rlat"))
		krping.run_ok(f"client,addr={ADDR},port={port},count=20,{test}")
		assert server.wait() == 0
		found = krping.result(tag, "server")
		assert found["size"] == 64, found


suite.main()
