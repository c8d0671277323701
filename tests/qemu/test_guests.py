# SPDX-License-Identifier: GPL-2.0
# guest: --peers 1
"""Client and server on machines of their own: two kernels with a wire between them, each with an
RDMA device; user space against the module; a disk whose server's machine loses its cable or its
power."""

import errno
import os
import re
import threading

import age
import block
import guests
import krping
from between import COUNT, pingpong, results
from block import MIB, Raw
from fragile import Mapping
from krping import ADDR, ADDR6, Program, new_port, new_tag, run_ok, wait_for
from ktap import Suite
from losses import STORES

suite = Suite(check=guests.check)

MOUNT = "/tmp/srv"


def far():
	"""The guest at the other end."""
	return guests.others()[0]


@suite.test("ping/pong with a server on another machine, with data that is checked")
def there():
	addr = f"addr={far().addr}"
	pingpong(None, far(), 64, f"{addr},mem_mode=dma")
	pingpong(None, far(), 65536, f"{addr},mem_mode=reg")
	pingpong(None, far(), 4096, f"{addr},server_inv")
	pingpong(None, far(), 1000, "addr6=fd99::2")


@suite.test("ping/pong with a client on another machine")
def here():
	pingpong(far(), None, 64, f"addr={ADDR}")
	pingpong(far(), None, 65536, f"addr={ADDR},mem_mode=reg")
	pingpong(far(), None, 1000, f"addr6={ADDR6}")


@suite.test("microbenchmarks to and from another machine, four connections at a time")
def measured():
	port = new_port()
	for guest, addr in ((far(), far().addr), (None, ADDR)):
		server = (guest.serve if guest else krping.serve)(f"server,persist,port={port}")
		command = krping.Command if guest else far().command
		for test in ("wlat", "slat", "rbw,size=16K", "bw,size=16K,threads=4"):
			tag = new_tag()
			client = command(f"client,addr={addr},port={port},tag={tag},count={COUNT},{test}")
			assert client.wait() == 0, test
			found = far().ask("results", tag) if not guest else krping.results(tag)
			assert len(found) == (4 if "threads" in test else 1), found
			assert all(each["iterations"] == COUNT for each in found), found
		assert server.interrupt() == errno.EINTR


def heard(output, what, count):
	"""rping has printed the data of COUNT iterations, as "server" or as "" for a client."""
	numbers = [int(number) for number in
		   re.findall(rf"^{what}ping data: rdma-ping-([0-9]+): ", output, re.MULTILINE)]
	assert numbers == list(range(count)), output[-1000:]


@suite.test("rping in user space and the module on two machines, each as client and as server")
def rping():
	other = far()
	for module, rping_at, addr, run in ((None, other, other.addr, other.program),
					    (other, None, ADDR, Program)):
		# The module is the client, and rping the server.
		port, tag = new_port(), new_tag()
		server = run("rping", "-s", "-v", "-a", addr, "-p", str(port), "-S", "1000",
			     "-C", str(COUNT))
		wait_for(lambda: rping_at.ask("listens", port) if rping_at else krping.listens(port))
		text = f"client,addr={addr},port={port},tag={tag},count={COUNT},size=1000,validate"
		client = (module.command if module else krping.Command)(text)
		assert client.wait() == 0
		_, output = server.finish()
		heard(output, "server ", COUNT)
		assert results(module, tag, "client")["peer_kind"] == "legacy"
		# And the other way round: the module serves at the same end.
		port, tag = new_port(), new_tag()
		addr = module.addr if module else ADDR
		server = (module.serve if module else krping.serve)(f"server,port={port},tag={tag}")
		client = run("rping", "-c", "-v", "-V", "-a", addr, "-p", str(port), "-S", "1000",
			     "-C", str(COUNT))
		status, output = client.finish()
		assert (status, server.wait()) == (0, 0), output[-1000:]
		heard(output, "", COUNT)
		found = results(module, tag, "server")
		# rping does not say how large its messages are.
		assert (found["iterations"], found["write_bytes"]) == (COUNT, 1000 * COUNT), found


