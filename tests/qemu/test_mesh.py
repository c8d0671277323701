# SPDX-License-Identifier: GPL-2.0
"""krping mesh between network namespaces, each with an RDMA device of its own."""

import json
import os
import signal
import subprocess
import time

import hosts
import krping
from ktap import Suite
from meshes import PROGRAM, accused, begin, cells, mesh

COUNT = 5
PAIRS = COUNT * (COUNT - 1)


def check():
	"""Nothing runs or is left of a mesh, on any host."""
	krping.check()
	running = subprocess.run(("pgrep", "-af", "krping (node|mesh)"), capture_output=True, text=True,
				 check=False).stdout
	assert not running, running
	for device, found in krping.resources().items():
		assert not found["cm_id"] and not found["mr"] and found["qp"] <= 1, (device, found)


suite = Suite(check=check)

# By a clock that counts instructions a healthy pair is slower by less than so many times, and 20 ms
# do it by more.
SANE = 5
QUICK = ("--test", "wlat", "--sizes", "64", "--count", "50")


@suite.test("all pairs, both ways, each with its figures; a limit that is missed is said")
def all_pairs():
	with hosts.Hosts(COUNT) as net:
		found, text = mesh(net.names, "--test", "wlat,bw", "--sizes", "4K", "--count", "100")
		assert f"{2 * PAIRS} runs of {COUNT} of {COUNT} hosts; 0 failed" in text, text
		assert all(host["module_starts"] and host["ok"] for host in found["hosts"]), found["hosts"]
		for figure, test in (("p50_ns", "wlat"), ("p99_ns", "wlat"), ("bytes_per_s", "bw")):
			values = cells(found, figure, test)
			assert len(values) == PAIRS and min(values.values()) > 0, (figure, values)
		found, text = mesh("h1,h2", *QUICK, "--max-p99", "1ns", status=3)
		assert len(found["misses"]) == 2, (found["misses"], text)


@suite.test("nobody is named, then a slow host, and then a slow pair, and nobody else")
def outliers():
	with hosts.Hosts(COUNT) as net:
		found, text = mesh(net.names, *QUICK)
		assert not accused(found, factor=SANE), (found["outliers"], text)
		net.slow(3)
		found, text = mesh(net.names, *QUICK)
		assert accused(found, factor=SANE) == {"h3"}, (found["outliers"], text)
		net.calm(3)
		net.slow(2, only=5)
		found, text = mesh(net.names, *QUICK, "--fail-on-outliers", status=3)
		assert accused(found, factor=SANE) == {frozenset(("h2", "h5"))}, (found["outliers"], text)


@suite.test("the commands of docs/mesh.md for namespaces: a mesh, a late host, and nothing is left")
def documented():
	with open(os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "docs", "mesh.md"),
		  encoding="utf-8") as file:
		section = file.read().partition("## Network namespaces")[2].partition("\n## ")[0]
	texts = []
	for block in section.split("```")[1::2]:
		done = subprocess.run(("bash", "-ec", block), capture_output=True, text=True, check=False)
		assert done.returncode == 0, (block, done.stdout, done.stderr)
		texts.append(done.stdout)
	healthy, late, after = texts
	assert f"{PAIRS} runs of {COUNT} of {COUNT} hosts; 0 failed" in healthy, healthy
	assert "host h3" in late or "hosts: not judged (5 hosts, noise" in late, late
	assert not after and not os.listdir("/run/netns"), after


@suite.test("retransmits are counted, and a pair that loses 1% is named by them", limit=1200)
def losses():
	with hosts.Hosts(COUNT) as net:
		net.lose(3, only=5)
		found, text = mesh(net.names, "--test", "wlat", "--sizes", "64", "--count", "1000")
		net.calm(3)
		lost = cells(found, "retransmits")
		assert len(lost) == PAIRS and lost["h3", "h5"] > 0, lost
		# Other pairs may well be slower where the machine is busy.
		bad = frozenset(("h3", "h5"))
		assert accused(found, "retransmits") == {bad}, (found["outliers"], text)


