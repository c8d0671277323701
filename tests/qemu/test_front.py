# SPDX-License-Identifier: GPL-2.0
"""scripts/krping with the real module: what it runs, shows, and exits with. What needs
no module is in tests/front."""

import collections
import contextlib
import csv
import errno
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import warnings

import age
import block
import krping
import network
from block import call
from krping import ADDR, ADDR6, Command, new_port, new_tag, wait_for
from ktap import Suite
from microbench import TESTS
from program import in_process, load

# Children do nothing before their exec.
warnings.simplefilter("ignore", DeprecationWarning)

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/krping")
KNOWN = os.path.join(os.path.dirname(PROGRAM), "known", age.KNOWN)
LOOPBACK = f"loopback,addr={ADDR}"
# What one fast registration of rxe covers.
LIMIT = 2 << 20

suite = Suite(check=block.check)


program = load(PROGRAM)


def front(*words, status=0):
	"""Run scripts/krping with WORDS, which must exit with STATUS: stdout and stderr."""
	found, out, err = in_process(program, *words)
	assert found == status, (found, out, err)
	return out, err


@contextlib.contextmanager
def server(port):
	"""A server at PORT for as many clients as there are."""
	command = krping.serve(f"server,persist,port={port}")
	try:
		yield
	finally:
		assert command.interrupt() == errno.EINTR


def moved():
	"""How many messages the thread has sent that has sent most."""
	return max((line.counters.get(f"{kind}_msgs", 0) for line in krping.lines()
		    for kind in ("write", "read", "send")), default=0)


def moves(before=0):
	"""Whether a thread has moved data since it had moved BEFORE."""
	return moved() > before + 100


# run

@suite.test("run: every test, its result as debugfs has it, and a table")
def run_all():
	for test in ("",) + TESTS + ("fr",):
		tag = new_tag()
		out, err = front("run", LOOPBACK, "count=50", f"tag={tag}", *[test] * bool(test))
		client = krping.result(tag, "client")
		title, heading, row = out.splitlines()
		assert title.startswith(f"# {client['test']}: "), title
		assert "client on rxe0 (RoCE)" in title, title
		assert heading.split()[:2] == ["#bytes", "#iterations"], heading
		assert row.split()[:2] == ["64", "50"] and err == "", (row, err)
		if test in ("",) + TESTS[:3]:
			assert row.split()[4] == f"{client['p50_ns'] / 1000:.2f}", (row, client)
	out, _ = front("run", f"{LOOPBACK},wlat,count=50,tag=front", "--json")
	found = [json.loads(line) for line in out.splitlines()]
	origins = [each.pop("provenance") for each in found]
	assert found == krping.results("front") and len(found) == 2, found
	for each in origins:
		assert each["kernel"] == os.uname().release and each["rate_mbit_per_s"] > 0, each
		assert each["interface"] in network_names() and each["interface_mtu_bytes"] > 0, each


def network_names():
	"""The network interfaces of this guest."""
	return os.listdir("/sys/class/net")


@suite.test("results say when they were made, and by which path")
def endpoints():
	before = time.time_ns()
	tag = new_tag()
	front("run", f"{LOOPBACK},wlat,count=50,mtu=256,tag={tag}")
	for each in krping.results(tag):
		assert before <= each["ended_unix_ns"] <= time.time_ns(), each
		assert (each["driver"], each["port"]) == ("rdma_rxe", 1), each
		assert each["gid"] == each["peer_gid"] == f"::ffff:{ADDR}", each
		# Both sides know what mtu= has made of it.
		assert each["path_mtu_bytes"] == 256, each
	tag = new_tag()
	front("run", f"{LOOPBACK},wlat,count=50,tag={tag}")
	assert {each["path_mtu_bytes"] for each in krping.results(tag)} == {1024}


@suite.test("run: the same tag again shows only the new results")
def run_again():
	tag = new_tag()
	for count in (10, 20):
		out, _ = front("run", LOOPBACK, f"count={count}", f"tag={tag}", "--json")
		assert {json.loads(line)["iterations"] for line in out.splitlines()} == {count}, out


