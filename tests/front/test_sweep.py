# SPDX-License-Identifier: GPL-2.0
"""krping sweep: the commands it runs, where it ends, and what it writes."""

import argparse
import csv
import errno
import json
import os
import signal

import canned
import front
from front import Module, krping
from krping_front import options, sweep
from krping_front.kinds import KINDS, SIZED
from krping_front.tables import option
from ktap import Suite

suite = Suite(limit=60)

TOO_LARGE = "the size is above 4096 bytes, the most that can be registered here"


def device(limit=4096):
	"""A module whose device takes sizes up to LIMIT."""
	def answer(module, text):
		size = text.value("size", 64)
		if size > limit:
			return module.fail(text, errno.ERANGE, TOO_LARGE)
		values = canned.times(200, 1000 + size, size)
		found = canned.latency(values) if text.kind.measure == "latency" else {}
		module.result(text, elapsed_ns=sum(values), **found)
		if text.role == "loopback":
			module.result(text, role="server")
		return 0
	return answer


def run(answer, *words, status=0):
	"""Run krping sweep WORDS to a made-up address: the module, stdout and stderr."""
	with Module(answer) as module:
		found, out, err = krping("sweep", "192.0.2.1", *words)
	assert found == status, (found, out, err)
	return module, out, err


@suite.test("sizes double, are listed, or both")
def sizes():
	for text, expected in (("2..16", [2, 4, 8, 16]), ("3..13", [3, 6, 12]), ("64", [64]),
			       ("64,2,2", [2, 64]), ("1K,1M,0x10", [16, 1024, 1 << 20]),
			       ("2..4,3", [2, 3, 4]), ("1M..1M", [1 << 20])):
		assert options.sizes(text) == expected, text
	assert len(options.sizes("2..8M")) == 23 and options.sizes("2..8M")[-1] == 8 << 20


@suite.test("each test over all sizes, with the iterations that suit the size")
def commands():
	with front.directory():
		module, out, err = run(device(8 << 20), "--quiet")
	texts = [text.text for text in module.commands]
	assert len(texts) == 46 and err == "", (len(texts), err)
	assert texts[0].startswith("client,addr=192.0.2.1,wlat,size=2,count=1000,tag="), texts[0]
	assert texts[23].startswith("client,addr=192.0.2.1,bw,size=2,count=5000,tag="), texts[23]
	counts = [(text.value("size", 0), text.value("count", 0)) for text in module.commands]
	assert counts[15:17] == [(65536, 1000), (131072, 512)], counts
	assert counts[22] == (8 << 20, 20), counts
	assert counts[38:40] == [(65536, 4096), (131072, 2048)], counts
	assert counts[45] == (8 << 20, 32), counts
	# A row for each.
	lines = out.splitlines()
	assert len(lines) == 2 * (2 + 23) + 1, len(lines)
	assert lines[0] == \
		"# wlat: RDMA WRITE latency, half the round trip; client on mlx5_0 (RoCE)"
	assert [int(line.split()[0]) for line in lines[2:25]] == options.sizes("2..8M"), lines


@suite.test("the options of each command")
def option_words():
	for words, expected in (
			(["--loopback"], "loopback,addr=192.0.2.1,wlat,size=64,count=1000"),
			(["--client", "--port", "99"],
			 "client,addr=192.0.2.1,port=99,wlat,size=64,count=1000"),
			(["--count", "7"], "client,addr=192.0.2.1,wlat,size=64,count=7"),
			(["--device", "mlx5_1"],
			 "client,addr=192.0.2.1,wlat,size=64,count=1000,dev=mlx5_1"),
			(["--src", "192.0.2.7"],
			 "client,addr=192.0.2.1,wlat,size=64,count=1000,src=192.0.2.7"),
			(["--duration", "3"], "client,addr=192.0.2.1,wlat,size=64,duration=3"),
			(["--duration", "3", "--count", "7"],
			 "client,addr=192.0.2.1,wlat,size=64,count=7,duration=3"),
			(["--option", "poll", "--option", "inline,txdepth=9"],
			 "client,addr=192.0.2.1,wlat,size=64,count=1000,poll,inline,txdepth=9"),
			(["--test", "pingpong"], "client,addr=192.0.2.1,size=64,count=1000"),
			(["--test", "alat", "--sizes", "64,1M"],
			 "client,addr=192.0.2.1,alat,count=1000"),
			(["--test", "fastreg"], "client,addr=192.0.2.1,fr,size=64,count=1000")):
		with front.directory():
			module, _, _ = run(device(), *(["--test", "wlat", "--sizes", "64"] + words))
		text, = module.commands
		assert text.text == f"{expected},tag={text.tag}", (words, text.text)


