# SPDX-License-Identifier: GPL-2.0
"""krping run: what is written, what is printed of it, and the exit status."""

import contextlib
import errno
import functools
import json
import os
import re
import subprocess
import sys

import canned
import front
from front import Module, krping
from krping_front import kmsg, paths, runner
from ktap import Skip, Suite

suite = Suite(limit=60)

TOO_LARGE = "the size is above 2097152 bytes, the most that can be registered here"
TEXT = "loopback,addr=192.0.2.2,wlat,count=10"


def succeed(module, text):
	"""Each command succeeds."""
	module.result(text)
	return 0


def run(answer, *words, status=0):
	"""Run krping run WORDS with a Module that has ANSWER, in a directory of its own: the
	module, stdout and stderr."""
	with front.directory(), Module(answer) as module:
		found, out, err = krping("run", *words)
	assert found == status, (found, out, err)
	return module, out, err


@suite.test("a command, with a tag that makes its results findable")
def written():
	module, out, err = run(succeed, TEXT)
	text = module.commands[0].text
	assert text == f"{TEXT},tag={module.commands[0].tag}", text
	assert out.splitlines()[0].startswith("# wlat: RDMA WRITE latency"), out
	assert out.splitlines()[2].split()[:2] == ["64", "10"] and err == "", (out, err)
	# Each run has its own.
	other, _, _ = run(succeed, TEXT)
	assert other.commands[0].tag != module.commands[0].tag


@suite.test("options as words of their own, and a tag that is given")
def words():
	for given in (["loopback", "addr=192.0.2.2", "wlat", "tag=mine"],
		      ["loopback,addr=192.0.2.2", "wlat,tag=mine"],
		      ["loopback,", "addr=192.0.2.2,", "wlat", ",", "tag=mine"],
		      ["loopback,addr=192.0.2.2,wlat,tag=mine"]):
		module, _, _ = run(succeed, *given)
		assert module.commands[0].text == "loopback,addr=192.0.2.2,wlat,tag=mine", given
	# One word is taken as it is.
	module, _, _ = run(succeed, " loopback, addr=192.0.2.2 , tag= a b ")
	assert module.commands[0].text == " loopback, addr=192.0.2.2 , tag= a b "


@suite.test("results of others, and older ones with the same tag, are not shown")
def others():
	def answer(module, text):
		module.keep(canned.result(number=module.next, tag="other"))
		module.result(text, iterations=4242)
		return 0

	with front.directory(), Module(answer, [canned.result(number=9, tag="t")]) as module:
		# Of a test that only a later version knows.
		module.keep(canned.result(tag="x") | {"test": "warp"})
		status, out, err = krping("run", "client,addr=192.0.2.1,wlat,tag=t", "--json")
	assert (status, err) == (0, ""), err
	found, = [json.loads(line) for line in out.splitlines()]
	assert found["iterations"] == 4242, found


@suite.test("--json prints the result objects, one a line")
def as_json():
	def answer(module, text):
		module.result(text)
		module.result(text, role="server")
		return 0

	_, out, _ = run(answer, TEXT, "--json")
	assert [json.loads(line)["role"] for line in out.splitlines()] == ["client", "server"], out


@suite.test("each thread and all of them together")
def threads():
	def answer(module, text):
		for thread in (1, 2, 3):
			values = canned.times(500, 1000 * thread, thread)
			module.result(text, thread=thread, iterations=500, elapsed_ns=sum(values),
				      **canned.latency(values))
		return 0

	_, out, _ = run(answer, f"{TEXT},threads=3")
	lines = [line.split() for line in out.splitlines()]
	assert [" ".join(line[:2]) for line in lines[2:]] == ["client 1", "client 2", "client 3",
							      "all 3"], out
	assert lines[-1][3] == "1500", out


def validates(role, msgs, size, wrong=0, **more):
	"""The changes of a result of ROLE that has compared MSGS messages of SIZE bytes."""
	peer = more.pop("peer", None)
	said = {"msgs": msgs, "bytes": msgs * size, "wrong": wrong} | ({"peer": peer} if peer else {})
	return {"role": role, "size": size, "validated": said} | more


