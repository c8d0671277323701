# SPDX-License-Identifier: GPL-2.0
"""What krping does between the two hosts of a network.Lab while something goes wrong: each
workload is a class whose object is one run, with a client here and a server on the far host,
each in a process of its own that can be killed.

	work = PingPong(lab, rng)
	work.start()
	...
	found = work.finish()		# {"client": errno, "server": errno}, checked data
"""

import contextlib
import errno
import os
import random
import signal
import threading

import block
import krping
import microbench
import soak
import tap
from block import MIB, Raw
from krping import new_port, wait_for
from ktap import diag
from writing import Writer

STORE = "/tmp/soak-faults.img"
# A side gives up after this.
TIMEOUT = 2000 * soak.SLOW
# After that and what it takes to end, nothing may run any more. In seconds.
LATEST = 15 + 4 * TIMEOUT / 1000
# How long a disk holds requests: longer than any fault.
RECONNECT = 120


class Run:
	"""A client that runs for a while, or so many times, and its server."""

	client_killed = server_killed = False
	# Options of the server.
	serves = ""

	def __init__(self, lab, rng):
		self.lab = lab
		self.port = new_port()
		self.timeout = f"timeout={TIMEOUT}"
		length = rng.choice(("duration=1", "duration=1", f"count={rng.randint(1, 300)}"))
		self.options = ",".join((self.choose(rng), length))
		self.client = self.server = None

	def choose(self, rng):
		"""The client's options, but for how long it runs."""
		raise NotImplementedError

	def __str__(self):
		return self.options

	def start(self):
		"""Start both sides."""
		self.server = Writer(f"server,port={self.port},{self.timeout}{self.serves}",
				     handle=True, enter=self.lab.enter)
		wait_for(lambda: krping.lines() or not self.server.is_alive())
		self.client = Writer(f"client,addr={self.lab.FAR},port={self.port},{self.timeout},"
				     f"{self.options}", handle=True)

	def kill_client(self):
		"""Kill the writer of the client."""
		self.client_killed = True
		os.kill(self.client.pid, signal.SIGKILL)

	def kill_server(self):
		"""Kill that of the server."""
		self.server_killed = True
		os.kill(self.server.pid, signal.SIGKILL)

	def mended(self):
		"""The fault is over."""

	def give_up(self):
		"""Something else has failed."""

	def finish(self):
		"""Wait for both ends: the errnos by side, without who was killed."""
		client, server = self.client.wait(LATEST), self.server.wait(LATEST)
		found = {}
		for side, status, killed in (("client", client, self.client_killed),
					     ("server", server, self.server_killed)):
			# It may have ended before it could be killed.
			if status == -signal.SIGKILL:
				assert killed, f"the {side} was killed"
			else:
				found[side] = status
		return found


class PingPong(Run):
	"""The ping/pong, with all data compared."""

	def choose(self, rng):
		size = rng.choice((1, 64, 1000, 4096, 65536))
		pattern = rng.choice(("text", "binary"))
		return f"validate,size={max(size, 64)},pattern={pattern}"


class Registering(Run):
	"""The ping/pong in `reg` mode."""

	def choose(self, rng):
		inv = rng.choice(("", ",server_inv"))
		return f"validate,mem_mode=reg{inv},size={rng.choice((64, 4096, 65536))}"


class Latency(Run):
	"""A latency test."""

	def choose(self, rng):
		test = rng.choice(microbench.LATENCY)
		return f"{test},size={rng.choice((8, 64, 4096))}" + rng.choice(("", "", ",poll"))


class Bandwidth(Run):
	"""A bandwidth test, with the last data of each queue pair compared."""

	def choose(self, rng):
		test = rng.choice(microbench.BANDWIDTH)
		return (f"{test},validate,size={rng.choice((64, 4096, 32768))},txdepth=16,"
			f"qps={rng.randint(1, 3)}" + rng.choice(("", "", ",duplex")))


class Stream(Run):
	"""A stream that comes back, with all bytes compared at both ends."""

	serves = ",stream,echo,validate"

	def choose(self, rng):
		buffers = rng.choice(("", ",sbuf=4K,rbuf=4K", ",rqdepth=4"))
		return f"stream,echo,validate,size={rng.choice((1, 64, 5000, 100000))}{buffers}"


