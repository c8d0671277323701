# SPDX-License-Identifier: GPL-2.0
# oldest: yes
"""The microbenchmarks within one guest: what they move, to the byte, and what they
say of it."""

import itertools
import re

import krping
import network
from krping import ADDR, Command, Log, new_port, new_tag, run_ok, wait_for
from ktap import Suite
from microbench import BANDWIDTH, LATENCY, TESTS, Case, moving

suite = Suite(check=krping.check)

# By size: an emulated CPU moves some 20 MB a second.
SIZES = {2: 40, 64: 33, 4096: 20, 65536: 5}


def combinations(test, poll):
	"""Every size, and all ways to post. The first way has all sizes, the others have a short one
	and take turns with the rest. Pollers keep a CPU from the device's work, so they have the
	short one only, and of several queue pairs one way."""
	lists = (1, 4) if test in BANDWIDTH else (1,)
	every = (0,) if test == "rlat" else (1, 16)
	others = itertools.cycle(size for size in SIZES if size != 64)
	for number, way in enumerate(itertools.product(lists, every, (1, 3))):
		if poll and way[-1] > 1 and number > 1:
			continue
		sizes = SIZES if number == 0 else (64,) if poll else (64, next(others))
		for size in sizes:
			Case(test, size, SIZES[size], poll, *way).loopback()


for mode, name in itertools.product((False, True), TESTS):
	suite.test(f"{name}{' poll' * mode}: every size, however it is posted, counted")(
		lambda name=name, mode=mode: combinations(name, mode))


@suite.test("without count= or other options a test has its defaults")
def defaults():
	for test in TESTS:
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},count=10,tag={tag}")
		client = krping.result(tag, "client")
		Case(test, count=10).assert_counted(client, [krping.result(tag, "server")])
		assert client["options"] == f"loopback,addr={ADDR},count=10,{test},tag={tag}", client
		assert client["txdepth"] == 64, client


@suite.test("data as long as a control message, and one byte around that")
def control_sizes():
	for test in TESTS:
		Case(test, 24).loopback()
	# Their data takes the receives of control messages.
	for test, size in itertools.product(("slat", "sbw"), (23, 25)):
		Case(test, size).loopback()
	for size in (1, 24, 25):
		Case("sbw", size, poll=True, duplex=True).loopback()


@suite.test("the send queue as small as it can be, and much larger than needed")
def queue_sizes():
	for test in ("wlat", "slat", "bw", "rbw", "sbw"):
		found, _ = Case(test, options="txdepth=1").loopback()
		assert found["txdepth"] == 16, found
		Case(test, count=1, signal_every=1, options="txdepth=1").loopback()
		Case(test, signal_every=100, options="txdepth=3").loopback()
		Case(test, options="txdepth=2000").loopback()
	found, _ = Case("rlat", options="txdepth=1").loopback()
	assert found["txdepth"] == 1, found
	for test in BANDWIDTH:
		found, _ = Case(test, count=100, postlist=30, signal_every=7,
				options="txdepth=1").loopback()
		assert found["txdepth"] == 36, found
		# The warm-up has a whole list.
		Case(test, count=100, postlist=1000, signal_every=1000).loopback()


@suite.test("sig_all: each operation completes, though none asks for it")
def signal_all():
	for test, poll in zip(TESTS, itertools.cycle((False, True))):
		Case(test, signal_every=1, poll=poll, options="sig_all").loopback()
	for test in BANDWIDTH:
		Case(test, signal_every=1, duplex=True, qps=3, options="sig_all").loopback()
		Case(test, signal_every=1, postlist=8, options="sig_all").loopback()


@suite.test("inline")
def inline():
	for test, (size, poll) in itertools.product(
			("wlat", "slat", "bw", "sbw"), ((1, True), (2, False), (64, True), (200, False))):
		Case(test, size, poll=poll, inline=True).loopback()
	Case("bw", 128, inline=True, postlist=4, qps=2, sge=3).loopback()


@suite.test("sge= pieces")
def pieces():
	for test, (pieces, size) in itertools.product(TESTS, ((3, 64), (16, 4099))):
		Case(test, size, sge=pieces).loopback()
	# Pieces of a byte. A device has a limit for READs, and one for others.
	for test, pieces in itertools.product(("wlat", "rlat"), (2, 16)):
		Case(test, pieces, sge=pieces).loopback()
	for test in BANDWIDTH:
		Case(test, 65536, 5, True, sge=16, postlist=4, options="validate").loopback()


