# SPDX-License-Identifier: GPL-2.0
"""krping report: tables, differences, and which results they are of."""

import json

import canned
import front
from front import Module, krping, write
from krping_front import compare, rows, stats, table
from ktap import Suite

suite = Suite()

LATENCY = "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] " \
	"99%[usec] 99.9%[usec]"
BANDWIDTH = "#bytes #iterations BW average[MiB/sec] MsgRate[Mpps]"
TIMES = {"min_ns": 900, "max_ns": 12345, "mean_ns": 1499, "stddev_ns": 250, "p50_ns": 1400,
	 "p90_ns": 1800, "p99_ns": 3000, "p99_9_ns": 9999, "p99_99_ns": 12345}


def words(text):
	"""The lines of TEXT, with one space between words."""
	return [" ".join(line.split()) for line in text.splitlines()]


def report(*arguments, status=0):
	"""The lines that krping report prints, which ends with STATUS."""
	found, out, err = krping("report", *arguments)
	assert found == status, (found, out, err)
	return words(out if status == 0 else err)


def saved(path, *found):
	"""A file of the results FOUND."""
	return write(path, canned.json_lines(found))


@suite.test("latency as perftest prints it")
def latency():
	with front.directory():
		lines = report(saved("a", canned.result(**TIMES),
				     canned.result(size=4096, **TIMES)))
	assert lines == [
		"# wlat: RDMA WRITE latency, half the round trip; client on mlx5_0 (RoCE)", LATENCY,
		"64 1000 0.90 12.35 1.40 1.50 0.25 3.00 10.00",
		"4096 1000 0.90 12.35 1.40 1.50 0.25 3.00 10.00"], lines


@suite.test("bandwidth as perftest prints it, in MiB and millions of messages")
def bandwidth():
	with front.directory():
		lines = report(saved("a", canned.result("bw", size=1 << 20, iterations=2500)))
	assert lines == ["# bw: RDMA WRITE bandwidth; client on mlx5_0 (RoCE)", BANDWIDTH,
			 "1048576 2500 2500.00 0.002500"], lines


@suite.test("fast registration, and what is not known")
def others():
	with front.directory():
		lines = report(saved("a", canned.result("fastreg"),
				     canned.result("rlat", mean_ns=1500)))
	assert lines == [
		"# fastreg: fast registration; client on mlx5_0 (RoCE)",
		"#bytes #iterations rate[1/sec]", "64 1000 1000", "",
		"# rlat: RDMA READ latency, the whole round trip; client on mlx5_0 (RoCE)", LATENCY,
		"64 1000 - - - 1.50 - - -"], lines


@suite.test("columns line up, whatever is in them")
def aligned():
	with front.directory():
		path = saved("a", canned.result(**TIMES),
			     canned.result(size=1 << 30, iterations=10**12,
					   **dict.fromkeys(TIMES, 10 ** 15)))
		_, out, _ = krping("report", path)
	heading, *lines = out.splitlines()[1:]
	ends = {len(line) for line in [heading] + lines}
	assert len(ends) == 1, out
	# Each column ends where its heading does.
	for place, letter in enumerate(heading):
		if letter != " " and heading[place + 1:place + 2] in ("", " ") \
				and heading[:place + 1].split()[-1] != "BW":
			assert all(line[place] != " " for line in lines), (place, out)


@suite.test("each test, side, device and choice of options has a table")
def groups():
	with front.directory():
		lines = report(saved(
			"a", canned.result(**TIMES),
			canned.result(options="client,addr=192.0.2.1,port=5,wlat,poll,txdepth=8",
				      number=9, **TIMES),
			canned.result(role="server", options="server,persist", number=11, **TIMES),
			canned.result(device="mlx5_1", number=13, **TIMES),
			canned.result("bw", total_bytes_per_s=5 << 20, number=15),
			canned.result(size=128, number=17, **TIMES)))
	titles = [line.partition("; ")[2] for line in lines if line.startswith("# ")]
	assert titles == ["client on mlx5_0 (RoCE)", "client on mlx5_0 (RoCE); poll,txdepth=8",
			  "server on mlx5_0 (RoCE); persist", "client on mlx5_1 (RoCE)",
			  "client on mlx5_0 (RoCE)"], titles
	assert "# bw: RDMA WRITE bandwidth, both directions; client on mlx5_0 (RoCE)" in lines, \
		lines
	assert sum(line == LATENCY for line in lines) == 4, lines