@suite.test("run: threads, queue pairs and both directions")
def run_many():
	out, _ = front("run", f"{LOOPBACK},wlat,count=50,threads=3,poll")
	rows = [line.split() for line in out.splitlines()[2:]]
	assert [row[0] for row in rows] == ["client"] * 3 + ["all"], out
	assert rows[-1][1:4] == ["3", "64", "150"], out
	out, _ = front("run", f"{LOOPBACK},bw,count=50,qps=2,duplex,size=4K")
	assert "both directions" in out and out.splitlines()[2].split()[:2] == ["4096", "100"], out


@suite.test("run: why a run failed, and exit status 1")
def run_failed():
	out, err = front("run", f"client,addr={ADDR},port={new_port()},wlat,count=10", status=1)
	assert out == "" and re.fullmatch(
		r"krping: ECONNREFUSED \(111\): the connection was rejected: .*nothing listens on "
		r"that port\n", err), err
	out, err = front("run", "server,addr=10.99.0.77", status=1)
	assert out == "" and re.match(r"krping: [A-Z]+ \([0-9]+\): .", err), err


@suite.test("run: why a command was refused, and exit status 2")
def run_refused():
	for text, expected in (
			(f"{LOOPBACK},sise=1",
			 "EINVAL (22): unknown option 'sise'; did you mean 'size'?"),
			(f"{LOOPBACK},wlat,qps=0", "ERANGE (34): qps=0: must be from 1 to 256"),
			("count=1",
			 "EINVAL (22): no role is given; give one of client, server, loopback"),
			(f"{LOOPBACK},bw,count=1,size=4M,min_bw=1",
			 f"ERANGE (34): the size is above {LIMIT} bytes, the most that can be "
			 "registered here")):
		out, err = front("run", text, status=2)
		assert (out, err) == ("", f"krping: {expected}\n"), (text, out, err)
	for text, expected in (
			("stop=7", "ENOENT (2): stop: there is no disk krping7"),
			("stop=server:9", "ENOENT (2): stop: there is no detached server on port 9"),
			(f"server,addr={ADDR[:-1]}77",
			 "EADDRNOTAVAIL (99): binding to the address failed with EADDRNOTAVAIL: this host "
			 "does not have the address; addresses with an RDMA device are "
			 f"{ADDR} ({krping.DEVICE}), {ADDR6} ({krping.DEVICE})")):
		out, err = front("run", text, status=1)
		assert (out, err) == ("", f"krping: {expected}\n"), (text, out, err)


@suite.test("run: a limit that was missed, with the figures, and exit status 3")
def run_missed():
	out, err = front("run", f"{LOOPBACK},wlat,count=50,max_p99=1ns", status=3)
	assert "above the 1 ns of max_p99" in err, err
	assert out.splitlines()[-1].split()[:2] == ["64", "50"], out
	_, err = front("run", f"{LOOPBACK},bw,count=50,min_bw=1000G", status=3)
	assert "of min_bw" in err, err
	_, err = front("run", f"{LOOPBACK},wlat,count=50,expect=EIO", status=3)
	assert "EIO was expected" in err, err
	front("run", f"client,addr={ADDR},port={new_port()},wlat,expect=ECONNREFUSED")
	front("run", f"{LOOPBACK},wlat,count=50,expect=ok,max_p99=1000s")


@suite.test("run: signals that end a run, and its partial result; others do not")
def run_interrupted():
	for number in (signal.SIGINT, signal.SIGTERM):
		child = subprocess.Popen([sys.executable, PROGRAM, "run", f"{LOOPBACK},wlat"],
					 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
					 stderr=subprocess.PIPE, text=True)
		try:
			wait_for(moves)
			for harmless in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP,
					 signal.SIGCONT):
				before = moved()
				child.send_signal(harmless)
				wait_for(lambda before=before: moves(before))
			assert child.poll() is None
			child.send_signal(number)
			out, err = child.communicate(timeout=20)
		finally:
			child.kill()
			child.wait()
		assert child.returncode == 130, (child.returncode, err)
		assert err == "krping: interrupted\n", err
		assert out.splitlines()[-1].endswith("EINTR, partial"), out


