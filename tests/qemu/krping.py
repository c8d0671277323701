# SPDX-License-Identifier: GPL-2.0
"""What tests in guests do with krping, all in their own process: a fork and exec
costs more than most runs.

	import krping
	from krping import ADDR, run

	assert run(f"loopback,addr={ADDR},count=10") == 0
	server = krping.serve(f"server,port={port}")	# runs beside the test
	...
	assert server.wait() == 0

	suite = Suite(check=krping.check)	# nothing may be left after a test

Errnos are positive, and 0 is success.
"""

import collections
import ctypes
import errno
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import ktap
import nldev

# The front's modules are for those who import this one.
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
sys.path.append(SCRIPTS)

ADDR = os.environ.get("KRPING_ADDR", "10.99.0.1")
ADDR6 = os.environ.get("KRPING_ADDR6", "fd99::1")
DEVICE = os.environ.get("KRPING_DEVICE", "rxe0")
NETDEV = "eth9"
# Where the module is in a guest.
MODULE = "/krping/krping.ko"
PROC = "/proc/krping"
RESULTS = "/sys/kernel/debug/krping/results"
# How many times longer anything may take than on the stock kernel. The debug kernel
# moves data some 30 times slower.
SLOW = 20 if ktap.DEBUG else 1
# Seconds within which a command ends that was told to: one, and what an emulated CPU makes of it.
SOON = 2 if SLOW == 1 else 8
# One go-ahead or advertisement.
MESSAGE = 16

COUNTERS = ("send_bytes", "send_msgs", "recv_bytes", "recv_msgs",
	    "write_bytes", "write_msgs", "read_bytes", "read_msgs")


def wait_for(predicate, timeout=60, what=""):
	"""Wait until PREDICATE() is true, and return what it returned. TIMEOUT is that of the
	stock kernel, here as everywhere below; its default is for a machine that is busy. WHAT is
	a text or, if what was seen is to be told, a function that returns one."""
	end = time.monotonic() + timeout * SLOW
	while True:
		begun = time.monotonic()
		value = predicate()
		if value:
			return value
		now = time.monotonic()
		assert now < end, \
			f"not within {timeout} s: {what() if callable(what) else what or predicate}"
		# What takes long to look at leaves most of the time to what is waited for.
		time.sleep(min(max(0.01, 4 * (now - begun)), 0.2))


def pass_time(seconds, why):
	"""Let SECONDS pass, where a time is itself what is tested: a fault lasts, a signal comes at any
	moment, nothing may happen for a while. WHY says it. What is to have happened by then is for
	wait_for()."""
	time.sleep(seconds)


def rests(look, seconds):
	"""Whether what LOOK() returns stays the same for SECONDS."""
	before = look()
	pass_time(seconds, "nothing changes meanwhile")
	return look() == before


_ports = itertools.count(20000)
_tags = itertools.count(1)


def new_port():
	"""A port that no other call has returned. Below those that krping and the
	kernel pick by themselves."""
	return next(_ports)


def new_tag():
	"""A tag that no other call in this boot has returned."""
	return f"t{os.getpid()}.{next(_tags)}"


# Commands

_libc = ctypes.CDLL(None, use_errno=True)
# A signal that interrupts a write without ending the program.
INTERRUPT = signal.SIGUSR1
signal.signal(INTERRUPT, lambda _signal, _frame: None)


def write(data, path=PROC):
	"""Write DATA (bytes) in one write(2). Return its result, or -errno. Python's own
	os.write() would write again after a signal."""
	fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
	try:
		written = _libc.write(fd, data, ctypes.c_size_t(len(data)))
		return -ctypes.get_errno() if written < 0 else written
	finally:
		os.close(fd)


def run(text):
	"""Run the command TEXT to its end, and return its errno. A write that succeeds
	must have taken all of it."""
	data = text.encode()
	written = write(data)
	if written < 0:
		return -written
	assert written == len(data), f"write() returned {written} of {len(data)}"
	return 0


def run_ok(text):
	"""Run TEXT, which must succeed."""
	log = Log()
	number = run(text)
	assert number == 0, f"{name(number)} from {text!r}: {log.text()}"


def run_fails(text, number, sentence):
	"""Run TEXT, which must fail with errno NUMBER and log what matches SENTENCE, a
	regular expression."""
	log = Log()
	found = run(text)
	assert found == number, f"{name(found)}, not {name(number)}, from {text!r}: {log.text()}"
	log.wait(sentence)


