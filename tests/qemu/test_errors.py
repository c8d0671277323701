# SPDX-License-Identifier: GPL-2.0
"""Every errno of a run, provoked for real: what the write returns, what the result
says, and the sentence in the kernel's log."""

import contextlib
import errno
import re
import signal
import socket
import subprocess
import time

import age
import krping
import network
import peer
from krping import ADDR, ADDR6, SOON, Command, Log, Program, name, new_port, new_tag
from ktap import Skip, Suite, diag

# On the link of the RDMA device, and nobody's.
ABSENT, ABSENT6 = "10.99.0.2", "fd99::2"
# Reserved for documentation, and routed nowhere here.
ELSEWHERE, ELSEWHERE6 = "192.0.2.1", "2001:db8::1"
# The deadline, in ms, of runs that must move something before it is to end them: a machine that
# stalls for as long would end them before.
PATIENT = 5000 * krping.SLOW


def check():
	"""Nothing is left, and the network and the module are whole."""
	krping.check()
	for addr in (f"addr={ADDR}", f"addr6={ADDR6}"):
		krping.run_ok(f"loopback,{addr},count=3,validate")


suite = Suite(check=check)


def assert_result(tag, role, number, sentence):
	"""The only result of TAG and ROLE is this failure. Return it."""
	found = krping.result(tag, role)
	assert found["status"] == "failed", found
	assert (found["errno"], found["errno_number"]) == (name(number), number), found
	assert re.search(sentence, found["reason"]), f"no {sentence!r} in {found['reason']!r}"
	return found


def ends(command, tag, log, number, sentence, role, most=30):
	"""The Command ends with errno NUMBER within MOST seconds, and log and result say so. ROLE
	is whose result that is, None where there is none, and "many" where they are the caller's."""
	found = command.wait(most)
	assert found == number, f"{name(found)}, not {name(number)}: {log.text()}"
	log.wait(rf"tag={tag}.*: {name(number)} \({number}\): .*({sentence})")
	if role in ("client", "server"):
		return assert_result(tag, role, number, sentence)
	assert role or not krping.results(tag), krping.results(tag)
	return None


def fails(text, number, sentence, role="client", least=0, most=SOON):
	"""The command TEXT fails so, after LEAST to MOST seconds."""
	tag, log, start = new_tag(), Log(), time.monotonic()
	found = ends(Command(f"{text},tag={tag}"), tag, log, number, sentence, role, max(30, most))
	taken = time.monotonic() - start
	assert least <= taken <= most, f"{text}: took {taken:.2f} s, not {least} to {most}"
	return found


def meets(deeds, number, sentence, options="", seen=(), **more):
	"""A client with OPTIONS of a peer that does DEEDS fails so, and the peer has SEEN it. Return the
	client's result."""
	port = new_port()
	server = peer.server(port, *deeds)
	found = fails(f"client,addr={ADDR},port={port}{options}", number, sentence, **more)
	peer.end(server, *seen)
	return found


# Where to, and whether anybody is there

@suite.test("no listener: ECONNREFUSED")
def no_listener():
	sentence = r"was rejected: invalid service ID \(8\); nothing listens on that port"
	for options in ("", ",poll", ",mem_mode=reg,server_inv", ",fr"):
		fails(f"client,addr={ADDR},port={new_port()}{options}", errno.ECONNREFUSED,
		      sentence)
	found = fails(f"client,addr6={ADDR6},port=5", errno.ECONNREFUSED, sentence)
	assert (found["peer"], found["peer_port"], found["iterations"]) == (ADDR6, 5, 0), found


@suite.test("no route: ENETUNREACH")
def no_route():
	for addr in (f"addr={ELSEWHERE}", f"addr6={ELSEWHERE6}"):
		fails(f"client,{addr}", errno.ENETUNREACH, "resolving the address failed")


@suite.test("an unreachable host: EHOSTUNREACH")
def unreachable_host():
	with network.route("unreachable", f"{ELSEWHERE}/32"):
		fails(f"client,addr={ELSEWHERE}", errno.EHOSTUNREACH,
		      "resolving the address failed")


@suite.test("a forbidden route: EACCES")
def forbidden_route():
	with network.route("prohibit", f"{ELSEWHERE}/32"):
		fails(f"client,addr={ELSEWHERE}", errno.EACCES, "resolving the address failed")