@suite.test("validate: the messages that were compared, on each side, and how many were wrong")
def validated():
	mib = 1 << 20
	for test, found, expected in (
			("", [validates("client", 1000, 64), validates("server", 1000, 64)],
			 ["# client: 1000 messages of 64 bytes validated, 0 wrong",
			  "# server: 1000 messages of 64 bytes validated, 0 wrong"]),
			("", [validates("client", 600, 64), validates("client", 400, 64, thread=9)],
			 ["# client: 1000 messages of 64 bytes validated, 0 wrong"]),
			("", [validates("client", 41, 64, 1)],
			 ["# client: 41 messages of 64 bytes validated, 1 wrong"]),
			("bw,", [validates("client", 0, mib, peer="right"), validates("server", 1, mib)],
			 ["# server: 1 message of 1048576 bytes validated, 0 wrong: the last that came; "
			  "validate=full compares all"]),
			("bw,", [validates("client", 0, mib, peer="right")],
			 ["# server: has compared what arrived there, and found nothing wrong"]),
			("bw,", [validates("client", 0, mib, peer="wrong")],
			 ["# server: has compared what arrived there, and found something wrong"]),
			("rbw,validate=full,", [validates("client", 550, mib)],
			 ["# client: 550 messages of 1048576 bytes validated, 0 wrong"]),
			("alat,", [validates("client", 1, 8)],
			 ["# client: 1 message of 8 bytes validated, 0 wrong: the last that came"]),
			("stream,", [validates("server", 3, 64) | {"validated": {
				"msgs": 3, "bytes": 200, "wrong": 0}}],
			 ["# server: 3 messages with 200 bytes validated, 0 wrong"]),
			("fr,", [validates("client", 0, 64)],
			 ["# nothing was validated: no data came that could be compared"]),
			("", [{"role": "client"}], [])):
		def answer(module, text, found=found):
			for changes in found:
				module.result(text, **changes)
			return 0

		_, out, _ = run(answer, f"loopback,{test}addr=192.0.2.2,count=10")
		lines = [line for line in out.splitlines() if "validated" in line or "compared" in line]
		assert lines == expected, (lines, expected)


@suite.test("a disk: its requests, and how long they took by stage")
def disk():
	def answer(module, text):
		module.keep(canned.disk(module.next, tag=text.tag, options=text.text))
		module.keep(canned.disk(module.next, tag=text.tag, options=text.text,
					role="server", state=None, disk=None, total_ns=None,
					queued_ns=None, wire_ns=None))
		return 0

	_, out, _ = run(answer, "loopback,blk,addr=192.0.2.1,size=64M,store=ram,queues=2")
	lines = out.splitlines()
	assert len(lines) == 7, out
	assert lines[0] == ("# blk: a disk, krping0, 64 MiB; client on mlx5_0 (RoCE); "
			    "store=ram,queues=2"), lines[0]
	assert lines[1].split() == ["requests", "reads", "writes", "others", "read[MiB]",
				    "written[MiB]", "errors", "reconnects"], lines[1]
	assert lines[2].split() == ["1000", "600", "390", "10", "2.34", "1.52", "0", "2"], lines[2]
	assert lines[3].split()[:2] == ["stage", "t_min[usec]"], lines[3]
	assert lines[4].split() == ["queued", "1.00", "10.00", "2.00", "2.00", "6.00", "8.00"], out
	assert [line.split()[0] for line in lines[5:]] == ["wire", "total"], out


@suite.test("a disk that stays, one that failed, and one that is stopped")
def disk_states():
	def stays(module, text):
		module.keep(canned.disk(module.next, tag=text.tag, state="attached", options=text.text))
		return 0

	_, out, _ = run(stays, "client,blk,addr=192.0.2.1,detach")
	assert out == ("# blk: a disk, krping0, 64 MiB; client on mlx5_0 (RoCE); detach; "
		       "stays until it is stopped\n"), out

	def lost(module, text):
		module.keep(canned.disk(module.next, tag=text.tag, options=text.text, status="failed",
					errno="ETIMEDOUT", errno_number=110, reason="too long",
					errors=3))
		return errno.ETIMEDOUT

	_, out, err = run(lost, "client,blk,addr=192.0.2.1", status=1)
	assert out.splitlines()[2].split()[-3:] == ["3", "2", "ETIMEDOUT"], out
	assert err == "krping: ETIMEDOUT (110): too long\n", err

	def stopped(module, text):
		assert text.text == "stop=0,force"
		return 0

	assert run(stopped, "stop=0", "force")[1:] == ("", "")

	def busy(module, text):
		return errno.EBUSY

	_, out, err = run(busy, "stop=0", status=1)
	assert out == "" and err.startswith("krping: EBUSY (16): "), err


