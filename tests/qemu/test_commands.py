# SPDX-License-Identifier: GPL-2.0
"""The file /proc/krping: who may use it, what it takes for a command, and what it says
of what is none. SEED in the environment repeats the fuzzed commands."""

import ctypes
import errno
import json
import os
import random
import re
import stat
import threading
import warnings

import krping
from commands import MAX_COMMAND, TABLES, Options, Quiet, mutated
from krping import ADDR, ADDR6, NETDEV, PROC, RESULTS, Command, Log, new_port, new_tag
from ktap import Suite, diag

# Children only make a call or two.
warnings.simplefilter("ignore", DeprecationWarning)

suite = Suite(check=krping.check)
# The families of tests that need no disk and leave none.
SIZED = ("pingpong", "fastreg", "latency", "bandwidth")
libc = ctypes.CDLL(None, use_errno=True)


def raw_log(size):
	"""The lines of krping in the last SIZE bytes of the kernel's log, as consoles show
	them: /dev/kmsg escapes what is not printable."""
	read_all = 3
	buffer = ctypes.create_string_buffer(size)
	found = libc.klogctl(read_all, buffer, size)
	assert found > 0, found
	return [line for line in buffer.raw[:found].split(b"\n") if b"krping: " in line]


def assert_clean(lines):
	"""Nothing in LINES but printable ASCII."""
	for line in lines:
		assert all(0x20 <= byte < 0x7f for byte in line), line


# Commands that are taken

@suite.test("every option, and every way to write it")
def accepted():
	link_local = next(each["local"] for link in network_addresses()
			  for each in link["addr_info"]
			  if each["scope"] == "link" and each["family"] == "inet6")
	for options, shown, values in (
			("", "", {}),
			("port=12345", ",port=12345", {}),
			("port=0x3039", ",port=12345", {}),
			("size=1", ",size=1", {"size": 1}),
			("size=0x40", "", {"size": 64}),
			("size=1K", ",size=1024", {"size": 1024}),
			("size=1k", ",size=1024", {"size": 1024}),
			("size=2M", ",size=2097152", {"size": 2 << 20}),
			("verbose", ",verbose", {}),
			("validate", ",validate", {}),
			("cq=own", "", {}),
			("cq=pool", ",cq=pool", {}),
			("poll,cq=own", ",poll", {}),
			("mem_mode=dma", "", {}),
			("mem_mode=reg", ",mem_mode=reg", {}),
			("mem_mode=fastreg", ",mem_mode=reg", {}),
			("mem_mode=reg,server_inv", ",mem_mode=reg,server_inv", {}),
			("server_inv,mem_mode=reg", ",mem_mode=reg,server_inv", {}),
			("server_inv", ",mem_mode=reg,server_inv", {}),
			("local_dma_lkey", ",local_dma_lkey", {}),
			("poll", ",poll", {}),
			("tos=32", ",tos=32", {}),
			("txdepth=128", ",txdepth=128", {}),
			("tx-depth=128", ",txdepth=128", {}),
			("threads=1", "", {}),
			("timeout=3600000", ",timeout=3600000", {}),
			("pattern=text", "", {}),
			("pattern=binary,validate", ",validate,pattern=binary", {}),
			("fr", ",fr", {"test": "fastreg"}),
			("wlat", ",wlat", {"test": "wlat", "imm": True}),
			("imm,wlat", ",wlat", {"test": "wlat", "imm": True}),
			("wlat,imm,poll", ",wlat,imm,poll", {"test": "wlat", "imm": True}),
			("sge=3,qps=2,untimed,rlat", ",rlat,untimed,qps=2,sge=3",
			 {"test": "rlat", "iterations": 4}),
			("bw,inline,duplex", ",bw,duplex,inline", {"test": "bw"}),
			("sbw,postlist=1,signal_every=16", ",sbw", {"test": "sbw"}),
			("sbw,postlist=2,signal_every=1", ",sbw,postlist=2,signal_every=1",
			 {"test": "sbw"}),
			("rbw,min_bw=1K", ",rbw,min_bw=1024", {"test": "rbw"}),
			("duration=60", ",duration=60", {}),
			("cpu=0x0", ",cpu=0", {}),
			("max_p99=100s", ",max_p99=100000000000", {}),
			("expect=ok", ",expect=ok", {}),
			(" validate , poll\t", ",validate,poll", {})):
		tag = new_tag()
		krping.run_ok(f"loopback,addr={ADDR},count=2,tag={tag}"
			      + (options and f",{options}"))
		found = krping.result(tag, "client")
		expected = f"loopback,addr={ADDR}"
		# In a fixed order: port, count, the rest.
		match = re.match(r",port=\d+", shown)
		port = match[0] if match else ""
		expected += f"{port},count=2{shown[len(port):]},tag={tag}"
		assert found["options"] == expected, (found["options"], expected)
		values = {"test": "pingpong", "size": 64, "iterations": 2} | values
		for key, value in values.items():
			assert found[key] == value, (options, key, found[key])
	for addr in (f"addr6={ADDR6}", "addr6=fd99:0:0:0:0:0:0:1", f"addr6={link_local}%{NETDEV}",
		     f"addr={ADDR}"):
		krping.run_ok(f"loopback,{addr},count=2,validate")