class Terminal:
	"""scripts/krping with WORDS on a terminal of its own."""

	def __init__(self, *words):
		self.text = ""
		self.pid, self.fd = pty.fork()
		if self.pid == 0:
			os.execv(sys.executable, [sys.executable, PROGRAM, *words])

	def read_until(self, pattern, timeout=30):
		"""Read until what was printed has PATTERN; return the match. None at the end."""
		end = time.monotonic() + timeout
		while True:
			found = re.search(pattern, self.text)
			if found:
				return found
			assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
			try:
				more = os.read(self.fd, 4096)
			except OSError:
				more = b""
			if not more:
				raise AssertionError(f"ended without {pattern!r}: {self.text!r}")
			self.text += more.decode()

	def type(self, keys):
		"""Type KEYS."""
		os.write(self.fd, keys)

	def end(self):
		"""Read the rest, and return the exit status."""
		with contextlib.suppress(OSError):
			while True:
				more = os.read(self.fd, 4096)
				if not more:
					break
				self.text += more.decode()
		os.close(self.fd)
		return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@suite.test("run: progress on a terminal, where Ctrl-Z does nothing and Ctrl-C ends it")
def run_terminal():
	terminal = Terminal("run", f"{LOOPBACK},wlat,duration=600")
	terminal.read_until(r"[1-9][0-9,]* operations  [0-9.]+ k?/s  [0-9.]+ [KM]?i?B/s  "
			    r"\[#*\.+\] +[0-9]+%  0:[0-9]{2}")
	terminal.type(b"\x1a")
	# It shows more than there were then.
	before, shown = moved(), 0
	while shown <= before:
		found = terminal.read_until("([1-9][0-9,]*) operations")
		terminal.text = terminal.text[found.end():]
		shown = int(found[1].replace(",", ""))
	terminal.type(b"\x03")
	assert terminal.end() == 130, terminal.text
	assert "EINTR, partial" in terminal.text and "krping: interrupted" in terminal.text

	terminal = Terminal("run", f"{LOOPBACK},wlat,count=1000", "--quiet")
	assert terminal.end() == 0 and "operations" not in terminal.text, terminal.text


# sweep, report

@suite.test("sweep: a loopback, as tables, JSON and CSV, and the report of it")
def sweep_loopback():
	path = f"/tmp/{new_tag()}"
	tables, err = front("sweep", "--loopback", ADDR, "--sizes", "64..256,4K",
			    "--count", 40, "--option", "poll", "--json", f"{path}.json",
			    "--csv", f"{path}.csv")
	assert err == "", err
	sizes = ["64", "128", "256", "4096"]
	rows = [line.split() for line in tables.splitlines() if line[:2] == "  "]
	assert [row[0] for row in rows if row[0] != "#bytes"] == sizes * 2, tables
	assert [row[1] for row in rows if row[0] != "#bytes"] == ["40"] * 8, tables
	with open(f"{path}.json", encoding="utf-8") as file:
		found = json.load(file)
	assert [(each["test"], each["size"], each["iterations"]) for each in found["results"]] == [
		(test, int(size), 40) for test in ("wlat", "bw") for size in sizes], found
	assert found["stopped"] == [] and found["options"] == "poll", found
	with open(f"{path}.csv", encoding="utf-8") as file:
		assert [row["bytes"] for row in csv.DictReader(file)] == sizes * 2
	# The report of what was saved is what was printed, but for the columns' widths.
	out, _ = front("report", f"{path}.json")
	assert out.split() == tables.split(), (out, tables)
	out, _ = front("report", f"{path}.json", f"{path}.json")
	compared = "\n".join(line for line in out.splitlines() if line[:2] == "  ")
	assert compared.count("+0.0%") == 4 * 4 + 4 * 2, out
	# Below each test are counters, of which none differs either.
	counters = [line for line in out.splitlines() if line.startswith(" hw_counters.")]
	assert counters and all(line.endswith("+0.0%") for line in counters), out


