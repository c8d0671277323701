# SPDX-License-Identifier: GPL-2.0
"""Servers of many clients: what they say of all of them, and when they end (idle=)."""

import errno

import krping
from krping import ADDR, Command, listens, new_tag, run_fails, run_ok, serve_new, wait_for
from ktap import Suite

suite = Suite(check=krping.check)


def sums(tag, number):
	"""What the last of NUMBER results of the server TAG says of all its connections."""
	found = wait_for(lambda: found if len(found := krping.results(tag)) >= number else None)
	assert len(found) == number, found
	counts = sorted(each["served"]["connections"] for each in found)
	assert counts == list(range(1, number + 1)), counts
	return max((each["served"] for each in found), key=lambda served: served["connections"])


@suite.test("sums and rates of all connections are those of each")
def sums_of_all():
	server, port, tag = serve_new("threads=4")
	client = f"client,addr={ADDR},port={port}"
	run_ok(f"{client},wlat,size=64,count=100")
	run_ok(f"{client},bw,size=4096,count=50,threads=2")
	run_ok(f"{client},size=1000,count=7")
	assert server.wait(20) == 0
	found = sums(tag, 4)
	assert (found["failed"], found["measured"]) == (0, 4), found
	# The ping/pong's server counts its WRITEs, as results have it.
	own = {each["test"]: each for each in krping.results(tag)}["pingpong"]
	assert found["operations"] == 100 + 2 * 50 + own["iterations"], found
	assert found["bytes"] == 100 * 64 + 100 * 4096 + own["iterations"] * 1000, found
	rates = [each["peer_iterations"] * 10**9 // each["peer_elapsed_ns"]
		 for each in krping.results(tag) if each["test"] != "pingpong"]
	rates.append(own["iterations"] * 10**9 // own["elapsed_ns"])
	assert (found["slowest_per_s"], found["fastest_per_s"]) == (min(rates), max(rates)), (found, rates)


@suite.test("a connection that fails counts, and its rate does not; a client and a loopback have none")
def failures():
	server, port, tag = serve_new("persist")
	client = f"client,addr={ADDR},port={port}"
	run_ok(f"{client},wlat,count=100")
	endless = Command(f"{client},wlat,count=0")
	# The one before wrote 200 times, with its warm-up, and its server's line may still be there.
	wait_for(lambda: any(line.counters.get("write_msgs", 0) > 250 for line in krping.lines()))
	endless.interrupt()
	found = sums(tag, 2)
	assert found["measured"] == 2 - found["failed"], found
	# A client that was refused was never served.
	run_fails(f"{client},stream,count=1", errno.ECONNREFUSED, "rsocket")
	tag_2 = new_tag()
	run_ok(f"loopback,addr={ADDR},wlat,count=10,tag={tag_2}")
	assert not any("served" in each for each in krping.results(tag_2)), krping.results(tag_2)
	run_ok(f"{client},wlat,count=10")
	# Its server says so a moment after the client's end.
	wait_for(lambda: [each for each in krping.results(tag)
			  if each.get("served", {}).get("connections") == 3])
	assert server.interrupt() == errno.EINTR


@suite.test("idle: a server ends by itself when its clients have gone, and not before")
def idle():
	limit = 2500 * krping.SLOW
	server, port, tag = serve_new("persist", f"idle={limit}")
	client = f"client,addr={ADDR},port={port}"
	# It waits for the first one for as long as that takes.
	krping.pass_time(1.5 * limit / 1000, "nobody comes for longer than idle=")
	assert server.is_alive(), "nobody had come"
	# A client that stays for longer than it.
	run_ok(f"{client},wlat,count=0,duration={-(-2 * limit // 1000)}")
	assert server.is_alive(), "a client had just gone"
	for _ in range(3):
		run_ok(f"{client},count=3")
	assert server.wait(10 + 4 * limit / 1000) == 0
	assert sums(tag, 4)["failed"] == 0
	assert not listens(port)


@suite.test("idle: with threads= a server ends with the last client, or when no other comes")
def idle_and_threads():
	for words in ("threads=2,idle=3600000", f"threads=9,idle={3000 * krping.SLOW}"):
		server, port, tag = serve_new(words)
		for _ in range(2):
			run_ok(f"client,addr={ADDR},port={port},count=3")
		assert server.wait() == 0, words
		assert len(krping.results(tag)) == 2, words
	# A stream's server, too; a signal ends one that waits.
	server, port, _ = serve_new("stream", "persist", f"idle={500 * krping.SLOW}")
	run_ok(f"client,addr={ADDR},port={port},stream,count=3")
	assert server.wait() == 0
	server, _, _ = serve_new("persist", "idle=100")
	assert server.interrupt() == errno.EINTR


@suite.test("idle: it is refused for clients, and for servers that end in another way")
def refused():
	for words in (f"client,addr={ADDR}", f"loopback,addr={ADDR}", "server,blk,size=4M",
		      "server,messenger"):
		run_fails(f"{words},idle=100", errno.EINVAL, "idle")


suite.main()