@suite.test("a tap, with what it dropped")
def tap():
	def answer(module, text):
		module.keep(canned.disk(module.next, "tap", tag=text.tag, options=text.text))
		return 0

	_, out, _ = run(answer, "client,tap=sda,addr=192.0.2.1,comm=dd")
	lines = out.splitlines()
	assert lines[0] == "# tap: a tap of a disk, sda; client on mlx5_0 (RoCE); comm=dd", out
	assert lines[1].split()[-1] == "dropped" and lines[2].split()[-1] == "5", out
	assert len(lines) == 5 and lines[4].split()[0] == "total", out


@suite.test("a server's results, one for each connection")
def server():
	def answer(module, text):
		for thread in (1, 2):
			module.result(text, "bw", thread=thread, role="server", iterations=0,
				      elapsed_ns=0, size=1 << 20, peer_iterations=100,
				      peer_elapsed_ns=10**9, peer_bytes_per_s=100 << 20)
		return 0

	_, out, _ = run(answer, "server,threads=2")
	lines = out.splitlines()
	assert len(lines) == 4 and "RDMA WRITE bandwidth; server on mlx5_0" in lines[0], out
	assert all("100.00" in line and "as the peer says" in line for line in lines[2:]), out


# Exit statuses

@suite.test("0: it succeeded, even without a result")
def ok():
	run(succeed, TEXT)
	_, out, err = run(lambda module, text: 0, "server,threads=1")
	assert (out, err) == ("", ""), (out, err)


@suite.test("1: it failed, with the errno and the log's sentence")
def failed():
	for number, sentence in (
			(errno.ECONNREFUSED, "the connection was rejected: invalid service ID (8); "
			 "nothing listens on that port"),
			(errno.EREMOTEIO,
			 "RDMA READ of iteration 3 failed: remote access error (10, "
			 "vendor code 0x88): the peer's key was invalid"),
			(errno.EINVAL, "cpu: there is no CPU 99, or it is offline"),
			(errno.EOPNOTSUPP, "read_inv: the device is not iWARP"),
			(errno.ERANGE, "making a queue pair failed with ERANGE")):
		_, out, err = run(
			lambda module, text, n=number, s=sentence: module.fail(text, n, s),
			TEXT, status=1)
		name = runner.errno_name(number)
		assert (out, err) == ("", f"krping: {name} ({number}): {sentence}\n"), (out, err)


@suite.test("1: the sentence of a tag that has signs in it")
def strange_tag():
	for tag in ("a: EIO (5): b", "x.*", "a (1): "):
		_, _, err = run(lambda module, text: module.fail(text, errno.EPROTO, "out of turn"),
				"client", "addr=192.0.2.1", f"tag={tag}", status=1)
		assert err == "krping: EPROTO (71): out of turn\n", (tag, err)


@suite.test("1: without a log, the sentence of the result; without that, the errno's")
def no_log():
	for answer, expected in (
			(lambda module, text: module.fail(text, errno.EPROTO, "out of turn"),
			 "EPROTO (71): out of turn"),
			(lambda module, text: errno.ENODEV, "ENODEV (19): No such device")):
		with front.directory(), Module(answer):
			os.unlink("kmsg")
			status, _, err = krping("run", TEXT)
		assert (status, err) == (1, f"krping: {expected}\n"), (status, err)


@suite.test("1: a failure with figures shows them, and what else failed")
def partial():
	def answer(module, text):
		values = canned.times(500, 1000)
		module.result(text, status="failed", errno="ECANCELED", errno_number=125,
			      reason="ended, since another thread of the command failed",
			      partial=True, iterations=500, elapsed_ns=sum(values),
			      **canned.latency(values))
		module.fail(text, errno.ETIMEDOUT, "connecting: nothing happened for 10000 ms",
			    role="server")
		return module.fail(text, errno.ECONNRESET, "the peer disconnected before the end")

	_, out, err = run(answer, TEXT, status=1)
	assert out.splitlines()[-1].endswith("ECANCELED, partial"), out
	assert err == ("krping: ECONNRESET (104): the peer disconnected before the end\n"
		       "krping: also ETIMEDOUT: connecting: nothing happened for 10000 ms\n"), err


