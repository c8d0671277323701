# SPDX-License-Identifier: GPL-2.0
# oldest: yes
"""The ping/pong and the stress of fast registration, within one guest."""

import contextlib
import errno
import itertools
import time

import krping
from krping import ADDR, ADDR6, Log, assert_done, assert_latencies, new_tag, run_fails, run_ok
from ktap import Skip, Suite

suite = Suite(check=krping.check)

# What one fast registration of rxe covers.
LIMIT = 2097152
# With how many iterations: an emulated CPU moves some 20 MB a second. Pollers keep
# it from the device's work, so take longer.
SIZES = {1: 20, 15: 20, 64: 20, 4096: 20, 65537: 5, 131072: 4, LIMIT: 2}
POLL_SIZES = dict.fromkeys(SIZES, 5) | {LIMIT: 2}


def loopback(size, count, options, addr=f"addr={ADDR}"):
	"""Run a loopback, and return the results of client and server, which must be
	what COUNT iterations of SIZE bytes give."""
	tag = new_tag()
	run_ok(f"loopback,{addr},size={size},count={count},tag={tag},{options}")
	found = {each["role"]: each for each in krping.results(tag)}
	assert set(found) == {"client", "server"}, found
	for each in found.values():
		assert_done(each, count, size)
	return found["client"], found["server"]


def all_sizes(options):
	sizes = POLL_SIZES if "poll" in options else SIZES
	for size, count in sizes.items():
		loopback(size, count, f"validate,{options}")


for modes in itertools.product(("mem_mode=dma", "mem_mode=reg", "mem_mode=reg,server_inv"),
			       ("", ",local_dma_lkey"), ("", ",poll")):
	wanted = "".join(modes)
	suite.test(f"{wanted}: every size, validated")(lambda wanted=wanted: all_sizes(wanted))


@suite.test("pattern=binary, validated")
def binary():
	for size, count in {1: 20, 7: 20, 8: 20, 64: 20, 65537: 5}.items():
		for mode in ("mem_mode=dma", "mem_mode=reg,server_inv", "poll"):
			loopback(size, count, f"validate,pattern=binary,{mode}")


@suite.test("without validate, with fastreg as reg's other name, and with K as a unit")
def unvalidated():
	loopback(4096, 100, "mem_mode=dma")
	client, _ = loopback(1024, 100, "mem_mode=fastreg,timeout=5000")
	assert client["options"].startswith(
		f"loopback,addr={ADDR},count=100,size=1024,mem_mode=reg,timeout=5000,tag="), client
	tag = new_tag()
	run_ok(f" loopback, addr={ADDR}, size=3K, count=0xA, tag={tag} \n")
	assert_done(krping.result(tag, "client"), 10, 3072)


@suite.test("server_inv with dma, and unsafe_global_rkey with reg, are refused")
def contradictions():
	base = f"loopback,addr={ADDR},count=1"
	run_fails(base + ",mem_mode=dma,server_inv", errno.EINVAL, "server_inv.*mem_mode=reg")
	run_fails(base + ",server_inv,unsafe_global_rkey", errno.EINVAL,
		  "unsafe_global_rkey.*mem_mode=")
	run_fails(base + ",mem_mode=reg,unsafe_global_rkey", errno.EINVAL,
		  "unsafe_global_rkey.*mem_mode=")


@suite.test("read_inv is refused on RoCE")
def read_inv():
	run_fails(f"loopback,addr={ADDR},count=1,mem_mode=reg,read_inv", errno.EOPNOTSUPP,
		  "read_inv: .*iWARP")


@suite.test("a size above the device's limit is refused, and the log says the limit")
def too_large():
	for size in (LIMIT + 1, "4G", 0xffffffff):
		number = errno.ERANGE
		sentence = "size=4G: " if size == "4G" else f"ERANGE .*{LIMIT} bytes"
		run_fails(f"loopback,addr={ADDR},count=1,size={size}", number, sentence)


@contextlib.contextmanager
def counted(*functions):
	"""Count the calls of kernel functions. Yields a function that returns the counts
	so far."""
	tracing = "/sys/kernel/tracing"
	events = f"{tracing}/kprobe_events"

	def hits():
		with open(f"{tracing}/kprobe_profile", encoding="ascii") as file:
			found = dict(line.split()[:2] for line in file)
		return tuple(int(found[function]) for function in functions)

	try:
		with open(events, "w", encoding="ascii") as file:
			for function in functions:
				file.write(f"p:krping_test/{function} {function}\n")
				file.flush()
	except OSError as error:
		raise Skip(f"no kprobe on {' '.join(functions)}: {error}") from None
	enable = f"{tracing}/events/krping_test/enable"
	try:
		krping.write(b"1", enable)
		yield hits
	finally:
		krping.write(b"0", enable)
		with open(events, "w", encoding="ascii"):
			pass


