# SPDX-License-Identifier: GPL-2.0
# guest: --transport siw
# debug: only
"""Soft-iWARP: what RoCE has too, disks and taps among it, what only iWARP has, and what
it lacks."""

import errno
import itertools
import mmap
import os
import random
import re
import signal
import subprocess

import block
import krping
import network
import tap
from block import MIB, Raw, Server
from krping import (
	ADDR,
	DEVICE,
	Command,
	Program,
	assert_done,
	new_port,
	new_tag,
	run,
	run_fails,
	run_ok,
	wait_for,
)
from ktap import Suite, diag
from microbench import BANDWIDTH, Case

SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
# What servers keep blocks in, where that is to outlast them.
FILE = "/tmp/store"
# Nothing on the debug kernel is to look like silence.
PATIENT = "timeout=60000"


def check():
	"""Nothing is left of what a test has done."""
	if os.path.exists(FILE):
		os.unlink(FILE)
	block.check()
	tap.check()


suite = Suite(check=check)


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
	# With more READs under way than the four of a connection siw stands still: a READ that
	# waits for its turn keeps the answers to the peer's behind it.
	Case("rbw", 4096, duplex=True, signal_every=1, options="txdepth=4,validate").loopback()


@suite.test("threads that spin and then sleep, and queues of the device's pool")
def waiting():
	for options in ("spin=50", "spin=50,sig_all", "cq=pool", "cq=pool,sig_all"):
		for test in ("slat", "rlat", "rbw"):
			run_ok(f"loopback,addr={ADDR},{test},size=64,count=50,{options},{PATIENT}")


@suite.test("a shared receive queue: one connection, and several")
def shared():
	for qps in (1, 3):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},slat,size=64,count=50,qps={qps},srq=64,{PATIENT},tag={tag}")
		found = [each for each in krping.results(tag) if each["role"] == "server"]
		assert len(found) == qps and all("srq" in each for each in found), found


@suite.test("messages: with receives for all that is under way, and without, which ends a connection")
def messages():
	text = f"loopback,addr={ADDR},messenger,validate,echo,{PATIENT}"
	for words in ("size=10000,count=50", "size=10000,count=10,conns=32",
		      "size=1048576,count=3,inflight=1"):
		tag = new_tag()
		run_ok(f"{text},{words},tag={tag}")
		assert results(tag)["client"]["messenger"]["lost_chunks"] == 0
	ends = {run(f"{text},size=30000,count=50,conns=5,chunks=4") for _ in range(3)}
	diag(f"with 2 receives for 40 messages of 2 chunks: {sorted(map(krping.name, ends))}")
	assert errno.ECONNRESET in ends, ends


@suite.test("transfers through the kernel's rdma_rw contexts, which register their memory here")
def transfers():
	for test in ("rwread", "rwwrite"):
		for options in ("size=1", "size=4K", "size=4K,spin=20", "size=64K,segs=4,offset=512",
				"size=64K,segs=4,biovec"):
			run_ok(f"loopback,addr={ADDR},{test},count=20,{options},{PATIENT}")


@suite.test("every message compared: READs, and SENDs that each ask for a completion")
def compared():
	# More SENDs of 64 KiB than these may find no receive while others are compared, which
	# ends a connection of iWARP.
	for test, size in (("rbw", 64), ("rbw", 65536), ("sbw", 64)):
		run_ok(f"loopback,addr={ADDR},{test},size={size},count=30,validate=full,"
		       f"signal_every=1,{PATIENT}")
	run_fails(f"loopback,addr={ADDR},bw,count=1,validate=full", errno.EOPNOTSUPP, "imm.*immediate")


@suite.test("siw sends other data than was posted, where a SEND of a page asks for no completion")
def reused():
	# siw_qp_prepare_tx() has TCP refer to the pages then, and completes the request before
	# TCP is done with them. Their owner has new data there by then. At times one of them finds
	# no receive first.
	text = f"loopback,addr={ADDR},sbw,size=65536,count=50,validate=full,signal_every=4,{PATIENT}"
	assert any(run(text) == errno.EBADMSG for _ in range(5))