@suite.test("a host without a device, and one whose cable is cut: the others' figures stand")
def failures():
	with hosts.Hosts(COUNT) as net:
		net.unplug(4)
		running = begin(net.names, "--test", "wlat", "--sizes", "64", "--duration", "1",
				"--option", "timeout=5000", "--json", "/tmp/cut.json")
		krping.wait_for(lambda: any(line.counters.get("write_msgs", 0) > 1000
					    for line in krping.lines()), 120)
		net.cut(1)
		out, err = running.communicate(timeout=500)
		net.mend(1)
		assert running.returncode == 1, (out[-2000:], err[-2000:])
		with open("/tmp/cut.json", encoding="utf-8") as file:
			found = json.load(file)
		by_name = {host["name"]: host for host in found["hosts"]}
		assert "no RDMA device" in by_name["h4"]["reason"], by_name["h4"]
		pairs = {(each["client"], each["server"]) for each in found["failures"]}
		assert all({"h1", "h4"} & {*pair} for pair in pairs), pairs
		assert any("h1" in pair and "h4" not in pair for pair in pairs), pairs
		assert all(each["reason"] for each in found["failures"]), found["failures"]
		healthy = {"h2", "h3", "h5"}
		values = cells(found, "p50_ns")
		assert all((a, b) in values for a in healthy for b in healthy - {a}), values


# What stands for krping on the hosts: it takes the module from h2, and fills the disk of h3.
WRAPPER = f"""#!/bin/bash
set -e
case "$*" in
*"--name h2") mount -t proc -o subset=pid proc /proc ;;
*"--name h3")
	mount -t tmpfs -o size=16k tmpfs /tmp
	! cat /dev/zero >/tmp/zeros 2>/dev/null
	cd /tmp
	;;
esac
exec python3 {PROGRAM} "$@"
"""


@suite.test("a host that hangs, and one without the module, are rows; a full disk costs nothing")
def broken_hosts():
	with hosts.Hosts(COUNT) as net:
		with open("/tmp/wrapper", "w", encoding="utf-8") as file:
			file.write(WRAPPER)
			os.fchmod(file.fileno(), 0o755)
		running = begin(net.names, "--test", "wlat", "--sizes", "64", "--duration", "1",
				"--option", "timeout=5000", "--timeout", "10", "--krping", "/tmp/wrapper",
				"--json", "/tmp/broken.json")
		krping.wait_for(lambda: any(line.counters.get("write_msgs", 0) > 1000
					    for line in krping.lines()), 120)
		pid, = subprocess.run(("pgrep", "-f", "krping node --name h1"), capture_output=True,
				      text=True, check=True).stdout.split()
		os.kill(int(pid), signal.SIGSTOP)
		out, err = running.communicate(timeout=500)
		assert running.returncode == 1, (out[-2000:], err[-2000:])
		with open("/tmp/broken.json", encoding="utf-8") as file:
			found = json.load(file)
	reasons = {host["name"]: host["reason"] for host in found["hosts"]}
	assert "did not answer in round" in reasons["h1"], reasons
	assert "/proc/krping" in reasons["h2"] and "module" in reasons["h2"], reasons
	assert not any(reasons[name] for name in ("h3", "h4", "h5")), reasons
	values = cells(found, "p50_ns")
	healthy = {"h3", "h4", "h5"}
	assert all((a, b) in values for a in healthy for b in healthy - {a}), values
	assert f"h1: {reasons['h1']}" in out and f"h2: {reasons['h2']}" in out, out


@suite.test("Ctrl-C ends all that runs on all hosts; what was measured until then is kept")
def interrupted():
	with hosts.Hosts(2) as net:
		running = begin(net.names, "--test", "wlat", "--duration", "600",
				"--json", "/tmp/ctrl.json")
		krping.wait_for(lambda: any(line.counters.get("write_msgs", 0) > 1000
					    for line in krping.lines()), 120)
		start = time.monotonic()
		running.send_signal(signal.SIGINT)
		_, err = running.communicate(timeout=60)
		assert running.returncode == 130, err[-2000:]
		assert time.monotonic() - start < 30, "it took too long"
		with open("/tmp/ctrl.json", encoding="utf-8") as file:
			assert json.load(file)["interrupted"]
		assert not krping.lines(), krping.lines()


suite.main()