@suite.test("sweep: as far as the device goes, with a server, over IPv6")
def sweep_client():
	port = new_port()
	with server(port):
		out, err = front("sweep", ADDR, "--port", port, "--test", "rbw",
				 "--sizes", "1M..8M", "--count", 2)
		lines = out.splitlines()
		assert [line.split()[0] for line in lines[2:4]] == ["1048576", "2097152"], out
		assert lines[4:] == ["# ended before 4194304 bytes: the size is above "
				     f"{LIMIT} bytes, the most that can be registered here"], out
		assert err == "", err
	out, err = front("sweep", ADDR6, "--loopback", "--test", "slat", "--sizes", "64",
			 "--duration", 1)
	assert int(out.splitlines()[-1].split()[1]) > 10 and err == "", (out, err)


@suite.test("sweep: a server that is not there, a refused option, a missed limit")
def sweep_failed():
	_, err = front("sweep", ADDR, "--port", new_port(), status=1)
	assert "wlat of 2 bytes: ECONNREFUSED" in err and "server,persist" in err, err
	_, err = front("sweep", ADDR, "--loopback", "--option", "duplex", status=2)
	assert "wlat of 2 bytes: EINVAL" in err and "duplex" in err, err
	out, err = front("sweep", ADDR, "--loopback", "--test", "wlat",
			 "--sizes", "64,128", "--count", 20, "--option", "max_p99=1ns", status=3)
	assert [line.endswith("ERANGE") for line in out.splitlines()[2:]] == [True, True], out
	assert err.count("of max_p99") == 2, err


@suite.test("victim: alone, then beside aggressors that move data and end with it")
def victim():
	port = new_port()
	with server(port):
		out, _ = front("victim", ADDR, "--port", port, "--test", "slat", "--duration", 1,
			       "--aggressors", 2, "--aggressor-size", "32K", "--json")
	found = json.loads(out)
	alone, = found["alone"]
	beside, = found["beside"]
	assert found["ratio"]["p50_ns"] == beside["p50_ns"] / alone["p50_ns"] > 0, found["ratio"]
	assert len(found["aggressors"]) == 2, found["aggressors"]
	for each in found["aggressors"]:
		assert (each["test"], each["size"], each["errno"]) == ("bw", 32 << 10, "EINTR"), each
		# While the victim ran, and a little before.
		assert each["iterations"] > 0 and each["elapsed_ns"] > beside["elapsed_ns"] // 2, each
	out, _ = front("victim", ADDR, "--loopback", "--duration", 1, "--aggressors", 1)
	assert out.splitlines()[-1].startswith("# beside them, times as long: t_typical "), out
	_, err = front("victim", ADDR, "--port", new_port(), status=1)
	assert "ECONNREFUSED" in err, err


@suite.test("report: what the module keeps, by tag, and that there is nothing")
def report():
	tag = new_tag()
	front("run", LOOPBACK, "rlat", "count=30", f"tag={tag}")
	with contextlib.redirect_stderr(io.StringIO()):
		program.main(["run", f"client,addr={ADDR},port={new_port()},tag={tag}"])
	out, _ = front("report", "--tag", tag)
	lines = out.splitlines()
	assert lines[0].startswith("# rlat: RDMA READ latency") and lines[2].split()[1] == "30", out
	assert re.match(r"failed: [0-9]+: client,.*: ECONNREFUSED: the connection was",
			lines[-1]), out
	assert tag in front("report")[0]
	_, err = front("report", "--tag", "nobody's", status=1)
	assert "no such results" in err, err


# conform

def conform(*words):
	"""Run scripts/krping conform WORDS: its exit status, the outcomes by case, its lines."""
	status, out, err = in_process(program, "conform", *words)
	assert err == "", err
	lines = out.splitlines()
	found = [re.fullmatch(r"(ok|not ok) ([0-9]+) ([a-z_]+)( # (?:SKIP|XFAIL) .+)?", line)
		 for line in lines if not line.startswith(("#", "KTAP", "1.."))]
	assert all(found), lines
	assert lines[:2] == ["KTAP version 1", f"1..{len(found)}"], lines
	assert [int(match[2]) for match in found] == list(range(1, len(found) + 1)), lines
	outcomes = {match[3]: match[4].split()[1].lower() if match[4] else
		    {"ok": "pass", "not ok": "fail"}[match[1]] for match in found}
	return status, outcomes, lines


