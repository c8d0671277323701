# SPDX-License-Identifier: GPL-2.0
# guest: --nodes 2
# oldest: yes
# debug: yes
"""The NUMA node that buffers are allocated on: node=. The debug kernel has no NUMA, and node 0."""

import errno
import glob
import re
import time

import krping
from krping import ADDR, Command, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Skip, Suite

suite = Suite(check=krping.check)

NODE = "/sys/devices/system/node/node"
NODES = sorted(int(path.removeprefix(NODE)) for path in glob.glob(f"{NODE}[0-9]*")) or [0]
MB = 1 << 20
# What goes on until it is interrupted, with the bytes that the buffers of both sides take together.
TAKERS = (
	("bw,qps=16,size=2M", 64 * MB),
	("rlat,qps=16,size=2M", 64 * MB),
	("sbw,qp=ud,qps=8,recvs=1024", 32 * MB),
	("sbw,srq=8192", 32 * MB),
	("threads=16,size=2M", 64 * MB),
	("fr,threads=16,size=2M,mem_mode=reg", 64 * MB),
	("rwread,size=1M,txdepth=32", 64 * MB),
	("stream,threads=8,sbuf=2M,rbuf=2M", 64 * MB),
	("messenger,chunks=1024,chunk=32K", 64 * MB),
)
# What others take and give back meanwhile, for queues and packets.
NOISE = 16 * MB


def two_nodes():
	"""Skip on a machine with one node."""
	if len(NODES) < 2:
		raise Skip("one NUMA node")


def free():
	"""The bytes of nodes 0 and 1 that are free, also those that a CPU keeps for the next to take."""
	found = [0, 0]
	with open("/proc/zoneinfo", encoding="ascii") as file:
		for line in file:
			start = re.match(r"Node (\d), zone", line)
			if start:
				node = int(start[1])
			free_pages = re.match(r" +(?:pages free|count:) +(\d+)$", line)
			if free_pages:
				found[node] += int(free_pages[1]) * 4096
	return found


def taken(before):
	"""What has been taken of each node since free() was BEFORE."""
	return [old - new for old, new in zip(before, free())]


def takes(options, node, least):
	"""Check that a loopback with OPTIONS takes LEAST bytes of NODE, and nothing of the other one."""
	before = free()
	command = Command(f"loopback,addr={ADDR},count=0,timeout=600000,node={node},{options}")
	wait_for(lambda: command.errno is not None or taken(before)[node] > least - NOISE,
		 what=lambda: (options, node, taken(before)))
	found = taken(before)
	assert command.interrupt() == errno.EINTR, (options, node, found)
	assert found[1 - node] < NOISE, (options, node, found)


@suite.test("the buffers of each test are on the node, and nowhere else")
def each_test():
	two_nodes()
	for options, least in TAKERS:
		for node in (1, 0):
			takes(options, node, least)


@suite.test("each side has its own node; without the option memory is near the thread's CPU")
def sides():
	two_nodes()
	options = "bw,count=0,qps=16,size=2M,timeout=600000"
	for node in (1, 0):
		before = free()
		server, port, tag = krping.serve_new("timeout=600000", f"node={node}")
		client = Command(f"client,addr={ADDR},port={port},{options},node={1 - node},tag={tag}")
		wait_for(lambda: min(taken(before)) > 32 * MB - NOISE, what=lambda: taken(before))
		assert max(taken(before)) < 32 * MB + NOISE, taken(before)
		assert client.interrupt() == errno.EINTR
		assert server.wait() != 0
		assert krping.result(tag, "client")["node"] == 1 - node
		assert {each["node"] for each in krping.results(tag) if each["role"] == "server"} == {node}
	# All CPUs are on node 0.
	before = free()
	command = Command(f"loopback,addr={ADDR},{options}")
	wait_for(lambda: taken(before)[0] > 64 * MB - NOISE, what=lambda: taken(before))
	assert taken(before)[1] < NOISE, taken(before)
	assert command.interrupt() == errno.EINTR


@suite.test("a node without enough memory: ENOMEM, and none of another node's")
def used_up():
	two_nodes()
	# More than one has, and less than both.
	before = free()
	pairs = (max(before) + 64 * MB) // (8 * MB)
	assert pairs <= 256 and (pairs * 8 + 64) * MB < sum(before), before
	# All memory is there before anything is moved.
	late = time.time_ns() + 600 * 10**9
	options = f"bw,duplex,count=1,qps={pairs},size=2M,timeout=900000,start_at={late}"
	run_fails(f"loopback,addr={ADDR},{options},node=1", errno.ENOMEM,
		  "allocating and registering buffers failed with ENOMEM")
	wait_for(lambda: max(taken(before)) < NOISE, what=lambda: taken(before))
	command = Command(f"loopback,addr={ADDR},{options}")
	wait_for(lambda: sum(taken(before)) > pairs * 8 * MB - NOISE, what=lambda: taken(before))
	assert command.interrupt() == errno.EINTR


@suite.test("node 0 is there, also of a kernel without NUMA; the result has the node of the option")
def first():
	for options in ("count=20", "bw,count=20,validate", "stream,count=20", "messenger,count=20",
			"rwwrite,count=20"):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{options},node=0,tag={tag}")
		found = [krping.result(tag, role) for role in ("client", "server")]
		assert [each["node"] for each in found] == [0, 0], found
		assert all(",node=0," in each["options"] for each in found), found
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},count=20,tag={tag}")
	assert "node" not in krping.result(tag, "client")


@suite.test("a node that does not exist: EINVAL by name, before anything else is done")
def absent():
	# Nothing listens there.
	client = f"client,addr={ADDR},port={new_port()},timeout=60000"
	for node in (NODES[-1] + 1, 63, 64, 1023):
		for line in (f"loopback,addr={ADDR},bw", client, f"{client},messenger",
			     f"server,port={new_port()}"):
			run_fails(f"{line},node={node}", errno.EINVAL,
				  f"EINVAL .*: node={node}: this machine has no memory on that node$")


@suite.test("other numbers, and what has memory of other kinds, too: refused by name")
def refused():
	loopback = f"loopback,addr={ADDR}"
	for text, number, sentence in (
			(f"{loopback},node=1024", errno.ERANGE, "node=1024: must be from 0 to 1023"),
			(f"{loopback},node=-1", errno.EINVAL, "node=-1: "),
			(f"{loopback},neg=all,node=0", errno.EINVAL, "node does not go with neg"),
			("server,blk,store=ram,size=1M,node=0", errno.EINVAL, "node does not go with"),
			(f"client,addr={ADDR},caps,node=0", errno.EINVAL, "node does not go with"),
			(f"{loopback},numa_node=0", errno.EINVAL, "numa_node.*node")):
		run_fails(text, number, sentence)


if __name__ == "__main__":
	suite.main()