@suite.test("a neighbour that does not answer: ETIMEDOUT")
def absent_neighbour():
	for addr in (f"addr={ABSENT}", f"addr6={ABSENT6}"):
		fails(f"client,{addr},timeout=600", errno.ETIMEDOUT,
		      "resolving the address: nothing happened for 600 ms", least=0.3)


@suite.test("a host that never answers connection requests: ETIMEDOUT")
def deaf_host():
	with network.deaf(ABSENT):
		for poll in ("", ",poll"):
			fails(f"client,addr={ABSENT},timeout=2000{poll}", errno.ETIMEDOUT,
			      "connecting: nothing happened for 2000 ms", least=1.5, most=2 + SOON)


@suite.test("an address without an RDMA device: ENODEV")
def no_device():
	fails("client,addr=127.0.0.1", errno.ENODEV, "failed with ENODEV")
	fails("client,addr6=::1", errno.ENODEV, "failed with ENODEV")
	for addr in ("addr=127.0.0.1", "addr6=::1"):
		fails(f"server,{addr},timeout=2000", errno.ENODEV, "binding to the address failed",
		      role=None)
	with network.plain_interface("10.97.0.1"):
		fails("client,addr=10.97.0.1", errno.ENODEV, "resolving the address failed")
		fails("client,addr=10.97.0.2", errno.ENODEV, "resolving the address failed")
		fails("server,addr=10.97.0.1,timeout=2000", errno.ENODEV,
		      "binding to the address failed", role=None)
		fails("loopback,addr=10.97.0.1", errno.ENODEV, "binding to the address failed",
		      role=None)


@suite.test("an address without an RDMA device: the log and the list of errors name those with one")
def devices_named():
	sentence = ("no RDMA device has the address or leads to it; addresses with an RDMA device are "
		    f"{ADDR} ({krping.DEVICE}), {krping.ADDR6} ({krping.DEVICE})")
	for command in ("client,addr=127.0.0.1", "server,addr=127.0.0.1", "loopback,addr6=::1",
			"caps,addr=127.0.0.1", "client,blk,addr=127.0.0.1", "server,messenger,addr6=::1"):
		krping.run_fails(command, errno.ENODEV, re.escape(sentence))
		with open("/sys/kernel/debug/krping/errors", encoding="ascii") as file:
			assert file.read().endswith(f"{sentence}\n"), command
	# Those that are not of this host, whatever the server serves.
	blocks = "store=ram,size=1M"
	for command in (f"server,addr={ABSENT}", f"loopback,addr={ELSEWHERE}",
			f"server,detach,addr={ABSENT}", f"server,messenger,addr6={ABSENT6}",
			f"server,messenger,tcp,addr={ABSENT}", f"server,stream,addr={ABSENT}",
			f"server,blk,{blocks},addr={ABSENT}",
			f"loopback,blk,{blocks},addr={ABSENT}", f"server,tap,{blocks},addr={ABSENT}",
			f"server,mcast=239.1.2.3,addr={ABSENT}", f"neg=all,addr={ABSENT}"):
		krping.run_fails(command, errno.EADDRNOTAVAIL,
				 re.escape("binding to the address failed with EADDRNOTAVAIL: this host "
					   "does not have the address; addresses with an RDMA "
					   f"device are {ADDR} "))
	# Link-local ones: nobody's, without an interface, and of one that is not there.
	krping.run_fails(f"server,addr6=fe80::dead%{krping.NETDEV}", errno.ENODEV, re.escape(sentence))
	krping.run_fails("server,addr6=fe80::dead", errno.EINVAL,
			 "must say on which interface, as in fe80::dead%eth0")
	krping.run_fails("server,addr6=fe80::dead%none9", errno.ENODEV,
			 "finding the interface failed with ENODEV: see 'ip link' for those that there are")
	# One that has just lost its device.
	network.unplug()
	try:
		krping.run_fails(f"loopback,addr={ADDR}", errno.ENODEV,
			  "; no address of this host has an RDMA device: see 'rdma link' and 'ip address'")
	finally:
		network.plug()