@suite.test("conform: all cases as KTAP, as the module has them, and the exit status")
def conform_all():
	status, outcomes, lines = conform(ADDR)
	with open(krping.RESULTS, encoding="ascii") as file:
		found = [json.loads(line) for line in file if '"test":"neg"' in line][-1]
	assert outcomes == {case["name"]: case["outcome"] for case in found["cases"]}, found
	assert len(outcomes) > 15 and outcomes["stale_rkey"] == "pass", outcomes
	assert status == int("fail" in outcomes.values()), (status, outcomes)
	assert lines[2] == f"# {krping.DEVICE} (RoCE), Linux {os.uname().release}", lines[2]
	# What failed says what was expected, and what was seen.
	for number, line in enumerate(lines):
		if line.startswith("not ok"):
			name = line.split()[3]
			assert lines[number - 3].startswith(f"# {name}: expected: "), lines
			assert lines[number - 2].startswith(f"# {name}: seen: "), lines
			assert lines[number - 1].startswith(f"# {name}: reason: "), lines
	count = collections.Counter(outcomes.values())
	assert lines[-1] == (f"# Totals: pass:{count['pass']} fail:{count['fail']} "
			     f"xfail:0 xpass:0 skip:{count['skip']} error:0"), lines[-1]

	# What soft-RoCE is known to do otherwise, and nothing else.
	status, gated, lines = conform("--known", KNOWN, ADDR)
	assert status == 0, lines
	assert gated == {name: "xfail" if outcome == "fail" else outcome
			 for name, outcome in outcomes.items()}, (gated, outcomes)


@suite.test("conform: named cases, over IPv6; no such case, no device")
def conform_named():
	status, outcomes, _ = conform(ADDR6, "zero_length", "stale_rkey", "--timeout", "5000")
	assert status == 0 and outcomes == {"zero_length": "pass", "stale_rkey": "pass"}, outcomes
	out, err = front("conform", ADDR, "stale_rkeys", status=2)
	assert out == "" and re.match(r"krping: EINVAL \(22\): neg=stale_rkeys: ", err), err
	out, err = front("conform", "127.0.0.1", "stale_rkey", status=2)
	assert "ok" not in out and "ENODEV" in err, (out, err)


@suite.test("conform: port_down has the link taken down and up, and is known to fail on soft-RoCE")
def conform_link():
	try:
		status, outcomes, lines = conform("--link", krping.NETDEV, "--known", KNOWN,
						  "--timeout", "8000", ADDR, "port_down")
		assert (status, outcomes) == (0, {"port_down": "xfail"}), lines
		with open(f"/sys/class/net/{krping.NETDEV}/operstate", encoding="ascii") as file:
			assert file.read() == "up\n"
	finally:
		# A new device.
		network.link_up()
	front("run", f"{LOOPBACK},count=10")


# watch, and what may be amiss

@suite.test("watch: rates while something runs, and none otherwise")
def watch():
	out, _ = front("watch", "--interval", "0.1", "--count", 2)
	assert [line.split()[1:] for line in out.splitlines()[1:]] == [["-"], ["-"]], out
	command = Command(f"{LOOPBACK},bw,size=4K")
	wait_for(moves)
	# One interval in which the machine stalls may show nothing.
	for _ in range(10):
		out, _ = front("watch", "--interval", "0.5", "--count", 2)
		heading, *lines = [line.split() for line in out.splitlines()]
		place = heading.index("write_bytes/s") - 1
		both = [line for line in lines if line[2] == krping.DEVICE]
		assert len(both) == 4, out
		# Only one of the two writes.
		writing = sum(int(line[place]) > 4096 for line in both)
		assert writing <= 2, out
		if writing == 2:
			break
	assert writing == 2, out
	terminal = Terminal("watch")
	terminal.read_until(r"MiB/s.*\r\n[0-9]+-rxe0 +")
	terminal.read_until(r"\r\nall +")
	terminal.type(b"\x03")
	assert terminal.end() == 0, terminal.text
	assert command.interrupt() == errno.EINTR