def name(number):
	"""An errno's name, as krping writes it."""
	if number == errno.EOPNOTSUPP:
		return "EOPNOTSUPP"
	return errno.errorcode.get(number, str(number)) if number else "success"


def block_signals():
	"""Leave the calling thread none but INTERRUPT. A signal that nobody handles,
	such as SIGCHLD, comes to any thread while the main one blocks it to fork, and
	would end a write there."""
	signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {INTERRUPT})


class Command(threading.Thread):
	"""A command that runs in a thread beside the test."""

	running = []

	def __init__(self, text):
		super().__init__(daemon=True)
		self.text = text
		self.errno = None	# while it runs
		self.error = None
		Command.running.append(self)
		self.start()

	def run(self):
		block_signals()
		try:
			self.errno = run(self.text)
		except BaseException as error:
			self.error = error
			raise

	def wait(self, timeout=60):
		"""Wait for its end, and return its errno."""
		self.join(timeout * SLOW)
		assert not self.is_alive(), f"still runs after {timeout} s: {self.text}"
		Command.running.remove(self)
		if self.error:
			raise self.error
		return self.errno

	def interrupt(self, timeout=60):
		"""Interrupt its write with a signal, and wait for its end. A signal from
		before the write is lost, so it is sent again and again."""
		end = time.monotonic() + timeout * SLOW
		while self.is_alive() and time.monotonic() < end:
			signal.pthread_kill(self.ident, INTERRUPT)
			self.join(0.1)
		return self.wait(0.1)


# What krping says

def results(tag):
	"""The finished runs of TAG that debugfs lists, the oldest first."""
	mark = f'"tag":"{tag}"'.encode()
	# Most of the lines, of a megabyte together, are of others: they are not even taken apart.
	with open(RESULTS, "rb", buffering=0) as file:
		text = file.readall()
	found, at = [], text.find(mark)
	while at >= 0:
		end = text.index(b"\n", at)
		found.append(json.loads(text[text.rfind(b"\n", 0, at) + 1:end]))
		at = text.find(mark, end)
	return [result for result in found if result["tag"] == tag]


def result(tag, role, timeout=60):
	"""The only result of TAG and ROLE. That of a server comes a moment after its
	client's end."""
	def find():
		return [each for each in results(tag) if each["role"] == role]
	found = wait_for(find, timeout, f"a {role}'s result of {tag}")
	assert len(found) == 1, f"{len(found)} results of {tag} and {role}"
	return found[0]