@suite.test("src= and dev=: a client connects from there, or says what there is")
def source():
	other = "10.99.0.201"
	network.ip(f"address add {other}/24 dev {krping.NETDEV}")
	try:
		network.wait_gids(krping.DEVICE, other)
		for place, options, expected in (
				(f"addr={ADDR}", f"src={other}", other),
				(f"addr={ADDR}", f"src={ADDR}", ADDR),
				(f"addr={other}", f"dev={krping.DEVICE}", ADDR),
				(f"addr6={ADDR6}", f"dev={krping.DEVICE}", ADDR6),
				(f"addr6={ADDR6}", f"src={ADDR6},wlat", ADDR6)):
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,addr6=::,port={port},tag={tag}")
			krping.run_ok(f"client,{place},port={port},count=5,{options}")
			assert server.wait() == 0
			found = krping.result(tag, "server")
			assert found["peer"] == expected, (options, found)
	finally:
		network.ip(f"address del {other}/24 dev {krping.NETDEV}")
	own = f"; addresses with an RDMA device are {ADDR} ({krping.DEVICE})"
	for test in ("client", "caps", "client,blk", "client,stream", "client,messenger",
		     "client,sbw,qp=ud,mcast=239.1.2.3"):
		krping.run_fails(f"{test},addr={ADDR},src={ABSENT}", errno.EADDRNOTAVAIL,
				 re.escape("resolving the address failed with EADDRNOTAVAIL: this host "
					   f"does not have the address{own}"))
	krping.run_fails(f"client,addr={ADDR},src=127.0.0.1", errno.ENODEV, re.escape(own))
	for test in ("client", "client,blk"):
		krping.run_fails(f"{test},addr={ADDR},dev=mlx9_9", errno.ENODEV,
				 re.escape("there is no RDMA device of the name in dev=, or it has no "
					   f"address of the server's family{own}"))


@suite.test("rping of another size: the client says what may be wrong")
def other_size():
	port = new_port()
	rping = Program("rping", "-s", "-a", ADDR, "-p", str(port), "-S", "64", "-C", "10")
	krping.wait_for(lambda: krping.listens(port))
	fails(f"client,addr={ADDR},port={port},size=4096,count=10", errno.ECONNRESET,
	      re.escape("the peer disconnected before the end: it is not this krping, so give both "
			"sides the same size (rping: -S)"))
	rping.stop(signal.SIGKILL)


@suite.test("an interface that does not exist: ENODEV")
def no_interface():
	for role in ("client", "server,timeout=2000", "loopback"):
		fails(f"{role},addr6=fe80::1%none9", errno.ENODEV, "finding the interface failed",
		      role=None)


@suite.test("somebody else's address for a server: EADDRNOTAVAIL")
def foreign_address():
	for addr in (f"addr={ABSENT}", f"addr6={ABSENT6}", f"addr={ELSEWHERE}"):
		for role in ("server,timeout=2000", "loopback", "server,persist"):
			fails(f"{role},{addr}", errno.EADDRNOTAVAIL,
			      "binding to the address failed", role=None)


@suite.test("an address in use: EADDRINUSE")
def address_in_use():
	for first in (f"server,addr={ADDR}", "server", "server,persist", f"server,addr6={ADDR6}"):
		port = new_port()
		holder = krping.serve(f"{first},port={port}")
		seconds = ["server", first]
		if "addr6" not in first:
			seconds.append(f"server,addr={ADDR}")
		for second in seconds:
			fails(f"{second},port={port},timeout=2000", errno.EADDRINUSE,
			      "binding to the address failed", role=None)
		assert holder.interrupt() == errno.EINTR


@suite.test("nobody comes to a server with a deadline: ETIMEDOUT")
def nobody_comes():
	fails(f"server,port={new_port()},timeout=300", errno.ETIMEDOUT,
	      "waiting for a client: nothing happened for 300 ms", role=None, least=0.15)


# What goes wrong in mid-run

def moving(number=1):
	"""NUMBER connections move something."""
	krping.wait_for(lambda: len([line for line in krping.lines()
				     if line.counters.get("recv_msgs", 0) > 10]) >= number,
			what="connections to move something")


@suite.test("a peer killed in mid-run: ECONNRESET")
def rping_killed():
	for options in ("", ",mem_mode=reg", ",poll", ",mem_mode=reg,size=4096"):
		port, tag, log = new_port(), new_tag(), Log()
		rping = Program("rping", "-s", "-a", ADDR, "-p", str(port), "-S", "4096")
		krping.wait_for(lambda: krping.listens(port))
		command = Command(f"client,addr={ADDR},port={port},tag={tag}{options}")
		moving()
		rping.stop(signal.SIGKILL)
		found = ends(command, tag, log, errno.ECONNRESET,
			     "the peer disconnected before the end", "client")
		assert found["iterations"] > 0 and found["peer_kind"] == "legacy", found