@suite.test("each memory mode registers and invalidates as often as it must")
def registrations():
	count = 10
	# The client registers the source and the sink in each iteration; the server
	# its buffer for the READ and, without local_dma_lkey, for the WRITE. Where a
	# region is not invalidated at once, it is before its next registration, so
	# not after the last.
	each = 2 * count
	for options, expected in {
		"mem_mode=dma": (2, 0),
		"mem_mode=dma,local_dma_lkey": (2, 0),
		"unsafe_global_rkey": (0, 0),
		"mem_mode=reg": (each + each, each - 1 + each - 1),
		"mem_mode=reg,local_dma_lkey": (each + count, each - 1 + count),
		"mem_mode=reg,server_inv": (each + each, each + each - 1),
		# As C krping, which always registers, takes it.
		"server_inv": (each + each, each + each - 1),
		"mem_mode=reg,server_inv,local_dma_lkey": (each + count, each + count),
	}.items():
		with counted("rxe_reg_fast_mr", "rxe_invalidate_mr") as calls:
			loopback(4096, count, f"validate,{options}")
			found = calls()
		assert found == expected, f"{options}: {found}, not {expected}"


@suite.test("unsafe_global_rkey works, and the kernel warns of it")
def global_rkey():
	log = Log()
	for size in (1, 64, 65537):
		loopback(size, 5, "validate,unsafe_global_rkey")
	log.wait("enabling unsafe global rkey")
	log = Log()
	loopback(64, 5, "validate")
	assert not log.find("unsafe"), log.text()