@suite.test("a loopback's server is left out, and its client is not")
def loopback():
	options = "loopback,addr=192.0.2.2,wlat,tag=x"
	with front.directory():
		lines = report(saved("a", canned.result(role="server", options=options, **TIMES),
				     canned.result(options=options, **TIMES)))
	assert len(lines) == 3 and "client" in lines[0], lines


@suite.test("what failed is listed with its reason, each once, and without consequences")
def failures():
	with front.directory():
		lines = report(saved(
			"a", canned.failed(number=5), canned.failed(number=5, thread=7),
			canned.failed("ECANCELED", 125, "ended, since another failed", number=5),
			canned.failed("EINTR", 4, "interrupted by a signal", number=9,
				      **TIMES | {"iterations": 10, "elapsed_ns": 10,
						 "partial": True})))
	assert lines[2].endswith("10.00 EINTR, partial"), lines
	assert lines[4:] == [
		"failed: 5: client,addr=192.0.2.1,count=0,size=64,wlat,tag=t: "
		"ECONNREFUSED: the connection was rejected",
		"failed: 9: client,addr=192.0.2.1,count=10,size=64,wlat,tag=t: "
		"EINTR: interrupted by a signal"], lines


@suite.test("only failures, and nothing at all")
def nothing():
	with front.directory():
		lines = report(saved("a", canned.failed(number=5)))
		assert len(lines) == 1 and lines[0].startswith("failed: 5:"), lines
		assert report(write("b", ""), status=1) == ["krping: no results in b"]
		assert report("b", "b", "a")[0] == "## b"
		with Module():
			lines = report(status=1)
			assert lines[0].startswith("krping: no results in "), lines


@suite.test("a choice of tests, sizes and tags")
def choice():
	with front.directory():
		path = saved("a", canned.result(**TIMES),
			     canned.result(size=4096, tag="x", **TIMES),
			     canned.result("bw", size=4096, tag="y"),
			     canned.result("rlat", **TIMES))
		for arguments, expected in (
				(["--test", "wlat"], ["64", "4096"]),
				(["--size", "4K"], ["4096"] * 2),
				(["--size", "32..128", "--test", "rlat,bw"], ["64"]),
				(["--tag", "x"], ["4096"]),
				(["--tag", "y", "--size", "4096"], ["4096"])):
			lines = report(path, *arguments)
			sizes = [line.split()[0] for line in lines if line[:1].isdigit()]
			assert sizes == expected, (arguments, lines)
		assert report(path, "--tag", "z", status=1) == ["krping: no such results in a"]
		assert "'warp' is no test; there are pingpong" in \
			" ".join(report(path, "--test", "warp", status=2))
		for size in ("0", "x", "4G", "8..4", "1..2..3", "", "64,,"):
			lines = report(path, "--size", size, status=2)
			assert "is no size" in " ".join(lines), (size, lines)


@suite.test("without a file: what the module keeps")
def kept():
	with front.directory(), Module(kept=[canned.result(tag="a", **TIMES),
					     canned.result("bw", tag="b")]):
		assert len(report()) == 7
		assert len(report("--tag", "b")) == 3


@suite.test("a sweep's file, with where it ended")
def sweep():
	with front.directory():
		whole = {"krping_sweep": 1, "started": "", "host": "", "kernel": "",
			 "role": "client",
			 "addr": "", "options": "", "results": [canned.result(**TIMES)],
			 "stopped": [{"test": "wlat", "size": 8192, "reason": "too large"},
				     {"test": "bw", "size": 4, "reason": "gone"}]}
		lines = report(write("a", json.dumps(whole)))
		assert lines[-2:] == ["wlat ended before 8192 bytes: too large",
				      "bw ended before 4 bytes: gone"], lines
		lines = report("a", "--test", "wlat")
		assert lines[-1] == "wlat ended before 8192 bytes: too large", lines


# Two files

@suite.test("differences in percent")
def differences():
	for first, second, expected in ((100, 110, "+10.0%"), (100, 90, "-10.0%"), (3, 3, "+0.0%"),
					(100, 300, "+200.0%"), (0, 5, "-"), (None, 5, "-"),
					(5, None, "-"), (3, 2, "-33.3%")):
		assert stats.difference(first, second) == expected, (first, second)