def every_option():
	"""The table of options."""
	with open(TABLES, encoding="ascii") as file:
		return json.load(file)["options"]


@suite.test("the table of options in debugfs says what is taken")
def table():
	with open(TABLES, encoding="ascii") as file:
		text = file.read()
	with open(f"{krping.SCRIPTS}/krping_front/options.json", encoding="ascii") as file:
		assert file.read() == text
	assert stat.S_IMODE(os.stat(TABLES).st_mode) & 0o077 == 0
	for option in every_option():
		name = option["name"]
		if option["kind"] in ("word", "flag"):
			assert krping.run(f"server,{name}=no-such-value") == errno.EINVAL, name
		for alias in option.get("aliases", ()):
			log = Log()
			assert krping.run(f"server,{name},{alias}") == errno.EINVAL
			log.wait(f"krping: {name} needs a value|krping: {alias} is given twice")


def network_addresses():
	"""The addresses of the RDMA device's interface."""
	with os.popen(f"ip -j addr show dev {NETDEV}") as pipe:
		return json.load(pipe)


@suite.test("white space and a newline around a command")
def white_space():
	text = f"loopback,addr={ADDR},count=1"
	for data in (text, f"{text}\n", f" {text}", f"\t {text} \t\n", f"{text} \n"):
		assert krping.write(data.encode()) == len(data), repr(data)


@suite.test("as long a command as is allowed, and a longer one")
def long_commands():
	text = f"loopback,addr={ADDR},count=1".encode()
	assert krping.write(text.ljust(MAX_COMMAND)) == MAX_COMMAND
	for size in (MAX_COMMAND + 1, 65536, 1 << 20):
		log = Log()
		assert krping.write(text.ljust(size)) == -errno.EINVAL
		log.wait(f"krping: a command of {size} bytes: at most {MAX_COMMAND}")


@suite.test("each write is a command of its own")
def pieces():
	tags = new_tag(), new_tag()
	fd = os.open(PROC, os.O_RDWR)
	try:
		for tag in tags:
			data = f"loopback,addr={ADDR},count=1,tag={tag}".encode()
			assert os.write(fd, data) == len(data)
			assert krping.result(tag, "client")["status"] == "ok"
		# What is cut in two is two commands that are none.
		log = Log()
		for piece in (b"loopback,addr=", f"{ADDR},count=1".encode()):
			try:
				os.write(fd, piece)
				raise AssertionError(f"{piece!r} was taken")
			except OSError as error:
				assert error.errno == errno.EINVAL, error
		log.wait("krping: addr needs a value")
		log.wait(f"krping: unknown option '{ADDR}'")
		assert os.read(fd, 100).startswith(b"# krping ")
	finally:
		os.close(fd)


# What is none

BASE = f"client,addr={ADDR}"
NUMBER = "must be a number, decimal without leading zeros or hexadecimal after 0x"