@suite.test("a disk: run, watched, stopped, reported")
def disk():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,blk,port={port},size=1M,store=ram")
	out, _ = front("run", f"client,blk,addr={ADDR},port={port},detach,tag={tag}")
	assert out == ("# blk: a disk, krping0, 1 MiB; client on rxe0 (RoCE); detach; stays until "
		       "it is stopped\n"), out
	block.fio("/dev/krping0", rw="randrw", bs=4096, size="1M", iodepth=4)
	out, _ = front("watch", "--interval", "0.1", "--count", 1)
	line, = [line.split() for line in out.splitlines() if " krping0 " in line]
	assert line[2] == krping.DEVICE and len(line) == 17, line
	assert line[12].startswith("requests/s=") and "errors=0" in line, line
	terminal = Terminal("watch")
	terminal.read_until(r"\r\n  krping0: .* requests/s, .* reconnects\r\n")
	terminal.type(b"\x03")
	assert terminal.end() == 0, terminal.text
	with block.Raw("/dev/krping0"):
		_, err = front("run", "stop=0", status=1)
		assert err == ("krping: EBUSY (16): stop: krping0: the disk is open: unmount or close "
			       "it, or add force\n") and block.numbers() == [0], err
	assert front("run", "stop=0") == ("", "")
	assert server.wait() == 0 and not block.numbers()
	_, err = front("run", "stop=0", status=1)
	assert err == "krping: ENOENT (2): stop: there is no disk krping0\n", err
	wait_for(lambda: len(krping.results(tag)) == 2)
	out, _ = front("report", "--tag", tag)
	stages = [line.split()[0] for line in out.splitlines() if line][-3:]
	assert stages == ["queued", "wire", "total"], out


@suite.test("it starts from compiled modules: none is compiled anew")
def starts():
	for words in (("--version",), ("options", "size"), ("run", "--help"), ("report", "--help"),
		      ("mesh", "--help")):
		done = subprocess.run((sys.executable, "-v", PROGRAM, *words), text=True, check=True,
				      stdin=subprocess.DEVNULL, capture_output=True)
		loaded = re.findall(r"^# .*krping_front.*\.pyc matches ", done.stderr, re.MULTILINE)
		anew = re.findall(r"^# code object from (.*krping_front.*\.py)$", done.stderr,
				  re.MULTILINE)
		assert loaded and not anew, (words, anew, done.stderr[-2000:])


@suite.test("results are shown where /sys has no debugfs, as in ip netns exec")
def other_sys():
	out = call("unshare", "--mount", "sh", "-c", 'umount /sys/kernel/debug && exec "$@"', "sh",
		   sys.executable, PROGRAM, "run", f"{LOOPBACK},count=7", timeout=100)
	assert "# pingpong" in out and "cannot be shown" not in out, out


@suite.test("without the module, without debugfs, and not as root: what to do")
def amiss():
	def said(*words, prefix=(), **more):
		done = subprocess.run([*prefix, sys.executable, PROGRAM, *words], text=True,
				      stdin=subprocess.DEVNULL, capture_output=True, check=False,
				      **more)
		assert (done.returncode, done.stdout) == (2, ""), done
		return done.stderr

	for words in (("run", f"{LOOPBACK},count=1"), ("report",), ("watch",)):
		err = said(*words, user=1000, group=1000, extra_groups=[])
		assert "for root only; run this as root" in err, (words, err)
	call("umount", "/sys/kernel/debug")
	try:
		_, err = front("report", status=2)
	finally:
		call("mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug")
	assert "debugfs is not mounted" in err, err
	assert krping.unload() == ""
	try:
		for absent in (("run", f"{LOOPBACK},count=1"), ("report",), ("watch",),
			       ("sweep", ADDR)):
			_, err = front(*absent, status=2)
			assert "module is not loaded" in err, (absent, err)
	finally:
		krping.load()


suite.main()