@suite.test("two files side by side")
def side_by_side():
	slower = {name: value * 3 // 2 for name, value in TIMES.items()}
	with front.directory():
		lines = report(
			saved("a", canned.result(**TIMES), canned.result(size=128, **TIMES),
			      canned.result("bw", size=1 << 20, iterations=1000)),
			saved("b", canned.result(size=128, options="client,wlat,poll", **slower),
			      canned.result("bw", size=1 << 20, iterations=900),
			      canned.result("rlat", **TIMES)))
	assert lines == [
		"A: a", "B: b", "differences are of B from A", "",
		"# wlat: RDMA WRITE latency, half the round trip; client",
		"# A: mlx5_0 (RoCE)", "# B: mlx5_0 (RoCE); poll",
		"t_typical[usec] t_avg[usec] 99%[usec] 99.9%[usec]",
		"#bytes A B diff A B diff A B diff A B diff",
		"64 1.40 - - 1.50 - - 3.00 - - 10.00 - -",
		"128 1.40 2.10 +50.0% 1.50 2.25 +50.0% 3.00 4.50 +50.0% 10.00 15.00 +50.0%", "",
		"# bw: RDMA WRITE bandwidth; client",
		"# A: mlx5_0 (RoCE)", "# B: mlx5_0 (RoCE)",
		"BW average[MiB/sec] MsgRate[Mpps]", "#bytes A B diff A B diff",
		"1048576 1000.00 900.00 -10.0% 0.001000 0.000900 -10.0%", "",
		"# rlat: RDMA READ latency, the whole round trip; client", "# B: mlx5_0 (RoCE)",
		"t_typical[usec] t_avg[usec] 99%[usec] 99.9%[usec]",
		"#bytes A B diff A B diff A B diff A B diff",
		"64 - 1.40 - - 1.50 - - 3.00 - - 10.00 -"], lines


# What moved in a run.
MOVED = {"usage": {"wall_ns": 10**9, "cpu_ns": 4000, "voluntary_switches": 20,
		   "involuntary_switches": 0, "softirq_ns": 800, "softirq_step_ns": 1, "cpus": 2},
	 "hw_counters": {"sent_pkts": 1000, "link_downed": 1}, "port_counters": {"link_downed": 2}}


@suite.test("counters that moved in either of two files stand below their runs")
def counters():
	other = {"usage": MOVED["usage"] | {"cpu_ns": 6000},
		 "hw_counters": {"sent_pkts": 1500, "retry_exceeded_err": 3}}
	with front.directory():
		lines = report(saved("a", canned.result(**TIMES, **MOVED), canned.result("bw"),
				     canned.result(size=128, **TIMES, **MOVED)),
			       saved("b", canned.result(**TIMES, **other), canned.result("bw", **other)))
	# Those of 128 bytes are of one file only.
	assert lines[11:21] == [
		"", "counter A B diff", "usage.cpu_ns 4000 6000 +50.0%",
		"usage.voluntary_switches 20 20 +0.0%", "usage.softirq_ns 800 800 +0.0%",
		"hw_counters.sent_pkts 1000 1500 +50.0%", "hw_counters.link_downed 1 0 -100.0%",
		"port_counters.link_downed 2 - -", "hw_counters.retry_exceeded_err 0 3 -", ""], lines
	# Nothing is known of A.
	assert "hw_counters.sent_pkts - 1500 -" in lines[21:], lines


@suite.test("counters of threads: their own are added up, those of the port are the same")
def counters_of_threads():
	less = MOVED | {"hw_counters": {"sent_pkts": 990}}
	with front.directory():
		path = saved("a", canned.result(**TIMES, **MOVED),
			     canned.result(thread=9, **TIMES, **less),
			     canned.result(number=20, size=128, **TIMES, **MOVED))
		without = report(path)
		lines = report(path, "--counters")
	assert not any("sent_pkts" in line for line in without), without
	assert lines[4:] == [
		"", "counter moved", "usage.cpu_ns 12000", "usage.voluntary_switches 60",
		"usage.softirq_ns 1600", "hw_counters.sent_pkts 2000", "hw_counters.link_downed 2",
		"port_counters.link_downed 4"], lines


@suite.test("counters that are no numbers are refused")
def strange_counters():
	with front.directory():
		path = saved("a", canned.result(hw_counters={"sent_pkts": "many"}))
		lines = report(path, status=2)
	assert len(lines) == 1 and lines[0].endswith(
		": hw_counters.sent_pkts is 'many', which is no whole number"), lines


@suite.test("the headings of a comparison stand above their columns")
def headings():
	with front.directory():
		path = saved("a", canned.result("bw"), canned.result(number=9, **TIMES))
		_, out, _ = krping("report", path, path)
	lines = out.splitlines()
	for place, line in enumerate(lines):
		if not line.lstrip().startswith("#bytes"):
			continue
		above = lines[place - 1]
		ends = [end for end, letter in enumerate(line) if letter == "f"
			and line[end - 3:end + 1]
			== "diff"]
		start = line.index("#bytes") + len("#bytes")
		for end in ends:
			assert above[start:end + 4].split(), (above, line)
			start = end + 2
		assert len(above) <= len(line), (above, line)


@suite.test("of one size several times, the n-th is compared with the n-th")
def repeated():
	first = [rows.of(canned.result(number=n, mean_ns=100 * n)) for n in (1, 2, 3)]
	second = [rows.of(canned.result(number=n, mean_ns=1000 * n)) for n in (1, 2)]
	found = [[row and row.latency["mean_ns"] for row in both]
		 for _, *both in compare.pairs(first, second)]
	assert found == [[100, 1000], [200, 2000], [300, None]], found


@suite.test("three files below each other, and stdin once")
def several():
	with front.directory():
		path = saved("a", canned.result(**TIMES))
		lines = report(path, path, path)
		assert lines.count("## a") == 3 and lines.count(LATENCY) == 3, lines
		assert report("-", "-", status=2) == ["krping: stdin can be read only once"]


@suite.test("CSV has a heading, plain numbers, and quotes where it needs them")
def csv():
	row = rows.of(canned.result(**TIMES))._replace(note='a "note", long')
	text = table.csv_text([row, rows.of(canned.result("bw", size=1 << 20))])
	assert text.splitlines() == [
		"test,bytes,iterations,t_min_usec,t_max_usec,t_typical_usec,t_avg_usec,"
		"t_stdev_usec,p99_usec,p99_9_usec,bw_mib_per_sec,msg_rate_mpps,note,"
		"due_per_sec,done_per_sec,late,runs,t_typical_usec_min,t_typical_usec_max,t_avg_usec_min,"
		"t_avg_usec_max,p99_usec_min,p99_usec_max,p99_9_usec_min,p99_9_usec_max,"
		"bw_mib_per_sec_min,bw_mib_per_sec_max,msg_rate_mpps_min,msg_rate_mpps_max,time,host,kernel,version,device,transport,driver,"
		"firmware,rate_mbit_per_sec,path_mtu_bytes,gid,peer_gid,numa_node,cpus,cpu_model,"
		"options",
		'wlat,64,1000,0.900,12.345,1.400,1.499,0.250,3.000,9.999,,0.001000,'
		'"a ""note"", long",,,,1,,,,,,,,,,,,,,,,0.1.0,mlx5_0,RoCE,,,,,,,,,,'
		'"client,addr=192.0.2.1,count=1000,size=64,wlat,tag=t"',
		"bw,1048576,1000,,,,,,,,1000.000,0.001000,,,,,1,,,,,,,,,,,,,,,,0.1.0,mlx5_0,RoCE,,,,,,,,,,"
		'"client,addr=192.0.2.1,count=1000,size=1048576,bw,tag=t"'], text


@suite.test("disks and taps have tables of their own, and are in no other")
def disks():
	found = [canned.disk(3), canned.result("wlat", number=5), canned.disk(8, "tap"),
		 canned.disk(9, requests=None, status="failed", errno="EIO", errno_number=5,
			     reason="so")]
	with front.directory():
		front.write("a.json", canned.json_lines(found))
		_, out, _ = krping("report", "a.json")
		titles = [line.split(":")[0] for line in out.splitlines() if line.startswith("#")]
		assert titles == ["# wlat", "# blk", "# tap"], out
		assert "failed: 9: " in out and "EIO: so" in out, out
		_, out, _ = krping("report", "a.json", "--test", "blk")
		assert "# wlat" not in out and "# blk" in out, out
		# Nothing of them is compared or drawn.
		_, out, _ = krping("report", "a.json", "a.json")
		assert "wlat" in out and "blk" not in out, out
		status, _, err = krping("plot", "--kind", "cdf", "-o", "x.svg", "--test", "tap", "a.json")
		assert status == 1 and "none of these results has" in err, (status, err)


suite.main()
