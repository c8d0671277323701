# SPDX-License-Identifier: GPL-2.0
"""Completion queues of the device's pool, which all of its users share."""

import errno

import krping
from krping import ADDR, Command, new_port, rdma, resources, run_fails, run_ok, wait_for
from ktap import Suite
from microbench import TESTS, Case

suite = Suite(check=krping.check)

POOL = "cq=pool"
DEVICE = "rxe0"
IDLE = resources()[DEVICE]


def queues(of):
	"""The completion queues of the kernel's user OF."""
	return [each for each in rdma("resource", "show", "cq")
		if each.get("comm", "").strip("[]") == of]


@suite.test("each microbenchmark moves what it moves on queues of its own")
def microbenchmarks():
	for test in TESTS:
		Case(test, count=50, options=POOL).loopback()
	for test in ("bw", "sbw"):
		Case(test, count=200, qps=3, duplex=True, options=POOL).loopback()


@suite.test("the ping/pong and fr")
def others():
	for options in ("", ",mem_mode=reg,server_inv", ",size=20000,threads=3"):
		run_ok(f"loopback,addr={ADDR},count=20,validate,{POOL}{options}")
	run_ok(f"loopback,addr={ADDR},fr,count=100,{POOL}")


@suite.test("the server of a wlat that polls has queues of its own, the client those of the pool")
def sides():
	port = new_port()
	server = krping.serve(f"server,port={port},addr={ADDR},{POOL}")
	run_ok(f"client,port={port},addr={ADDR},wlat,poll,count=50")
	assert server.wait() == 0
	port = new_port()
	server = krping.serve(f"server,port={port},addr={ADDR}")
	run_ok(f"client,port={port},addr={ADDR},slat,count=50,{POOL}")
	assert server.wait() == 0


@suite.test("connections share queues, and krping has none of its own meanwhile")
def shared():
	threads = 8
	running = Command(f"loopback,addr={ADDR},slat,threads={threads},size=64,{POOL}")
	pairs = 2 * threads
	wait_for(lambda: resources()[DEVICE]["qp"] == IDLE["qp"] + pairs)
	assert not queues("krping"), queues("krping")
	found = queues("ib_core")
	assert 0 < len(found) < pairs, found
	running.interrupt()
	run_ok(f"loopback,addr={ADDR},count=20,validate,{POOL}")
	assert len(queues("ib_core")) == len(found), (found, queues("ib_core"))


@suite.test("queues come and go beside others that keep them busy")
def beside_others():
	running = Command(f"loopback,addr={ADDR},sbw,threads=2,size=64,{POOL}")
	for _ in range(20):
		run_ok(f"loopback,addr={ADDR},count=5,validate,{POOL}")
		Case("slat", count=20, options=POOL).loopback()
	assert running.is_alive(), "the other has ended"
	running.interrupt()


@suite.test("larger queues than the pool has, and none for those who poll")
def sizes():
	Case("bw", count=100, options=f"txdepth=2000,{POOL}").loopback()
	Case("slat", count=100, options=f"txdepth=2000,{POOL}").loopback()
	run_fails(f"loopback,addr={ADDR},bw,count=1,{POOL},poll", errno.EINVAL,
		  "cq=pool and poll are both given; give one of them")


if __name__ == "__main__":
	suite.main()