class Store:
	"""A store on the other machine's disk, which survives its power: a file, or the disk itself if
	IS_FILE is false, with OPTIONS. Within, it is served."""

	SIZE = 32 * MIB

	def __init__(self, guest, is_file=True, options=""):
		self.guest = guest
		self.is_file = is_file
		self.options = options
		self.port = new_port()
		self.server = None

	def __enter__(self):
		self._await_node()
		if self.is_file:
			self.guest.exec("mkfs.ext4", "-q", "-F", "/dev/vda")
		self.serve()
		return self

	def _await_node(self):
		"""Load the drivers, and wait for the disk's node, which may come a moment later."""
		self.guest.exec("modprobe", "-a", "virtio_blk", "ext4")
		self.guest.exec("sh", "-c", "for i in $(seq 600); do [ ! -b /dev/vda ] || exit 0; "
				"sleep 0.1; done; exit 1")

	def serve(self):
		"""Mount it, and serve it."""
		self._await_node()
		if self.is_file:
			self.guest.exec("sh", "-c", f"mkdir -p {MOUNT} && mount /dev/vda {MOUNT}")
		self.start()

	def start(self):
		"""Serve it, which is mounted."""
		path = f"{MOUNT}/image" if self.is_file else "/dev/vda"
		self.server = self.guest.serve(f"server,blk,persist,port={self.port},store={path},"
					       f"size={self.SIZE}{self.options}")

	def disk(self, options="reconnect=600,timeout=3000"):
		"""A disk of it, here."""
		return block.Disk(f"client,blk,addr={self.guest.addr},port={self.port},{options}")

	def __exit__(self, kind, *_):
		if kind:
			self.guest.part()
			self.guest.exec("umount", "-l", MOUNT)
			return
		assert self.server.interrupt() == errno.EINTR
		if self.is_file:
			self.guest.exec("umount", MOUNT)


def pattern(number):
	"""What block NUMBER of the disk is to have."""
	return number.to_bytes(8, "little") * 512


class Writer(threading.Thread):
	"""A thread that writes BLOCKS blocks to a disk, each flushed, and then reads all of them."""

	def __init__(self, disk, blocks):
		super().__init__(daemon=True)
		self.disk = disk
		self.blocks = blocks
		self.written = 0
		self.error = None
		self.start()

	def run(self):
		krping.block_signals()
		try:
			with Raw(self.disk, flags=os.O_RDWR | os.O_DSYNC) as raw:
				for number in range(self.blocks):
					raw.put(number * 4096, pattern(number))
					self.written += 1
				for number in range(self.blocks):
					block.compare(raw.get(number * 4096, 4096), pattern(number),
						      f"block {number}")
		except BaseException as error:
			self.error = error

	def finish(self, timeout=300):
		"""Wait for its end, which must be a good one."""
		self.join(timeout * krping.SLOW)
		assert not self.is_alive(), f"{self.written} of {self.blocks} blocks after {timeout} s"
		if self.error:
			raise self.error


def survives(trouble, is_file=True):
	"""A disk of the other machine is written to, and TROUBLE(store, log) comes in the middle, after
	which the store is served: the disk has come back, and all data is there."""
	other = far()
	log = krping.Log()
	with Store(other, is_file) as store, store.disk() as disk:
		writer = Writer(disk, 400)
		wait_for(lambda: writer.written > 20)
		trouble(store, log)
		writer.finish()
		assert disk.figures()["reconnects"] >= 1, disk.figures()
		assert disk.figures()["errors"] == 0, disk.figures()


@suite.test("a disk goes on when the cable of its server's machine was out, and has all data")
def cable():
	def trouble(store, log):
		with store.guest.monitor.unplugged():
			log.wait("connection lost", 120)
	survives(trouble)


def lose_power(store, log):
	"""The machine of STORE loses its power, and has it again."""
	store.guest.restart()
	store.serve()
	log.expect("connection lost")


@suite.test("a disk goes on when its server's machine lost its power: what was flushed is there")
def power():
	age.needs("resets")
	survives(lose_power)