REFUSED = (
	# No command at all.
	("", "the command is empty; give client, server or loopback"),
	("\n", "the command is empty"),
	("  \t ", "the command is empty"),
	(",", "an option is empty"),
	(f"{BASE},,poll", "an option is empty; give options with one comma between them"),
	(f"{BASE},", "an option is empty"),
	(f"client addr={ADDR} count=1",
	 f"'client addr={ADDR} count=1' is more than one option; separate options by commas"),
	(f"{BASE} count=1", f"'addr={ADDR} count=1' is more than one option"),
	(f"{BASE}\n\n", "holds what is not printable ASCII"),
	# Roles.
	(f"addr={ADDR}", "no role is given; give one of client, server, loopback"),
	(f"{BASE},server", "client and server are both given; give one of"),
	(f"{BASE},loopback", "client and loopback are both given"),
	("client", "client needs the server's address; give addr="),
	("loopback,count=1", "loopback needs the server's address"),
	# Names.
	(f"{BASE},sise=1", "unknown option 'sise'; did you mean 'size'?"),
	(f"{BASE},Validate", "unknown option 'Validate'; did you mean 'validate'?"),
	(f"{BASE},source=1", "unknown option 'source'; did you mean 'src'?"),
	(f"{BASE},iters=1", "unknown option 'iters'; did you mean 'count'?"),
	(f"{BASE},quux", "unknown option 'quux'; valid are client, server, loopback, addr,"),
	(f"{BASE},size =1", "unknown option 'size '"),
	(f"{BASE},=1", "unknown option ''"),
	# Values.
	(f"{BASE},size", "size needs a value, as in size="),
	(f"{BASE},size=", "size needs a value, as in size="),
	(f"{BASE},port=", "port needs a value, as in port="),
	(f"{BASE},tag=", "tag needs a value, as in tag="),
	(f"{BASE},poll=1", "poll takes no value; give poll alone"),
	(f"{BASE},verbose=", "verbose takes no value"),
	(f"{BASE},validate=", "validate=: must be full"),
	(f"client=1,addr={ADDR}", "client takes no value"),
	(f"{BASE},size=12x", f"size=12x: {NUMBER}, then K, M or G at will"),
	(f"{BASE},count=12x", f"count=12x: {NUMBER}"),
	(f"{BASE},count=-1", f"count=-1: {NUMBER}"),
	(f"{BASE},count=+1", f"count=+1: {NUMBER}"),
	(f"{BASE},count=010", f"count=010: {NUMBER}"),
	(f"{BASE},count=0x", f"count=0x: {NUMBER}"),
	(f"{BASE},count=1T", f"count=1T: {NUMBER}, then K, M or G at will"),
	(f"{BASE},port=1K", f"port=1K: {NUMBER}"),
	(f"{BASE},timeout=5x", f"timeout=5x: {NUMBER}, then ns, us, ms, s, m or h at will"),
	(f"{BASE},timeout=1500us", "timeout=1500us: must be a whole number of ms"),
	(f"{BASE},mem_mode=mr", "mem_mode=mr: must be dma, reg or fastreg"),
	(f"{BASE},pattern=zero", "pattern=zero: must be text or binary"),
	(f"{BASE},tag=" + "x" * 65, "tag: must be 1 to 64 characters"),
	# Addresses.
	("client,addr=10.99.0", "addr=10.99.0: must be an IPv4 address"),
	("client,addr=10.99.0.256", "addr=10.99.0.256: must be an IPv4 address"),
	(f"client,addr={ADDR6}", f"addr={ADDR6}: must be an IPv4 address"),
	("client,addr=localhost", "addr=localhost: must be an IPv4 address"),
	(f"client,addr6={ADDR}", f"addr6={ADDR}: must be an IPv6 address"),
	("client,addr6=fe80::1", "addr6=fe80::1: must say on which interface, as in fe80::1%eth0"),
	("client,addr6=fe80::1%", "addr6=fe80::1%: must have the name of an interface after %"),
	("client,addr6=fe80::1%a/b", "must have the name of an interface after %"),
	("client,addr6=fe80::1%" + "x" * 16, "must have the name of an interface after %"),
	# Twice.
	(f"{BASE},size=1,size=2", "size is given twice; give it once"),
	(f"{BASE},poll,poll", "poll is given twice; give it once"),
	(f"{BASE},txdepth=1,tx-depth=1", "tx-depth is given twice"),
	(f"{BASE},addr6={ADDR6}", "addr and addr6 are both given; give one of them"),
	# Contradictions.
	(f"{BASE},server_inv,mem_mode=dma", "server_inv needs mem_mode=reg"),
	(f"{BASE},server_inv,unsafe_global_rkey", "unsafe_global_rkey is for mem_mode=dma"),
	(f"{BASE},read_inv,mem_mode=dma", "read_inv needs mem_mode=reg"),
	(f"{BASE},mem_mode=reg,server_inv,read_inv", "server_inv and read_inv are both given"),
	(f"{BASE},mem_mode=reg,unsafe_global_rkey", "unsafe_global_rkey is for mem_mode=dma"),
	(f"{BASE},persist", "persist is for a server; give server,persist"),
	(f"loopback,addr={ADDR},persist", "persist is for a server"),
	("server,wait=5", "wait is for a client; give client,wait"),
	(f"loopback,addr={ADDR},wait=5", "wait is for a client; give client,wait"),
	(f"{BASE},wlat,srq=8", "srq is for a server or loopback"),
	("server,fr", "fr is for the client or loopback"),
	(f"{BASE},wlat,rlat", "wlat and rlat are both given; give one of them"),
	(f"{BASE},qps=2", "qps does not go with the ping/pong; it is for wlat, rlat, slat, "),
	(f"{BASE},slat,duplex", "duplex does not go with slat; it is for bw, rbw, "),
	(f"{BASE},bw,mem_mode=reg", "mem_mode=reg does not go with bw; it is for the ping/pong"),
	(f"{BASE},bw,size=2,sge=3", "sge=3 does not go with size=2; each piece needs a byte"),
	# What no log should have to show.
	(f"{BASE},\x00", r"option '\x00' holds what is not printable ASCII"),
	(f"{BASE},poll\x00", r"option 'poll\x00' holds what is not printable ASCII"),
	(f"{BASE},tag=a\x1b[31mb", "holds what is not printable ASCII"),
	(f"{BASE},tag=a\nkrping: 1: done", "holds what is not printable ASCII"),
	(f"{BASE},si\x1b[31mze=1", r"option 'si\x1b[31mze' holds what is not printable ASCII"),
	(f"{BASE},a\nkrping: 1: done", r"option 'a\x0akrping: 1: done' holds what is not"),
	(f"{BASE},gr\u00fcn", r"option 'gr\xc3\xbcn' holds what is not printable ASCII"),
	(f"{BASE},\x7f", r"option '\x7f' holds what is not printable ASCII"),
	(f"{BASE},{'x' * 3000}", f"unknown option '{'x' * 64}...'; valid are client, server,"),
	(f"{BASE},tag=gr\u00fcn", "holds what is not printable ASCII"),
	(b"\xff\xfe", "a command that is not text"),
	(BASE.encode() + b",tag=\xc3", "a command that is not text"),
)

