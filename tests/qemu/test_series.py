# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Series of intervals in results (interval=), and limits that every one must hold (every)."""

import errno
import time

import block
import krping
import network
import tap
from krping import ADDR, new_tag, run_fails, run_ok
from ktap import Suite
from microbench import moving

MS = 1_000_000
TIMED = ["start_ns", "operations", "bytes", "p50_ns", "p99_ns", "max_ns"]
UNTIMED = TIMED[:3]
# Clients, and whether each of their operations has a latency.
CLIENTS = (("count=300", True), ("wlat,count=300", True), ("rlat,count=300", True),
	   ("wlat,count=300,qps=3,poll", True), ("bw,count=500,size=4K", False),
	   ("sbw,count=500,qps=3,duplex", False), ("fr,count=300", False),
	   ("rwread,count=200,size=4K,txdepth=8", True), ("stream,count=300,size=1K", False),
	   ("stream,count=200,echo", True), ("messenger,count=200,conns=3,echo", True),
	   ("messenger,count=200", True), ("slat,count=200,qp=ud", True))


def check():
	"""Nothing is left, neither of krping nor of what was tapped."""
	block.check()
	tap.check()


suite = Suite(check=check)


def series_of(client, interval_ms, timed):
	"""The series of a CLIENT's result, whose intervals add up."""
	series, size = client["series"], client["size"]
	columns = series["columns"]
	assert columns == (TIMED if timed else UNTIMED), columns
	assert series["interval_ns"] == interval_ms * MS and series["dropped"] == 0, series
	rows = [dict(zip(columns, row, strict=True)) for row in series["intervals"]]
	assert [row["start_ns"] for row in rows] == [n * interval_ms * MS for n in range(len(rows))]
	# A datagram that is answered too late has no latency, and is in no interval.
	ended = sum(count for *_, count in client["histogram_ns"]) if timed else client["iterations"]
	assert sum(row["operations"] for row in rows) == ended, client
	for row in rows:
		assert row["bytes"] == row["operations"] * size, row
		if timed:
			assert row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], row
			assert (row["max_ns"] > 0) == (row["operations"] > 0), row
	assert len(rows) == series["ended_ns"] // (interval_ms * MS) + 1, series
	if timed:
		worst = series["worst"]
		assert len(worst) == min(10, ended), worst
		assert worst == sorted(worst, key=lambda pair: -pair[1]), worst
		assert worst[0][1] == client["max_ns"] == max(row["max_ns"] for row in rows), client
		assert all(at <= series["ended_ns"] for at, _ in worst), series
	return rows


@suite.test("the intervals of every test add up to its result")
def sums():
	for words, timed in CLIENTS:
		before, tag = time.time_ns(), new_tag()
		run_ok(f"loopback,addr={ADDR},{words},interval=20,tag={tag}")
		client = krping.result(tag, "client")
		series_of(client, 20, timed)
		assert before < client["series"]["began_unix_ns"] < time.time_ns(), client["series"]
		assert not any("series" in each for each in krping.results(tag)
			       if each["role"] == "server"), words


def assert_requests(found, interval_ms):
	"""The intervals of the result FOUND of a disk or tap add up to it."""
	series = found["series"]
	assert series["columns"] == TIMED and series["dropped"] == 0, series
	rows = [dict(zip(TIMED, row, strict=True)) for row in series["intervals"]]
	assert len(rows) == series["ended_ns"] // (interval_ms * MS) + 1, series
	total = found["total_ns"]
	assert sum(row["operations"] for row in rows) == total["count"] == found["requests"] > 50, found
	assert sum(row["bytes"] for row in rows) \
		== found["disk_read_bytes"] + found["disk_write_bytes"], found
	assert max(row["max_ns"] for row in rows) == series["worst"][0][1] == total["max"], found


@suite.test("disks and taps have a series of their requests, of whatever size")
def requests():
	with block.Server("size=4M,store=ram") as server, server.disk("interval=20,queues=2") as disk:
		for size, count in (("512", 64), ("64k", 64)):
			block.call("dd", "if=/dev/zero", f"of={disk}", f"bs={size}", f"count={count}",
				   "oflag=direct")
			block.call("dd", f"if={disk}", "of=/dev/null", f"bs={size}", f"count={count}",
				   "iflag=direct")
	assert_requests(disk.result(), 20)
	assert not any("series" in each for each in server.results()), server.results()
	with tap.null_blk("a") as disk, tap.Server("log") as server:
		with server.tap(disk, "interval=20") as watch:
			block.call("dd", "if=/dev/zero", f"of={disk}", "bs=4k", "count=128", "oflag=direct")
		assert_requests(watch.result(), 20)


