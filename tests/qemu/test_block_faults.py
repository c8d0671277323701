# SPDX-License-Identifier: GPL-2.0
"""A disk whose connection is lost: what is under way is held and done when it is back,
nothing is lost or wrong, and nothing hangs when it does not come back."""

import contextlib
import errno
import os
import random
import signal
import time

import block
import krping
import network
from block import MIB, Fio, Raw, Server
from krping import wait_for
from ktap import Suite, diag

suite = Suite(check=block.check)

FILE = "/tmp/store"
# What a reconnect takes at most, with a busy device.
BACK = 20


def remove():
	"""Remove the file of a store."""
	if os.path.exists(FILE):
		os.unlink(FILE)


def verify(disk, amount, **options):
	"""A Fio on DISK that reads and writes this AMOUNT, with every write verified. It is as much
	however long the disk is away meanwhile."""
	job = {"filename": disk, "bsrange": "512-64k", "size": "16M", "io_size": amount,
	       **block.VERIFY, "iodepth": 32}
	return Fio([job | options])


def moves(disk, program, timeout=BACK):
	"""Wait until DISK has done more requests than now, which PROGRAM makes, or until that
	has ended."""
	before = disk.figures()["requests"]
	wait_for(lambda: disk.figures()["requests"] > before + 20 or program.poll() is not None,
		 timeout, f"{disk} to go on: {disk.line()}")


def held(disk, program, seconds=0.5):
	"""Before long nothing is done on DISK for SECONDS, and the requests of PROGRAM wait."""
	wait_for(lambda: krping.rests(lambda: disk.figures()["requests"], seconds),
		 what=lambda: f"{disk} to rest: {disk.line()}")
	assert program.poll() is None, program.output()


def lives(server, options, amount, fail, mend, waits, still=True, back=BACK):
	"""I/O of this AMOUNT on a disk of SERVER with OPTIONS goes on after each of WAITS: between
	FAIL() and MEND() for so long, and STILL where nothing may be done meanwhile. At last it is
	BACK in time. Return the disk's figures."""
	with server, server.disk(options) as disk:
		fio = verify(disk, amount)
		for wait in waits:
			moves(disk, fio.program)
			assert fio.running(), fio.program.output()
			fail()
			try:
				if still:
					held(disk, fio.program, wait)
				else:
					krping.pass_time(wait, "the fault lasts")
			finally:
				mend()
		moves(disk, fio.program, back)
		fio.succeed()
		return disk.figures()


@suite.test("the RDMA device is removed and comes back: I/O goes on")
def device_removed():
	remove()
	figures = lives(Server(f"size=16M,store={FILE},persist,timeout=2000"), "timeout=2000", "12M",
			network.unplug, network.plug, (0.5, 0.5))
	assert figures["reconnects"] >= 2, figures
	remove()


@suite.test("the RDMA device is removed, with the blocks in the server's memory")
def device_removed_ram():
	figures = lives(Server("size=16M,store=ram,persist,timeout=2000"), "queues=2,timeout=2000",
			"6M", network.unplug, network.plug, (0.3,), still=False)
	assert figures["reconnects"] >= 1, figures


@suite.test("the link goes down and comes back: I/O goes on")
def link_down():
	lives(Server("size=16M,store=ram,persist,timeout=2000"), "timeout=2000", "6M",
	      network.link_down, network.link_up, (1,), still=False, back=30)


@suite.test("the server is killed and started again, three times: I/O goes on")
def server_killed():
	remove()
	server = Server(f"size=16M,store={FILE},persist")
	figures = lives(server, "queues=2", "14M", server.kill, server.start, (0, 0.5, 1.5),
			still=False)
	assert figures["reconnects"] >= 3 and figures["errors"] == 0, figures
	remove()


@suite.test("an idle disk notices that its server is gone, and finds the next one")
def idle():
	remove()
	with Server(f"size=4M,store={FILE},persist") as server, server.disk() as disk, \
	     Raw(disk) as raw:
		raw.put(0, b"\x5a" * MIB)
		server.kill()
		server.start()
		wait_for(lambda: disk.figures()["reconnects"] == 1, BACK, disk.line())
		block.compare(raw.get(0, MIB), b"\x5a" * MIB)
	remove()