@suite.test("a peer of ours interrupted in mid-run: ECONNRESET")
def krping_interrupted():
	# The client, then the server: the other end says so.
	for victim in ("client", "server"):
		port, tags, log = new_port(), {"client": new_tag(), "server": new_tag()}, Log()
		ours = {"server": krping.serve(f"server,addr={ADDR},port={port},tag={tags['server']}")}
		# Where a client announces no end, it may leave at any time.
		ours["client"] = Command(f"client,addr={ADDR},port={port},count=1000000,"
					 f"tag={tags['client']}")
		moving(number=2)
		assert ours.pop(victim).interrupt() == errno.EINTR
		assert_result(tags[victim], victim, errno.EINTR, "interrupted by a signal")
		(other, command), = ours.items()
		found = ends(command, tags[other], log, errno.ECONNRESET,
			     "the peer disconnected before the end", other)
		assert found["iterations"] > 0 and found["peer_kind"] == "krping", found


@suite.test("a peer that accepts and then is silent: ETIMEDOUT")
def silent_peer():
	# The peer must be scheduled in time to accept.
	for options in ("timeout=3000", "timeout=3000,poll", "timeout=3000,mem_mode=reg,server_inv"):
		meets(("stop=connected", "how=silent"), errno.ETIMEDOUT,
		      "waiting for the peer: nothing happened for 3000 ms", f",{options}",
		      ("DISCONNECTED",), least=2.5, most=3 + SOON)


@suite.test("a cut cable in mid-run: ETIMEDOUT at both ends")
def cut_cable():
	with network.Lab() as lab:
		port, tag, log = new_port(), new_tag(), Log()
		server = lab.command(f"server,persist,port={port},timeout={PATIENT},tag={tag}s")
		krping.wait_for(krping.lines)
		krping.run_ok(f"client,addr={lab.FAR},port={port},count=10,validate")
		clients = {mode: Command(f"client,addr={lab.FAR},port={port},timeout={PATIENT},"
					 f"tag={tag}{mode},{mode}")
			   for mode in ("poll", "mem_mode=reg")}
		moving(number=4)
		start = time.monotonic()
		lab.cut()
		try:
			for mode, command in clients.items():
				found = ends(command, tag + mode, log, errno.ETIMEDOUT,
					     f"nothing happened for {PATIENT} ms", "client")
				assert found["iterations"] > 0
			taken = time.monotonic() - start
			assert taken < PATIENT / 1000 + SOON, f"took {taken:.2f} s"
			found = krping.wait_for(lambda: len(krping.results(f"{tag}s")) == 3
						and krping.results(f"{tag}s"))
			assert {each["status"]: each.get("errno") for each in found} == {
				"ok": None, "failed": "ETIMEDOUT"}, found
		finally:
			lab.mend()
		krping.run_ok(f"client,addr={lab.FAR},port={port},count=10,validate")
		assert server.interrupt() == errno.EINTR


@suite.test("the client's last message of the handshake is lost, and it is done soon: success")
def no_rtu():
	with network.Lab() as lab:
		for options in ("count=10,validate", "count=10,size=4096,mem_mode=reg", "fr,count=10",
				"wlat,count=10"):
			port, tag, log = new_port(), new_tag(), Log()
			server = krping.serve(f"server,addr={lab.NEAR},port={port},tag={tag}")
			with lab.no_rtu():
				client = lab.command(f"client,addr={lab.NEAR},port={port},{options}")
				both = [name(client.wait()), name(server.wait())]
			assert both == ["success", "success"], f"{options}: {both}: {log.text()}"
			assert krping.result(tag, "server")["status"] == "ok"


@suite.test("a fast registration's client that is gone without a word: ETIMEDOUT")
def silent_client_gone():
	# A server hears of its client by its own messages only.
	timeout, port, tag, log = 1500, new_port(), new_tag(), Log()
	sentence = f"nothing happened for {timeout} ms|retry counter exceeded"
	with network.Lab() as lab:
		server = lab.command(f"server,port={port},timeout={timeout},tag={tag}")
		krping.wait_for(krping.lines)
		client = Command(f"client,addr={lab.FAR},port={port},fr,timeout={timeout}")
		# Nor does it wait for the time where it has ended.
		server.join(2.5 * timeout / 1000)
		assert server.is_alive() and client.is_alive(), log.text()
		lab.cut()
		try:
			assert client.interrupt() == errno.EINTR
			ends(server, tag, log, errno.ETIMEDOUT, sentence, "many", 60)
		finally:
			lab.mend()
	found = assert_result(tag, "server", errno.ETIMEDOUT, sentence)
	assert found["iterations"] == 0, found