def both(options):
	"""The results of client and server of a loopback with OPTIONS."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},{options},tag={tag}")
	return result(tag, "client"), result(tag, "server")


Line = collections.namedtuple("Line", ("thread", "device", "counters", "name", "figures"),
			      defaults=(None, None))


def lines():
	"""The lines of /proc/krping: thread number, device (None where it listens), and
	counters by name; of a disk or tap also its name, and its figures by name."""
	with open(PROC, encoding="ascii") as file:
		return [_line(line) for line in file if not line.startswith("#")]


def _line(text):
	block = r"(?: (?:tap=)?(\S+)((?: [a-z_]+=[0-9]+)+))?\n"
	listens = re.fullmatch(r"([0-9]+) listen" + block, text)
	busy = re.fullmatch(r"([0-9]+)-([a-z0-9_]+)((?: [0-9]+){8})" + block, text)
	assert listens or busy, f"a strange line in {PROC}: {text!r}"
	name, words = (listens or busy).groups()[-2:]
	figures = words and {key: int(value)
			     for key, value in (word.split("=") for word in words.split())}
	if listens:
		return Line(int(listens[1]), None, {}, name, figures)
	values = [int(value) for value in busy[3].split()]
	return Line(int(busy[1]), busy[2], dict(zip(COUNTERS, values)), name, figures)


def traffic(**changes):
	"""All counters, 0 where CHANGES do not say otherwise."""
	return dict.fromkeys(COUNTERS, 0) | changes


def pingpong_traffic(role, count, size):
	"""The counters after COUNT iterations of SIZE bytes."""
	moved = traffic(send_bytes=2 * count * MESSAGE, send_msgs=2 * count,
			recv_bytes=2 * count * MESSAGE, recv_msgs=2 * count)
	if role == "server":
		moved |= {"write_bytes": count * size, "write_msgs": count,
			  "read_bytes": count * size, "read_msgs": count}
	return moved


def assert_done(found, count, size, counters=None):
	"""The result FOUND is that of COUNT successful iterations of SIZE bytes, and its
	statistics are exactly what they must be: COUNTERS, or those of a ping/pong."""
	assert found["status"] == "ok", found
	assert (found["iterations"], found["size"]) == (count, size), found
	if counters is None:
		counters = pingpong_traffic(found["role"], count, size)
	moved = {key: found[key] for key in COUNTERS}
	assert moved == counters, f"{found['role']}: moved {moved}, not {counters}"


def assert_latencies(found, count):
	"""The latencies of the result FOUND are in order, and its histogram, which has
	COUNT of them, says the same."""
	ordered = [found[f"{key}_ns"] for key in
		   ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")]
	assert ordered == sorted(ordered) and ordered[0] > 0, found
	assert found["min_ns"] <= found["mean_ns"] <= found["max_ns"], found
	assert found["stddev_ns"] <= found["max_ns"] - found["min_ns"], found

	buckets = found["histogram_ns"]
	assert sum(number for _, _, number in buckets) == count, buckets
	edges = [edge for low, high, _ in buckets for edge in (low, high)]
	assert edges == sorted(edges), buckets
	assert all(number > 0 for _, _, number in buckets), buckets
	assert all(high - low <= low / 64 for low, high, _ in buckets), buckets
	assert buckets[0][0] <= found["min_ns"] <= buckets[0][1], found
	assert buckets[-1][0] <= found["max_ns"] <= buckets[-1][1], found
	# A percentile is that of the bucket in which so many iterations end.
	for key, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
		below = sum(number for low, _, number in buckets if low <= found[f"{key}_ns"])
		assert below >= share * count, (key, found)


class Log:
	"""The kernel's log from now on."""

	def __init__(self):
		self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
		os.lseek(self.fd, 0, os.SEEK_END)
		self.seen = []

	def __del__(self):
		os.close(self.fd)

	def lines(self):
		"""The lines since, without times; krping's begin with "krping: "."""
		while True:
			try:
				record = os.read(self.fd, 8192).decode(errors="replace")
			except BlockingIOError:
				return self.seen
			except BrokenPipeError:
				# The log has overwritten the next ones.
				continue
			# After the first line come fields of the record. Backslashes
			# and what cannot be printed are escaped.
			line = record.partition(";")[2].split("\n")[0]
			self.seen.append(re.sub(r"\\x([0-9a-f]{2})",
						lambda match: chr(int(match[1], 16)), line))

	def text(self):
		"""The lines, as one text."""
		return "\n".join(self.lines())

	def find(self, sentence):
		"""The match of the regular expression SENTENCE, or None."""
		return re.search(sentence, self.text())

	def expect(self, text):
		"""The lines have TEXT, as it is."""
		assert text in self.text(), (text, self.text())

	def wait(self, sentence, timeout=60):
		"""Wait for a match of SENTENCE, and return it."""
		try:
			return wait_for(lambda: self.find(sentence), timeout)
		except AssertionError:
			raise AssertionError(f"no {sentence!r} in the log: {self.text()}") from None


# What the kernel holds

def cm_received(kind):
	"""How many messages of KIND, such as "rej", DEVICE's connection management has received."""
	with open(f"/sys/class/infiniband/{DEVICE}/ports/1/cm_rx_msgs/{kind}", encoding="ascii") as file:
		return int(file.read())


def rdma(*words):
	"""What `rdma -j WORDS...` prints."""
	done = subprocess.run(("rdma", "-j") + words, stdin=subprocess.DEVNULL,
			      capture_output=True, text=True, check=True)
	return json.loads(done.stdout or "[]")


def pooled(device):
	"""How many completion queues the pool of DEVICE has, which it keeps."""
	return sum(name == device and nldev.text(each.get(nldev.KERNEL_NAME, b"")) == "ib_core"
		   for name, each in nldev.entries(nldev.CQ))


def resources():
	"""How many objects of each kind there are, by device, less those of its pool."""
	found = nldev.summary()
	for device, counts in found.items():
		counts["cq"] -= pooled(device)
	return found