@suite.test("what was flushed is there after the server was killed")
def flushed():
	remove()
	rng = random.Random(7)
	with Server(f"size=4M,store={FILE},persist") as server, server.disk() as disk:
		with Raw(disk) as raw:
			expected = bytearray(4 * MIB)
			for _ in range(3):
				for _ in range(20):
					offset = 4096 * rng.randrange(1024)
					data = rng.randbytes(4096)
					raw.put(offset, data)
					expected[offset:offset + 4096] = data
				os.fsync(raw.fd)
				server.kill()
				with open(FILE, "rb") as file:
					block.compare(file.read(), bytes(expected), FILE)
				server.start()
			block.compare(raw.get(0, 4 * MIB), bytes(expected), "at the end")
	remove()


@suite.test("a file system lives through lost connections, and fsck finds nothing")
def file_system():
	remove()
	tree = "/krping/rust/block"
	with Server(f"size=64M,store={FILE},persist") as server, server.disk() as disk:
		block.call("mkfs.ext4", "-q", disk)
		os.makedirs("/tmp/mnt", exist_ok=True)
		block.call("mount", "-t", "ext4", disk, "/tmp/mnt")
		try:
			copy = krping.Program("sh", "-c", f"for i in 1 2 3 4; do cp -a {tree} "
					      "/tmp/mnt/$i && sync || exit; done")
			for _ in range(2):
				moves(disk, copy)
				server.kill()
				server.start()
			status, output = copy.finish()
			assert status == 0, output
		finally:
			block.call("umount", "/tmp/mnt")
		block.call("fsck.ext4", "-fn", disk)
		os.sync()
		with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
			file.write("3")
		block.call("mount", "-t", "ext4", "-o", "ro", disk, "/tmp/mnt")
		try:
			for each in range(1, 5):
				block.call("diff", "-r", tree, f"/tmp/mnt/{each}")
		finally:
			block.call("umount", "/tmp/mnt")
		assert disk.figures()["reconnects"] >= 2, disk.figures()
	remove()


@suite.test("a server whose memory is not the one from before is refused: ESTALE")
def other_store():
	with Server("size=4M,store=ram,persist") as server:
		disk = server.disk()
		log = krping.Log()
		with Raw(disk) as raw:
			raw.put(0, b"x" * 4096)
			server.kill()
			server.start()
			fails(lambda: raw.get(0, 4096))
		number = disk.command.wait(BACK)
		assert number == errno.ESTALE, (krping.name(number), log.text())
		wait_for(lambda: block.gone(disk.number))
		assert disk.result()["errno"] == "ESTALE", disk.result()


@suite.test("another file or size at the same address is refused: ESTALE")
def other_file():
	for other in (f"store={FILE}2,size=4M", f"store={FILE},size=5M", f"store={FILE},ro"):
		remove()
		with Server(f"store={FILE},size=4M,persist") as server:
			disk = server.disk()
			server.kill()
			server.options = f"{other},persist"
			server.start()
			number = disk.command.wait(BACK)
			assert number == errno.ESTALE, (other, krping.name(number))
			wait_for(lambda: block.gone(disk.number))
	remove()
	os.unlink(f"{FILE}2")


def fails(function, numbers=(errno.EIO, errno.ENODEV, errno.ENXIO, errno.ENOSPC), timeout=BACK):
	"""FUNCTION() fails with one of NUMBERS, within TIMEOUT."""
	start = time.monotonic()
	try:
		function()
	except OSError as error:
		assert error.errno in numbers, error
	except AssertionError as short:	# past the end of a disk that is gone
		assert " 0 of " in str(short), short
	else:
		raise AssertionError("it did not fail")
	assert time.monotonic() - start < timeout, time.monotonic() - start


@suite.test("reconnect=: I/O fails after it, the command too, and the disk goes")
def given_up():
	for reconnect in (0, 2):
		with Server("size=4M,store=ram,persist") as server:
			disk = server.disk(f"reconnect={reconnect}")
			log = krping.Log()
			with Raw(disk) as raw:
				raw.put(0, b"x" * 4096)
				start = time.monotonic()
				server.kill()
				fails(lambda: raw.get(0, 4096))
				taken = time.monotonic() - start
				assert reconnect - 1 <= taken < reconnect + krping.SOON, f"{taken:.1f} s"
				fails(lambda: raw.put(0, b"x" * 4096), timeout=krping.SOON)
			number = disk.command.wait()
			assert number in (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT), \
				(krping.name(number), log.text())
			wait_for(lambda: block.gone(disk.number))
			found = disk.result()
			assert found["status"] == "failed", found
			# Without a wait it may have been gone before the read came to it.
			assert reconnect == 0 or found["errors"] >= 1, found


