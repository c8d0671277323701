# SPDX-License-Identifier: GPL-2.0
"""Tracepoints of the module (krping:post and others), by tracefs."""

import contextlib
import errno
import os
import re
import subprocess
import tempfile

import krping
from krping import ADDR, new_port, run_fails, run_ok
from ktap import Suite

TRACEFS = "/sys/kernel/tracing"
NAMES = {"post", "posted", "completion", "callback", "connect"}
# CPU and time, then the event.
LINE = re.compile(r"\s*\S.*-\d+\s+\[(\d+)\]\s+\S+\s+([0-9.]+): (\w+): (.*)")

suite = Suite(check=krping.check)


def write(path, text):
	"""Write TEXT to a file of tracefs."""
	with open(os.path.join(TRACEFS, path), "w", encoding="ascii") as file:
		file.write(text)


@contextlib.contextmanager
def traced(*names):
	"""Within, the events NAMES are traced: a list, filled at the end, of their names and fields in
	the order of their times, without those of which too many came."""
	found = []
	write("trace", "")
	write("buffer_size_kb", "16384")
	for name in names:
		write(f"events/krping/{name}/enable", "1")
	try:
		yield found
	finally:
		for name in names:
			write(f"events/krping/{name}/enable", "0")
	with open(os.path.join(TRACEFS, "trace"), encoding="ascii") as file:
		for line in file:
			match = LINE.fullmatch(line.rstrip("\n"))
			if match and match[3] in NAMES:
				fields = dict(re.findall(r"(\w+)=(\w[\w ]*?|\S+)(?= \w+=|$)", match[4]))
				found.append((match[3], {"time": float(match[2])} | fields))


def of(found, name, **fields):
	"""The events NAME of FOUND with these FIELDS."""
	return [each for kind, each in found if kind == name
		and all(each[key] == value for key, value in fields.items())]


@suite.test("the events are there, and off")
def there():
	subprocess.run(("mount", "-t", "tracefs", "tracefs", TRACEFS), check=False, capture_output=True)
	events = os.listdir(f"{TRACEFS}/events/krping")
	assert set(events) >= NAMES, events
	for name in NAMES:
		with open(f"{TRACEFS}/events/krping/{name}/enable", encoding="ascii") as file:
			assert file.read().strip() == "0", name


@suite.test("each operation is posted and completed once, and its callback ends behind it")
def all_there():
	with traced(*NAMES) as found:
		run_ok(f"loopback,addr={ADDR},rlat,count=100")
	# The warm-up has 100 operations.
	posts, completions = of(found, "post", operation="READ"), of(found, "completion", operation="READ")
	callbacks = of(found, "callback", operation="READ")
	assert len(posts) == len(completions) == len(callbacks) == 200, found[:20]
	assert all(each["count"] == "1" for each in posts), posts[:3]
	assert all(each["status"] == "0" for each in completions), completions[:3]
	qpn, = {each["qpn"] for each in posts}
	assert {each["qpn"] for each in completions + callbacks} == {qpn}
	# They alternate: a READ is posted, taken, completes, and its callback posts the next.
	order = [name for name, each in found if each.get("qpn") == qpn
		 and each.get("operation") == "READ"]
	expected = ["post", "posted"] + ["completion", "post", "posted", "callback"] * 199
	assert order == expected + ["completion", "callback"], order[:12]


@suite.test("the parts of an operation add up to its latency")
def parts():
	with traced("post", "posted", "completion", "callback") as found:
		run_ok(f"loopback,addr={ADDR},rlat,count=100")
	times = {name: [each["time"] for each in of(found, name, operation="READ")]
		 for name in ("post", "posted", "completion", "callback")}
	for begin, taken, done in zip(times["post"], times["posted"], times["completion"]):
		assert begin <= taken <= done, (begin, taken, done)
	assert all(done <= end for done, end in zip(times["completion"], times["callback"]))


@suite.test("lists, and what a list has")
def lists():
	with traced("post", "posted") as found:
		run_ok(f"loopback,addr={ADDR},bw,count=64,size=1,postlist=16,signal_every=16")
	lengths = [int(each["count"]) for each in of(found, "post", operation="WRITE")]
	assert max(lengths) == 16 and sum(lengths) >= 64, lengths
	assert all(each["errno"] == "0" for each in of(found, "posted")), found


@suite.test("a connection's milestones, of both sides")
def milestones():
	with traced("connect") as found:
		run_ok(f"loopback,addr={ADDR},slat,count=5")
	by_connection = {}
	for each in of(found, "connect"):
		by_connection.setdefault(each["connection"], []).append(each["milestone"])
	client = ["address resolved", "route resolved", "established", "warm", "finished"]
	orders = sorted(by_connection.values(), key=len)
	assert orders[-1] == client, orders
	assert any("address resolved" not in order for order in orders), orders


@suite.test("a connection that is refused has no milestone behind its route")
def refused():
	with traced("connect") as found:
		run_fails(f"client,addr={ADDR},port={new_port()},wlat,count=5", errno.ECONNREFUSED,
			  "nothing listens")
	assert [each["milestone"] for each in of(found, "connect")] == [
		"address resolved", "route resolved"], found


def run(*words):
	"""Run a program, which must succeed. Return what it prints."""
	done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
			      stderr=subprocess.STDOUT, text=True, check=False)
	assert done.returncode == 0, f"{words}: {done.stdout}"
	return done.stdout


@suite.test("trace-cmd knows the events, and what they hold")
def trace_cmd():
	with tempfile.TemporaryDirectory() as path:
		data = os.path.join(path, "trace.dat")
		run("trace-cmd", "record", "-q", "-o", data, "-e", "krping", "bash", "-c",
		    f"echo loopback,addr={ADDR},slat,count=20 >/proc/krping")
		text = run("trace-cmd", "report", "-i", data)
	for found in ("qpn=[0-9]+ operation=SEND count=1", "qpn=[0-9]+ operation=RECV status=0",
		      "milestone=established"):
		assert re.search(found, text), text[-1000:]


@suite.test("bpftrace splits the cost of an operation into post, wire, completion and callback")
def cost():
	top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
	text = run("bpftrace", "-B", "none", f"{top}/scripts/operation-cost.bt", "-c",
		   f"/usr/bin/python3 {top}/scripts/krping run loopback,addr={ADDR},rlat,count=300")
	counts = {}
	for part in ("post", "wire", "completion", "callback"):
		total = re.search(f"@{part}_total: count ([0-9]+), average ([0-9]+), ", text)
		assert total and int(total[2]) > 0, text
		assert f"@{part}_ns:" in text, text
		counts[part] = int(total[1])
	# The warm-up is among them.
	assert counts["post"] >= counts["wire"] >= 400 and counts["callback"] >= 400, counts
	# Few are found together with one before.
	assert 300 <= counts["completion"] <= counts["wire"], counts


@suite.test("what is off traces nothing")
def off():
	with traced() as found:
		run_ok(f"loopback,addr={ADDR},wlat,count=20")
	assert not found, found[:3]


suite.main()