@suite.test("requests that are never acknowledged: ETIMEDOUT, as the device says")
def retries_exceeded():
	# The client chooses how long an acknowledgement may take, and how often a request is
	# repeated. The server is mostly in a READ or a WRITE, since these are long.
	with network.Lab() as lab:
		port, tag, log = new_port(), new_tag(), Log()
		server = krping.serve(f"server,addr={lab.NEAR},port={port},tag={tag}")
		size = 1 << 20
		client = peer.client(port, f"private={peer.private_data(size=size)}", f"size={size}",
				     "count=0", "ack=15", addr=lab.NEAR,
				     before=("ip", "netns", "exec", lab.NAME))
		krping.wait_for(lambda: [line for line in krping.lines()
					 if line.counters.get("read_msgs")], 20)
		lab.cut()
		try:
			found = server.wait()
		finally:
			lab.mend()
			client.stop(signal.SIGKILL)
		assert found == errno.ETIMEDOUT, name(found)
		sentence = (r"(RDMA READ|RDMA WRITE|SEND) of iteration \d+ failed: transport retry "
			    r"counter exceeded \(12, .*: the peer stopped answering")
		assert_result(tag, "server", errno.ETIMEDOUT, sentence)
		log.wait(sentence)


@contextlib.contextmanager
def seems_moved(options=""):
	"""Within, a client with OPTIONS runs to another host: what the body does to the Lab and to the
	Command has the core take the host for one that has moved to another link-layer address."""
	with network.Lab() as lab:
		port, tag, log = new_port(), new_tag(), Log()
		server = lab.command(f"server,persist,port={port}")
		krping.wait_for(krping.lines)
		command = Command(f"client,addr={lab.FAR},port={port},tag={tag}{options}")
		moving(number=2)
		yield lab, command
		ends(command, tag, log, errno.ETIMEDOUT,
		     "became unreachable: its link-layer address has changed", "client")
		assert server.interrupt() == errno.EINTR


@suite.test("a peer that moves to another link-layer address: ETIMEDOUT")
def peer_moves():
	with seems_moved() as (lab, _):
		network.ip(f"neigh replace {lab.FAR} lladdr {network.NOBODY} nud permanent "
			   "dev near9")


@contextlib.contextmanager
def elsewhere(index):
	"""A network namespace whose only interface has the number INDEX, and nobody behind it."""
	network.ip("netns add other9")
	try:
		network.ip(f"-n other9 link add veth9 index {index} type veth peer name veth9p")
		network.ip("-n other9 addr add 10.98.0.3/24 dev veth9")
		for link in ("veth9", "veth9p"):
			network.ip(f"-n other9 link set {link} up")
		yield
	finally:
		network.ip("netns del other9")


# The core looks for the connections to a neighbour by its address and the number of the interface,
# which each network namespace gives anew, and takes one without a link-layer address for one with
# another.
@suite.test("the core's defect: a neighbour that another namespace does not find is one that has moved")
def not_found_elsewhere():
	with seems_moved(",rate=100") as (lab, command):
		near = socket.if_nametoindex("near9")
		for index in (near + 1000, near):
			assert command.is_alive(), command.errno
			with elsewhere(index):
				subprocess.run(("ip", "netns", "exec", "other9", "ping", "-c", "1",
						"-W", "1", lab.FAR), stdin=subprocess.DEVNULL,
					       capture_output=True, check=False)
				krping.wait_for(lambda: "FAILED" in network.ip("-n other9 neigh"))


