# SPDX-License-Identifier: GPL-2.0
"""krping mesh between network namespaces, each with an RDMA device of its own."""

import json
import os
import re
import signal
import subprocess
import time

import hosts
import krping
from krping_front.mesh.power import ENOUGH
from ktap import Suite
from meshes import PROGRAM, accused, begin, cells, mesh
from microbench import moving

# One more than are judged: among them somebody who is worse is told from more noise.
COUNT = ENOUGH + 1


def pairs_of(count):
	"""The number of pairs of so many hosts, both ways."""
	return count * (count - 1)


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


@suite.test("all pairs, both ways, each with its figures; nobody is named, and a missed limit is said")
def all_pairs():
	with hosts.Hosts(ENOUGH) as net:
		count = pairs_of(ENOUGH)
		found, text = mesh(net.names, "--test", "wlat,bw", "--sizes", "4K", "--count", "100",
				   "--max-p99", "1ns", status=3)
	assert f"{2 * count} runs of {ENOUGH} of {ENOUGH} hosts; 0 failed" in text, text
	assert all(host["module_starts"] and host["ok"] for host in found["hosts"]), found["hosts"]
	for figure, test in (("p50_ns", "wlat"), ("p99_ns", "wlat"), ("bytes_per_s", "bw")):
		values = cells(found, figure, test)
		assert len(values) == count and min(values.values()) > 0, (figure, values)
	assert not accused(found, factor=SANE), (found["outliers"], text)
	assert len(found["misses"]) == count, (found["misses"], text)


@suite.test("a slow pair and one that loses 5% are named, and nobody else", limit=1200)
def outliers():
	slow, lossy = frozenset(("h2", "h5")), frozenset(("h3", "h4"))
	with hosts.Hosts(COUNT) as net:
		net.slow(2, only=5)
		net.lose(3, percent=5, only=4)
		found, text = mesh(net.names, "--test", "wlat", "--sizes", "64", "--count", "200",
				   # So long that whoever connects can lose several messages.
				   "--option", "timeout=30000", "--fail-on-outliers", status=3)
	said = (found["outliers"], text)
	assert accused(found, "p50_ns", SANE) == {slow}, said
	# What is lost may make a pair slow, and other pairs are slower where the machine is busy.
	assert accused(found, "retransmits") == {lossy}, said
	assert accused(found, factor=SANE) <= {slow, lossy}, said
	lost = cells(found, "retransmits")
	assert len(lost) == pairs_of(COUNT) and lost["h3", "h4"] > 0, lost


@suite.test("the commands of docs/mesh.md for namespaces: all pairs, a late host is named and "
	    "nobody else, and nothing is left")
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
	assert f"{pairs_of(COUNT)} runs of {COUNT} of {COUNT} hosts; 0 failed" in healthy, healthy
	named = late.partition("# worse than the others\n")[2].partition("\n\n")[0]
	assert "host h3" in named, late
	# Pairs of the late host are late, too.
	others = [float(factor) for who, factor in re.findall(r"  (.*): \w+ is (\S+) times worse", named)
		  if "h3" not in who]
	assert max(others, default=0) <= SANE, late
	assert not after and not os.listdir("/run/netns"), after


@suite.test("a host without a device, and one whose cable is cut: the others' figures stand")
def failures():
	with hosts.Hosts(COUNT) as net:
		net.unplug(4)
		running = begin(net.names, "--test", "wlat", "--sizes", "64", "--duration", "1",
				"--option", "timeout=2000", "--json", "/tmp/cut.json")
		krping.wait_for(lambda: moving(1, 1000), 120)
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
				"--option", "timeout=2000", "--timeout", "4", "--krping", "/tmp/wrapper",
				"--json", "/tmp/broken.json")
		krping.wait_for(lambda: moving(1, 1000), 120)
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
		krping.wait_for(lambda: moving(1, 1000), 120)
		start = time.monotonic()
		running.send_signal(signal.SIGINT)
		_, err = running.communicate(timeout=60)
		assert running.returncode == 130, err[-2000:]
		assert time.monotonic() - start < 30, "it took too long"
		with open("/tmp/ctrl.json", encoding="utf-8") as file:
			assert json.load(file)["interrupted"]
		assert not krping.lines(), krping.lines()


suite.main()
