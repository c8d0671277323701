# SPDX-License-Identifier: GPL-2.0
"""Figures that the front makes of several real runs: axes, repetitions, comparisons that can fail,
sweeps that go on, pictures, and perftest's output as an input."""

import csv
import errno
import json
import os
import subprocess

import krping
from krping import ADDR, new_port, new_tag
from ktap import Suite
from program import in_process, load

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/krping")

suite = Suite(check=krping.check, limit=300)
program = load(PROGRAM)


def front(*words, status=0):
	"""Run scripts/krping with WORDS in this process, which must exit with STATUS: stdout, stderr."""
	found, out, err = in_process(program, *words)
	assert found == status, (found, out, err)
	return out, err


def path():
	"""A name for a new file."""
	return f"/tmp/{new_tag()}"


def sweep(file, *words, status=0):
	"""Sweep a loopback into FILE."""
	return front("sweep", "--loopback", ADDR, "--json", file, "--quiet", *words,
		     status=status)


def saved(file):
	"""The sweep in FILE."""
	with open(file, encoding="utf-8") as text:
		return json.load(text)


@suite.test("axes: each combination runs with its options, which its row shows")
def axes():
	file = path()
	out, err = sweep(file, "--test", "bw", "--sizes", "64,1K", "--count", 40, "--axis", "qps=1,2",
			 "--axis", "postlist=1,4", "--csv", f"{file}.csv")
	assert err == "" and out.count("# bw") == 1, (out, err)
	rows = [line.split()[:4] for line in out.splitlines()[2:]]
	# count= is of each queue pair.
	assert rows == [[size, qps, batch, str(40 * int(qps))] for qps in "12" for batch in "14"
			for size in ("64", "1024")], out
	found = saved(file)["results"]
	assert [each["qps"] for each in found] == [1] * 4 + [2] * 4, found
	assert [each["postlist"] for each in found] == [1, 1, 4, 4] * 2, found
	with open(f"{file}.csv", encoding="utf-8") as text:
		lines = list(csv.DictReader(text))
	assert [line["qps"] for line in lines] == list("11112222"), lines
	assert {line["driver"] for line in lines} == {"rdma_rxe"}, lines
	assert all(line["time"] and line["rate_mbit_per_sec"] for line in lines), lines
	again, _ = front("report", file)
	assert again.split() == out.split(), (again, out)


@suite.test("repetitions: medians of the real runs, and a picture with a band of them")
def repetitions():
	file = path()
	out, _ = sweep(file, "--test", "wlat", "--sizes", "64,256", "--count", 50, "--repeat", 3)
	found = saved(file)
	for size, line in zip((64, 256), out.splitlines()[2:]):
		values = sorted(each["p50_ns"] for each in found["results"] if each["size"] == size)
		assert len(values) == 3, found
		cells = line.split()
		assert cells[:4] == [str(size), "3", f"{values[1] / 1000:.2f}",
				     f"{values[0] / 1000:.2f}..{values[2] / 1000:.2f}"], (line, values)
	front("plot", file, "--kind", "percentiles", "-o", f"{file}.svg")
	with open(f"{file}.svg", encoding="utf-8") as text:
		picture = text.read()
	for word in ("least to most of 3 repetitions", "rdma_rxe", os.uname().release):
		assert word in picture, word


@suite.test("a slower file fails the comparison, and the same one does not")
def regression():
	fast, slow = path(), path()
	words = ("--test", "rlat", "--sizes", "64", "--count", 50, "--repeat", 3)
	sweep(fast, *words)
	# One thread has all of these in turn, so each operation waits for many others: more than
	# a busy machine makes of it.
	sweep(slow, *words, "--option", "qps=64")
	out, _ = front("report", fast, slow, "--fail-above", "p50=10%", status=3)
	assert "1 of 1 figures is worse" in out, out
	front("report", slow, fast, "--fail-above", "p50=10%")
	_, err = front("report", fast, slow, "--fail-above", "p50=1", "--fail-above", "p99=1", status=2)
	assert "takes 4 of each" in err, err


@suite.test("a sweep whose server goes away goes on with --resume, and measures nothing twice")
def resumed():
	file, port = path(), new_port()
	words = ("sweep", ADDR, "--port", port, "--json", file, "--quiet", "--test", "wlat",
		 "--sizes", "64..512", "--count", 20)
	server = krping.serve(f"server,port={port},persist")
	try:
		front(*words[:-4], "--sizes", "64,128", "--count", 20)
	finally:
		assert server.interrupt() == errno.EINTR
	_, err = front(*words, "--resume", status=1)
	assert "wlat of 256 bytes: ECONNREFUSED" in err, err
	before = [run["tag"] for run in saved(file)["runs"]]
	assert len(before) == 2, before
	server = krping.serve(f"server,port={port},persist")
	try:
		out, err = front(*words, "--resume")
	finally:
		assert server.interrupt() == errno.EINTR
	assert err == "" and [line.split()[0] for line in out.splitlines()[2:]] == [
		"64", "128", "256", "512"], (out, err)
	found = saved(file)
	# Those of before are there as they were, and each of the others ran once.
	assert [run["tag"] for run in found["runs"]][:2] == before and len(found["runs"]) == 4, found
	assert [(each["tag"], each["status"]) for each in found["results"]] == [
		(run["tag"], "ok") for run in found["runs"]], found["results"]
	for run in found["runs"]:
		assert len([each for each in krping.results(run["tag"]) if each["role"] == "client"]) == 1


@suite.test("BW peak and Gbit/s of a run with intervals")
def peak():
	out, _ = front("run", f"loopback,addr={ADDR},bw,size=16K,duration=2,interval=200", "--gbits")
	heading, row = out.splitlines()[1:]
	assert "BW peak[Gb/sec]  BW average[Gb/sec]" in heading, heading
	most, average = map(float, row.split()[2:4])
	assert 0 < average <= most * 1.01, row


@suite.test("perftest's own output is read, and compared with our results")
def perftest():
	file, port = path(), new_port()
	for tool, test in (("ib_write_lat", "wlat"), ("ib_read_bw", "rbw")):
		words = [tool, "-R", "-F", "-p", str(port), "-s", "64", "-n", "200"]
		done = _pair(words, port, f"--out_json_file={file}.perftest", "--out_json")
		assert done.returncode == 0, done
		with open(file, "w", encoding="utf-8") as text:
			text.write(done.stdout)
		printed = next(line for line in done.stdout.splitlines()
			       if line.split()[:2] == ["64", "200"])
		column, ours = (4, 4) if test == "wlat" else (3, 2)
		for each in (file, f"{file}.perftest"):
			out, _ = front("report", each)
			assert out.startswith(f"# {test}: ") and "on rxe0 (RoCE); perftest," in out, out
			shown = out.splitlines()[2].split()
			assert shown[:2] == ["64", "200"] and abs(
				float(printed.split()[column]) - float(shown[ours])) < 0.02, (done, out)
		sweep(f"{file}.json", "--test", test, "--sizes", "64", "--count", 50)
		out, _ = front("report", file, f"{file}.json")
		assert "#   A: rxe0 (RoCE); perftest," in out and out.count("%") >= 2, out


def _pair(words, port, *more):
	"""Run the server and the client of WORDS, the client with MORE."""
	with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
		try:
			krping.wait_for(lambda: krping.awaits_clients(server.pid, port),
					what=f"{words[0]}'s server")
			return subprocess.run([*words, *more, ADDR], capture_output=True, text=True,
					      check=False, timeout=120)
		finally:
			server.kill()


suite.main()
