# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""What results say of the host and the device: CPU time and context switches of the thread,
softirqs, and the counters of the device and its port. All are compared with the kernel's own."""

import glob
import os
import signal
import sys

import block
import krping
import tap
from krping import ADDR, Command, new_tag, run_ok, wait_for
from ktap import Skip, Suite

MS = 1_000_000
# A jiffy as /proc/stat counts them, and the longest tick.
JIFFY = 1_000 * MS // os.sysconf("SC_CLK_TCK")
TICK = 10 * MS
# Datagrams that nobody reads. A kernel whose clock is not good enough only samples the time in
# softirqs, at ticks, and RDMA within one device may have none.
FLOOD = """
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
	sender.sendto(b"x" * 1000, receiver.getsockname())
"""
DIRECTORY = f"/sys/class/infiniband/{krping.DEVICE}"
GROUPS = {"hw_counters": (f"{DIRECTORY}/ports/1/hw_counters", f"{DIRECTORY}/hw_counters"),
	  "port_counters": (f"{DIRECTORY}/ports/1/counters",)}
# Clients of each kind, and whether the time of their result is that of one connection.
CLIENTS = (("count=300", True), ("wlat,count=300", True), ("bw,count=300,qps=3", False),
	   ("sbw,count=300,poll", True), ("fr,count=300", True), ("rwread,count=100", True),
	   ("stream,count=300,size=1K", True), ("messenger,count=200,conns=3", False),
	   ("messenger,count=200,echo", True))


def check():
	"""Nothing is left, neither of krping nor of what was tapped."""
	block.check()
	tap.check()


suite = Suite(check=check)


def device_counters():
	"""What sysfs says: the counters of each of GROUPS."""
	found = {}
	for group, directories in GROUPS.items():
		found[group] = {}
		for path in (path for each in directories for path in glob.glob(f"{each}/*")):
			if os.path.basename(path) == "lifespan":
				continue
			with open(path, encoding="ascii") as file:
				found[group][os.path.basename(path)] = int(file.read())
	return found


def assert_moved(found, before, after, packets):
	"""The counters of the result FOUND, of a run with so many PACKETS at least, are among those
	that sysfs had BEFORE and AFTER it."""
	for group, known in after.items():
		moved = found.get(group, {})
		assert all(0 < by <= known[name] - before[group][name] for name, by in moved.items()), \
			(group, moved, before, after)
	for group, name in (("hw_counters", "sent_pkts"), ("port_counters", "port_xmit_packets")):
		# soft-iWARP has neither.
		assert (group in found) == (name in after[group]), (group, found)
		if group in found:
			assert found[group][name] >= packets, found[group]


@suite.test("counters of the device and its port are between those before and after a run")
def moved():
	for words, packets in (("sbw,size=64,count=1000", 1000), ("count=300", 600),
			       ("messenger,count=200,conns=2", 200)):
		tag, before = new_tag(), device_counters()
		run_ok(f"loopback,addr={ADDR},{words},tag={tag}")
		ended = [krping.result(tag, role) for role in ("client", "server")]
		after = device_counters()
		for found in ended:
			assert_moved(found, before, after, packets)


@suite.test("disks, taps and their servers have them, too")
def blocks():
	before = device_counters()
	with block.Server("size=4M,store=ram") as server, server.disk() as disk:
		block.call("dd", "if=/dev/zero", f"of={disk}", "bs=4k", "count=100", "oflag=direct")
	served = wait_for(server.results)
	after = device_counters()
	assert_moved(disk.result(), before, after, 100)
	assert_moved(served[0], before, after, 100)

	before = device_counters()
	with tap.null_blk("a") as disk, tap.Server("log") as server:
		with server.tap(disk) as watch:
			tap.write_data(disk, "size=1M")
		found = watch.result()
	assert_moved(found, before, device_counters(), 1)
	assert found["usage"]["wall_ns"] <= found["elapsed_ns"], found