@suite.test("all tests that one server serves, those of one size once")
def every():
	with front.directory():
		module, out, err = run(device(), "--test", "all", "--sizes", "64,128")
	measured = {name: kind for name, kind in KINDS.items() if name in SIZED and not kind.apart}
	runs = [text.kind.name for text in module.commands]
	assert runs == [name for name, kind in measured.items()
			for _ in range(1 if kind.size else 2)], runs
	assert out.count("# ") == len(measured) and err == "", (out, err)


@suite.test("options that the sweep sets itself, and values that are none, are refused by name")
def refused_options():
	longest, last = option("duration")["max"], option("port")["max"]
	for words, word in (
			(["--option", "size=5"], "'size=5'"), (["--option", "poll,bw"], "'bw'"),
			(["--option", "tag=x"], "'tag=x'"),
			(["--option", ""], "an option is empty"),
			(["--option", "client"], "'client'"),
			(["--option", "count=5"], "'count=5'"),
			(["--test", "wlat,warp"], "'warp' is no test"),
			(["--test", ""], "'' is no test"),
			(["--loopback", "--device", "mlx5_1"], "--device and --src are for --client"),
			(["--src", "a,poll"], "'a,poll' is no address"),
			(["--test", "wlat,blk"], "'blk' is not for this; there are pingpong"),
			(["--test", "all,wlat"], "'all' is no test"),
			(["--sizes", "big"], "'big' is no size"),
			(["--count", "0"], "'0' is no whole"),
			(["--duration", str(longest + 1)], f"from 1 to {longest}"),
			(["--port", str(last + 1)], str(last)),
			(["--json", "-", "--csv", "-"], "stdout has room for one"),
			(["--json", "/absent/x"], "/absent/x: No such file"),
			(["--csv", "."], ".: Is a directory")):
		with front.directory():
			module, out, err = run(device(), *words, status=2)
		assert word in err and not out and not module.commands, (words, err)


@suite.test("it ends a test where the device's sizes end, and says so")
def limit():
	with front.directory():
		module, out, err = run(device(), "--test", "wlat,bw", "--sizes", "1K..1M",
				       "--json", "x")
		found = json.load(open("x", encoding="utf-8"))
	assert err == "", err
	assert [(text.kind.name, text.value("size", 0)) for text in module.commands] == [
		(name, size) for name in ("wlat", "bw") for size in (1024, 2048, 4096, 8192)]
	lines = out.splitlines()
	assert lines[5] == f"# ended before 8192 bytes: {TOO_LARGE}", lines
	assert lines[5] == lines[-1] and lines[6] == "", lines
	assert found["stopped"] == [{"test": name, "size": 8192, "reason": TOO_LARGE}
				    for name in ("wlat", "bw")], found["stopped"]


@suite.test("a failure ends it, with what there is")
def failure():
	def answer(module, text):
		if text.value("size", 0) == 256:
			return module.fail(text, errno.ETIMEDOUT, "nothing happened for 10000 ms")
		return device()(module, text)

	with front.directory():
		module, out, err = run(answer, "--sizes", "64..1K", "--json", "x", "--csv", "y",
				       status=1)
		assert len(module.commands) == 3 and len(out.splitlines()) == 4, out
		assert err == ("krping: wlat of 256 bytes: ETIMEDOUT (110): nothing happened for "
			       "10000 ms\n"), err
		found = json.load(open("x", encoding="utf-8"))
		# The one that failed is there as well.
		states = [each["status"] for each in found["results"]]
		assert states == ["ok", "ok", "failed"], found
		assert len(open("y", encoding="utf-8").readlines()) == 3
		status, out, _ = krping("report", "x")
		assert status == 0 and "wlat ended before 256 bytes: nothing happened" in out, out


@suite.test("a refusal, and a server that is not there")
def refusals():
	with front.directory():
		_, out, err = run(lambda module, text: module.refuse(
			errno.EINVAL, "duplex is for bw, rbw or sbw"), "--option", "duplex",
				  status=2)
		assert not out and "wlat of 2 bytes: EINVAL (22): duplex is for" in err, err
		_, out, err = run(lambda module, text: module.fail(
			text, errno.ECONNREFUSED, "nothing listens"), status=1)
		assert not out and "krping run server,persist" in err and "--loopback" in err, err