@suite.test("2: a command that is refused, with the log's sentence")
def refused():
	for number, sentence in (
			(errno.EINVAL, "unknown option 'sise'; did you mean 'size'?"),
			(errno.EINVAL, "duplex is for bw, rbw or sbw"),
			(errno.ERANGE, "qps=0: must be from 1 to 256"),
			(errno.EPERM, "a command needs CAP_NET_ADMIN")):
		_, out, err = run(lambda module, text, n=number, s=sentence: module.refuse(n, s),
				  f"{TEXT},max_p99=1us", status=2)
		name = runner.errno_name(number)
		assert (out, err) == ("", f"krping: {name} ({number}): {sentence}\n"), (out, err)


@suite.test("each errno of the module, of a command that ran, was refused or is stop=: its sentence")
def each_errno():
	with open(os.path.join(front.TOP, "rust/logic/failure/errno.rs"), encoding="ascii") as file:
		table = {name: int(number) for number, name in
			 re.findall(r'\(([0-9]+), "([A-Z0-9]+)"\)', file.read())}
	assert len(table) > 40 and table["EBUSY"] == errno.EBUSY, table

	def refuse(module, text, number):
		module.list("client,tag=other", number, "another's")
		module.list(text.text, number, "its: own (7) sentence")
		module.list("client,tag=other", number, "another's, too")
		return number

	def run_so(module, text, number):
		module.list(f"9: client,addr=::1,tag={text.tag},expect=EIO", number,
			    "its: own (7) sentence")
		module.list("stop=9", number, "another's")
		return number

	for name, number in table.items():
		for answer in (refuse, run_so):
			for command in (TEXT, "stop=server:9999", "stop=0,force"):
				if "stop" in command and answer is run_so:
					continue
				ended = functools.partial(answer, number=number)
				with front.directory(), Module(ended):
					# Its list of failed commands has it all.
					os.unlink("kmsg")
					status, out, err = krping("run", command)
				expected = "interrupted" if number == errno.EINTR else (
					f"{name} ({number}): its: own (7) sentence")
				assert (out, err) == ("", f"krping: {expected}\n"), (command, err)
				refused = answer is refuse and number in runner.REFUSALS
				wanted = 130 if number == errno.EINTR else 1 + refused
				assert status == wanted, (name, status)


def documented():
	"""Each sentence of docs/troubleshooting.md, which has all of the module's: a host test compares it
	with the table of failures. Numbers are some."""
	with open(os.path.join(front.TOP, "docs/troubleshooting.md"), encoding="utf-8") as file:
		page = file.read()
	found = re.findall(r"^(?:###+|\|) `([^`]+)`", page, re.MULTILINE)
	assert len(found) > 400, len(found)
	return [re.sub(r"\b[NM]\b", "4096", each) for each in found]


@suite.test("each sentence of the table of failures is shown as it is, from the list and from the log")
def each_sentence():
	sentences = iter(documented())

	def lists(module, text):
		front.write("errors", "")
		module.list(f"9: client,addr=::1,tag={text.tag},expect=EIO", errno.EIO, next(sentences))
		return errno.EIO

	with front.directory(), Module(lists):
		for sentence in documented():
			_, out, err = krping("run", TEXT)
			assert (out, err) == ("", f"krping: EIO (5): {sentence}\n"), (sentence, err)
	# Where the list cannot be read.
	with front.directory(), Module() as module, kmsg.Log() as log:
		for number, sentence in enumerate(documented()):
			module.log(f"9: client,addr=::1,tag=t{number},expect=EIO: EIO (5): {sentence}")
		for number, sentence in enumerate(documented()):
			assert log.failure(f"t{number}") == (9, sentence), sentence


@suite.test("stop= is refused, and the list cannot be read: the log's sentence")
def stop_from_log():
	def busy(module, text):
		module.log("7: client,addr=192.0.2.1,count=1,tag=other: EIO (5): something else")
		module.log("stop: krping0: the disk is open: unmount or close it, or add force")
		os.unlink("errors")
		return errno.EBUSY

	_, _, err = run(busy, "stop=0", status=1)
	assert err == ("krping: EBUSY (16): stop: krping0: the disk is open: unmount or close it, "
		       "or add force\n"), err


@suite.test("2: other lines of the log are not taken for the reason")
def other_lines():
	def answer(module, text):
		module.refuse(0, "unknown option 'x'")
		module.log("7: client,addr=192.0.2.1,count=1,tag=other: EIO (5): something else")
		module.log("ping data: |rdma-ping-0: ABC|")
		module.log("server ping data: |rdma-ping-0: ABC|")
		front.say("kmsg", "rdma_rxe: not ours")
		return errno.EINVAL

	_, _, err = run(answer, TEXT, status=2)
	assert err == "krping: EINVAL (22): unknown option 'x'\n", err