@suite.test("both sides of every test say what they have used")
def everywhere():
	for words, single in CLIENTS:
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},{words},tag={tag}")
		for role in ("client", "server"):
			found = wait_for(lambda: [each for each in krping.results(tag)
						  if each["role"] == role])[0]
			usage = found["usage"]
			assert usage["cpus"] == os.cpu_count(), usage
			assert usage["cpu_ns"] <= 1.1 * usage["wall_ns"] + 2 * TICK, usage
			assert usage["softirq_step_ns"] == 1 \
				or MS <= usage["softirq_step_ns"] <= TICK, usage
			if single and role == "client":
				assert usage["wall_ns"] >= found["elapsed_ns"] > 0, found


def process_of(thread):
	"""The directory of krping's THREAD in /proc."""
	for path in glob.glob("/proc/[0-9]*/comm"):
		try:
			with open(path, encoding="ascii") as file:
				if file.read() == f"krping/{thread}\n":
					return os.path.dirname(path)
		except OSError:
			continue
	raise AssertionError(f"no process of thread {thread}")


def account(process):
	"""What the kernel says of a thread: ns on a CPU, voluntary and other switches."""
	with open(f"{process}/status", encoding="ascii") as file:
		status = dict(line.split(":", 1) for line in file)
	with open(f"{process}/schedstat", encoding="ascii") as file:
		runtime = int(file.read().split()[0])
	return [runtime] + [int(status[f"{kind}_ctxt_switches"]) for kind in ("voluntary", "nonvoluntary")]


def host():
	"""What the kernel says of all CPUs: jiffies in softirqs, and context switches."""
	with open("/proc/stat", encoding="ascii") as file:
		fields = dict(line.rstrip().split(" ", 1) for line in file)
	return [int(fields["cpu"].split()[6]), int(fields["ctxt"])]


def grown(before, after):
	"""How much each number has grown."""
	return [end - begin for begin, end in zip(before, after, strict=True)]


def runs(words, enough):
	"""Run a loopback of WORDS until ENOUGH says so of what each thread of it, and the host, have used
	since a moment of the run. Return its client's usage, and what the client's thread and the host
	have used: within the run, and the host around it."""
	tag, around = new_tag(), host()
	command = Command(f"loopback,addr={ADDR},{words},tag={tag}")

	def moving():
		found = krping.lines()
		return [line.thread for line in found] \
			if any(each > 10 for line in found for each in line.counters.values()) else None

	processes = {thread: process_of(thread) for thread in wait_for(moving)}

	def now():
		return {thread: account(process) for thread, process in processes.items()}, host()

	threads, cpus = now()

	def used():
		then = now()
		return {thread: grown(threads[thread], then[0][thread]) for thread in threads}, \
			grown(cpus, then[1])

	def plenty():
		each, host_used = used()
		return (each, host_used) if all(enough(*one, *host_used) for one in each.values()) else None

	threads_used, host_used = wait_for(plenty, what=lambda: f"enough, only {used()} of {words}")
	command.interrupt()
	client = krping.result(tag, "client")
	return client["usage"], threads_used[client["thread"]], host_used, grown(around, host())


@suite.test("switches, CPU time and softirqs are the kernel's own")
def truth():
	if not os.path.exists("/proc/self/schedstat"):
		raise Skip("this kernel does not tell the time of a thread in nanoseconds")
	for words, enough in (
			# Both threads sleep until something comes, which is rarely.
			("wlat,rate=200,spin=1", lambda _, voluntary, __, softirqs, ___:
			 voluntary > 100 and softirqs > 5),
			# Both sides spin, so that each is made to leave the CPU.
			("wlat,poll,cpu=0", lambda _, __, involuntary, *___: involuntary > 5)):
		flood = krping.Program(sys.executable, "-c", FLOOD)
		usage, thread, within, around = runs(words, enough)
		flood.stop(signal.SIGKILL)
		seen = [usage["cpu_ns"], usage["voluntary_switches"], usage["involuntary_switches"]]
		assert all(least <= each for least, each in zip(thread, seen)), (thread, usage)
		assert seen[1] + seen[2] <= around[1], (around, usage)
		# /proc/stat has whole jiffies.
		assert (within[0] - 1) * JIFFY <= usage["softirq_ns"] <= (around[0] + 1) * JIFFY, \
			(within, around, usage)


suite.main()