@suite.test("imm")
def immediate():
	for poll, size in ((False, 1), (True, 64), (False, 4096)):
		Case("wlat", size, imm=True, poll=poll).loopback()
		Case("bw", size, imm=True, poll=poll, postlist=4).loopback()
		Case("bw", size, imm=True, poll=poll, duplex=True).loopback()
	# More than there are receives at a time.
	Case("bw", 64, 200, imm=True, options="txdepth=16").loopback()
	Case("sbw", 64, 200, options="txdepth=16").loopback()


@suite.test("duplex: both sides at once, each with its own figures")
def duplex():
	for test, poll in itertools.product(BANDWIDTH, (False, True)):
		for size in (64,) if poll else SIZES:
			client, (server,) = Case(test, size, SIZES[size], poll, duplex=True).loopback()
			for one, other in ((client, server), (server, client)):
				assert one["peer_elapsed_ns"] == other["elapsed_ns"], (one, other)
				assert one["peer_bytes_per_s"] == other["bytes_per_s"], (one, other)
				both = one["bytes"] + size * one["peer_iterations"]
				longer = max(one["elapsed_ns"], one["peer_elapsed_ns"])
				assert one["total_bytes_per_s"] == both * 10 ** 9 // longer, one
		Case(test, 4096, 20, poll, postlist=4, qps=2, duplex=True).loopback()


@suite.test("a passive side has its peer's figures")
def passive():
	for test in ("rlat",) + BANDWIDTH:
		client, (server,) = Case(test).loopback()
		assert server["peer_elapsed_ns"] == client["elapsed_ns"], (client, server)
		assert server["peer_bytes_per_s"] == client["bytes_per_s"], (client, server)
		assert server["elapsed_ns"] == 0 and "mean_ns" not in server, server


@suite.test("validate, text and binary")
def validate():
	text, binary = ("validate,pattern=text", "validate,pattern=binary")
	for test, patterns in zip(BANDWIDTH, ((text, binary), (binary, text), (text, binary))):
		# Either for each test, and for each size.
		for (size, count), options in zip(
				{1: 20, 24: 20, 64: 20, 4096: 20, 65536: 3, 65537: 3}.items(),
				itertools.cycle(patterns)):
			Case(test, size, count, options=options).loopback()
		Case(test, 4096, 20, duplex=True, options=binary).loopback()
		Case(test, 4096, 20, qps=2, postlist=4, options=text).loopback()
		Case(test, 65537, 3, True, duplex=True, options=text).loopback()


@suite.test("unsafe_global_rkey")
def global_rkey():
	for test, poll in zip(TESTS, itertools.cycle((False, True))):
		validated = ",validate" * (test in BANDWIDTH)
		Case(test, 65537, 3, poll, options=f"unsafe_global_rkey{validated}").loopback()


@suite.test("threads= with qps=")
def threads():
	for test in ("slat", "bw", "rbw"):
		tag, case = new_tag(), Case(test, 64, 20, qps=2)
		run_ok(f"loopback,addr={ADDR},threads=3,tag={tag},{case.text()}")
		found = wait_for(lambda: krping.results(tag) if len(krping.results(tag)) == 9 else None)
		clients = [each for each in found if each["role"] == "client"]
		assert len({each["thread"] for each in clients}) == 3, clients
		servers = [each for each in found if each["role"] == "server"]
		assert len(servers) == 6, servers
		for client in clients:
			# Which ones are its own does not matter: they are all alike.
			case.assert_counted(client, servers[:2])
			servers = servers[2:]


@suite.test("100 queue pairs of one thread")
def many_pairs():
	Case("sbw", 64, 10, qps=100).loopback()
	Case("wlat", 64, 3, qps=20, signal_every=1).loopback()