@suite.test("2: a size above the device's limit")
def too_large():
	_, _, err = run(lambda module, text: module.fail(text, errno.ERANGE, TOO_LARGE),
			f"{TEXT},size=4M,max_p99=5us", status=2)
	assert err == f"krping: ERANGE (34): {TOO_LARGE}\n", err


@suite.test("2: no command, and usage")
def usage():
	for given in (["run"], ["run", ""], ["run", "  "], ["run", TEXT, "--wat"], [], ["walk"],
		      ["watch", "--interval", "0"], ["watch", "--interval", "x"],
		      ["watch", "--interval", "nan"], ["watch", "--count", "0"],
		      ["sweep"], ["sweep", "192.0.2.1", "--client", "--loopback"]):
		with front.directory(), Module(succeed) as module:
			status, out, err = krping(*given)
		assert (status, out, module.commands) == (2, "", []) and err, (given, status, err)


@suite.test("2: the module is not loaded, this is not root, and what else may be amiss")
def unusable():
	with front.directory(), Module(succeed) as module:
		os.unlink("proc")
		os.unlink("results")
		for given in (["run", TEXT], ["watch"], ["report"],
			      ["sweep", "192.0.2.1"]):
			status, out, err = krping(*given)
			assert (status, out) == (2, ""), (given, status, out)
			assert "module is not loaded" in err, (given, err)
		front.write("results", "")
		front.write("proc", "nonsense\n")
		status, _, err = krping("run", TEXT)
		assert status == 2 and "not understood: 'nonsense'" in err, err
		front.write("proc", "")
		os.unlink("results")
		for given in (["report"], ["sweep", "192.0.2.1"]):
			status, out, err = krping(*given)
			assert status == 2 and "another krping" in err, (given, err)
			front.write("mounts", "none /sys/kernel/tracing tracefs rw 0 0\n")
			status, out, err = krping(*given)
			assert status == 2 and "debugfs is not mounted" in err, (given, err)
			front.write("mounts", f"none {paths.DEBUGFS} debugfs rw 0 0\n")
		assert module.commands == []
	for number, word in ((errno.EACCES,
			      "for root only" if os.geteuid() else "Permission denied"),
			     (errno.EIO, "Input/output error")):
		error = OSError(number, os.strerror(number))
		assert word in str(paths.proc_trouble(error)), word
	with front.patched(os, geteuid=lambda: 1000):
		error = PermissionError(errno.EACCES, "Permission denied")
		assert "for root only; run this as root" in str(paths.proc_trouble(error))
		with front.directory(), Module():
			said = str(paths.results_trouble(error))
			assert "for root only; run this as root" in said, said
	with front.directory(), Module(), front.patched(os, geteuid=lambda: 0):
		assert "locked down" in str(paths.results_trouble(error))


@suite.test("a run without debugfs is run, and says what cannot be shown")
def no_results():
	with front.directory(), Module(lambda module, text: 0) as module:
		os.unlink("results")
		status, out, err = krping("run", TEXT)
	assert (status, out, len(module.commands)) == (0, "", 1), (status, out)
	assert err.startswith("krping: the results cannot be shown: ") and "another" in err, err


@suite.test("where /sys has no debugfs, the results of the first process's are shown")
def of_init():
	def answer(module, text):
		module.result(text)
		os.makedirs(f"init{os.path.dirname(paths.RESULTS)}", exist_ok=True)
		os.replace("results", f"init{paths.RESULTS}")
		return 0

	with front.directory(), Module(answer), front.patched(paths, INIT="init"):
		front.write("mounts", "")
		status, out, err = krping("run", TEXT)
		assert (status, err) == (0, "") and "wlat" in out, (status, out, err)
		# Where it is mounted, it is another krping's fault.
		front.write("mounts", f"none {paths.DEBUGFS} debugfs rw 0 0\n")
		status, _, err = krping("report")
		assert status == 2 and "another krping" in err, (status, err)