class Messenger(Run):
	"""Messages over several connections, with all replies compared at both ends."""

	serves = ",messenger,validate"

	def choose(self, rng):
		pool = rng.choice(("", ",chunks=8", ",chunk=64"))
		return (f"messenger,echo,validate,size={rng.choice((1, 64, 5000, 100000))}{pool},"
			f"conns={rng.choice((1, 3, 16))}")


class Writing(threading.Thread):
	"""Writes random blocks of a disk and reads them again, all the time until told to stop."""

	BLOCK = 4096

	def __init__(self, path, rng, size, pause=0):
		super().__init__(daemon=True)
		self.pause = pause
		self.rng = random.Random(rng.random())
		self.raw = Raw(path, area=MIB)
		self.expected = bytearray(size)
		self.done = 0
		self.error = None
		self.stopping = threading.Event()
		self.start()

	def run(self):
		krping.block_signals()
		try:
			while not self.stopping.is_set():
				self._once()
				self.done += 1
				krping.pass_time(self.pause, "its pace")
		except BaseException as error:	# told by stop()
			self.error = error

	def _once(self):
		blocks = len(self.expected) // self.BLOCK
		count = self.rng.choice((1, 1, 2, 8, 32))
		start = self.rng.randrange(0, blocks - count) * self.BLOCK
		length = count * self.BLOCK
		if self.rng.random() < 0.6:
			data = self.rng.randbytes(length)
			self.raw.put(start, data)
			self.expected[start:start + length] = data
		else:
			self.compare(start, length)

	def compare(self, start, length):
		"""What the disk has there is what was written."""
		block.compare(self.raw.get(start, length),
			      bytes(self.expected[start:start + length]), f"at {start}")

	def progresses(self, number=5):
		"""It does some more."""
		before = self.done
		wait_for(lambda: self.done > before + number or self.error,
			 what=f"I/O to go on after {before}")

	def stop(self, timeout=LATEST):
		"""Wait for its end, which must be a good one."""
		self.stopping.set()
		self.join(timeout)
		assert not self.is_alive(), f"a request hangs after {self.done}"
		if self.error:
			raise self.error


class Disk:
	"""A disk, written and read; nothing of it may fail, be lost or be wrong, whatever
	happens to its connection."""

	SIZE = 4 * MIB

	def __init__(self, lab, rng):
		self.lab, self.rng = lab, rng
		self.port = new_port()
		self.queues = rng.randint(1, 2)
		self.client = self.server = self.writing = self.number = None
		self.restart = False

	def __str__(self):
		return f"queues={self.queues}"

	def start(self):
		"""Start both sides, and I/O."""
		with open(STORE, "wb") as file:
			file.truncate(self.SIZE)
		self._serve()
		wait_for(krping.lines)
		log = krping.Log()
		self.client = Writer(f"client,blk,addr={self.lab.FAR},port={self.port},"
				     f"queues={self.queues},timeout={TIMEOUT},reconnect={RECONNECT}",
				     handle=True)
		wait_for(lambda: log.find(r"/dev/krping\d+: ") or not self.client.is_alive(),
			 what=log.text())
		self.number, = block.numbers()
		self.writing = Writing(block.node(self.number), self.rng, self.SIZE)

	def _serve(self):
		self.server = Writer(f"server,blk,persist,port={self.port},store={STORE},"
				     f"timeout={TIMEOUT}", handle=True, enter=self.lab.enter)

	def kill_client(self):
		"""Kill the writer of the disk, which stays, as it is open."""
		status, _ = self.client.end(signal.SIGKILL)
		assert status == -signal.SIGKILL, status
		self.client = None

	def kill_server(self):
		"""Kill the server. Another one comes later."""
		status, _ = self.server.end(signal.SIGKILL, LATEST)
		assert status == -signal.SIGKILL, status
		self.restart = True

	def mended(self):
		"""The fault is over: I/O goes on."""
		if self.restart:
			self._serve()
		try:
			self.writing.progresses()
		finally:
			self.writing.stopping.set()

	def give_up(self):
		"""Something else has failed: no more I/O."""
		if self.writing:
			self.writing.stopping.set()

	def finish(self):
		"""Read all, remove the disk, and look into the server's file."""
		self.writing.stop()
		self.writing.compare(0, self.SIZE)
		os.fsync(self.writing.raw.fd)
		os.close(self.writing.raw.fd)
		assert block.stop(self.number) == 0
		found = {}
		if self.client:
			found["client"] = self.client.wait(LATEST)
		status, _ = self.server.end(signal.SIGINT, LATEST)
		assert status == errno.EINTR, f"the server: {krping.name(status)}"
		with open(STORE, "rb") as file:
			block.compare(file.read(), bytes(self.writing.expected), STORE)
		return found


