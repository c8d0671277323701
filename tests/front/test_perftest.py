# SPDX-License-Identifier: GPL-2.0
"""perftest's output as an input of report and plot: latencies, bandwidths, and what is none."""

import json

import canned
import front
from front import krping, write
from krping_front import results, rows
from ktap import Suite

suite = Suite()

DASHES = "-" * 87 + "\n"


def output(title, heading, *lines, info=""):
	"""What one of the programs prints."""
	return (f"{DASHES}                    {title} Test\n"
		" Dual-port       : OFF\t\tDevice         : mlx5_0\n"
		" Number of qps   : 4\t\tTransport type : IB\n"
		" Connection type : RC\t\tUsing SRQ      : OFF\n"
		f" TX depth        : 128\n{info} Mtu             : 1024[B]\n"
		f" Link type       : Ethernet\n{DASHES}"
		" local address: LID 0000 QPN 0x0011 PSN 0x37f7ba\n"
		" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:99:00:01\n"
		f"{DASHES}{heading}\n" + "".join(f"{line}\n" for line in lines) + DASHES)


LATENCY = (" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
	   "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ")
BANDWIDTH = " #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]"


def loaded(text):
	"""The results of TEXT."""
	return results.parse(text, "x").results


@suite.test("latencies of each program, in the order of the lines")
def latency():
	for title, test in (("RDMA_Write", "wlat"), ("RDMA_Read", "rlat"), ("Send", "slat"),
			    ("Atomic", "alat")):
		found = loaded(output(f"{title} Latency", LATENCY,
				      " 2       1000          0.80           5.12         0.85   \t     "
				      "0.86        \t0.05   \t\t0.95    \t\t5.12 ",
				      " 4       1000          0.81 6.12 0.86 0.87 0.06 0.96 6.12"))
		assert [(each["test"], each["size"]) for each in found] == [(test, 2), (test, 4)], found
		first = found[0]
		names = ("min_ns", "max_ns", "p50_ns", "mean_ns", "stddev_ns", "p99_ns", "p99_9_ns",
			 "iterations")
		assert {name: first[name] for name in names} == {
			"min_ns": 800, "max_ns": 5120, "p50_ns": 850, "mean_ns": 860, "stddev_ns": 50,
			"p99_ns": 950, "p99_9_ns": 5120, "iterations": 1000}, first
		assert (first["device"], first["transport"], first["path_mtu_bytes"]) == (
			"mlx5_0", "RoCE", 1024), first


@suite.test("bandwidths in each unit, and message rates")
def bandwidth():
	for unit, value in (("MiB/sec", 1000), ("MB/sec", 1000), ("Gb/sec", 1000 * 2**20 * 8 / 1e9)):
		found, = loaded(output("RDMA_Write BW", BANDWIDTH.format(unit),
				       f" 65536      5000             {value + 5:.2f}      {value:.2f}"
				       "\t\t   0.016000"))
		row = rows.of(found)
		assert (row.kind.name, row.size, row.iterations) == ("bw", 65536, 5000), row
		assert abs(row.mib_per_s - 1000) < 1 and abs(row.mpps - 0.016) < 1e-9, row
	both, = loaded(output("Send Bidirectional BW", BANDWIDTH.format("MiB/sec"),
			      " 1048576 1000 2000.00 2000.00 0.002000"))
	row = rows.of(both)
	assert (row.kind.name, row.duplex, row.mib_per_s) == ("sbw", True, 2000), row
	# With more columns, as of --cpu_util or of two ports.
	more, = loaded(output("RDMA_Read BW", BANDWIDTH.format("MiB/sec") + "   CPU_Util[%]",
			      " 65536 5000 1005.00 1000.00 0.016000 12.50"))
	assert rows.of(more).mib_per_s == 1000 and more["test"] == "rbw", more


@suite.test("a latency of --duration has only a mean")
def duration():
	heading = " #bytes        #iterations       t_avg[usec]    tps average"
	found, = loaded(output("Send Latency", heading,
			       " 2             100000            1.00           500000.00"))
	assert found["mean_ns"] == 1000 and "p50_ns" not in found, found
	assert found["elapsed_ns"] == 200_000_000, found


@suite.test("several outputs in one file, and what they depend on")
def several():
	text = output("RDMA_Write BW", BANDWIDTH.format("MiB/sec"), " 64 5000 10.00 9.00 0.150000")
	text += output("RDMA_Write BW", BANDWIDTH.format("MiB/sec"), " 64 5000 10.00 8.00 0.140000",
		       info=" Post List       : 16\n")
	with front.directory():
		status, out, _ = krping("report", write("x", text))
	titles = [line for line in out.splitlines() if line.startswith("#")]
	assert status == 0 and titles == [
		f"# bw: RDMA WRITE bandwidth; client on mlx5_0 (RoCE); perftest,qps=4,txdepth=128{more}"
		for more in ("", ",postlist=16")], titles


