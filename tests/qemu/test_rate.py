# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Open loops (rate=): operations are due at moments of the clock, and count from there."""

import errno
import time

import krping
import network
from krping import ADDR, Command, Program, new_port, new_tag, run_fails, run_ok, serve
from ktap import Suite
from microbench import warmup
from streams import RSOCKET

MS = 1_000_000
SECOND = 1000 * MS
# Of each way to find completions, and to post.
WAYS = ("", "poll", "spin=50", "cq=pool")
TESTS = ("wlat", "rlat", "slat", "alat", "caslat", "bw", "rbw", "sbw", "abw", "casbw")
# Those that run in each of these ways. Others differ in the operation, which has no part in that.
IN_ALL_WAYS = ("wlat", "rlat", "slat", "bw", "rbw")
# Tests beside the microbenchmarks: the words of a client, those of a server that must be told, and
# how many connections a thread has, which take turns. A client of rwwrite has the loop of rwread's.
OTHERS = (("validate", "", 1), ("rwread", "", 1),
	  ("stream,echo", ",stream,echo", 1), ("stream,iomap,echo,poll", ",stream,iomap,echo,poll", 1),
	  ("messenger,conns=3", ",messenger", 3), ("messenger,echo,conns=2", ",messenger", 2))
# Operations that are due at once fill the queue.
FLOOD = 1_000_000_000

suite = Suite(check=krping.check)


def client_of(words, role="loopback", where=f"addr={ADDR}"):
	"""The results of the clients of WORDS, which succeed."""
	tag = new_tag()
	run_ok(f"{role},{where},{words},tag={tag}")
	return [each for each in krping.results(tag) if each["role"] == "client"]


def check_moments(found, rate, threads=1):
	"""The result FOUND is of a thread that kept its share of the RATE."""
	assert found["status"] == "ok", found
	loop, count = found["open_loop"], found["iterations"]
	assert loop["rate"] == rate, loop
	# Operation n is due n periods after the start, and none was posted before.
	assert found["elapsed_ns"] >= count * threads * SECOND // rate, found
	assert found["iterations_per_s"] <= rate // threads, found
	lateness = loop["lateness_ns"]
	assert lateness["count"] == count, loop
	ordered = [lateness[key] for key in ("min", "p50", "p90", "p99", "p99_9", "max")]
	assert ordered == sorted(ordered), lateness
	assert loop["late"] <= count, loop


def check_timed(found, rate, threads=1):
	"""The same of one whose operations have latencies."""
	check_moments(found, rate, threads)
	krping.assert_latencies(found, found["iterations"])
	# Each latency has the lateness in it.
	for key in ("min", "mean", "max"):
		assert found[f"{key}_ns"] >= found["open_loop"]["lateness_ns"][key], (key, found)


def check_paced(found, rate, threads=1):
	"""The same of a microbenchmark."""
	check_timed(found, rate, threads)
	count = found["iterations"]
	# One by one, and each completes.
	assert found["signal_every"] == 1, found
	assert found["posts"] == found["completions"] == count + found["warmup"], found


@suite.test("no test exceeds its rate, however it finds completions")
def keeps_rate():
	for test in TESTS:
		for way in WAYS if test in IN_ALL_WAYS else ("",):
			words = f"{test},rate=400,count=20" + (way and f",{way}")
			found, = client_of(words)
			assert found["iterations"] == 20 and found["open_loop"]["unposted"] == 0, found
			check_paced(found, 400)


@suite.test("other options of an open loop")
def options():
	for words in ("bw,imm,size=4K", "bw,inline", "sbw,sig_all,sge=2", "sbw,validate=full,size=1K",
		      "bw,qp=uc", "sbw,qp=ud", "bw,txdepth=1", "slat,size=64K"):
		found, = client_of(f"{words},rate=400,count=20")
		check_paced(found, 400)


@suite.test("threads share the rate, and their queue pairs take turns")
def shares():
	for test in ("rlat", "slat,poll", "sbw"):
		start = time.time_ns() + SECOND * krping.SLOW
		found = client_of(f"{test},rate=300,threads=2,qps=3,count=8,start_at={start},"
				  f"timeout={10000 * krping.SLOW}")
		assert len(found) == 2, found
		for each in found:
			assert each["iterations"] == 24, each
			check_paced(each, 300, threads=2)