def ready_pairs(kind="RC", device=None):
	"""The queue pairs of this KIND, of DEVICE or of all, that send and receive."""
	return [each for each in rdma("resource", "show", "qp")
		if (each["type"], each["state"]) == (kind, "RTS") and device in (None, each["ifname"])]


def listens(port):
	"""Whether anything listens on PORT, in the kernel or not."""
	return any(each[nldev.STATE][0] == nldev.LISTEN and nldev.port(each) == int(port)
		   for _, each in nldev.entries(nldev.CM_ID))


def listens_over_tcp(port):
	"""Whether anything listens on PORT of TCP over IPv4, in the kernel or not."""
	with open("/proc/net/tcp", encoding="ascii") as table:
		lines = [line.split() for line in table]
	return any(line[1].endswith(f":{int(port):04X}") and line[3] == "0A" for line in lines[1:])


def serve(text, begin=Command):
	"""Start the server TEXT, which names its port, by BEGIN, and return it once that listens."""
	server = begin(text)
	port = re.search(r"\bport=(\d+)", text)[1]
	wait_for(lambda: listens_over_tcp(port) if ",tcp" in text else listens(port))
	return server


def serve_new(*options):
	"""Start a server with OPTIONS on a port of its own; return it, the port and the tag once it
	listens."""
	port, tag = new_port(), new_tag()
	server = Command(",".join(("server", f"port={port}", f"tag={tag}") + options))
	wait_for(lambda: server.errno is not None or listens(port))
	assert server.is_alive(), f"the server ended at once: {name(server.errno)}"
	return server, port, tag


_idle = resources()


def check():
	"""Nothing runs any more, and nothing is left of what has run. Ends what does
	run, so that the next test is not disturbed."""
	left = [command.text for command in Command.running if command.is_alive()]
	left += [" ".join(program.args) for program in Program.running
		 if program.poll() is None]
	for command in Command.running[:]:
		command.interrupt()
	for program in Program.running[:]:
		program.stop(signal.SIGKILL)
	assert not left, f"the test left running: {left}"
	wait_for(lambda: not lines(), what=f"{PROC} to be empty: {lines()}")
	try:
		wait_for(lambda: resources() == _idle)
	except AssertionError:
		raise AssertionError(f"left over: {resources()}, not {_idle}: "
				     f"{rdma('resource', 'show', 'qp')} "
				     f"{rdma('resource', 'show', 'cm_id')} "
				     f"{rdma('resource', 'show', 'mr')}") from None


def loaded():
	"""Whether the module is loaded."""
	return os.path.exists(PROC)


def load():
	"""Load the module."""
	subprocess.run(("insmod", MODULE), check=True)


def unload():
	"""Unload the module, and return what rmmod says where it cannot, else ""."""
	done = subprocess.run(("rmmod", "krping"), stdin=subprocess.DEVNULL,
			      capture_output=True, text=True, check=False)
	assert (done.returncode == 0) == (done.stderr == ""), done
	return done.stderr


# Other programs

def process_state(pid):
	"""The state of a process, such as "S" for one that sleeps until something, or a signal,
	comes; "D" for one that no signal disturbs."""
	with open(f"/proc/{pid}/stat", encoding="ascii") as file:
		return file.read().rpartition(")")[2].split()[0]


def awaits_clients(pid, port):
	"""Whether the process PID listens on PORT, for the RDMA CM, and sleeps since: a port is listed
	a moment before connections are taken."""
	return listens(port) and process_state(pid) == "S"


class Program(subprocess.Popen):
	"""A program beside the test, such as Program("rping", "-c", ...)."""

	running = []

	def __init__(self, *words):
		# A file takes any amount of output.
		self.file = tempfile.TemporaryFile()
		super().__init__(words, stdin=subprocess.DEVNULL, stdout=self.file,
				 stderr=subprocess.STDOUT)
		Program.running.append(self)

	def finish(self, timeout=300):
		"""Wait for its end, and return its status and what it printed."""
		self.wait(timeout * SLOW)
		Program.running.remove(self)
		return self.returncode, self.output()

	def stop(self, number=signal.SIGTERM, timeout=60):
		"""End it by a signal, if it has not ended. Return as finish() does."""
		self.send_signal(number)
		return self.finish(timeout)

	def output(self):
		"""What it has printed."""
		# Not through the file's position, which it shares with the program.
		size = os.fstat(self.file.fileno()).st_size
		return os.pread(self.file.fileno(), size, 0).decode(errors="replace")
