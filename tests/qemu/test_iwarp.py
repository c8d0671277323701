# SPDX-License-Identifier: GPL-2.0
# guest: --transport siw
# debug: only
"""Soft-iWARP: what RoCE has too, what only iWARP has, and what it lacks."""

import errno
import itertools
import os

import krping
from krping import (ADDR, DEVICE, Command, Program, assert_done, new_port, new_tag, run_fails,
		    run_ok, wait_for)
from ktap import Suite
from microbench import BANDWIDTH, Case

suite = Suite(check=krping.check)


def results(tag, roles=("client", "server")):
	"""The results of TAG by role, all from the device under test."""
	found = {role: krping.result(tag, role) for role in roles}
	assert all(each["device"] == DEVICE and each["transport"] == "iWARP"
		   for each in found.values()), found
	return found


def loopback(size, count, options):
	"""Run a validated loopback, whose results must be what COUNT iterations give."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},size={size},count={count},tag={tag},validate,"
	       f"timeout=60000,{options}")
	for each in results(tag).values():
		assert_done(each, count, size)


for mode, poll in itertools.product(("mem_mode=dma", "mem_mode=reg", "mem_mode=reg,server_inv",
				     "mem_mode=reg,read_inv", "mem_mode=reg,local_dma_lkey"),
				    ("", ",poll")):
	@suite.test(f"{mode}{poll}: small and large, validated")
	def pingpong(options=mode + poll):
		for size, count in {1: 5, 64: 10, 4096: 10, 65537: 2}.items():
			loopback(size, count, options)


@suite.test("pattern=binary in all memory modes")
def binary():
	for mode in ("mem_mode=dma", "mem_mode=reg,server_inv", "mem_mode=reg,read_inv"):
		loopback(4096, 10, f"pattern=binary,{mode}")


@suite.test("a stress of fast registration")
def fastreg():
	run_ok(f"loopback,addr={ADDR},fr,count=50,timeout=60000")


for name in ("rlat", "slat", "bw", "rbw", "sbw"):
	@suite.test(f"{name}: counted to the byte")
	def microbench(test=name):
		for size, qps in ((64, 1), (4096, 2)):
			Case(test, size, qps=qps,
			     options="validate" * (test in BANDWIDTH)).loopback()


@suite.test("wlat with poll; rbw and rlat with poll and with several pieces")
def polled():
	for test in ("wlat", "rlat", "rbw"):
		Case(test, 64, poll=True).loopback()
	Case("bw", 4096, sge=2).loopback()
	Case("rbw", 4096, duplex=True, options="validate").loopback()


@suite.test("what iWARP has not is refused by name, with the reason")
def refused():
	run_fails(f"loopback,addr={ADDR},wlat,count=1", errno.EOPNOTSUPP, "imm.*immediate")
	run_fails(f"loopback,addr={ADDR},bw,imm,count=1", errno.EOPNOTSUPP, "imm.*immediate")
	run_fails(f"loopback,addr={ADDR},blk,store=ram,size=1M", errno.EOPNOTSUPP, "iWARP")


@suite.test("rping as client and as server")
def rping():
	port = new_port()
	server = Command(f"server,addr={ADDR},port={port},timeout=60000")
	wait_for(lambda: krping.listens(port))
	status, output = Program("rping", "-c", "-a", ADDR, "-p", str(port), "-C", "10", "-V",
				 "-S", "1000").finish()
	assert status == 0, output
	assert server.wait() == 0

	port = new_port()
	program = Program("rping", "-s", "-a", ADDR, "-p", str(port), "-C", "10", "-V",
			  "-S", "1000")
	wait_for(lambda: krping.listens(port))
	run_ok(f"client,addr={ADDR},port={port},count=10,size=1000,validate,timeout=60000")
	status, output = program.finish()
	assert status == 0, output


@suite.test("Nobody listens: refused, and nothing is left")
def nobody():
	run_fails(f"client,addr={ADDR},port={new_port()},count=1", errno.ECONNREFUSED, "refused")


@suite.test("the device goes while a client and a server run: ENODEV or a lost connection")
def removal():
	tag = new_tag()
	command = Command(f"loopback,addr={ADDR},count=100000000,tag={tag},timeout=60000")
	wait_for(lambda: any(line.counters.get("send_msgs", 0) for line in krping.lines()))
	assert os.spawnlp(os.P_WAIT, "rdma", "rdma", "link", "del", DEVICE) == 0
	assert command.wait() in (errno.ENODEV, errno.ECONNRESET), command.errno
	assert os.spawnlp(os.P_WAIT, "rdma", "rdma", "link", "add", DEVICE, "type", "siw",
			  "netdev", krping.NETDEV) == 0
	run_ok(f"loopback,addr={ADDR},count=10,timeout=60000")


suite.main()