@suite.test("duration= ends with the last that is due by then")
def duration():
	for words in ("rlat,rate=50", "sbw,rate=50,qps=3", "slat,poll,rate=50"):
		found, = client_of(f"{words},duration=1")
		check_paced(found, 50)
		assert found["iterations"] + found["open_loop"]["unposted"] == 50, found


@suite.test("what is due and finds no room is late, counts from its moment, or is never posted")
def flood():
	for words in ("rlat", "rbw", "bw,txdepth=8", "rlat,poll"):
		found, = client_of(f"{words},rate={FLOOD},duration=1")
		check_paced(found, FLOOD)
		loop, count = found["open_loop"], found["iterations"]
		assert count + loop["unposted"] == FLOOD, found
		assert 0 < loop["late"] < count < FLOOD, found
		# The last one was due when as many nanoseconds had passed as there were operations.
		assert found["max_ns"] >= found["elapsed_ns"] - count, found
		assert found["max_ns"] > SECOND // 2, found


@suite.test("no other test exceeds its rate, however it finds completions")
def others_keep_rate():
	for words, _, conns in OTHERS + (("rwwrite", "", 1),):
		for way in WAYS:
			# Messages have a queue of their own, and only memory shows direct writes.
			if ("iomap" in words and way) or ("messenger" in words and way == "cq=pool"):
				continue
			found, = client_of(f"{words},rate=300,count=15" + (way and f",{way}"))
			assert found["iterations"] == 15 * conns, found
			assert found["open_loop"]["unposted"] == 0, found
			check_timed(found, 300)


@suite.test("threads of other tests share the rate")
def others_share():
	for words, _, conns in OTHERS:
		found = client_of(f"{words},rate=300,threads=2,count=10")
		assert [each["iterations"] for each in found] == [10 * conns] * 2, found
		for each in found:
			check_timed(each, 300, threads=2)


@suite.test("other tests end with what is due by the end of duration=")
def others_duration():
	for words, _, _ in OTHERS + (("stream", "", 1),):
		found, = client_of(f"{words},rate=50,duration=1")
		check_moments(found, 50)
		assert found["iterations"] + found["open_loop"]["unposted"] == 50, found


@suite.test("what is due at the end of duration= is posted, where there was room")
def last_is_posted():
	# The only moment is the last one, and a timer is never early.
	for words, _, _ in OTHERS + (("stream", "", 1), ("stream,iomap,validate", "", 1),
				     ("slat", "", 1), ("bw", "", 1), ("rbw,poll", "", 1)):
		found, = client_of(f"{words},rate=1,duration=1")
		check_moments(found, 1)
		assert (found["iterations"], found["open_loop"]["unposted"]) == (1, 0), found


@suite.test("other tests count what is due and finds no room")
def others_flood():
	for words, _, _ in OTHERS:
		found, = client_of(f"{words},rate={FLOOD},duration=1")
		check_timed(found, FLOOD)
		loop, count = found["open_loop"], found["iterations"]
		assert count + loop["unposted"] == FLOOD, found
		assert 0 < loop["late"] <= count < FLOOD, found
		assert found["max_ns"] > SECOND // 2, found


@suite.test("a source that writes when it is due has no latencies, and waits for room")
def source():
	for words in ("size=1000", "size=1000,iomap", "size=100K,rbuf=4K"):
		found, = client_of(f"stream,{words},rate=300,count=20")
		check_moments(found, 300)
		assert found["iterations"] == 20 and "p50_ns" not in found, found
	found, = client_of(f"stream,size=100K,rbuf=4K,rate={FLOOD},count=20")
	check_moments(found, FLOOD)
	assert found["open_loop"]["late"] >= 10, found


def slow(found):
	"""How many operations of the result FOUND took more than 300 ms."""
	return sum(count for low, _, count in found["histogram_ns"] if low > 300 * MS)


def slow_or_unposted(found):
	"""The same of an open loop. A device may take longer to repeat what was lost than is left of
	the run, and what is due meanwhile is not posted any more."""
	return slow(found) + found["open_loop"]["unposted"]


@suite.test("a stall delays all that is due meanwhile, and a closed loop hides it")
def stall():
	with network.Lab() as lab:
		for test in ("rlat", "wlat", "bw"):
			number, found = lab.cut_amid(f"{test},rate=200,duration=3,interval=200")
			assert number == 0, found
			check_paced(found, 200)
			# For 0.7 s operations were due that could not end within 0.3 s.
			assert slow_or_unposted(found) >= 140 and found["max_ns"] > 300 * MS, found
			series = dict(zip(found["series"]["columns"],
					  zip(*found["series"]["intervals"], strict=True), strict=True))
			assert sum(series["operations"]) == found["iterations"], found
			assert max(series["max_ns"]) == found["max_ns"], found
			if test == "bw":
				continue
			# As if there had been one that took long.
			number, found = lab.cut_amid(f"{test},duration=3")
			assert number == 0 and "open_loop" not in found, found
			assert 0 < slow(found) < 20 and found["max_ns"] > 300 * MS, found