def document(test, **figures):
	"""What one of the programs writes with --out_json."""
	return json.dumps({"test_info": {
		"test": f"{test}_Test", "Dual_port": "OFF", "Device": "rxe0", "Number_of_qps": 2,
		"Transport_type": "IB", "Connection_type": "RC", "TX_depth": 128, "Mtu": 1024,
		"Link_type": "Ethernet"}, "results": figures}, indent=0)


@suite.test("the JSON of --out_json is read as well, whose bandwidths do not say their unit")
def of_json():
	first, = loaded(document("Atomic_FETCH_AND_ADD_Latency", **{
		"MsgSize": 8, "n_iterations": 200, "t_min": 52.58, "t_max": 28778.73, "t_typical": 54.06,
		"t_avg": 379.80, "t_stdev": 1839.90, "percentile_99": 17699.10,
		"percentile_99.9": 28778.73}))
	names = ("test", "size", "iterations", "p50_ns", "p99_ns", "p99_9_ns", "device", "transport",
		 "path_mtu_bytes", "options")
	assert [first[name] for name in names] == [
		"alat", 8, 200, 54060, 17699100, 28778730, "rxe0", "RoCE", 1024,
		"client,perftest,qps=2,txdepth=128"], first
	# As it writes them without and with --report_gbits.
	for average in (6.05, 0.050758):
		found, = loaded(document("RDMA_Write_BW", MsgSize=4096, n_iterations=200, BW_peak=11.37,
					 BW_average=average, MsgRate=0.001549))
		row = rows.of(found)
		assert row.kind.name == "bw" and abs(row.mib_per_s - 6.05) < 0.01, row
	both, = loaded(document("Send_Bidirectional_BW", MsgSize=4096, n_iterations=400, BW_peak=12.23,
				BW_average=8.28, MsgRate=0.002120))
	row = rows.of(both)
	assert row.duplex and abs(row.mib_per_s - 8.28) < 0.01, row


@suite.test("a bandwidth of JSON is its average, in the unit that goes with the message rate")
def unit_of_json():
	# An average, its message rate, bytes, and what it is in MiB.
	for average, rate, size, mib in (
			("35.49", "0.000004", 8 << 20, 35.49), ("3.19", "0.000000", 8 << 20, 3.19),
			("97.00", "0.185013", 65536, 11563.30), ("0.03", "0.000000", 8 << 20, 0.03),
			("0.060000", "0.000001", 8 << 20, 7.15), ("0.06", "0.007907", 8, 0.06)):
		text = document("RDMA_Write_BW", MsgSize=size, n_iterations=5, BW_peak=0, BW_average=-1,
				MsgRate=-2).replace("-1", average).replace("-2", rate)
		found, = loaded(text)
		assert abs(rows.of(found).mib_per_s - mib) < 0.005, (average, rate, found)
		assert f"{rows.of(found).mpps:.6f}" == rate, (average, rate, found)
	with front.directory():
		# Neither unit, and either.
		for bandwidth, messages, size in ((97, 0.185013, 8), (0.5, 0, 1 << 30)):
			text = document("Atomic_CMP_AND_SWAP_BW", MsgSize=size, n_iterations=20, BW_peak=0,
					BW_average=bandwidth, MsgRate=messages)
			status, out, err = krping("report", write("x", text))
			assert (status, out) == (2, ""), (status, out)
			assert "x: casbw: BW_average does not say its unit" in err, err


@suite.test("a run that failed, and lines that are no figures, are said beside those that are")
def amiss():
	heading = BANDWIDTH.format("Gb/sec")
	text = output("RDMA_Write BW", heading, " Completion with error at client",
		      " Failed status 12: wr_id 0 syndrom 0x81", "scnt=128, ccnt=0")
	text += output("RDMA_Write BW", heading, " 64 5000 2.00 1.90 3.710937", " 128 5000 inf -nan -nan",
		       " 256 5000 8.00 -3.12 -1.523437")
	with front.directory():
		status, out, err = krping("report", write("x", text))
		assert status == 1 and out.count("5000") == 1 and "226.50" in out, (status, out)
		assert "x:2: RDMA_Write BW Test: Completion with error at client; Failed status" in err, err
		assert "x:32: RDMA_Write BW Test: BW average is -nan" in err, err
		assert "x:33: RDMA_Write BW Test: BW average is -3.12" in err, err


@suite.test("a device's name is read as a whole, with CR LF and in the record of a terminal, too")
def written_otherwise():
	text = output("Send BW", BANDWIDTH.format("MiB/sec"), " 65536 1000 0.00 11400.00 0.182400")
	text = text.replace("mlx5_0", "roce-p4s0")
	plain = loaded(text)
	assert plain[0]["device"] == "roce-p4s0", plain
	assert loaded(text.replace("\n", "\r\n")) == plain
	assert loaded("Script started on 2026-11-27\r\n" + text.replace("\n", "\r\n")) == plain
	with front.directory():
		status, out, err = krping("report", write("x", "\x1b[?2004h" + text))
	assert (status, out) == (2, "") and "x:1: '\\x1b' is of a terminal's record" in err, err


