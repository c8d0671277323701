# SPDX-License-Identifier: GPL-2.0
"""krping test on a real device: the whole set, limits, a device that goes, and the examples
for CI systems. Its output without a module is in tests/front."""

import json
import os
import re
import subprocess
import threading
from xml.etree import ElementTree

import age
import krping
import network
from krping import ADDR, ADDR6, DEVICE, wait_for
from krping_front.acceptance import cases
from ktap import Suite, diag
from program import in_process, load

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.join(TOP, "scripts", "krping")
SAMPLES = os.path.join(TOP, "samples")
KNOWN = age.KNOWN if DEVICE.startswith("rxe") else DEVICE.rstrip("0123456789")

suite = Suite(check=krping.check)
program = load(PROGRAM)


def accept(*words, status=0):
	"""Run krping test WORDS in this process, which must exit with STATUS: the lines of stdout,
	stderr, and the outcome of each case by its path."""
	found, out, err = in_process(program, "test", *words)
	lines = out.splitlines()
	assert found == status, (found, lines, err)
	return lines, err, outcomes(lines)


def outcomes(lines):
	"""The outcome of each case that LINES have, by its path."""
	done = subprocess.run(("awk", "-f", f"{SAMPLES}/ktap-cases"), input="\n".join(lines) + "\n",
			      text=True, capture_output=True, check=True)
	return dict(line.split() for line in done.stdout.splitlines())


def reason(lines, name):
	"""Why the case NAME has failed, by LINES."""
	found, = [line for line in lines if line.strip().startswith(f"# {name}: reason: ")]
	return found.partition("reason: ")[2]


@suite.test("the whole set: nothing fails but what is known of the driver; JUnit and results say the same")
def whole():
	junit, results = f"/tmp/{krping.new_tag()}", f"/tmp/{krping.new_tag()}"
	lines, err, found = accept("--known", KNOWN, "--junit", junit, "--json", results)
	assert err == "" and "fail" not in found.values(), lines
	tops = [line for line in lines if re.match("(not )?ok ", line)]
	assert tops == [f"ok {number} {name}" for number, name in enumerate(cases.GROUPS, 1)], lines
	for case in cases.CASES:
		if case.name:
			expected = "skip" if case.name == "read_inv" else "pass"
			assert found[case.path] == expected, (case, found)
	assert len([path for path in found if path.startswith("conform.")]) > 30, found
	assert lines[2].startswith(f"# device {DEVICE} (RoCE), address {ADDR}, "), lines[2]
	assert any(line.startswith("  ok ") and " stale_lkey # XFAIL " in line for line in lines), lines
	top = ElementTree.parse(junit).getroot()
	assert [int(top.get(name)) for name in ("tests", "failures", "errors", "skipped")] == [
		len(found), 0, 0, list(found.values()).count("skip")], top.attrib
	with open(results, encoding="ascii") as file:
		tests = [json.loads(line)["test"] for line in file]
	assert tests[:2] == ["caps", "neg"] and "casbw" in tests, tests
	diag(f"it took {float(top.get('time')):.0f} s")


@suite.test("without --known the defects of the driver fail, with their reason; 1")
def defects():
	lines, err, found = accept("--only", "conform.stale_lkey,conform.zero_length", status=1)
	assert found == {"conform.stale_lkey": "fail", "conform.zero_length": "pass"}, lines
	assert reason(lines, "stale_lkey") == "how the request ended" and err == "", lines


@suite.test("a limit that is missed: 3, with the figure and the limit; one that is met: 0")
def limits():
	lines, _, found = accept("--only", "microbench.wlat,microbench.bw", "--max-p99", "1ns",
				 "--min-bw", "1K", status=3)
	assert found == {"microbench.wlat": "fail", "microbench.bw": "pass"}, lines
	assert "above the 1 ns of max_p99" in reason(lines, "wlat"), lines
	lines, _, found = accept("--only", "microbench.bw,microbench.abw", "--min-bw", "1000G",
				 "--duration", "1", status=3)
	assert found == {"microbench.bw": "fail", "microbench.abw": "pass"}, lines
	assert "of min_bw" in reason(lines, "bw"), lines
	accept("--only", "microbench.wlat", "--max-p99", "1000s", "--max-p99", "rlat=1ns")