# The size, whose range is not in the table, and what is too large once scaled.
OUT_OF_RANGE = (
	("size=0", "from 1 to 4294967295"),
	("size=4G", "from 1 to 4294967295"),
	("size=4294967296", "from 1 to 4294967295"),
	("size=18446744073709551615G", "from 1 to 4294967295"),
	("max_p99=1001s", "from 1 to 1000000000000 ns"),
)


def refused(data, number, sentence):
	"""The command DATA is refused with errno NUMBER, and SENTENCE says why: in one line."""
	data = data.encode() if isinstance(data, str) else data
	log = Log()
	written = krping.write(data)
	assert written == -number, f"{data}: {written}, not -{krping.name(number)}: {log.text()}"
	log.wait(re.escape(f"krping: {sentence}") if not sentence.startswith("holds")
		 else f"krping: option '.*' {sentence}")
	# Others may have something to say to a busy machine.
	ours = [line for line in log.lines() if line.startswith("krping: ")]
	assert len(ours) == 1, log.lines()


@suite.test("what is no command: EINVAL, and why")
def not_a_command():
	for text, sentence in REFUSED:
		if sentence.startswith("must"):
			# The option and its value stand before it.
			option = os.fsdecode(text).rpartition(",")[2]
			sentence = f"{option}: {sentence}"
		refused(text, errno.EINVAL, sentence)
	lines = raw_log(1 << 14)
	assert_clean(lines)
	assert not [line for line in lines if line.endswith(b"krping: 1: done")], "a forged line"