@suite.test("the link goes down in mid-run: both ends end")
def link_down():
	port, tag = new_port(), new_tag()
	# Without persist its deadline would hold for its client's coming, too.
	server = krping.serve(f"server,persist,addr={ADDR},port={port},timeout={PATIENT},tag={tag}")
	runs = [Command(f"client,addr={ADDR},port={port},timeout={PATIENT},tag={tag}"),
		Command(f"loopback,addr={ADDR},timeout={PATIENT},tag={tag}l")]
	moving(number=4)
	start = time.monotonic()
	network.link_down()
	try:
		# Soft-RoCE may put the queue pairs into error, without saying why, or with a local error.
		ends = {"ETIMEDOUT", "ECONNRESET", "ENETDOWN"}
		if not age.has("flushed_locally"):
			ends.add("EIO")
		for command in runs:
			found = command.wait()
			assert name(found) in ends, name(found)
		for role in ("client", "server"):
			assert krping.result(tag, role)["errno"] in ends
		taken = time.monotonic() - start
		assert taken < PATIENT / 1000 + SOON, f"took {taken:.2f} s"
		assert server.interrupt() == errno.EINTR
		assert krping.run(f"loopback,addr={ADDR},timeout=500") == errno.ENETDOWN
	finally:
		network.link_up()


@suite.test("the device unplugged in mid-run: ENODEV everywhere, at once")
def unplugged():
	port, listening, tag, log = new_port(), new_port(), new_tag(), Log()
	server = krping.serve(f"server,persist,port={port},tag={tag}persist")
	bound = Command(f"server,addr={ADDR},port={listening},tag={tag}bound")
	runs = {mode: Command(f"client,addr={ADDR},port={port},tag={tag}{mode},{mode}")
		for mode in ("poll", "mem_mode=reg", "validate")}
	runs["threads=3"] = Command(f"loopback,addr={ADDR},threads=3,tag={tag}threads=3")
	runs["fr"] = Command(f"loopback,addr={ADDR},fr,tag={tag}fr")
	krping.wait_for(lambda: krping.listens(listening))
	moving(number=12)
	seen = set()
	try:
		taken = network.unplug()
		diag(f"unplugged in {taken:.2f} s")
		gone = "the RDMA device was removed"
		ends(bound, f"{tag}bound", log, errno.ENODEV, gone, None)
		for mode, command in runs.items():
			found = command.wait()
			assert found == errno.ENODEV, f"{mode}: {name(found)}: {log.text()}"
			log.wait(rf"tag={tag}{mode}: ENODEV \(19\): {gone}")
			own = krping.wait_for(lambda: krping.results(tag + mode))
			seen |= {each.get("errno") for each in own}
		# Its clients are gone; it listens everywhere, and so goes on.
		served = krping.wait_for(lambda: len(krping.results(f"{tag}persist")) == 3
					 and krping.results(f"{tag}persist"))
		assert {each.get("errno") for each in served} == {"ENODEV"}, served
		assert seen <= {"ENODEV", "ECANCELED"}, seen
		assert krping.run(f"client,addr={ADDR},port={port},timeout=1000") == errno.ENODEV
		assert krping.run(f"server,addr={ADDR},timeout=1000") == errno.ENODEV
		assert server.is_alive()
	finally:
		network.plug()
	krping.run_ok(f"client,addr={ADDR},port={port},count=10,validate")
	assert server.interrupt() == errno.EINTR


@suite.test("the device unplugged at any moment of a run")
def unplugged_early():
	slowest = 0
	for delay in (0, 0.003, 0.01, 0.03):
		runs = [Command(f"loopback,addr={ADDR},threads=4,timeout=5000"),
			Command(f"client,addr={ABSENT},timeout=2000"),
			Command(f"server,addr={ADDR},port={new_port()},timeout=2000")]
		krping.pass_time(delay, "the device goes at any moment")
		try:
			slowest = max(slowest, network.unplug())
			for command in runs:
				found = command.wait()
				assert found in (errno.ENODEV, errno.ETIMEDOUT), name(found)
		finally:
			network.plug()
	diag(f"unplugged in {slowest:.2f} s at most")


@suite.test("the device unplugged while nobody acknowledges a run's end")
def unplugged_late():
	with network.Lab() as lab:
		command = lab.unacknowledged(Command)
		network.unplug("rxe8")
		# It was done.
		assert command.wait() in (0, errno.ENODEV)


@suite.test("nobody acknowledges a run's end: it has succeeded all the same")
def unacknowledged():
	with network.Lab() as lab:
		command = lab.unacknowledged(lambda text: Command(f"{text},timeout=1500"))
		start = time.monotonic()
		assert command.wait() == 0
		taken = time.monotonic() - start
		assert taken < 1.5 + SOON, f"took {taken:.2f} s"


# What the peer does wrong; test_hostile.py has all of it