@suite.test("immediate data, multicast and compare-and-swap are told apart from the tests without")
def variants():
	row = " 1024 1000 300.00 290.00 0.296960"
	for title, test, more in (("RDMA_Write_imm BW", "bw", ",imm"),
				  ("Send_imm Bidirectional BW", "sbw", ",imm,duplex"),
				  ("Send BW Multicast", "sbw", ",mcast"),
				  ("Atomic CMP_AND_SWAP BW", "casbw", ""),
				  ("Atomic FETCH_AND_ADD Post List BW", "abw", "")):
		found, = loaded(output(title, BANDWIDTH.format("MiB/sec"), row))
		expected = f"client,perftest,qps=4,txdepth=128{more}"
		assert (found["test"], found["options"]) == (test, expected), found


@suite.test("JSON of several runs, in an array, and of before 2024 is read")
def several_documents():
	one, other = (document("RDMA_Read_BW", MsgSize=size, n_iterations=9, BW_peak=0, BW_average=97.5,
			       MsgRate=97.5 * 2**20 / size / 1e6) for size in (4096, 65536))
	for text in (one + other, f"{one}\n{other}\n", f"[{one}\n,{other}]", f"[{one}]{other}"):
		assert [(each["size"], each["bytes_per_s"]) for each in loaded(text)] == [
			(4096, 102236160), (65536, 102236160)], text
	old = "".join(line if line.endswith("{\n") else line.replace("\n", ",\n").replace(",,", ",")
		      for line in one.replace('"', "").splitlines(keepends=True))
	assert old != one and loaded(old) == loaded(one), old


@suite.test("it is compared with results of krping")
def compared():
	text = output("RDMA_Write BW", BANDWIDTH.format("MiB/sec"),
		      " 1048576 5000 510.00 500.00 0.000500")
	with front.directory():
		write("a", text)
		write("b", canned.json_lines([canned.result("bw", size=1 << 20, iterations=750)]))
		status, out, _ = krping("report", "a", "b")
	assert status == 0 and "1048576   500.00   750.00   +50.0%" in out, out
	assert "#   A: mlx5_0 (RoCE); perftest,qps=4,txdepth=128" in out, out


@suite.test("output without figures, or with other columns than its heading, is refused")
def refused():
	for text, word in (
			(output("RDMA_Write BW", ""), "x: perftest's output has no line of figures"),
			(output("Send Latency", LATENCY, " 2 1000 0.80"), "has not the columns"),
			(output("Send Latency", LATENCY, " 2 1000 0.8 1 2 3 4 5 1.2.3"),
			 "is none of figures"),
			("hello\n", "x:1: not JSON"),
			(document("Raw_BW", MsgSize=1), "x: perftest's test 'Raw_BW_Test' is not known"),
			(document("Send_BW", MsgRate=1), "x: perftest's results have no MsgSize"),
			('{"test_info": 1, "results": []}', "x: perftest's test_info and results"),
			(document("Send_Latency", avg_lat=3.5), "x: perftest's avg_lat is alone"),
			(document("Send_BW", MsgSize=1)[:-1], "x:15: perftest's JSON is cut off there"),
			('{"test_info": ' * 9999, "x:1: perftest's JSON is cut off there"),
			("\n8.625278\n", "x: numbers alone"),
			("Usage:\n  ib_send_lat    start a server\n", "x: perftest's usage"),
			("Couldn't connect to 192.0.2.1:18515\n", "x:1: Couldn't connect to 192.0.2.1"),
			(output("Send Latency", LATENCY.replace("usec", "cycles"), ""), "in cycles (-C)"),
			(output("Send", LATENCY, ""), "latency under load, which krping has no test of"),
			(output("Send BW forwarding", LATENCY, ""), "packets that are forwarded, which"),
			(output("Send Latency", LATENCY,
				" 2 100 1799.00 9000.50 1900.00 1950.37 99.10 2500.00 8000.50"),
			 "x:14: latencies of whole and half numbers only are cycles"),
			(output("Send BW", BANDWIDTH.format("MiB/sec"), " 64 9 1.00 1.00 0.016384",
				"hello"),
			 "x:15: perftest's line 'hello' is not known"),
			(output("Send BW", BANDWIDTH.format("MiB/sec"), " 64 9 1.00 1.00 0.016384",
				" 4096 9 1.00 1.00 0.000256"), "is of another size"),
			(BANDWIDTH.format("MiB/sec"), "is of no test")):
		with front.directory():
			status, out, err = krping("report", write("x", text))
		assert (status, out) == (2, "") and word in err and "FILE may be" in err, (text, err)


suite.main()
