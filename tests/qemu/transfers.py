# SPDX-License-Identifier: GPL-2.0
"""Tests of rwread and rwwrite, for a kernel that makes a registration for each transfer
(ib_core.force_mr=1) and for one that does not."""

import errno
import itertools
import struct

import age
import krping
import peer
from krping import (
	ADDR,
	MESSAGE,
	SLOW,
	Command,
	Program,
	assert_latencies,
	new_port,
	new_tag,
	run_fails,
	run_ok,
	wait_for,
)
from ktap import Skip, Suite

TESTS = ("rwread", "rwwrite")
NUMBERS = {"rwread": 15, "rwwrite": 16}
PAGE = 4096
MIB = 1 << 20
BIOVEC = 1 << 12
# The other form of the list of memory, where the kernel has it.
LISTED = ",biovec" if age.has("bio_vecs") else ""
# By size: an emulated CPU moves some 20 MB a second, and the debug kernel much less.
SIZES = {1: 10, 13: 10, 64: 10, PAGE: 20, PAGE + 1: 10, 65536: 3}
if SLOW == 1:
	SIZES |= {MIB - PAGE: 2, MIB: 2}
# Those with each way to list memory: in one page or two, and in up to 16 pieces.
WHOLE = (13, 65536)
# More than registrations of a queue pair, transfers, receives, and room in a send queue.
DEEP = (65, 300, 1000) if SLOW == 1 else (100,)
# The most requests that a client has under way.
MOST_REQUESTS = 512

with open("/proc/cmdline", encoding="ascii") as _file:
	# The kernel makes a registration for each transfer.
	REGISTERED = "ib_core.force_mr=1" in _file.read().split()

suite = Suite(check=krping.check)


def plain(name):
	"""Add the decorated function as a test NAME of what is decided without a transfer, or by the
	client alone. It does not depend on registrations of the server, so one kernel has it."""
	return (lambda function: function) if REGISTERED else suite.test(name)


def moved(test, role, count, size):
	"""The counters of a side after COUNT transfers."""
	found = krping.traffic(send_msgs=count, send_bytes=count * MESSAGE,
			       recv_msgs=count, recv_bytes=count * MESSAGE)
	if role == "server":
		kind = "read" if test == "rwread" else "write"
		found |= {f"{kind}_msgs": count, f"{kind}_bytes": count * size}
	return found


def assert_moved(tag, test, count, size):
	"""Both sides of TAG have done COUNT transfers, and counted each byte."""
	client, server = (krping.result(tag, role) for role in ("client", "server"))
	for found in (client, server):
		assert found["test"] == test, found
		krping.assert_done(found, count, size, moved(test, found["role"], count, size))
	assert_latencies(client, count)
	return client, server