@suite.test("over IPv6, by the name of the device, and to a server")
def elsewhere():
	lines, _, _ = accept(ADDR6, "--only", "pingpong.small")
	assert f"address {ADDR6}" in lines[2], lines
	lines, _, _ = accept("--device", DEVICE, "--only", "pingpong.small")
	assert f"address {ADDR}" in lines[2], lines
	port = krping.new_port()
	server = krping.serve(f"server,persist,port={port}")
	lines, _, found = accept("--client", ADDR, "--port", str(port), "--only",
				 "caps,pingpong.threads,pingpong.local_dma_lkey,microbench.sbw,conform")
	server.interrupt()
	assert {path: found[path] for path in found if not path.startswith("caps.")} == {
		"pingpong.threads": "pass", "pingpong.local_dma_lkey": "skip", "microbench.sbw": "pass",
		"conform.all": "skip"}, lines


@suite.test("a device that goes in the midst: what ran then fails, and what follows, each with a sentence")
def goes():
	def remove():
		wait_for(lambda: any(line.counters.get("write_msgs", 0) > 100 for line in krping.lines()))
		network.unplug()

	thread = threading.Thread(target=remove)
	thread.start()
	try:
		lines, _, found = accept("--only", "microbench.bw,microbench.rbw,microbench.sbw",
					 "--duration", "30", status=1)
	finally:
		thread.join()
		network.plug()
	assert found == dict.fromkeys(("microbench.bw", "microbench.rbw", "microbench.sbw"), "fail"), lines
	assert "removed" in reason(lines, "bw"), lines
	assert "no RDMA device has the address" in reason(lines, "sbw"), lines


@suite.test("no such device, and none at the address: 2, with those that there are")
def missing():
	def refused(*words):
		found, out, err = in_process(program, "test", *words)
		assert found == 2 and "\nBail out! " in out, (found, out)
		return err

	assert f"--device mlx5_0: this host has no such RDMA device with an IP address; it has {DEVICE} " \
		f"({ADDR})" in refused("--device", "mlx5_0")
	assert "ENODEV" in refused("127.0.0.1")
	network.unplug()
	try:
		assert "no RDMA device has an IP address here" in refused()
		assert "--device " in refused("--device", DEVICE)
	finally:
		network.plug()
	assert krping.unload() == ""
	try:
		assert "module is not loaded" in refused(ADDR)
	finally:
		krping.load()


def call(*words, status=0, **more):
	"""Run the program WORDS, which must exit with STATUS: its lines."""
	done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
			      stderr=subprocess.STDOUT, check=False, **more)
	assert done.returncode == status, (done.returncode, done.stdout)
	return done.stdout.splitlines()


@suite.test("samples/kselftest: what it runs, and what it takes for a skip")
def kselftest():
	script = os.path.join(SAMPLES, "kselftest", "krping", "krping.sh")
	lines = call(script, "--device", DEVICE, "--only", "caps,pingpong.dma")
	assert outcomes(lines)["pingpong.dma"] == "pass", lines
	assert call(script, "--device", "mlx5_0", status=2)[2].startswith("Bail out! "), lines
	assert call(script, status=4, env={"PATH": "/usr/bin:/bin"}) == [
		"1..0 # SKIP the program krping is not installed"]
	assert call(script, status=4, user=1000, group=1000, extra_groups=[]) == [
		"1..0 # SKIP it must be run as root"]


@suite.test("samples/tmt: each case is reported to tmt, and the files are kept")
def tmt():
	data = f"/tmp/{krping.new_tag()}"
	os.makedirs(f"{data}/bin")
	with open(f"{data}/bin/tmt-report-result", "w", encoding="ascii") as file:
		file.write(f"#!/bin/sh\necho \"$*\" >>{data}/reported\n")
	os.chmod(f"{data}/bin/tmt-report-result", 0o755)
	script = os.path.join(SAMPLES, "tmt", "acceptance.sh")
	environment = os.environ | {"TMT_TEST_DATA": data, "PATH": f"{data}/bin:{os.environ['PATH']}"}
	call(script, env=environment | {"KRPING_OPTIONS": f"--device {DEVICE} --only pingpong.dma,"
					"microbench.wlat --max-p99 1ns"}, status=1)
	with open(f"{data}/reported", encoding="ascii") as file:
		assert file.read() == "pingpong.dma PASS\nmicrobench.wlat FAIL\n"
	assert {"krping.ktap", "krping.xml", "krping.json"} <= set(os.listdir(data)), os.listdir(data)


@suite.test("who has read enough ends it: its files are written")
def broken_pipe():
	path = f"/tmp/{krping.new_tag()}"
	lines = call("sh", "-c", f"'{PROGRAM}' test --only pingpong --junit {path} 2>&1 | head -n 1")
	assert lines == ["KTAP version 1"], lines
	assert ElementTree.parse(path).getroot().get("errors") == "1"


suite.main()