@suite.test("numbers out of range: ERANGE, and what the range is")
def out_of_range():
	for option, sentence in OUT_OF_RANGE:
		refused(f"{BASE},{option}", errno.ERANGE, f"{option}: must be {sentence}")
	for row in every_option():
		if row["kind"] == "number":
			least, most = row["min"], row["max"]
			range_of = f"from {least} to {most} {row['unit']}".rstrip()
			for number in (most + 1, hex(most + 1), *range(least)[-1:]):
				text = f"{row['name']}={number}"
				refused(f"{BASE},{text}", errno.ERANGE, f"{text}: must be {range_of}")


@suite.test("an empty write")
def empty():
	assert krping.write(b"") in (0, -errno.EINVAL)


@suite.test("memory that is not there: EFAULT")
def unmapped():
	fd = os.open(PROC, os.O_WRONLY)
	try:
		assert libc.write(fd, ctypes.c_void_p(8), ctypes.c_size_t(20)) == -1
		assert ctypes.get_errno() == errno.EFAULT
	finally:
		os.close(fd)


# Who may

CLONE_NEWUSER = 0x10000000
CAP_NET_ADMIN = 12
CAP_VERSION_3 = 0x20080522


def child(function):
	"""What FUNCTION() returns, a small number, in a child process."""
	pid = os.fork()
	if pid == 0:
		status = 255
		try:
			status = function()
		finally:
			os._exit(status)
	return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def attempt(flags=os.O_WRONLY):
	"""The errno of a command, or of opening the file: that plus 128 to tell them apart."""
	try:
		fd = os.open(PROC, flags)
	except OSError as error:
		return 128 + error.errno
	try:
		os.write(fd, f"loopback,addr={ADDR},count=1".encode())
	except OSError as error:
		return error.errno
	return 0


def drop_net_admin():
	"""Give up CAP_NET_ADMIN."""
	header = (ctypes.c_uint32 * 2)(CAP_VERSION_3, 0)
	data = (ctypes.c_uint32 * 6)()
	assert libc.capget(header, data) == 0
	for index in range(3):
		data[index] &= ~(1 << CAP_NET_ADMIN)
	assert libc.capset(header, data) == 0


@suite.test("the file is root's alone")
def mode():
	found = os.stat(PROC)
	assert stat.S_IMODE(found.st_mode) == 0o600, oct(found.st_mode)
	assert (found.st_uid, found.st_gid) == (0, 0), found
	assert attempt() == 0


@suite.test("an unprivileged user cannot open it: EACCES")
def unprivileged():
	def as_user(flags):
		os.setgroups([])
		os.setgid(1000)
		os.setuid(1000)
		return attempt(flags)

	for flags in (os.O_WRONLY, os.O_RDONLY, os.O_RDWR):
		assert child(lambda flags=flags: as_user(flags)) == 128 + errno.EACCES


@suite.test("root without CAP_NET_ADMIN: EPERM, and the reason in the log")
def without_capability():
	def without():
		drop_net_admin()
		return attempt()

	log = Log()
	assert child(without) == errno.EPERM
	log.wait("krping: a command needs CAP_NET_ADMIN")

	def reading():
		drop_net_admin()
		with open(PROC, encoding="ascii") as file:
			return 0 if file.read().startswith("# krping ") else 1
	assert child(reading) == 0


@suite.test("a file that was opened with more rights than its writer has: EPERM")
def opened_before():
	fd = os.open(PROC, os.O_WRONLY)

	def write():
		os.setuid(1000)
		try:
			os.write(fd, f"loopback,addr={ADDR},count=1".encode())
		except OSError as error:
			return error.errno
		return 0
	try:
		assert child(write) == errno.EPERM
	finally:
		os.close(fd)


@suite.test("root of another user namespace: EPERM")
def user_namespace():
	def inside():
		os.unshare(CLONE_NEWUSER)
		return attempt()

	assert child(inside) == errno.EPERM


# Under load