def loopback(test, count, size, options=""):
	"""Run COUNT transfers of SIZE bytes, and check what has moved."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},{test},count={count},size={size},tag={tag}{options}")
	return assert_moved(tag, test, count, size)


def lists(size):
	"""The ways to list the server's memory for SIZE bytes: options. Sizes in WHOLE have all of
	them. Others have a choice: with enough pages each offset and each number of pieces comes
	with either form."""
	offsets, counts = (0, 1, 513, PAGE - 1), (1, 2, 3, 16)
	for (row, offset), (column, segs), (at, form) in itertools.product(
			enumerate(offsets), enumerate(counts), enumerate(("", LISTED))):
		pages = -(-(size + offset) // PAGE)
		# One diagonal of the square has one form, the other one the other.
		chosen = size in WHOLE or column == (row, 3 - row)[at]
		if chosen and segs <= pages and size + offset <= MIB:
			yield f",offset={offset},segs={segs}{form}"


for _test in TESTS:
	@suite.test(f"{_test}: every size, in pieces, at any offset, in either list", limit=400)
	def every_list(test=_test):
		for size, count in SIZES.items():
			for place in lists(size):
				loopback(test, count, size, f"{place},txdepth=8")

	@suite.test(f"{_test}: one at a time, and more at once than there is room for")
	def depths(test=_test):
		loopback(test, 50, 64, ",txdepth=1")
		loopback(test, 1, 64)
		for depth in DEEP:
			# Each of the client's slots is used twice, or a quarter of them.
			most = min(depth, MOST_REQUESTS)
			loopback(test, 2 * most, 64, f",txdepth={depth}")
			loopback(test, most + most // 4, 9000,
				 f",txdepth={depth},segs=3,offset=9{LISTED}")

	@suite.test(f"{_test}: poll, threads=, mem_mode=reg, unsafe_global_rkey, either pattern")
	def options(test=_test):
		for option in ("poll", "poll,txdepth=1", "mem_mode=reg", "unsafe_global_rkey",
			       "pattern=binary", f"mem_mode=reg,pattern=binary,poll,segs=2{LISTED}"):
			# More than are under way at a time.
			loopback(test, 70, 5000, f",{option}")
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},count=30,size=4K,threads=3,tag={tag}")
		found = wait_for(lambda: len(krping.results(tag)) == 6 and krping.results(tag))
		for each in found:
			krping.assert_done(each, 30, PAGE, moved(test, each["role"], 30, PAGE))

	@suite.test(f"{_test}: duration= ends it between two transfers")
	def duration(test=_test):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{test},duration=1,size=4K,tag={tag}")
		count = krping.result(tag, "client")["iterations"]
		assert count > 10, count
		assert_moved(tag, test, count, PAGE)


@suite.test("two sides of two commands, of which the server follows its client")
def two_commands():
	port = new_port()
	server = krping.serve(f"server,port={port},persist")
	for test, form in itertools.product(TESTS, ("", f",segs=4,offset=100{LISTED}")):
		tag = new_tag()
		run_ok(f"client,addr={ADDR},port={port},{test},count=50,size=64K,tag={tag}{form}")
		krping.assert_done(krping.result(tag, "client"), 50, 65536,
				   moved(test, "client", 50, 65536))
	run_ok(f"client,addr={ADDR},port={port},count=5,validate")
	assert server.interrupt() == errno.EINTR


@plain("a kernel whose contexts take scatterlists only refuses biovec, and says so")
def no_bio_vecs():
	if LISTED:
		raise Skip("this kernel's take bio_vecs")
	run_fails(f"loopback,addr={ADDR},rwread,count=1,size=4K,biovec", errno.EOPNOTSUPP,
		  "this kernel's rdma_rw takes scatterlists only; leave biovec out")


@plain("a server of one test refuses others")
def other_test():
	port = new_port()
	server = krping.serve(f"server,port={port},persist,rwread")
	for text in ("rwwrite", "validate", "wlat"):
		run_fails(f"client,addr={ADDR},port={port},count=1,{text}", errno.ECONNREFUSED,
			  "does not do this test")
	run_ok(f"client,addr={ADDR},port={port},rwread,count=5")
	assert server.interrupt() == errno.EINTR


@plain("max_memory= counts the server's memory")
def max_memory():
	port = new_port()
	server = krping.serve(f"server,port={port},persist,max_memory=100K")
	run_fails(f"client,addr={ADDR},port={port},rwread,size=64K,count=5,txdepth=8",
		  errno.ECONNREFUSED, "lacks memory")
	run_ok(f"client,addr={ADDR},port={port},rwread,size=4K,count=5,txdepth=1")
	assert server.interrupt() == errno.EINTR


@plain("max_p99= holds or fails")
def max_p99():
	for test in TESTS:
		run_ok(f"loopback,addr={ADDR},{test},count=20,max_p99=1000s")
		run_fails(f"loopback,addr={ADDR},{test},count=20,max_p99=1ns", errno.ERANGE,
			  "above the 1 ns of max_p99")


@plain("options that do not go together")
def refused():
	base = f"loopback,addr={ADDR},count=1"
	for text, sentence in (
			("rwread,rwwrite", "rwread and rwwrite are both given"),
			("rwread,validate", "validate does not go with rwread"),
			("rwwrite,server_inv", "server_inv does not go with rwwrite"),
			("rwread,qps=2", "qps does not go with rwread"),
			("rwread,sge=2", "sge does not go with rwread"),
			("segs=2", "segs does not go with the ping/pong; it is for rwread or rwwrite"),
			("bw,offset=2", "offset does not go with bw; it is for rwread or rwwrite"),
			("fr,biovec", "biovec does not go with fr; it is for rwread or rwwrite"),
			("rwread,segs=2", "segs=2 is more than the 1 pages of size= and offset="),
			("rwread,size=4K,offset=1,segs=3", "segs=3 is more than the 2 pages")):
		run_fails(f"{base},{text}", errno.EINVAL, sentence)
	run_fails(f"{base},rwwrite,size=1M,offset=1", errno.ERANGE,
		  "size is above 1048575 bytes, the most that one")
	for text in ("segs=0", "segs=17", "offset=4096", "size=0", "size=1048577"):
		run_fails(f"{base},rwread,{text}", errno.ERANGE, text.partition("=")[0])


# Peers that break the protocol

def load(segs=1, offset=0, txdepth=4, qps=1, sge=1, postlist=1, signal_every=1, alive=3000):
	"""The end of a transfer's private data."""
	return struct.pack(">HHIHHBBHII", qps, 0, txdepth, postlist, signal_every, sge, segs,
			   offset, 0, alive)