def fast_registration(options, count=200):
	"""Run the stress of fast registration, which must register COUNT times."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},fr,count={count},tag={tag},{options}")
	found = krping.result(tag, "client")
	assert found["test"] == "fastreg", found
	assert (found["status"], found["iterations"]) == ("ok", count), found
	assert found["elapsed_ns"] > 0, found
	# It is about registrations only.
	for role in ("client", "server"):
		found = krping.result(tag, role)
		assert [found[key] for key in krping.COUNTERS] == [0] * 8, found


@suite.test("fr registers count= times, at any txdepth=")
def fr():
	for txdepth in (1, 2, 3, 16, 64, 1000):
		fast_registration(f"txdepth={txdepth},size=4096")
	for size in (1, 4097, 65536, LIMIT):
		fast_registration(f"size={size}")
	fast_registration("tx-depth=7,mem_mode=reg,poll", count=20)
	fast_registration("validate", count=1)
	with counted("rxe_reg_fast_mr", "rxe_invalidate_mr") as calls:
		fast_registration("txdepth=8", count=333)
		assert calls() == (333, 333), calls()


def text(iteration, size):
	"""The data of an iteration, without the NUL at its end."""
	data = f"rdma-ping-{iteration}: "
	start = 65 + iteration % 58
	data += "".join(chr(65 + (start - 65 + i) % 58) for i in range(size))
	return data[:size - 1]


@suite.test("verbose logs the data of each iteration on both sides")
def verbose():
	log = Log()
	loopback(64, 60, "verbose,validate")
	# The alphabet has a backslash, which is printed escaped.
	expected = [f"ping data: |{text(i, 64)}|".replace("\\", "\\\\") for i in range(60)]
	found = [line.partition("krping: ")[2] for line in log.lines() if "ping data" in line]
	assert [line for line in found if line.startswith("ping")] == expected, found[:4]
	assert [line for line in found if line.startswith("server")] \
		== [f"server {line}" for line in expected], found[:4]


@suite.test("txdepth= is lowered to what the device can, and the log says so")
def txdepth():
	loopback(64, 10, "txdepth=1")
	log = Log()
	loopback(64, 10, "txdepth=16384")
	assert not log.find("lowered"), log.text()
	loopback(64, 10, "txdepth=65536")
	log.wait("txdepth=65536 lowered to [0-9]+")


@suite.test("tos= is accepted")
def tos():
	loopback(64, 10, "tos=255")
	client, _ = loopback(64, 10, "tos=0", addr=f"addr6={ADDR6}")
	assert ",tos=0," in client["options"], client
	run_fails(f"loopback,addr={ADDR},count=1,tos=256", errno.ERANGE, "tos=256: .* 0 to 255")


@suite.test("threads= runs as many connections")
def threads():
	for count, options in ((50, "mem_mode=reg"), (5, "poll")):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},count={count},validate,threads=5,tag={tag},{options}")
		found = krping.results(tag)
		for each in found:
			assert_done(each, count, 64)
		roles = sorted(each["role"] for each in found)
		assert roles == ["client"] * 5 + ["server"] * 5, roles
		assert len({each["thread"] for each in found}) == 10, found
		assert len({each["id"] for each in found}) == 1, found


def link_local():
	"""The link-local address of the device."""
	with open("/proc/net/if_inet6", encoding="ascii") as file:
		for line in file:
			digits, _, _, _, _, interface = line.split()
			if interface == krping.NETDEV and digits.startswith("fe80"):
				return ":".join(digits[i:i + 4] for i in range(0, 32, 4))
	raise Skip(f"no link-local address on {krping.NETDEV}")


@suite.test("IPv6, global and link-local")
def ipv6():
	for mode in ("mem_mode=dma", "mem_mode=reg"):
		client, server = loopback(4096, 20, f"validate,{mode}", f"addr6={ADDR6}")
		assert (client["peer"], server["peer"]) == (ADDR6, ADDR6), (client, server)
		scoped = f"addr6={link_local()}%{krping.NETDEV}"
		client, _ = loopback(4096, 20, f"validate,{mode}", scoped)
		assert client["peer"].startswith("fe80::"), client
		assert f"%{krping.NETDEV}," in client["options"], client


@suite.test("/proc/krping shows growing numbers of what runs")
def progress():
	command = krping.Command(f"loopback,addr={ADDR},size=4096")

	def busy():
		found = {line.thread: line for line in krping.lines()}
		assert all(line.device in (None, krping.DEVICE) for line in found.values()), found
		if len(found) == 2 and all(line.counters.get("recv_msgs", 0) > 100
					   for line in found.values()):
			return found
		return None

	first = krping.wait_for(busy)
	servers = [thread for thread, line in first.items() if line.counters["read_msgs"]]
	assert len(servers) == 1, first

	def grown():
		now = busy()
		assert first.keys() == now.keys(), (first, now)
		return all(now[thread].counters[f"{kind}_{what}"] > line.counters[f"{kind}_{what}"]
			   for thread, line in first.items() for what in ("msgs", "bytes")
			   for kind in ("send", "recv") + ("read", "write") * (thread in servers))
	krping.wait_for(grown)
	assert command.interrupt() == errno.EINTR


@suite.test("/proc/krping shows a waiting server")
def waiting():
	command = krping.Command(f"server,addr={ADDR},port={krping.new_port()}")
	lines = krping.wait_for(krping.lines)
	assert len(lines) == 1 and lines[0].device is None, lines
	assert command.interrupt() == errno.EINTR


@suite.test("a result tells how it went")
def fields():
	begin = time.monotonic_ns()
	client, server = loopback(100, 50, "validate,mem_mode=reg,server_inv")
	taken = time.monotonic_ns() - begin
	for found in (client, server):
		assert found["schema"] == 1, found
		assert found["test"] == "pingpong", found
		assert (found["device"], found["transport"]) == (krping.DEVICE, "RoCE"), found
		assert (found["peer"], found["peer_kind"]) == (ADDR, "krping"), found
		assert 0 < found["peer_port"] < 65536, found
		assert not {"errno", "errno_number", "reason"} & found.keys(), found
		assert 0 < found["elapsed_ns"] < taken, (found, taken)
		rate = 50 * 10 ** 9 // found["elapsed_ns"]
		assert found["iterations_per_s"] == rate, (found, rate)
		assert found["options"] == f"loopback,addr={ADDR},count=50,size=100,mem_mode=reg," \
			f"validate,server_inv,tag={found['tag']}", found
	assert client["id"] == server["id"], (client, server)
	assert client["thread"] != server["thread"], (client, server)


@suite.test("latencies are in order, and the histogram has every iteration")
def latencies():
	for count, options in ((2000, "mem_mode=dma"), (500, "mem_mode=reg"), (50, "poll")):
		found, server = loopback(64, count, options)
		assert "histogram_ns" not in server, server
		assert_latencies(found, count)
		# One iteration begins where the one before it ends.
		assert 0 <= found["elapsed_ns"] - found["mean_ns"] * count < count, found


@suite.test("the last 256 results of this host's commands are kept")
def ring():
	tags = [new_tag() for _ in range(130)]
	for tag in tags:
		run_ok(f"loopback,addr={ADDR},count=1,tag={tag}")
	with open(krping.RESULTS, encoding="ascii") as file:
		found = [line.partition('"tag":"')[2].partition('"')[0] for line in file]
	# Beside them those of what came from elsewhere. Two results for each command, so the
	# first two commands' are gone.
	found = [tag for tag in found if tag in tags]
	assert found == [tag for tag in tags[2:] for _ in range(2)], found[:4]


suite.main()