@suite.test("two sides of two commands, of which the server follows its client")
def two_commands():
	for test, poll, named in itertools.product(TESTS, (False, True), (False, True)):
		# Only a server of wlat depends on whether its client polls.
		if test != "wlat" and poll == named:
			continue
		port, tag = new_port(), new_tag()
		command = krping.serve(f"server,port={port},tag={tag}" + f",{test}" * named)
		case = Case(test, 64, 20, poll, options=f"port={port}")
		run_ok(f"client,addr={ADDR},tag={tag},{case.text()}")
		assert command.wait() == 0
		client, server = (krping.result(tag, role) for role in ("client", "server"))
		# Each side says for itself whether it polls; nothing else shows it that a
		# plain WRITE has come.
		assert client["poll"] == poll, client
		assert server["poll"] == (poll and test == "wlat"), server
		server["poll"] = case.polls("server")
		case.assert_counted(client, [server])


def ends_in_time(play):
	"""PLAY a run that ends by itself, and returns for how many seconds longer than it should it
	lasted. On a busy machine that may be any time, so one of a few counts."""
	late = [play()]
	while late[-1] > 0.7:
		assert len(late) < 5, f"lasted longer than it should each time: {late}"
		late.append(play())


def lasting(cases):
	"""Run loopbacks side by side that last as long as each says, in seconds, and whose
	counters are still exact."""
	ends_in_time(lambda: excess(cases))


def excess(cases):
	"""Run them once, and return for how many seconds too long one of them lasted."""
	runs = [(case, seconds, new_tag()) for case, seconds in cases]
	commands = [Command(f"loopback,addr={ADDR},tag={tag},{case.text()}")
		    for case, _, tag in runs]
	assert [command.wait() for command in commands] == [0] * len(runs)
	late = []
	for case, seconds, tag in runs:
		client = krping.result(tag, "client")
		servers = [each for each in krping.results(tag) if each["role"] == "server"]
		# At the end the queue, of up to 64 requests, is still to be worked off.
		late.append(client["elapsed_ns"] / 10 ** 9 - seconds)
		assert late[-1] >= -0.05 and client["iterations"] > 20, client
		case.assert_set(client)
		if case.qps == 1:
			count = client["iterations"]
			case.assert_moved(client, 1, count, count)
			case.assert_moved(servers[0], 1, count if case.posts("server") else 0, count)
			continue
		# Queue pairs differ in how much they have done.
		counts = [each["peer_iterations"] for each in servers]
		assert sum(counts) == client["iterations"], (client, servers)
		total = client["iterations"] + case.warmup * case.qps
		assert client["write_msgs"] == total, client
		assert client["write_bytes"] == total * case.size, client
	return max(late)


@suite.test("a server counts the completions of its last answers, whose acknowledgments come late")
def late_completions():
	with network.Lab() as lab, lab.late_acknowledgments(100):
		for test, every, poll in (("wlat", 1, False), ("wlat", 3, True),
					  ("slat", 1, True), ("slat", 3, False)):
			case = Case(test, 64, 20, poll, signal_every=every)
			port, tag = new_port(), new_tag()
			server = krping.serve(f"server,port={port},tag={tag}{',poll' * poll}", lab.command)
			run_ok(f"client,addr={lab.FAR},port={port},tag={tag},{case.text()}")
			assert server.wait() == 0
			case.assert_counted(krping.result(tag, "client"), [krping.result(tag, "server")])


@suite.test("duration= ends a run in time, and count= if that is sooner")
def duration():
	lasting([(Case("slat", 1024, 0, options="duration=2"), 2),
		 (Case("rlat", count=10 ** 9, options="duration=1"), 1)]
		+ [(Case(test, 1024, 0, options="duration=1"), 1) for test in ("wlat", "bw", "rbw", "sbw")])
	lasting([(Case("bw", 1024, 0, qps=3, postlist=4, options="duration=1"), 1)])
	for test in ("wlat", "rbw"):
		lasting([(Case(test, 1024, 0, True, options="duration=1"), 1)])
	for test in TESTS:
		client, _ = Case(test, count=50, options="duration=60").loopback()
		assert client["elapsed_ns"] < 10 * 10 ** 9, client