@suite.test("a limit that is missed is noted, and the sweep goes on")
def missed():
	def answer(module, text):
		if text.value("size", 0) == 128:
			values = canned.times(100, 5000)
			return module.fail(text, errno.ERANGE, "the 99th percentile is 5 ns, above",
					   iterations=100, elapsed_ns=5, **canned.latency(values))
		return device()(module, text)

	with front.directory():
		module, out, err = run(answer, "--test", "wlat", "--sizes", "64..256", "--option",
				       "max_p99=1us", status=3)
	assert len(module.commands) == 3, module.commands
	marked = [line.endswith("ERANGE") for line in out.splitlines()[2:]]
	assert marked == [False, True, False], out
	assert "128 bytes: ERANGE (34): the 99th percentile" in err, err
	# A size above the device's limit misses none.
	with front.directory():
		_, out, err = run(device(), "--test", "wlat", "--sizes", "4K,8K", "--option",
				  "max_p99=1s")
	assert "# ended before 8192 bytes" in out and not err, (out, err)


@suite.test("Ctrl-C ends it, with what there is")
def interrupted():
	def answer(module, text):
		if text.value("size", 0) == 128:
			os.kill(os.getpid(), signal.SIGINT)
			return module.fail(text, errno.EINTR, "interrupted by a signal")
		return device()(module, text)

	def late(module, text):
		os.kill(os.getpid(), signal.SIGINT)
		return device()(module, text)

	with front.directory():
		module, out, err = run(answer, "--sizes", "64..1K", "--json", "x", status=130)
		assert len(module.commands) == 2 and len(out.splitlines()) == 3, out
		assert "interrupted, in wlat of 128 bytes" in err, err
		found = json.load(open("x", encoding="utf-8"))
		assert found["stopped"] == [{"test": "wlat", "size": 128, "reason": "interrupted"}]
		module, out, _ = run(late, "--sizes", "64..1K", status=130)
		assert len(module.commands) == 1 and len(out.splitlines()) == 3, out


@suite.test("JSON and CSV, in files and on stdout")
def written():
	words = ["--loopback", "--sizes", "64,128", "--option", "poll"]
	with front.directory():
		_, tables, _ = run(device(), *words, "--json", "x.json", "--csv", "x.csv")
		assert tables.startswith("# wlat")
		_, out, _ = run(device(), *words, "--csv", "-")
		found = list(csv.DictReader(out.splitlines()))
		with open("x.csv", encoding="utf-8") as file:
			same = list(csv.DictReader(file))
		# The tags are others.
		assert [each | {"options": ""} for each in same] == [
			each | {"options": ""} for each in found], same
		assert [(each["test"], each["bytes"]) for each in found] == [
			("wlat", "64"), ("wlat", "128"), ("bw", "64"), ("bw", "128")], found
		_, out, _ = run(device(), *words, "--json", "-")
		whole = json.loads(out)
		assert (whole["role"], whole["addr"], whole["options"]) == ("loopback", "192.0.2.1",
									    "poll"), whole
		assert [each["role"] for each in whole["results"]] == ["client"] * 4, whole
		assert whole["stopped"] == [] and whole["krping_sweep"] == 1
		# It is what report and the comparison read.
		status, out, _ = krping("report", "x.json")
		assert status == 0 and out.splitlines()[0] == tables.splitlines()[0], out
		status, out, _ = krping("report", "x.json", "x.json")
		assert status == 0 and out.count("+0.0%") == 2 * 4 + 2 * 2, out


@suite.test("threads of a run are one row")
def threads():
	def answer(module, text):
		for thread in (1, 2, 3, 4):
			module.result(text, thread=thread, iterations=100, elapsed_ns=10**9)
		return 0

	with front.directory():
		_, out, _ = run(answer, "--test", "bw", "--sizes", "1M", "--option", "threads=4")
	assert out.splitlines()[-1].split() == ["1048576", "400", "400.00", "0.000400"], out