class Around:
	"""Within, runs go on, and readers read what is to be read; all must go well."""

	def __init__(self):
		self.ending = threading.Event()
		self.counts = {}
		self.errors = []

	def __enter__(self):
		port = new_port()
		self.server = krping.serve(f"server,persist,port={port}")
		self.long = Command(f"loopback,addr={ADDR},threads=2")
		client = (f"client,addr={ADDR},port={port},count=200,validate,size=3000,"
			  "mem_mode=reg,server_inv")
		self.threads = [threading.Thread(target=self._repeat, args=each, daemon=True)
				for each in (("runs", lambda: krping.run_ok(client)),
					     ("reads of the lines", krping.lines),
					     ("reads of the results", self._results),
					     ("reads byte by byte", self._bytes))]
		for thread in self.threads:
			thread.start()
		return self

	def __exit__(self, kind, *_):
		self.ending.set()
		for thread in self.threads:
			thread.join(30)
		# They still run, and end by a signal alone.
		found = [self.long.interrupt(), self.server.interrupt()]
		if kind is None:
			assert not [thread for thread in self.threads if thread.is_alive()]
			assert not self.errors, self.errors[0]
			assert found == [errno.EINTR] * 2, found
			diag(", ".join(f"{count} {what}" for what, count in self.counts.items()))
			assert all(self.counts.values()), self.counts

	def _repeat(self, what, function):
		self.counts[what] = 0
		while not self.ending.is_set():
			try:
				function()
			except BaseException as error:
				self.errors.append(f"{what}: {error!r}")
				return
			self.counts[what] += 1
			krping.pass_time(0.005, "the others have their turns")

	@staticmethod
	def _results():
		with open(RESULTS, encoding="ascii") as file:
			found = [json.loads(line) for line in file]
		# Of each of three origins.
		assert len(found) <= 3 * 256, len(found)
		assert all(each["schema"] == 1 for each in found)

	@staticmethod
	def _bytes():
		fd = os.open(PROC, os.O_RDONLY)
		try:
			text = b""
			while True:
				byte = os.read(fd, 1)
				if not byte:
					break
				text += byte
			assert text == b"" or text.endswith(b"\n"), text
			os.lseek(fd, 5, os.SEEK_SET)
			os.read(fd, 100)
		finally:
			os.close(fd)


def the_seed():
	"""SEED, or a new one."""
	seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
	diag(f"SEED={seed}")
	return seed


@suite.test("300 commands of random bytes while runs go on, none of which does anything")
def fuzzed():
	rng = random.Random(the_seed())
	options = Options(rng)
	log, count, seen = Log(), 300, {}
	with Quiet(), Around():
		for _ in range(count):
			role = rng.choice(("client", "server", "loopback", "clint", ""))
			words = options.words(role, options.test(SIZED), rng.randrange(6))
			text = ",".join((role, f"addr={ADDR}", *words))
			# Whatever comes before, a command cannot end like this.
			data = mutated(rng, text) + b",client,client"
			number = -krping.write(data)
			seen[number] = seen.get(number, 0) + 1
			assert number in (errno.EINVAL, errno.ERANGE, errno.EOPNOTSUPP), \
				f"{krping.name(number) if number > 0 else number} from {data}"
	diag(", ".join(f"{krping.name(number)}: {times}" for number, times in seen.items()))
	lines = [line for line in log.lines() if line.startswith("krping: ")]
	assert len(lines) > count * 9 // 10, len(lines)
	assert_clean(raw_log(1 << 20))


@suite.test("100 random but well-formed commands while runs go on")
def well_formed():
	rng = random.Random(the_seed())
	options = Options(rng)
	# Nobody listens there, and nobody waits for long.
	target = f"client,addr={ADDR},port={new_port()},timeout=1"
	allowed = {errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EINVAL, errno.ERANGE,
		   errno.EOPNOTSUPP, errno.ENOMEM}
	seen = {}
	with Quiet(), Around():
		for _ in range(100):
			words = options.words("client", options.test(SIZED), rng.randrange(8))
			# Many threads are another test's.
			words = [word for word in words
				 if not re.fullmatch(r"threads=(255|256|\d{4,}|0x10)", word)]
			text = ",".join([target] + words)
			number = krping.run(text)
			seen[number] = seen.get(number, 0) + 1
			# There is no such disk to tap.
			no_disk = number == errno.ENOENT and "tap=" in text
			# Nor such a device, or such an address of this host, to connect from.
			no_source = ((number == errno.ENODEV and ",dev=" in text)
				     or (number == errno.EADDRNOTAVAIL and ",src=" in text))
			assert number in allowed or no_disk or no_source \
				or (number == 0 and "expect=" in text), \
				f"{krping.name(number)} from {text}"
	diag(", ".join(f"{krping.name(number)}: {times}" for number, times in seen.items()))
	assert errno.EINVAL in seen and len(seen) > 2, seen


if __name__ == "__main__":
	suite.main()