def hello(test, **changes):
	"""The private data of a transfer's client, as hexadecimal digits."""
	fields = {"size": 64, "count": 3}
	of_load = {key: changes.pop(key) for key in tuple(changes) if key not in
		   ("role", "test", "mem_mode", "flags", "size", "count")}
	fields |= {"test": NUMBERS[test], "reserved": load(**of_load)} | changes
	return peer.private_data(**fields)


@suite.test("a client whose requests break the protocol")
def hostile_clients():
	# Compiling takes a while, and the servers do not wait for ever.
	peer.PEER.build()
	proto, remote = errno.EPROTO, errno.EREMOTEIO
	for test, deed, number, sentence in (
			("rwread", ("length=15",), proto, "a message of 15 bytes instead of 16"),
			("rwread", ("length=65",), proto, "RECV of iteration 0 failed"),
			("rwread", ("claim=0",), proto, "advertised a buffer of 0 bytes"),
			("rwread", ("claim=63",), proto, "63 bytes instead of the 64 of each transfer"),
			("rwwrite", ("claim=0xffffffff",), proto, "4294967295 bytes instead of the 64"),
			("rwread", (f"shift={(1 << 64) - 1}",), remote, "RDMA READ of iteration 0 failed"),
			("rwread", ("key=0x100000",), remote, "RDMA READ of iteration 0 failed: remote"),
			("rwwrite", ("key=0x100000",), remote, "RDMA WRITE of iteration 0 failed: remote"),
			# It does no wrong, but two transfers of three.
			("rwwrite", (), errno.ECONNRESET, "disconnected before the end"),
			# With rwread its wrong data may be found first.
			("rwwrite", ("times=4",), proto, "went on after the last iteration"),
			("rwread", ("inv=0x1234",), proto, "RECV of iteration 0 failed"),
			# Nothing but its data is wrong.
			("rwread", (), errno.EBADMSG, "data mismatch in iteration 0")):
		port = new_port()
		server = krping.serve(f"server,port={port},timeout=15000")
		log = krping.Log()
		client = peer.client(port, "on=source", "limit=8",
				     f"private={hello(test)}", *deed)
		assert server.wait() == number, (test, deed, log.text())
		log.wait(sentence)
		client.finish()


