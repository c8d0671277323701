# SPDX-License-Identifier: GPL-2.0
"""krping mesh with krping node in processes of its own, over each launcher; ssh, srun and ip are
played by scripts, and so is the module."""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import time
from typing import Any

import front
from krping_front import devices, paths
from krping_front.arguments import mesh as arguments
from krping_front.devices import Rail
from krping_front.errors import Quit
from krping_front.mesh import jobs, launch, retransmits, wire
from krping_front.mesh.launch import clustershell, srun
from ktap import Skip, Suite

suite = Suite(limit=120)

# The last argument is the command, and the one before the host, as ClusterShell has them, too.
SSH = """#!/bin/bash
[ ! -e "$PLAYED/unreachable.${@: -2:1}" ] || { echo "ssh: No route to host" >&2; exit 255; }
name=${@: -2:1}
command=${@: -1}
export SLURMD_NODENAME=$name
exec bash -c "$command"
"""
IP = """#!/bin/bash
[ "$1 $2 $3" = "netns exec ${*:3:1}" ]
exec "${@:4}"
"""
# Copies its stdin to a task on each host, and their lines to its stdout; and says which have failed.
SRUN = """#!{python}
import contextlib, os, subprocess, sys, threading
words = sys.argv[1:]
at = words.index("--nodelist")
names = words[at + 1].split(",")

def task(name):
	absent = os.path.exists(os.path.join(os.environ["PLAYED"], "absent." + name))
	return subprocess.Popen(["sh", "-c", "exec /absent/krping"] if absent else words[at + 2:],
				stdin=subprocess.PIPE, env=os.environ | {{"SLURMD_NODENAME": name}})

def watch(number):
	status = tasks[number].wait()
	if status:
		print(f"srun: error: {{names[number]}}: task {{number}}: Exited with exit code {{status}}",
		      file=sys.stderr, flush=True)

tasks = [task(name) for name in names]
watches = [threading.Thread(target=watch, args=[number]) for number in range(len(tasks))]
for each in watches:
	each.start()
for line in sys.stdin.buffer:
	for each in tasks:
		with contextlib.suppress(BrokenPipeError):
			each.stdin.write(line)
			each.stdin.flush()
for each in tasks:
	with contextlib.suppress(BrokenPipeError):
		each.stdin.close()
for each in watches:
	each.join()
"""


def script(path, text):
	"""Have PATH be a program."""
	front.write(path, text)
	os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