@suite.test("a stall delays all that is due meanwhile in other tests, too")
def others_stall():
	with network.Lab() as lab:
		for words, served, _ in OTHERS:
			number, found = lab.cut_amid(f"{words},rate=200,duration=3", served, after=10)
			assert number == 0, found
			check_timed(found, 200)
			# What has waited for its post counts that in full.
			assert slow_or_unposted(found) >= 100 and found["max_ns"] > 300 * MS, found


@suite.test("only one side of a round trip knows what was due")
def server_is_not_timed():
	for test in ("wlat", "slat,poll"):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},rate=100,count=10,tag={tag}")
		found = krping.result(tag, "server")
		assert found["iterations"] == 10 and found["status"] == "ok", found
		assert not {"p50_ns", "open_loop", "histogram_ns"} & set(found), found


@suite.test("no timeout passes while nothing is due")
def no_timeout():
	# Twice the timeout passes before the operation of the last queue pair, and between the two of
	# the first. The debug kernel needs seconds to connect all of these, and for a keepalive.
	rate, qps, seconds = (2, 6, 4) if krping.SLOW == 1 else (1, 12, 13)
	commands = [Command(f"loopback,addr={ADDR},{test},rate={rate},qps={qps},duration={seconds},"
			    f"timeout={500 * qps // rate},tag={new_tag()}")
		    for test in ("wlat", "rlat", "slat", "bw", "bw,imm", "sbw", "slat,spin=10",
				 "rbw,poll")]
	for command in commands:
		assert command.wait() == 0, (command.text, krping.Log().text())


@suite.test("no timeout of other tests passes while nothing is due, at either side")
def others_no_timeout():
	# One after the other, as a connection must be made within that, too.
	timeout = 1000 * krping.SLOW
	threads = timeout // 1000 + 1
	for words, serves, conns in OTHERS:
		port, tag = new_port(), new_tag()
		# With persist it waits for its clients as long as they take.
		server = serve(f"server,port={port},persist,timeout={timeout},tag={tag}{serves}")
		# An operation of each connection, a period after the beginning.
		run_ok(f"client,addr={ADDR},port={port},{words},rate={conns},threads={threads},count=1,"
		       f"timeout={timeout}")
		krping.wait_for(lambda: len(krping.lines()) == 1, what=krping.lines)
		found = krping.results(tag)
		served = sum(each.get("messenger", {"connections": 1})["connections"] for each in found)
		assert served == threads * conns, (words, found)
		assert all(each["status"] == "ok" for each in found), (words, found)
		assert server.interrupt() == errno.EINTR


@suite.test("peers in user space: rping, and rsocket, which gets keepalives")
def user_space():
	port = new_port()
	program = Program("rping", "-s", "-a", ADDR, "-p", str(port), "-S", "64")
	krping.wait_for(lambda: krping.listens(port))
	found, = client_of("validate,rate=100,count=30", "client", f"addr={ADDR},port={port}")
	check_timed(found, 100)
	assert program.finish()[0] == 0 and found["peer_kind"] == "legacy", found
	port = new_port()
	program = Program(RSOCKET, "listen", str(port), "echo", "close")
	krping.wait_for(lambda: "listens" in program.output())
	# Three keepalives, each between two writes: after 1.4, 2.8 and 4.2 s.
	found, = client_of(f"stream,echo,validate,rate=1,count=5,size=300,timeout={4200 * krping.SLOW}",
			   "client", f"addr={ADDR},port={port}")
	check_timed(found, 1)
	status, output = program.finish()
	assert status == 0, output


def resting(words, served="", conns=1):
	"""A server and a client of WORDS that has nothing under way for most of the time."""
	port = new_port()
	server = serve(f"server,port={port}{served}")
	client = Command(f"client,addr={ADDR},port={port},{words},rate=1")

	def moved():
		return [line.counters for line in krping.lines()]
	krping.wait_for(lambda: any(map(any, map(dict.values, moved()))), what=moved)
	krping.wait_for(lambda: len(krping.ready_pairs()) >= 2 * conns)
	# Behind the warm-up.
	krping.wait_for(lambda: krping.rests(moved, 0.3), what=moved)
	return server, client