@plain("private data that no server takes")
def hostile_data():
	for test, changes in (
			("rwread", {"segs": 0}), ("rwread", {"segs": 17}), ("rwwrite", {"segs": 2}),
			("rwread", {"offset": PAGE}), ("rwwrite", {"size": MIB, "offset": 1}),
			("rwread", {"size": 0xffffffff}), ("rwread", {"qps": 2}), ("rwread", {"sge": 2}),
			("rwread", {"txdepth": 0}), ("rwread", {"postlist": 2}), ("rwread", {"flags": 4}),
			("rwread", {"signal_every": 2}), ("rwread", {"flags": 1 << 13}),
			("rwread", {"alive": 0})):
		port = new_port()
		server = krping.serve(f"server,port={port},timeout=15000")
		client = peer.client(port, f"private={hello(test, **changes)}")
		assert server.wait() == errno.EPROTO, (test, changes)
		client.finish()


@suite.test("a client that goes before its requests are answered")
def gone():
	for test, how in itertools.product(TESTS, ("disconnect", "kill")):
		port = new_port()
		server = krping.serve(f"server,port={port},timeout=15000")
		client = peer.client(port, f"private={hello(test, size=MIB)}", f"size={MIB}",
				     "stop=source", f"how={how}")
		assert server.wait() in (errno.ECONNRESET, errno.EREMOTEIO), test
		client.finish()


@plain("a server whose answer is to something else, and one that is no krping")
def hostile_servers():
	for test in TESTS:
		for deed, sentence in (
				(("first=1",), "sent a message out of turn|answered another transfer"),
				(("on=source", "skip=1", "length=15"), "a message of 15 bytes instead"),
				(("on=source", "skip=1", "inv=0x1234"), "RECV of iteration 0 failed"),
				(("on=source", "skip=1"), "answered another transfer")):
			port = new_port()
			answer = hello(test, role=peer.SERVER, count=1, txdepth=64)
			server = peer.server(port, f"private={answer}", *deed)
			run_fails(f"client,addr={ADDR},port={port},{test},count=1,timeout=9000",
				  errno.EPROTO, sentence)
			server.finish()
		port = new_port()
		rping = Program("rping", "-s", "-a", ADDR, "-p", str(port))
		wait_for(lambda port=port: krping.listens(port))
		run_fails(f"client,addr={ADDR},port={port},count=5,timeout=3000,{test}",
			  errno.EOPNOTSUPP, "the server is not this krping, and has no transfers")
		rping.stop(9)


@suite.test("a signal ends either side with transfers under way, and all are given back")
def interrupted():
	for test, form in itertools.product(TESTS, ("", f",segs=4{LISTED}")):
		for side in (0, 1):
			port = new_port()
			server = krping.serve(f"server,port={port}")
			client = Command(f"client,addr={ADDR},port={port},{test},size=64K{form}")
			wait_for(lambda: [line for line in krping.lines()
					  if line.counters.get("send_msgs", 0) > 20])
			sides = (client, server)
			assert sides[side].interrupt() == errno.EINTR, (test, side)
			found = sides[1 - side].wait()
			# A client that leaves between two requests leaves well.
			allowed = (errno.ECONNRESET, errno.EREMOTEIO) + (0,) * (side == 0)
			assert found in allowed, (test, side, krping.name(found))


def registrations(registered):
	"""Where the kernel makes registrations, a server has them beside the client's."""
	for test in TESTS:
		command = Command(f"loopback,addr={ADDR},{test},txdepth=4")
		wait_for(lambda: [line for line in krping.lines()
				  if line.counters.get("recv_msgs", 0) > 4])
		found = [each for each in krping.rdma("resource", "show", "mr")
			 if each.get("ifname") == krping.DEVICE]
		assert len(found) == (8 if registered else 4), found
		assert command.interrupt() == errno.EINTR


def main(registered=False):
	"""Run all, for a kernel that makes registrations if REGISTERED."""
	assert registered == REGISTERED
	suite.test("registrations are made where the kernel asks for them")(
		lambda: registrations(registered))
	suite.main()