class Tap:
	"""A tap of a disk that is written to. The disk's own I/O must not notice anything, and
	what a tap that has ended well has forwarded is a copy."""

	SIZE = 16 * MIB

	def __init__(self, lab, rng):
		self.lab, self.rng = lab, rng
		self.port = new_port()
		self.client = self.server = self.writing = self.disk = None
		self.killed = False
		self.stack = contextlib.ExitStack()

	def __str__(self):
		return "all"

	def start(self):
		"""Start both sides, and I/O."""
		with open(STORE, "wb") as file:
			file.truncate(self.SIZE)
		self.disk = self.stack.enter_context(tap.null_blk("s", size=self.SIZE))
		self.server = Writer(f"server,tap,persist,port={self.port},store={STORE},"
				     f"timeout={TIMEOUT}", handle=True, enter=self.lab.enter)
		wait_for(krping.lines)
		log = krping.Log()
		self.client = Writer(f"client,tap={self.disk.name},addr={self.lab.FAR},"
				     f"port={self.port},timeout={TIMEOUT},size=64M", handle=True)
		wait_for(lambda: log.find(": tapping s ") or not self.client.is_alive(),
			 what=log.text())
		# No faster than what it is forwarded by.
		self.writing = Writing(self.disk.path, self.rng, self.SIZE, pause=0.02)

	def kill_client(self):
		"""Kill the writer of the tap."""
		self.killed = True
		os.kill(self.client.pid, signal.SIGKILL)

	def kill_server(self):
		"""Kill that of the server."""
		status, _ = self.server.end(signal.SIGKILL, LATEST)
		assert status == -signal.SIGKILL, status
		self.server = None

	def mended(self):
		"""The fault is over. The disk has not noticed it."""
		self.writing.progresses()

	def _figures(self):
		found = [line.figures for line in krping.lines()
			 if line.name == self.disk.name and "dropped" in line.figures]
		return found[0] if found else None

	def _idle(self):
		"""Wait until it has forwarded all, or has ended."""
		wait_for(lambda: not self.client.is_alive() or krping.rests(self._figures, 1), LATEST)

	def give_up(self):
		"""Something else has failed: no more I/O, and no disk."""
		if self.writing:
			self.writing.stopping.set()
		if self.client and self.client in Writer.running:
			self.client.end(signal.SIGKILL, LATEST)
		self.stack.close()

	def finish(self):
		"""End all, and compare the copy where the tap was good to its end."""
		with self.stack:
			self.writing.stop()
			self.writing.compare(0, self.SIZE)
			os.close(self.writing.raw.fd)
			self._idle()
			found = {}
			if self.killed or not self.client.is_alive():
				status = self.client.wait(LATEST)
			else:
				status, _ = self.client.end(signal.SIGINT, LATEST)
			if not self.killed:
				found["client"] = 0 if status == errno.EINTR else status
			result = krping.result(self.client.tag, "client")
			whole = status == errno.EINTR and result["dropped"] == result["errors"] == 0
			if self.server:
				status, _ = self.server.end(signal.SIGINT, LATEST)
				assert status == errno.EINTR, f"the server: {krping.name(status)}"
			if whole:
				with open(STORE, "rb") as file:
					block.compare(file.read(), bytes(self.writing.expected),
						      STORE)
			else:
				diag(f"the tap: {result['reason']}, {result['dropped']} dropped")
		return found


ALL: dict[str, type] = {"pingpong": PingPong, "reg": Registering, "latency": Latency,
			"bandwidth": Bandwidth, "stream": Stream, "messenger": Messenger,
			"disk": Disk, "tap": Tap}