@contextlib.contextmanager
def played(*faults):
	"""A directory with programs that play those of the system. FAULTS are FAULT.HOST."""
	with front.directory() as path:
		os.mkdir("bin")
		script("bin/ssh", SSH)
		script("bin/ip", IP)
		script("bin/srun", SRUN.format(python=sys.executable))
		node = os.path.join(front.HERE, "mesh_node.py")
		script("bin/krping", f'#!/bin/bash\nexec {sys.executable} {node} "$@"\n')
		for fault in faults:
			front.write(fault, "")
		paths = [os.path.join(front.TOP, "scripts"), os.path.join(front.TOP, "tests", "qemu"),
			 front.HERE]
		environment = os.environ | {"PLAYED": path, "PATH": f"{path}/bin:{os.environ['PATH']}",
					    "PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
		yield environment


def start(environment, *words, hosts="a,b,c", launcher="ssh"):
	"""Start krping mesh WORDS."""
	return subprocess.Popen(
		[sys.executable, front.PROGRAM, "mesh", "--hosts", hosts, "--launcher", launcher,
		 "--krping", os.path.abspath("bin/krping"), "--test", "wlat", "--sizes", "64",
		 "--json", "x", *words], env=environment, stdin=subprocess.DEVNULL,
		stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(environment, *words, status=0, **more):
	"""Run krping mesh WORDS: the document, and what it printed."""
	process = start(environment, *words, **more)
	out, err = process.communicate(timeout=60)
	assert process.returncode == status, (process.returncode, out, err)
	with open("x", encoding="utf-8") as file:
		return json.load(file), out + err


def notes(host):
	"""What the module of HOST has noted, without times."""
	with open(os.path.join(host, "commands"), encoding="utf-8") as file:
		return [line.split(" ", 1)[1].strip() for line in file]


def times(host, what):
	"""When the module of HOST noted WHAT."""
	with open(os.path.join(host, "commands"), encoding="utf-8") as file:
		return [int(line.split()[0]) for line in file if line.split(" ", 1)[1].strip() == what]


class Node:
	"""A node that the test leads itself, as the first of some hosts with ADDRESSES."""

	def __init__(self, environment, *addresses):
		self.process = subprocess.Popen(
			[os.path.abspath("bin/krping"), "node", "--name", "a"], env=environment,
			stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
		self.ready = self.hear()
		self.tell(do="plan", ids={self.ready["id"]: 0}, port=7, addresses=addresses,
			  offsets=[0] * len(addresses))

	def tell(self, **message):
		"""Send MESSAGE."""
		self.process.stdin.write(wire.down(message))
		self.process.stdin.flush()

	def round(self, number, *spec, **more):
		"""Announce the round NUMBER."""
		self.tell(do="round", n=number, spec=spec, server="persist", client="wlat", listen=5,
			  seconds=5, **{"rail": 0, "absent": []} | more)

	def hear(self):
		"""The next line that it says."""
		return json.loads(self.process.stdout.readline())

	def end(self):
		"""End it, and return what else it said."""
		rest, err = self.process.communicate(timeout=30)
		assert self.process.returncode == 0 and "Traceback" not in err, err
		return [json.loads(line) for line in rest.splitlines()], err


def alive(host):
	"""Whether the node of HOST still runs."""
	pid = next(line for line in notes(host) if line.startswith("pid")).split()[1]
	try:
		with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
			return file.read().rsplit(")", 1)[1].split()[0] != "Z"
	except OSError:
		return False


@suite.test("lines: what is long is sent in parts, and nothing else is taken")
def parts():
	sender, receiver = wire.Sender("a", "id"), wire.Receiver()
	message = {"say": "result", "runs": [{"reason": 'é"\\' * 500}] * 3}
	lines = sender.lines(message)
	assert len(lines) > 3 and max(map(len, lines)) <= wire.LINE, max(map(len, lines))
	found = [receiver.take(line) for line in lines]
	assert found[:-1] == [None] * (len(lines) - 1)
	assert found[-1] == {"host": "a", "id": "id"} | message
	assert receiver.take(sender.lines({"say": "clock"})[0])["say"] == "clock"
	receiver.take(lines[0])
	for line in ("", "motd", "7", "[]", "{}", '{"id":7}', lines[2], "[" * 100_000,
		     '{"id":"x","part":[1,0],"text":""}', '{"id":"x","part":[1,0,99999999],"text":""}',
		     '{"id":"x","part":[true,0,2],"text":""}'):
		try:
			taken = receiver.take(line)
		except ValueError:
			continue
		raise AssertionError((line[:50], taken))


@suite.test("over ssh: servers listen, clients begin together, and all ends")
def over_ssh():
	with played("starts.a", "starts.b") as environment:
		found, out = run(environment, "--html", "y", hosts="a,b")
		assert found["runs"] == {"all": 2, "failed": 0}, out
		assert found["matrices"][0]["figures"]["p50_ns"] == [[None, 20_000], [20_000, None]]
		assert found["matrices"][0]["figures"]["retransmits"] == [[None, 2], [2, None]]
		client, = [line for line in notes("a") if line.startswith("client")]
		assert client.startswith("client,wlat,size=64,count=1000,addr=10.0.0.99,port=18515,"
					 "start_at="), client
		assert "wait=10000" in client and "tag=mesh." in client, client
		server, = [line for line in notes("b") if line.startswith("server")]
		assert server.startswith("server,persist,addr=10.0.0.99,port=18515,tag=mesh."), server
		begun = times("a", "begins")[0]
		assert 0 <= begun - int(client.split("start_at=")[1].split(",")[0]) < 5 * 10 ** 9
		assert notes("b")[-1] == "ended" or "ended" in notes("b"), notes("b")
		assert not alive("a") and not alive("b")


@suite.test("retransmits: by the names of all drivers, once each, and unknown where none counts them")
def retransmits_of():
	def moved(**counters):
		return {f"hw_counters.{name}": value for name, value in counters.items()}

	asked = []

	def ask(words, _):
		asked.append(words)
		return [{"ifname": "rxe9", "port": 1, "completer_retry_err": 0}] \
			if words[-1] == "rxe9/1" else []

	with front.directory() as path, front.patched(paths, INFINIBAND=f"{path}/class"), \
			front.patched(devices, ask=ask):
		retransmits.counted.cache_clear()
		assert retransmits.of("siw0", {}) is None
		assert retransmits.of("siw0", moved(sent_pkts=7)) is None
		for name, many in retransmits.BY_DRIVER.items():
			assert retransmits.of(name, moved(sent_pkts=7, **dict.fromkeys(many, 3))) \
				== 3 * len(many), name
		# What has not moved is in no result, and the device says that it is counted.
		os.makedirs("class/rxe0/ports/1/hw_counters")
		front.write("class/rxe0/ports/1/hw_counters/completer_retry_err", "0")
		assert retransmits.of("rxe0", moved(sent_pkts=7)) == retransmits.of("rxe0", {}) == 0
		front.write("class/rxe0/ports/1/hw_counters/sent_pkts", "0")
		# Where sysfs has none, 'rdma' is asked, once.
		asked.clear()
		assert retransmits.of("rxe9", {}) == retransmits.of("rxe9", {}) == 0
		assert asked == [(*retransmits.STATISTIC, "rxe9/1")], asked
		# One counter of the device is not of each thread.
		client: Any = {"device": "rxe0", "hw_counters": {"completer_retry_err": 2}}
		assert jobs._lost([client, client]) == {"retransmits": 2}
	with played("mute.a") as environment:
		found, _ = run(environment, hosts="a,b")
		assert found["matrices"][0]["figures"]["retransmits"] == [[None, None], [2, None]]


@suite.test("a run of whose results the module has lost some fails, and has no figures")
def lost_results():
	for threads, left in ((4, "only 3 of its 4 results"), (1, "no result of it")):
		with played("few.a") as environment:
			found, _ = run(environment, "--test", "bw", "--concurrency", f"{threads}",
				       hosts="a,b", status=1)
		(line, other) = found["matrices"][0]["figures"]["bytes_per_s"]
		assert line == [None, None] and other[0], (line, other)
		failure, = found["failures"]
		assert (failure["client"], failure["errno"], failure["reason"]) == (
			"a", "ENODATA", f"it succeeded, but the module keeps {left}; it keeps the last "
			"256 of a host"), failure


@suite.test("a result without what its test is for is said to be one")
def untimed():
	with played() as environment:
		found, _ = run(environment, "--option", "untimed", hosts="a,b", status=1)
	reasons = {each["reason"] for each in found["failures"]}
	assert reasons == {"it succeeded, but its result has no p50 and no p99 (untimed)"}, reasons


@suite.test("a client that used a device of another rail has measured nothing of this one")
def strays():
	with played("strays.b") as environment:
		found, out = run(environment, hosts="a,b", status=1)
	failure, = found["failures"]
	assert (failure["client"], failure["errno"], failure["reason"]) == (
		"b", "ENODATA", "it succeeded, but left b by rxe1, which is not of rail 10.0.0.0/24: "
		"routes of b lead there"), failure
	assert found["matrices"][0]["figures"]["p50_ns"] == [[None, 20_000], [None, None]], out


@suite.test("pairs of a round begin at the same time, also where the module has no start_at=")
def together():
	with played() as environment:
		found, _ = run(environment, "--pattern", "storm", hosts="a,b,c,d")
		assert found["runs"]["all"] == 12
		begins = [each for host in "abcd" for each in times(host, "begins")]
		assert len(begins) == 12 and max(begins) - min(begins) < 2 * 10 ** 9, \
			(max(begins) - min(begins)) / 1e6
		# One server for all clients of all rounds.
		for host in "abcd":
			assert sum(line.startswith("server") for line in notes(host)) == 1


@suite.test("srun and network namespaces do the same")
def launchers():
	with played() as environment:
		for launcher in ("srun", "netns"):
			more = {"SLURM_JOB_ID": "7"} if launcher == "srun" else {}
			found, out = run(environment | more, hosts="a,b,c", launcher=launcher)
			assert found["runs"] == {"all": 6, "failed": 0}, out
			assert found["launcher"] == launcher


@suite.test("srun: a task that fails is a row at once, with what it said")
def srun_task():
	with played("absent.b") as environment:
		# Nobody waits for so long.
		found, out = run(environment | {"SLURM_JOB_ID": "7"}, "--connect-timeout", "3600",
				 hosts="a,b,c", launcher="srun", status=1)
	assert found["runs"] == {"all": 6, "failed": 4}, out
	assert [host["ok"] for host in found["hosts"]] == [True, False, True], out
	reason = found["hosts"][1]["reason"]
	assert "cannot be reached: srun: Exited with exit code 127" in reason, reason
	assert "/absent/krping: not found" in reason, reason


@suite.test("srun: what it says of tasks and nodes that are gone is understood")
def srun_says():
	gone = []

	class Audience:
		"""Hears of ends."""

		def said(self, host, line):
			"""See Audience."""

		def ended(self, host, reason):
			"""See Audience."""
			gone.append((host, reason))

	launcher = srun.Srun([], Audience())
	launcher.hosts = [f"h{number}" for number in range(1, 9)]
	for line, hosts, reason in (
			("srun: error: h3: task 2: Exited with exit code 127", ["h3"],
			 "srun: Exited with exit code 127"),
			("srun: error: h[1-2]: tasks 0-1: Killed", ["h1", "h2"], "srun: Killed"),
			("srun: error: Task launch for StepId=7.0 failed on node h4: Communication "
			 "connection failure", ["h4"], "srun: Communication connection failure"),
			("srun: error: Node failure on h5", ["h5"], "srun: Node failure"),
			("srun: error: h99: task 9: Killed", [], ""),
			("srun: error: [: task 9: Killed", [], ""),
			("slurmstepd: error: h6: no such file", [], ""),
			("srun: error: h7: task 6: Killed", ["h7"],
			 "srun: Killed; the last lines before were: slurmstepd: error: h6: no such file")):
		gone.clear()
		launcher._complained(line)
		assert gone == [(host, reason) for host in hosts], (line, gone)


@suite.test("ClusterShell: why it cannot begin is said at once")
def no_engine():
	def broken():
		raise ValueError("topology.conf makes no sense")

	async def begin():
		made = clustershell.ClusterShell([], None)
		try:
			made.start(["a"])
		except Quit as trouble:
			return str(trouble)
		finally:
			made.send("x")
			await made.stop()

	# It need not be installed.
	clustershell.task_self = getattr(clustershell, "task_self", None)
	with front.patched(clustershell, task_self=broken):
		said = asyncio.run(begin())
	assert said == "--launcher clustershell: ValueError: topology.conf makes no sense", said


@suite.test("ClusterShell does the same")
def cluster_shell():
	if importlib.util.find_spec("ClusterShell") is None:
		raise Skip("ClusterShell is not installed")
	with played("unreachable.c") as environment:
		found, out = run(environment, hosts="a,b,c", launcher="clustershell", status=1)
		assert found["runs"] == {"all": 6, "failed": 4}, out
		assert "No route to host" in found["hosts"][2]["reason"], found["hosts"][2]
		assert not alive("a") and not alive("b")


@suite.test("a launcher that is not there is refused by name")
def absent():
	with played() as environment:
		process = start({key: value for key, value in environment.items()
				 if key != "SLURM_JOB_ID"}, launcher="srun")
		_, err = process.communicate(timeout=60)
		assert process.returncode == 2 and "--launcher srun: this is no Slurm job" in err, err
	assert set(launch.LAUNCHERS) == {"clustershell", "srun", "ssh", "netns"}
	# The arguments name them without importing them.
	assert tuple(launch.LAUNCHERS) == arguments.LAUNCHERS
	parser = argparse.ArgumentParser()
	arguments.add_arguments(parser)
	for word, name in (("clush", "clustershell"), ("srun", "srun")):
		assert parser.parse_args(["--hosts", "a", "--launcher", word]).launcher == name


@suite.test("hosts that cannot be reached, hang, or cannot listen are rows; the others stand")
def failing():
	with played("unreachable.b", "stuck.c", "port.d", "link.e") as environment:
		found, out = run(environment, "--timeout", "1", hosts="a,b,c,d,e,f", status=1)
	matrix, = found["matrices"]
	assert matrix["figures"]["p50_ns"][0][5] == matrix["figures"]["p50_ns"][5][0] == 20_000, out
	reasons = {(each["client"], each["server"]): (each["errno"], each["reason"])
		   for each in found["failures"]}
	assert "No route to host" in reasons["a", "b"][1], reasons
	assert reasons["c", "a"] == (
		"ETIMEDOUT", "it did not end within 1 s, and was interrupted"), reasons
	assert "EADDRINUSE: the port is in use" in reasons["a", "d"][1], reasons
	assert reasons["e", "a"] == ("ETIMEDOUT", "nothing happened for 10000 ms"), reasons
	assert ("a", "c") not in reasons and ("a", "e") not in reasons


@suite.test("a host without an address on one rail has no part on that one only")
def one_rail():
	with played("rail.a", "rail.b") as environment:
		found, out = run(environment, "--pattern", "storm", "--rail", "rxe0", "--rail", "rxe1",
				 "--repeat", "2", status=1)
	assert all(host["ok"] for host in found["hosts"]), out
	first, second = (each["figures"]["p50_ns"] for each in found["matrices"])
	assert sum(line.count(20_000) for line in first) == 6, first
	assert second == [[None, 20_000, None], [20_000, None, None], [None] * 3], second
	assert {(each["rail"], each["errno"], each["reason"]) for each in found["failures"]} == {
		("rxe1", "ENODATA", "c has no address on rail rxe1")}, found["failures"]


@suite.test("a clock that is set in mid-mesh is told, and its host goes on")
def clock_is_set():
	with played("clock.b", "starts.a", "starts.b", "starts.c") as environment:
		found, out = run(environment, hosts="a,b,c")
	assert found["runs"] == {"all": 6, "failed": 0}, out
	jumps = {host["name"]: host["clock_jumps"] for host in found["hosts"]}
	assert not jumps["a"] and not jumps["c"], jumps
	jump, = jumps["b"]
	assert jump["round"] >= 0 and abs(jump["ns"] - 3 * 10 ** 9) < 5 * 10 ** 8, jump
	assert "b: its clock was set by +3" in out, out
	# Later rounds begin at the right time there, too.
	assert found["hosts"][1]["latest_ns"] < 2 * 10 ** 9, found["hosts"][1]


@suite.test("a node that is killed is a row, and the others go on")
def killed():
	with played("stuck.c") as environment:
		process = start(environment, "--timeout", "4", hosts="a,b,c")
		front.wait_for(lambda: os.path.exists("c/commands") and "begins" in notes("c"))
		pid = next(line for line in notes("c") if line.startswith("pid")).split()[1]
		os.kill(int(pid), signal.SIGKILL)
		out, err = process.communicate(timeout=60)
		assert process.returncode == 1, (out, err)
		with open("x", encoding="utf-8") as file:
			found = json.load(file)
	assert "has ended there" in found["hosts"][2]["reason"], found["hosts"][2]
	assert found["matrices"][0]["figures"]["p50_ns"][0][1] == 20_000, out


@suite.test("Ctrl-C, SIGTERM, SIGHUP and SIGKILL of the controller leave nothing behind")
def interrupted():
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
		with played("stuck.a", "stuck.b") as environment:
			process = start(environment, hosts="a,b")
			front.wait_for(lambda: any(os.path.exists(f"{host}/commands")
						   and "begins" in notes(host) for host in "ab"))
			process.send_signal(number)
			_, err = process.communicate(timeout=30)
			expected = -number if number == signal.SIGKILL else 130
			assert process.returncode == expected, (number, process.returncode, err)
			front.wait_for(lambda: not alive("a") and not alive("b"))
			ended = notes("a") + notes("b")
			assert ended.count("interrupted") == 1 and "ended" in ended, ended
			assert os.path.exists("x.part")


@suite.test("a signal ends a node and its commands, and so does the end of stdin")
def ends():
	with played() as environment:
		for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, None):
			node = subprocess.Popen([os.path.abspath("bin/krping"), "node", "--name", "a"],
						env=environment, stdin=subprocess.PIPE,
						stdout=subprocess.PIPE, text=True)
			ready = json.loads(node.stdout.readline())
			assert ready["say"] == "ready" and ready["host"] == "a" and ready["lacks"] == []
			for message in (
					{"do": "clock", "n": 1, "sent": 5},
					{"do": "plan", "ids": {ready["id"]: 0, "other": 1}, "port": 7,
					 "addresses": [["10.0.0.1"], ["10.0.0.2"]], "offsets": [0, 0]},
					{"do": "round", "n": 0, "spec": [[1, 0]], "rail": 0,
					 "server": "persist", "client": "wlat", "listen": 5, "seconds": 5,
					 "absent": []}):
				node.stdin.write(wire.down(message))
			node.stdin.flush()
			assert json.loads(node.stdout.readline())["sent"] == 5
			assert json.loads(node.stdout.readline())["say"] == "listening"
			before = notes("a").count("ended")
			if number:
				node.send_signal(number)
			else:
				node.stdin.close()
			assert node.wait(timeout=30) == (130 if number else 0)
			assert notes("a").count("ended") == before + 1
			node.stdout.close()


@suite.test("a node whose controller says nothing any more ends, and its server with it")
def silence():
	with played("hasty.a") as environment:
		node = Node(environment, ["10.0.0.1"], ["10.0.0.2"])
		node.round(0, [1, 0])
		assert node.hear()["say"] == "listening"
		# This is enough to go on; its stdin stays open, as where the controller's host has died.
		front.pass_time(1, "the controller is slow, and still there")
		last = time.monotonic()
		node.tell(do="alive")
		assert node.process.wait(timeout=60) == 0
		assert time.monotonic() - last >= 4, time.monotonic() - last
		assert notes("a")[-1] == "ended", notes("a")
		_, err = node.end()
		assert "the controller has said nothing for 4 s" in err, err


@suite.test("a node that has no part in a round starts nothing")
def no_part():
	with played() as environment:
		node = Node(environment, ["10.0.0.1"], ["10.0.0.2"])
		node.round(0, [0, 1], [1, 0], absent=[0])
		node.tell(do="go", n=0, start=0, skip=[], absent=[0])
		# It may also fail after the announcement.
		node.round(1, [0, 1])
		node.tell(do="go", n=1, start=0, skip=[], absent=[0])
		said, _ = node.end()
		assert not any(line.startswith(("client", "server")) for line in notes("a")), notes("a")
		assert [each["n"] for each in said if each["say"] == "result"] == [], said


@suite.test("a node that knows no address for a command says so, and goes on")
def no_address():
	with played() as environment:
		node = Node(environment, ["10.0.0.1", None], [None, None])
		node.round(0, [0, 1], [1, 0], rail=1)
		trouble = node.hear()
		assert trouble["say"] == "trouble" and trouble["reason"] == "None is no address", trouble
		node.tell(do="go", n=0, start=0, skip=[], absent=[])
		assert node.hear()["say"] == "ended"
		node.tell(do="report")
		result, = node.hear()["runs"]
		assert (result["peer"], result["errno"]) == (1, "EADDRNOTAVAIL"), result
		node.end()


@suite.test("devices: which addresses lead to which, by rdma, ip and sysfs")
def rails():
	def addresses(*found):
		return [{"ifname": name, "addr_info": [
			{"local": each, "prefixlen": 24, "scope": scope} for each, scope in many]}
			for name, many in found]

	local = addresses(("lo", [("127.0.0.1", "host")]), ("eth0", [
		("fd00::1", "global"), ("10.0.0.1", "global"), ("fe80::1", "link")]),
		("eth0.7", [("10.7.0.1", "global")]), ("ib0", [("10.1.0.1", "global")]))
	with front.directory() as path, front.patched(paths, INFINIBAND=f"{path}/class"):
		assert devices.rails(local, []) == []
		found = devices.rails(local, [{"ifname": "rxe0", "netdev": "eth0"}, {"ifname": "siw9"}])
		assert found == [Rail("rxe0", "eth0", "10.0.0.1", 24), Rail("rxe0", "eth0", "fd00::1", 24)]
		os.makedirs("class/mlx5_0/device/net/ib0")
		os.makedirs("class/mlx5_1/ports/1/gid_attrs/ndevs")
		os.makedirs("class/mlx5_1/ports/1/gids")
		for number, netdev, gid in ((0, "eth0", "fe80:0000:0000:0000:0000:0000:0000:0001"),
					    (1, "eth0.7", "0000:0000:0000:0000:0000:ffff:0a07:0001"),
					    # Of another network namespace.
					    (2, "eth0", "0000:0000:0000:0000:0000:ffff:0a09:0001")):
			front.write(f"class/mlx5_1/ports/1/gid_attrs/ndevs/{number}", netdev + "\n")
			front.write(f"class/mlx5_1/ports/1/gids/{number}", gid + "\n")
		assert devices.rails(local, []) == [Rail("mlx5_0", "ib0", "10.1.0.1", 24),
						    Rail("mlx5_1", "eth0.7", "10.7.0.1", 24)]
		# A few places may be free; behind many of them there is nothing.
		for number, expected in ((1 + devices.FREE, True), (400, False)):
			os.rename("class/mlx5_1/ports/1/gid_attrs/ndevs/1", "ndev")
			os.rename("class/mlx5_1/ports/1/gids/1", "gid")
			for name, old in (("gid_attrs/ndevs", "ndev"), ("gids", "gid")):
				for free in range(3, number):
					# As a place that is free: it is there, and cannot be read.
					os.makedirs(f"class/mlx5_1/ports/1/{name}/{free}", exist_ok=True)
				os.rename(old, f"class/mlx5_1/ports/1/{name}/{number}")
			has = Rail("mlx5_1", "eth0.7", "10.7.0.1", 24) in devices.rails(local, [])
			assert has == expected, number
			for name in ("gid_attrs/ndevs", "gids"):
				os.rename(f"class/mlx5_1/ports/1/{name}/{number}",
					  f"class/mlx5_1/ports/1/{name}/1")


suite.main()