@suite.test("a peer that returns other data: EBADMSG")
def other_data():
	# "rdma-ping-2: CDEFG"
	found = meets(("on=sink", "at=2", "scribble=17:64:1"), errno.EBADMSG,
		      "in iteration 2: byte 17 is 0x07 instead of 0x47, 1 wrong in all",
		      ",count=5,validate")
	assert found["validated"] == {"msgs": 2, "bytes": 128, "wrong": 1}, found


@suite.test("a peer with a key that does not open its buffer: EREMOTEIO")
def bad_key():
	port, tag, log = new_port(), new_tag(), Log()
	server = krping.serve(f"server,addr={ADDR},port={port},tag={tag}")
	client = peer.client(port, "on=source", "key=0x100000")
	ends(server, tag, log, errno.EREMOTEIO,
	     r"RDMA READ of iteration 0 failed: remote access error \(10, vendor code 0x.*\): "
	     "the peer's key was invalid", "server")
	peer.end(client)


@suite.test("a peer that sends what is no message: EPROTO")
def no_message():
	meets(("on=source", "length=15"), errno.EPROTO,
	      "sent a message of 15 bytes instead of 16 in iteration 0")


@suite.test("a peer that reaches for memory it was not given: EPROTO")
def reach_beyond():
	age.needs("access_event")
	meets(("on=sink", "beyond=1"), errno.EPROTO, "QP access error")


# What cannot be done here

@suite.test("READ_WITH_INV on a device without it: EOPNOTSUPP")
def read_inv():
	for role in (f"client,addr={ADDR}", f"loopback,addr={ADDR}"):
		fails(f"{role},mem_mode=reg,read_inv", errno.EOPNOTSUPP,
		      "read_inv: only iWARP devices have READ_WITH_INV")


@suite.test("binary data with a server that returns text only: EOPNOTSUPP")
def binary_legacy():
	meets((), errno.EOPNOTSUPP, "pattern=binary", ",pattern=binary")


@suite.test("more than one registration covers: ERANGE")
def too_large():
	for size in ("2097153", "4M", "0xffffffff"):
		fails(f"loopback,addr={ADDR},count=1,size={size}", errno.ERANGE,
		      "size is above 2097152 bytes")
	fails(f"client,addr={ADDR},size=3M,mem_mode=reg", errno.ERANGE, "size is above 2097152")


@suite.test("malformed commands: EINVAL and ERANGE, with the option's name")
def malformed():
	for text, number, sentence in (
			("size=0", errno.ERANGE, "size=0: must be from 1 to 4294967295"),
			("timeout=0", errno.ERANGE, "timeout=0: must be from 1 to 3600000"),
			("port=65536", errno.ERANGE, "port=65536: must be from 1 to 65535"),
			("sise=1", errno.EINVAL, "unknown option 'sise'; did you mean 'size'?"),
			("count=ten", errno.EINVAL, "count=ten: must be a number"),
			("persist", errno.EINVAL, "persist is for a server"),
			("server", errno.EINVAL, "client and server are both given")):
		krping.run_fails(f"client,addr={ADDR},{text}", number,
				 "krping: " + re.escape(sentence))


@suite.test("more memory than there is: ENOMEM, and all of it is given back")
def no_memory():
	def available():
		with open("/proc/meminfo", encoding="ascii") as file:
			return int(re.search(r"MemAvailable: *(\d+) kB", file.read())[1]) << 10

	before = available()
	# Each thread has two buffers before it connects, and here stays at that.
	if before > 1000 * (2 << 21):
		raise Skip("too much memory here to use it up")
	with network.deaf(ABSENT):
		fails(f"client,addr={ABSENT},threads=1024,size=2M,timeout=400000", errno.ENOMEM,
		      "failed with ENOMEM", role="many", most=400)
	krping.wait_for(lambda: available() > before - (100 << 20), what="memory to come back")


@suite.test("a signal: EINTR")
def interrupted():
	tag, log = new_tag(), Log()
	command = Command(f"loopback,addr={ADDR},tag={tag}")
	moving(number=2)
	assert command.interrupt() == errno.EINTR
	log.wait(rf"tag={tag}: EINTR \(4\): interrupted by a signal")
	for role in ("client", "server"):
		assert_result(tag, role, errno.EINTR, "interrupted by a signal")


if __name__ == "__main__":
	peer.PEER.begin()
	suite.main()