@suite.test("what iWARP has not is refused by name, with the reason")
def refused():
	run_fails(f"loopback,addr={ADDR},wlat,count=1", errno.EOPNOTSUPP, "imm.*immediate")
	run_fails(f"loopback,addr={ADDR},bw,imm,count=1", errno.EOPNOTSUPP, "imm.*immediate")
	run_fails(f"loopback,addr={ADDR},messenger,tcp,count=1", errno.EOPNOTSUPP, "handshake")
	for options, sentence in (("slat,qp=uc", "qp=uc: iWARP"), ("slat,qp=ud", "qp=ud: iWARP"),
				  ("sbw,qp=ud,mcast=239.1.2.3", "iWARP"), ("slat,mtu=1024", "mtu: iWARP")):
		run_fails(f"loopback,addr={ADDR},{options},count=1", errno.EOPNOTSUPP, sentence)
	for test, operation in (("alat", "fetch-and-add"), ("casbw", "compare-and-swap")):
		run_fails(f"loopback,addr={ADDR},{test},count=1", errno.EOPNOTSUPP,
			  f"{operation}: the device has no atomic operations")


# Disks and taps

def assert_iwarp(*found):
	"""The results FOUND are good ones, from the device under test."""
	for each in found:
		assert (each["device"], each["transport"]) == (DEVICE, "iWARP"), each
		assert each["status"] == "ok" and each["errors"] == 0, each