@suite.test("each thread has a series of its own")
def threads():
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},slat,count=100,threads=3,interval=10,tag={tag}")
	clients = [each for each in krping.results(tag) if each["role"] == "client"]
	assert len(clients) == 3, clients
	for client in clients:
		series_of(client, 10, True)


@suite.test("of more intervals than are kept the latest are there")
def many():
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},wlat,duration=2,interval=1,tag={tag}")
	series = krping.result(tag, "client")["series"]
	assert series["dropped"] > 0 and len(series["intervals"]) == 1025, series
	assert series["intervals"][0][0] == series["dropped"] * MS, series


def disturbed(words):
	"""A client of WORDS, to a host whose cable is cut for a second in the middle of it: its errno
	and its result."""
	with network.Lab() as lab:
		return lab.cut_amid(words)


@suite.test("a stall is an interval without operations, and every notices it")
def stall():
	for every in ("", ",every"):
		number, found = disturbed(f"bw,size=4K,duration=4,interval=200,min_bw=1{every}")
		rows = series_of(found, 200, False)
		empty = [row["start_ns"] // MS for row in rows if row["operations"] == 0]
		assert empty, rows
		if not every:
			assert (number, found["status"]) == (0, "ok"), found
			continue
		assert (number, found["errno"]) == (errno.ERANGE, "ERANGE"), found
		assert found["reason"] == f"the bandwidth of the interval at {empty[0]} ms is 0 " \
			"bytes per second, below the 1 of min_bw", (found["reason"], empty)
		assert "partial" not in found, found


@suite.test("every notices one latency that the whole run hides")
def one_latency():
	for _ in range(5):
		# So few operations end in an interval that the worst is its 99th percentile.
		number, found = disturbed("wlat,duration=3,interval=4,every,max_p99=300ms")
		# A busy machine may need longer for the last one than there is room for intervals.
		if found["series"]["dropped"] == 0:
			break
	rows = series_of(found, 4, True)
	worst = max(rows, key=lambda row: row["p99_ns"])
	assert found["p99_ns"] < 300 * MS < worst["p99_ns"], (found["p99_ns"], worst)
	assert number == errno.ERANGE, found
	assert found["reason"] == "the 99th percentile of the interval at " \
		f"{worst['start_ns'] // MS} ms is {worst['p99_ns']} ns, above the {300 * MS} ns " \
		"of max_p99", found["reason"]
	# The operation during which the cable was cut.
	at, took = found["series"]["worst"][0]
	assert worst["start_ns"] <= at < worst["start_ns"] + 4 * MS and took > 300 * MS, found


@suite.test("every holds where each interval does; a miss of the whole run is said first")
def holds():
	run_ok(f"loopback,addr={ADDR},wlat,count=300,interval=10,max_p99=1000s,every")
	run_ok(f"loopback,addr={ADDR},bw,count=300,interval=3600000,min_bw=1,every")
	run_fails(f"loopback,addr={ADDR},wlat,count=100,interval=10,max_p99=1,every", errno.ERANGE,
		  "the 99th percentile is \\d+ ns, above the 1 ns of max_p99")


@suite.test("an interrupted run has the series until then")
def interrupted():
	tag = new_tag()
	client = krping.Command(f"loopback,addr={ADDR},wlat,interval=50,tag={tag}")
	krping.wait_for(moving)
	krping.pass_time(0.5, "ten intervals since it measures")
	assert client.interrupt() == errno.EINTR
	found = krping.result(tag, "client")
	assert found["partial"], found
	assert len(series_of(found, 50, True)) > 5, found


@suite.test("options that do not go together")
def refused():
	for words, sentence in (
			("wlat,every", "every needs interval; give it, too"),
			("wlat,interval=5,every", "every needs max_p99 or min_bw; give it, too"),
			("wlat,untimed,interval=5", "interval and untimed are both given"),
			("wlat,interval=0", "interval=0: must be from 1 to 3600000"),
			("neg=all,interval=5", "interval does not go with neg")):
		run_fails(f"loopback,addr={ADDR},{words}", errno.EINVAL if "=0" not in words
			  else errno.ERANGE, sentence)


suite.main()