@suite.test("iterations for each kind of test")
def iterations():
	arguments = argparse.Namespace(count=None, duration=None)
	for name, size, expected in (("wlat", 2, 1000), ("rlat", 1 << 20, 64),
				     ("slat", 8 << 20, 20),
				     ("bw", 2, 5000), ("bw", 1 << 20, 256), ("sbw", 1 << 30, 20),
				     ("fastreg", 1 << 20, 1000), ("pingpong", 64, 1000)):
		assert sweep.iterations(KINDS[name], size, arguments) == expected, (name, size)


def loaded(module, text):
	"""A device that does 4000 operations per second at most."""
	due = text.value("rate", 0)
	values = canned.times(200, 1000 + due)
	module.result(text, iterations=min(due, 4000), elapsed_ns=10**9,
		      open_loop={"rate": due, "late": max(0, due - 4000), "unposted": 0},
		      **canned.latency(values))
	return 0


@suite.test("rates double, are listed, or both, each with each size")
def rates():
	for text, expected in (("2..16", [2, 4, 8, 16]), ("3..13", [3, 6, 12]), ("500", [500]),
			       ("5,2,2..4", [2, 4, 5]), ("1000000000", [10**9])):
		assert options.rates(text) == expected, text
	with front.directory():
		module, out, err = run(loaded, "--test", "rlat,bw", "--rates", "1000..8000", "--csv", "x")
		found = list(csv.DictReader(open("x", encoding="utf-8")))
	assert err == "", err
	assert [text.text.split(",tag=")[0] for text in module.commands] == [
		f"client,addr=192.0.2.1,{test},size=64,duration=5,rate={rate}"
		for test in ("rlat", "bw") for rate in (1000, 2000, 4000, 8000)], module.commands
	lines = out.splitlines()
	assert lines[1].split()[2:5] == ["due[1/sec]", "done[1/sec]", "late"], lines
	assert [line.split()[2:5] for line in lines[2:6]] == [
		["1000", "1000", "0"], ["2000", "2000", "0"], ["4000", "4000", "0"],
		["8000", "4000", "4000"]], lines
	# One table for each test, as its rows differ in the rate.
	assert out.count("# ") == 2, out
	assert [(each["due_per_sec"], each["done_per_sec"], each["late"]) for each in found[3:5]] == [
		("8000", "4000", "4000"), ("1000", "1000", "0")], found
	with front.directory():
		module, _, _ = run(loaded, "--test", "rlat", "--rates", "5", "--sizes", "2,4",
				   "--count", "7")
	assert [text.text.split(",tag=")[0] for text in module.commands] == [
		f"client,addr=192.0.2.1,rlat,size={size},count=7,rate=5" for size in (2, 4)]
	with front.directory():
		module, _, _ = run(loaded, "--test", "rlat", "--rates", "1K", "--sizes", "2",
				   "--duration", "1m")
	assert "duration=60,rate=1000," in module.commands[0].text, module.commands[0].text


@suite.test("rates that are none, and tests without one")
def refused_rates():
	for words, word in (
			(["--rates", "0"], "'0' is no rate from 1 to 1000000000"),
			(["--rates", "1T"], "'1T' is no rate"), (["--rates", "8..4"], "'8..4' is no rate"),
			(["--rates", "5", "--test", "fastreg"], "not for fastreg"),
			(["--rates", "5", "--option", "poll,rate=6"], "are both given")):
		with front.directory():
			module, out, err = run(loaded, *words, status=2)
		assert word in err and not out and not module.commands, (words, err)


@suite.test("open loops are reported and compared by their rates")
def compared_rates():
	with front.directory():
		run(loaded, "--test", "bw", "--rates", "1000,8000", "--json", "x")
		run(loaded, "--test", "bw", "--rates", "500..8000", "--json", "y")
		status, out, _ = krping("report", "x")
		assert status == 0 and "8000" in out and out.count("# bw") == 1, out
		status, out, _ = krping("report", "x", "y")
	rows = [line.split() for line in out.splitlines() if line.strip().startswith("64 ")]
	assert status == 0 and [row[1] for row in rows] == ["500", "1000", "2000", "4000", "8000"], out
	assert rows[0][2:5] == ["-", "500", "-"] and rows[1][2:5] == ["1000", "1000", "+0.0%"], out


@suite.test("tests without sizes are none for a sweep")
def no_sizes():
	with front.directory(), Module() as module:
		for test in ("blk", "tap", "wlat,blk"):
			status, _, err = krping("sweep", "192.0.2.1", "--test", test)
			assert status == 2 and "is not for this" in err, (status, err)
		assert not module.commands


suite.main()