@suite.test("the same with a whole device as the store, which is known by its serial number")
def power_of_device():
	age.needs("resets")
	survives(lose_power, is_file=False)


@suite.test("a flush fails after such a loss of power if a write was answered and not flushed")
def unflushed():
	age.needs("resets")
	other = far()
	with Store(other) as store, store.disk() as disk:
		with Raw(disk) as raw:
			raw.put(0, pattern(1))
			os.fsync(raw.fd)
			raw.put(4096, pattern(2))
			other.restart()
			store.serve()
			try:
				os.fsync(raw.fd)
			except OSError as error:
				assert error.errno == errno.EIO, error
			else:
				raise AssertionError("the flush succeeded, and the write is lost")
			block.compare(raw.get(0, 4096), pattern(1), "the flushed block")
		# Whoever opens it now has lost nothing.
		with Raw(disk) as raw:
			raw.put(4096, pattern(3))
			os.fsync(raw.fd)
			block.compare(raw.get(4096, 4096), pattern(3), "the block written again")


@suite.test("a disk has all data when the module of its server was unloaded and loaded meanwhile")
def module_anew():
	other = far()
	for kind, is_file, options in STORES:
		with Store(other, is_file, options) as store, store.disk() as disk, Raw(disk) as raw:
			raw.put(0, pattern(1))
			assert raw.flush() == "ok"
			raw.put(4096, pattern(2))
			assert store.server.interrupt() == errno.EINTR
			other.exec("rmmod", "krping")
			other.exec("insmod", krping.MODULE)
			store.start()
			block.compare(raw.get(4096, 4096), pattern(2), f"not flushed, {kind}")
			assert raw.flush() == "ok", kind


def stays(other, path, options, medium):
	"""The module of OTHER stays while a disk was not told that MEDIUM, on which its store at PATH is,
	has lost what it wrote."""
	port = new_port()
	text = f"server,blk,persist,port={port},store={path},size={MIB}{options}"
	server = other.serve(text)
	with block.Disk(f"client,blk,addr={other.addr},port={port},reconnect=600") as disk:
		with Raw(disk) as raw:
			raw.put(0, pattern(0))
			assert raw.flush() == "ok"
			raw.put(0, pattern(1))
			medium.fail()
			other.exec("sync")
			assert server.interrupt() == errno.EINTR
			medium.mend()
			status, said = other.program("rmmod", "krping").finish()
			assert status and "in use" in said, said
			server = other.serve(text)
			assert raw.flush() == "EIO" and disk.figures()["reconnects"] == 1
	assert server.interrupt() == errno.EINTR
	# Nobody is left to be told.
	wait_for(lambda: other.program("rmmod", "krping").finish()[0] == 0)
	other.exec("insmod", krping.MODULE)


@suite.test("the module of a server stays while a disk has not been told of what was lost there")
def module_stays():
	other = far()
	# With direct I/O a device has it, and of a file only what a flush of metadata may miss.
	for _, is_file, options in (STORES[0], STORES[2]):
		with Mapping(other.exec) as medium:
			if is_file:
				path = medium.path
				other.exec("sh", "-c", f"mkfs.ext4 -q -F -O ^has_journal {path} && "
					   f"mkdir -p {MOUNT} && mount -o errors=continue {path} {MOUNT}")
			stays(other, f"{MOUNT}/image" if is_file else medium.path, options, medium)
			if is_file:
				other.exec("umount", MOUNT)


@suite.test("a client whose server's machine hangs ends by itself; later ones are served again")
def hangs():
	other = far()
	port = new_port()
	server = other.serve(f"server,persist,port={port}")
	client = krping.Command(f"client,addr={other.addr},port={port},wlat,duration=600,timeout=4000")
	wait_for(lambda: any(line.counters.get("write_msgs", 0) > 100 for line in krping.lines()))
	with other.monitor.frozen():
		number = client.wait(120)
		assert number in (errno.ETIMEDOUT, errno.EIO, errno.ECONNRESET), krping.name(number)
	run_ok(f"client,addr={other.addr},port={port},count=10,validate")
	assert server.interrupt() == errno.EINTR


suite.main()