@suite.test("a signal ends it while nothing is due")
def interrupted():
	for words in ("rlat", "slat,poll", "sbw,spin=10", "wlat,timeout=6000"):
		server, client = resting(f"{words},qps=4", conns=4)
		assert client.interrupt(10) == errno.EINTR
		server.interrupt()
	for words, served, conns in OTHERS:
		server, client = resting(words, served, conns)
		assert client.interrupt(10) == errno.EINTR
		server.interrupt()


@suite.test("the end of its peer ends it while nothing is due")
def peer_ends():
	for words in ("rlat", "slat,poll", "sbw"):
		server, client = resting(f"{words},qps=4", conns=4)
		assert server.interrupt(10) == errno.EINTR
		assert client.wait(10) == errno.ECONNRESET, krping.name(client.errno)
	for words, served, conns in OTHERS:
		server, client = resting(words, served, conns)
		assert server.interrupt(10) == errno.EINTR
		assert client.wait(10) == errno.ECONNRESET, (words, krping.name(client.errno))


@suite.test("the removal of the device ends it while nothing is due")
def unplugged():
	for words, served, conns in (("slat,qps=4", "", 4), ("rlat,poll,qps=4", "", 4), *OTHERS):
		server, client = resting(words, served, conns)
		try:
			network.unplug()
			assert client.wait(10) == errno.ENODEV, krping.name(client.errno)
			server.wait(10)
		finally:
			network.plug()


def has_paced(size):
	"""Whether a thread has moved more data of SIZE bytes than a warm-up's, and one more, before
	which the first operation was due. Control messages are too short to count."""
	return any(line.counters.get(f"{kind}_bytes", 0) >= (warmup(size, 1) + 2) * size
		   for line in krping.lines() for kind in ("write", "read", "send"))


@suite.test("a peer that is not there any more is noticed")
def peer_is_gone():
	size, timeout = 1024, 4000 * krping.SLOW
	with network.Lab() as lab:
		for test in ("slat", "sbw", "rlat"):
			port = new_port()
			server = krping.serve(f"server,addr={lab.FAR},port={port},timeout={timeout}",
					      lab.command)
			tag = new_tag()
			client = Command(f"client,addr={lab.FAR},port={port},{test},size={size},rate=1,"
					 f"timeout={timeout},tag={tag}")
			krping.wait_for(lambda: has_paced(size))
			lab.cut()
			try:
				assert client.wait() not in (0, errno.EINTR), krping.name(client.errno)
				assert server.wait() not in (0, errno.EINTR), krping.name(server.errno)
			finally:
				lab.mend()
			found = krping.result(tag, "client")
			assert found["partial"] and found["open_loop"]["rate"] == 1, found


@suite.test("options that do not go together")
def refused():
	for words, number, sentence in (
			("rlat,rate=0", errno.ERANGE,
			 "rate=0: must be from 1 to 1000000000 operations per second"),
			("rlat,rate=1T", errno.EINVAL, "rate=1T: must be a number"),
			("bw,rate=5,duplex", errno.EINVAL, "rate and duplex are both given"),
			("bw,rate=5,postlist=4", errno.EINVAL, "rate and postlist are both given"),
			("wlat,rate=5,signal_every=4", errno.EINVAL,
			 "rate and signal_every are both given"),
			("slat,rate=5,solicited", errno.EINVAL, "rate and solicited are both given"),
			("wlat,rate=5,untimed", errno.EINVAL, "rate and untimed are both given"),
			("slat,rate=5,qp=ud", errno.EINVAL, "rate with qp=uc or ud does not go with slat"),
			("rlat,rate=1,threads=1000,qps=2", errno.ERANGE,
			 "rate=1 is less than one operation in 1199 seconds on each of 2000 queue pairs"),
			("messenger,rate=1,conns=256,threads=5", errno.ERANGE,
			 "rate=1 is less than one operation in 1199 seconds on each of 1280 queue pairs"),
			("stream,reverse,rate=5", errno.EINVAL, "rate and reverse are both given"),
			("fr,rate=5", errno.EINVAL, "rate does not go with fr"),
			("blk,rate=5", errno.EINVAL, "rate does not go with blk")):
		run_fails(f"loopback,addr={ADDR},{words}", number, sentence)
	run_fails("server,rlat,rate=5", errno.EINVAL, "rate is for the client or loopback")


suite.main()