class Model:
	"""A disk, and what must be on it."""

	def __init__(self, raw, size, rng):
		self.raw, self.rng = raw, rng
		self.data = bytearray(size)
		self.written = 0

	def write(self, length, offset=None):
		"""Write LENGTH random bytes, and read them back."""
		if offset is None:
			offset = 512 * self.rng.randrange((len(self.data) - length) // 512 + 1)
		data = self.rng.randbytes(length)
		self.raw.put(offset, data)
		self.data[offset:offset + length] = data
		self.written += length
		self.compare(offset, length)

	def zero(self, offset, length, discard=False):
		"""Have LENGTH bytes be zeroes."""
		self.raw.zero(offset, length, discard)
		self.data[offset:offset + length] = bytes(length)
		self.compare(offset, length)

	def compare(self, offset=0, length=None):
		"""What is there is what must be."""
		length = len(self.data) if length is None else length
		block.compare(self.raw.get(offset, length),
			      bytes(self.data[offset:offset + length]), f"{length} at {offset}")


for store in ("ram", FILE):
	@suite.test(f"a disk, store={store}: random writes of 512 bytes to 1 MiB come back", 300)
	def disk_writes(store=store):
		diag(f"SEED={SEED}")
		with Server(f"size=4M,store={store},{PATIENT}") as server, \
		     server.disk(PATIENT) as disk, Raw(disk) as raw:
			model = Model(raw, 4 * MIB, random.Random(SEED))
			model.compare()
			for size in (512, 1024, 4096, 4608, 16384, 65536, 131072, 262144):
				for _ in range(4):
					model.write(size)
			# One request over as many pieces of the store as there can be, and more
			# than a request takes.
			model.write(MIB - 4096, 256 * 1024 - 512)
			model.write(MIB + 512, 512)
			os.fsync(raw.fd)
			model.zero(MIB, 128 * 1024)
			model.zero(3 * MIB - 4096, 64 * 1024, discard=True)
			model.compare()
			written = model.written
		client, served = disk.result(), krping.result(server.tag, "server")
		assert_iwarp(client, served)
		assert client["reconnects"] == 0, client
		# There are no immediates, so no data went with messages.
		assert client["write_bytes"] == served["read_bytes"] == written, (client, served)
		assert client["read_bytes"] == served["write_bytes"] >= written, (client, served)


@suite.test("two queues with more under way than READs can be, all verified", 600)
def disk_queues():
	for store in ("ram", FILE):
		with Server(f"size=16M,store={store},{PATIENT}") as server, \
		     server.disk(f"queues=2,depth=128,{PATIENT}") as disk:
			jobs = [{"filename": disk, "offset": f"{8 * each}M", "size": "8M",
				 "bsrange": "512-256k", "cpus_allowed": each,
				 **block.VERIFY, "iodepth": 64, "io_size": "8M"}
				for each in (0, 1)]
			block.Fio(jobs).succeed()
			figures = disk.figures()
			assert figures["errors"] == figures["reconnects"] == 0, figures
		served = [each for each in server.results() if each["role"] == "server"]
		assert_iwarp(disk.result(), *served)
		assert len(served) == 2 and all(each["read_bytes"] for each in served), served


def repeat(act):
	"""Have another process ACT again and again. Return the process."""
	child = os.fork()
	if child == 0:
		try:
			while True:
				act()
		finally:
			os._exit(1)
	return child


def end(child):
	"""End CHILD, which must still be at it."""
	assert os.waitpid(child, os.WNOHANG) == (0, 0), "it has ended"
	os.kill(child, signal.SIGKILL)
	os.waitpid(child, 0)


@suite.test("memory that changes while it is written: the page cache waits", 300)
def disk_stable_pages():
	with Server(f"size=4M,store={FILE},{PATIENT}") as server, server.disk(PATIENT) as disk:
		assert disk.attribute("queue/stable_writes") == "1"
		fd = os.open(disk.path, os.O_RDWR | os.O_CLOEXEC)
		with mmap.mmap(fd, MIB) as memory:
			def scribble():
				for byte in (b"a", b"b"):
					memory[:] = byte * MIB
			child = repeat(scribble)
			for _ in range(30):
				memory.flush()
			end(child)
		os.close(fd)
		figures = disk.figures()
		assert figures["errors"] == figures["reconnects"] == 0, figures


@suite.test("blocks in memory that change while they are read end no connection", 300)
def disk_stable_store():
	with Server(f"size=1M,store=ram,threads=2,{PATIENT}") as server, \
	     server.disk(PATIENT) as one, server.disk(PATIENT) as other, \
	     Raw(one) as writer, Raw(other) as reader:
		child = repeat(lambda: [writer.put(0, byte * 262144) for byte in (b"a", b"b")])
		for _ in range(100):
			assert set(reader.get(0, 262144)) <= set(b"\0ab")
		end(child)
		for disk in (one, other):
			figures = disk.figures()
			assert figures["errors"] == figures["reconnects"] == 0, figures


@suite.test("caps says that there are disks, and one of the depth that it says works", 300)
def disk_caps():
	tag = new_tag()
	run_ok(f"caps,addr={ADDR},tag={tag}")
	limits = krping.result(tag, "client")["caps"]["limits"]
	assert limits["blk"]["supported"] and not limits["imm"]["supported"], limits
	for name, option in (("fetch_add", "abw"), ("compare_swap", "caslat"), ("mtu", "mtu=256")):
		run_fails(f"loopback,addr={ADDR},count=1,{option}", errno.EOPNOTSUPP,
			  re.escape(limits[name]["reason"]))
	with Server(f"size=4M,store=ram,{PATIENT}") as server, \
	     server.disk(f"depth={limits['depth']},{PATIENT}") as disk, Raw(disk) as raw:
		assert disk.attribute("queue/nr_requests") == str(limits["depth"])
		model = Model(raw, 4 * MIB, random.Random(SEED))
		model.write(MIB)
		model.compare()


@suite.test("a loopback makes server and disk, over IPv6 too")
def disk_loopback():
	for addr in (f"addr={ADDR}", f"addr6={krping.ADDR6}"):
		disk = block.Disk(f"loopback,blk,{addr},size=1M,store=ram,{PATIENT}")
		with Raw(disk) as raw:
			model = Model(raw, MIB, random.Random(SEED))
			model.write(MIB)
			model.write(512)
			model.compare()
		disk.stop()
		assert_iwarp(disk.result(), krping.result(disk.tag, "server"))


@suite.test("the server is killed and started again under a disk: nothing is lost", 600)
def disk_server_killed():
	with Server(f"size=16M,store={FILE},persist,{PATIENT}") as server, \
	     server.disk(f"queues=2,{PATIENT}") as disk:
		with Raw(disk) as raw:
			model = Model(raw, 4 * MIB, random.Random(SEED))
			fio = block.Fio([{"filename": disk, "offset": "4M", "size": "12M",
					  "bsrange": "512-64k", "time_based": 1, "runtime": 40,
					  **block.VERIFY}])
			for _ in range(3):
				model.write(MIB)
				before = disk.figures()["requests"]
				wait_for(lambda: disk.figures()["requests"] > before + 20)
				assert fio.running(), fio.finish()
				server.kill()
				server.start()
			model.write(65536)
			fio.succeed()
			model.compare()
		figures = disk.figures()
		assert figures["reconnects"] >= 3 and figures["errors"] == 0, figures
	assert_iwarp(disk.result())


@suite.test("the device goes under a disk and comes back, and so does the disk", 300)
def disk_removal():
	with Server(f"size=4M,store={FILE},persist,{PATIENT}") as server, \
	     server.disk(f"{PATIENT}") as disk, Raw(disk) as raw:
		model = Model(raw, 4 * MIB, random.Random(SEED))
		model.write(MIB)
		unplug()
		plug()
		model.write(MIB)
		model.compare()
		assert disk.figures()["reconnects"] >= 1, disk.figures()


@suite.test("a tap's copy is the disk, byte for byte", 300)
def tap_copy():
	with tap.null_blk("a", size=16 * MIB) as disk, \
	     tap.Server(f"store={FILE},size=16M,{PATIENT}") as server:
		with server.tap(disk, f"size=64M,{PATIENT}") as watch:
			wrote = [tap.write_data(disk, f"offset={offset}", f"size={size}",
						f"block={each}", "order=random", f"seed={SEED}")
				 for offset, size, each in ((0, 16384, 512), (MIB, MIB, 4096),
							    (2 * MIB, 4 * MIB, 65536),
							    (8 * MIB, 4 * MIB, 262144))]
			tap.write_data(disk, "order=overlap", "count=200", "size=512K",
				       f"offset={13 * MIB}", "block=256K", f"seed={SEED}")
			subprocess.run(("blkdiscard", "-o", str(8 * MIB), "-l", str(MIB), disk.path),
				       check=True)
			watch.idle()
			found = watch.end()
		served = server.results()
		assert found["dropped"] == found["errors"] == 0, found
		assert found["write_requests"] >= sum(count for count, _ in wrote) + 200, found
		assert (found["device"], found["transport"]) == (DEVICE, "iWARP"), found
		assert_iwarp(*served)
		# All of it by READs.
		assert found["write_bytes"] == served[0]["read_bytes"] == found["disk_write_bytes"], \
			(found, served)
		with open(FILE, "rb") as file:
			block.compare(file.read(), disk.get(0, disk.size), "the copy")


@suite.test("a tap whose server only logs")
def tap_log():
	with tap.null_blk("a", size=4 * MIB) as disk, tap.Server(f"log,{PATIENT}") as server:
		with server.tap(disk, f"comm=write_data,count=1,{PATIENT}") as watch:
			tap.write_data(disk, "offset=4096", "size=64K", "block=64K")
			found = watch.wait()
		assert_iwarp(found)
		server.log.wait(r": tap: write offset 4096 bytes 65536\b")


@suite.test("rping as client and as server")
def rping():
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},timeout=60000")
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
	run_fails(f"client,addr={ADDR},port={new_port()},count=1", errno.ECONNREFUSED, "ECONNREFUSED")


def unplug():
	"""Remove the RDMA device."""
	assert os.spawnlp(os.P_WAIT, "rdma", "rdma", "link", "del", DEVICE) == 0


def plug():
	"""Bring it back."""
	assert os.spawnlp(os.P_WAIT, "rdma", "rdma", "link", "add", DEVICE, "type", "siw",
			  "netdev", krping.NETDEV) == 0


@suite.test("the device goes while a client and a server run: ENODEV or a lost connection")
def removal():
	tag = new_tag()
	command = Command(f"loopback,addr={ADDR},count=100000000,tag={tag},timeout=60000")
	wait_for(lambda: any(line.counters.get("send_msgs", 0) for line in krping.lines()))
	unplug()
	assert command.wait() in (errno.ENODEV, errno.ECONNRESET), command.errno
	plug()
	run_ok(f"loopback,addr={ADDR},count=10,timeout=60000")


# Else many a connection would stand still from its first message on.
network.distance(5)
suite.main()