@suite.test("duplex with duration=")
def duplex_duration():
	def play():
		cases = {new_tag(): Case(test, 1024, 0, duplex=True, options="duration=1")
			 for test in BANDWIDTH}
		commands = [Command(f"loopback,addr={ADDR},tag={tag},{case.text()}")
			    for tag, case in cases.items()]
		assert [command.wait() for command in commands] == [0] * len(commands)
		late = []
		for tag, case in cases.items():
			client, server = (krping.result(tag, role) for role in ("client", "server"))
			for one, other in ((client, server), (server, client)):
				assert one["elapsed_ns"] >= 0.95 * 10 ** 9, one
				assert one["peer_iterations"] == other["iterations"], (one, other)
				case.assert_moved(one, 1, one["iterations"], other["iterations"])
				late.append(one["elapsed_ns"] / 10 ** 9 - 1)
		return max(late)
	ends_in_time(play)


@suite.test("a ping/pong and a stress of fast registration take duration=, too")
def other_durations():
	def play(options):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},duration=1,tag={tag}{options}")
		client = krping.result(tag, "client")
		assert client["status"] == "ok" and client["iterations"] > 20, client
		assert client["elapsed_ns"] >= 0.95 * 10 ** 9, client
		return client["elapsed_ns"] / 10 ** 9 - 1
	for options in ("", ",poll", ",fr"):
		ends_in_time(lambda options=options: play(options))


@suite.test("latencies are in order, and the histogram has every iteration")
def latencies():
	for test, count, poll, qps in (("wlat", 1000, False, 1), ("rlat", 200, False, 3),
				       ("slat", 200, False, 3), ("wlat", 200, True, 1),
				       ("rlat", 200, True, 2), ("slat", 200, True, 1)):
		client, servers = Case(test, 64, count, poll, qps=qps).loopback()
		krping.assert_latencies(client, count * qps)
		# What is told is half of what was waited for, but for READs.
		trips = 1 if test == "rlat" else 2
		whole = client["mean_ns"] * trips * count
		assert 0.9 * client["elapsed_ns"] < whole < 1.1 * client["elapsed_ns"] or qps > 1, client
		assert "histogram_ns" not in servers[0] or test != "rlat", servers


@suite.test("untimed has the mean only")
def untimed():
	for test, poll in itertools.product(LATENCY, (False, True)):
		client, _ = Case(test, 64, 50, poll, untimed=True).loopback()
		figures = {key for key in client if re.match(r"(min|max|mean|stddev|p\d.*|histogram)_ns",
							     key)}
		assert figures == {"mean_ns"}, (figures, client)
		trips = 1 if test == "rlat" else 2
		assert abs(client["mean_ns"] - client["elapsed_ns"] / 50 / trips) <= 1, client


@suite.test("the log has the figures of each client's end")
def logged():
	for test in TESTS:
		log = Log()
		client, _ = Case(test, 128, 25, qps=2).loopback()
		found = log.wait(rf"krping: {client['id']}: delta nsec (\d+) iter (\d+) size (\d+)(\n|$)")
		assert tuple(int(each) for each in found.groups()[:3]) \
			== (client["elapsed_ns"], 50, 128), (found, client)
	log = Log()
	run_ok(f"loopback,addr={ADDR},count=10")
	assert not log.find("delta nsec"), log.text()


@suite.test("/proc/krping shows growing numbers, and those who see nothing hear of their peer")
def progress():
	# Where the server hears nothing else, its client says each third of timeout= that
	# it lives, and nothing of that is in the figures.
	tag = new_tag()
	commands = [Command(f"loopback,addr={ADDR},{test},timeout=1800,duration=3,tag={tag}{test}")
		    for test in TESTS]
	first = {line.thread: line.counters for line in wait_for(lambda: moving(8, 150))}
	for thread in first:
		wait_for(lambda thread=thread: [line for line in krping.lines()
						if line.thread == thread
						and line.counters != first[thread]])
	assert [command.wait() for command in commands] == [0] * len(TESTS)
	for test in TESTS:
		client, server = (krping.result(tag + test, role) for role in ("client", "server"))
		assert (client["status"], server["status"]) == ("ok", "ok"), (client, server)
		data = client["iterations"] + client["warmup"] if test in ("slat", "sbw") else 0
		quiet = test in ("rlat", "bw", "rbw")
		alive = client["send_msgs"] - data - 2
		assert 2 <= alive <= 9 if quiet else alive == 0, (test, alive)


suite.main()