@suite.test("3: a limit that was missed, with the figures")
def missed():
	for option, sentence in (
			("max_p99=1us",
			 "the 99th percentile is 1500 ns, above the 1000 ns of max_p99"),
			("min_bw=1G",
			 "the bandwidth is 5 bytes per second, below the 1073741824 of "
			 "min_bw"),
			("expect=EIO", "the run succeeded, though EIO was expected")):
		_, out, err = run(lambda module, text, s=sentence: module.fail(
			text, errno.ERANGE, s, iterations=10, elapsed_ns=15000), f"{TEXT},{option}",
			status=3)
		assert out.splitlines()[-1].endswith("ERANGE"), out
		assert err == f"krping: ERANGE (34): {sentence}\n", err
	# What was expected is success, though the result failed.
	def answer(module, text):
		module.fail(text, errno.ECONNREFUSED, "nothing listens on that port")
		return 0
	_, _, err = run(answer, f"{TEXT},expect=ECONNREFUSED")
	assert err == "", err


@suite.test("results that may be missing are said to be")
def many():
	def answer(module, text):
		module.keep(*[canned.result(number=module.next, tag=text.tag, options=text.text,
					    thread=n) for n in range(256)])
		return 0

	_, out, err = run(answer, "client,addr=192.0.2.1,wlat,threads=300")
	assert "keeps the last 256 results" in err and "all 256" in out, err


# The program itself

@suite.test("every subcommand has help with examples and exit statuses")
def helps():
	done = subprocess.run([sys.executable, front.PROGRAM, "--help"], capture_output=True,
			      text=True, check=True)
	for name in front.program.SUBCOMMANDS:
		assert f"\n    {name} " in done.stdout, done.stdout
		status, out, _ = krping(name, "--help")
		assert status == 0 and f"\n  krping {name} " in out, (name, out)
		assert "\nexit status:\n" in out and "examples:\n" in out, (name, out)
		assert max(map(len, out.splitlines())) <= 80, name


@suite.test("run as a program, from anywhere and through a link; a reader that leaves")
def program():
	with front.directory() as path:
		os.symlink(front.PROGRAM, "link")
		front.write("a", canned.json_lines([canned.result()] * 5000))
		done = subprocess.run([f"{path}/link", "report", "a"], capture_output=True,
				      text=True, check=True)
		assert done.stdout.startswith("# wlat") and done.stderr == "", done
		text = f"{path}/link report a a a | head -n 1; exit ${{PIPESTATUS[0]}}"
		done = subprocess.run(text, shell=True, executable="/bin/bash",
				      capture_output=True, text=True, check=False)
		assert (done.returncode, done.stdout, done.stderr) == (0, "## a\n", ""), done
	if os.path.exists(paths.PROC):
		raise Skip("a krping is loaded here")
	done = subprocess.run([front.PROGRAM, "run", TEXT], capture_output=True, text=True,
			      check=False)
	assert done.returncode == 2 and "not loaded" in done.stderr, done


@suite.test("a reader that leaves does not hide that a run failed, or ends a sweep")
def reader_leaves():
	class Gone:
		file = -1

		def write(self, _text):
			raise BrokenPipeError

		flush = isatty = write

		def fileno(self):
			return self.file

	def answer(module, text):
		return module.fail(text, errno.EIO, "why", iterations=10, elapsed_ns=10)

	for words, how, status, expected in (
			(["run", TEXT], answer, 1, "krping: EIO (5): why\n"),
			(["run", TEXT, "--json"], answer, 1, "krping: EIO (5): why\n"),
			(["sweep", "192.0.2.1"], succeed, 1, "")):
		gone = Gone()

		def redirect(_out, gone=gone):
			return front.patched(sys, stdout=gone)

		with front.directory(), Module(how) as module, \
				front.patched(contextlib, redirect_stdout=redirect):
			gone.file = os.open("out", os.O_WRONLY | os.O_CREAT)
			found, _, err = krping(*words)
			os.close(gone.file)
		assert (found, err, len(module.commands)) == (status, expected, 1), (found, err)


@suite.test("what an outcome's status is")
def statuses():
	def outcome(number, sentence="", refused=False, limits=False):
		return runner.Outcome(errno=number, signal=None, refused=refused, sentence=sentence,
				      results=[], warnings=[], limits=limits).status

	assert outcome(0) == 0
	assert outcome(errno.EINTR) == 130
	assert outcome(errno.ERANGE, "x", limits=True) == 3
	assert outcome(errno.ERANGE, "x") == 1
	assert outcome(errno.ERANGE, TOO_LARGE, limits=True) == 2
	assert outcome(errno.ERANGE, "x", refused=True, limits=True) == 2
	assert outcome(errno.EIO, "x", limits=True) == 1


suite.main()