@suite.test("a disk that looks for its server can be stopped and forced")
def stopped_meanwhile():
	# Closed, with nothing to do.
	with Server("size=4M,store=ram,persist") as server:
		disk, log = server.disk(), krping.Log()
		server.kill()
		log.wait(f"{disk.name}: connection lost")
		start = time.monotonic()
		assert block.stop(disk.number) == 0
		assert disk.command.wait() == 0 and block.gone(disk.number)
		assert time.monotonic() - start < krping.SOON
	# With requests that wait.
	with Server("size=4M,store=ram,persist") as server:
		disk = server.disk()
		fio = verify(disk, "4M", size="4M", bsrange="512-8k")
		moves(disk, fio.program)
		server.kill()
		held(disk, fio.program)
		start = time.monotonic()
		assert block.stop(disk.number) == errno.EBUSY
		assert block.stop(disk.number, force=True) == 0
		status, _, _ = fio.finish(10)
		assert status != 0 and disk.command.wait() == 0
		assert time.monotonic() - start < krping.SOON
		wait_for(lambda: block.gone(disk.number))


@suite.test("a program that waits for a disk can be killed when that gives up")
def killed_reader():
	with Server("size=4M,store=ram,persist") as server:
		disk = server.disk("reconnect=3")
		server.kill()
		program = krping.Program("dd", f"if={disk}", "of=/dev/null", "iflag=direct", "bs=4096",
					 "count=1")
		wait_for(lambda: waits(program, disk))
		program.send_signal(signal.SIGKILL)
		status, output = program.finish(60)
		disk.command.wait()
		wait_for(lambda: block.gone(disk.number))
	assert status == -signal.SIGKILL, (status, output)


def waits(program, disk):
	"""Whether PROGRAM has DISK as its standard input, and waits for something."""
	try:
		waiting = krping.process_state(program.pid) == "D"
		return waiting and os.readlink(f"/proc/{program.pid}/fd/0") == disk.path
	except OSError:
		return False	# it has ended


@suite.test("the module cannot be removed while a disk looks for its server")
def unload():
	with Server("size=4M,store=ram,persist") as server:
		disk = server.disk()
		server.kill()
		assert "in use" in krping.unload()
		assert block.stop(disk.number) == 0
		assert disk.command.wait() == 0


# Between two hosts

class FarServer(Server):
	"""A server on the far host of a network.Lab."""

	def __init__(self, lab, options):
		self.lab = lab
		super().__init__(options, addr=lab.FAR, command=lab.command)

	def listens(self):
		return any(line.device is None for line in krping.lines())


@contextlib.contextmanager
def netem(lab, text):
	"""Within, the link of LAB is as TEXT says, both ways."""
	lab.disturb(text)
	try:
		yield
	finally:
		lab.calm()


@suite.test("the cable is cut and mended, and the link goes down and comes back: I/O goes on")
def cable():
	remove()
	with network.Lab() as lab:
		figures = lives(FarServer(lab, f"size=16M,store={FILE},persist,timeout=2000"),
				"timeout=2000", "6M", lab.cut, lab.mend, (3,))
		assert figures["reconnects"] >= 1, figures
		lives(FarServer(lab, "size=16M,store=ram,persist,timeout=2000"), "timeout=2000", "6M",
		      lab.link_down, lab.link_up, (3,))
	remove()


@suite.test("packets come late, some twice, and 5% of all are lost: I/O goes on, and all is right")
def bad_link():
	with network.Lab() as lab, FarServer(lab, "size=16M,store=ram,persist,timeout=2000") as server, \
	     server.disk("timeout=2000") as disk:
		for text, options in (("delay 1ms duplicate 5%", {"amount": "2M", "bsrange": "512-32k"}),
				      # This one is mostly waited for, so it ends by time.
				      ("loss 5%", {"amount": "16M", "bsrange": "512-8k",
						   "time_based": 1, "runtime": 3})):
			start = time.monotonic()
			with netem(lab, text):
				verify(disk, **options).succeed()
				diag(f"{text}: {disk.figures()} in {time.monotonic() - start:.0f} s")
		block.fio(disk, rw="randrw", bs=4096, size="16M", io_size="512k", verify="crc32c",
			  iodepth=32)


suite.main()
