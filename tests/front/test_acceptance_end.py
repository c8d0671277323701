# SPDX-License-Identifier: GPL-2.0
"""krping test: which device it tests, what ends it early, and who reads what it prints."""

import errno
import os
import signal
import socket
import subprocess

import canned
import front
from acceptance import ADDR, PASSED, accept, device, name_of, nested, of_junit, refuses, run
from front import Module, krping
from krping_front.acceptance import cases, target
from krping_front.devices import Rail
from krping_front.errors import Quit
from ktap import Suite

CONVERTER = os.path.join(front.TOP, "samples", "ktap-cases")

suite = Suite(limit=60)


# The device

@suite.test("without an address: the only device, or the one of --device; else those that there are")
def devices():
	rails = [Rail("mlx5_0", "eth0", "192.0.2.1", 24), Rail("mlx5_0", "eth0", "2001:db8::1", 64),
		 Rail("rxe0", "eth1", "198.51.100.1", 24)]
	for given, found, expected in (
			(None, rails[:2], "192.0.2.1"), ("rxe0", rails, "198.51.100.1"),
			("mlx5_0", rails[1:], "2001:db8::1"),
			(None, rails, "several RDMA devices, mlx5_0 (192.0.2.1), rxe0 (198.51.100.1)"),
			(None, [], "no RDMA device has an IP address here"),
			("rxe1", rails, "--device rxe1: this host has no such RDMA device with an IP "
			 "address; it has mlx5_0 (192.0.2.1), rxe0"),
			("rxe0", [], "it has none; 'ip -j addr show' failed: why")):
		with front.patched(target.devices, find=lambda found=found: (
				found, [] if found else ["'ip -j addr show' failed: why"])):
			try:
				said = target.address(given)
			except Quit as ended:
				said = str(ended)
		assert expected in said, (given, said)


@suite.test("no such device, no module: 2, a sentence on stderr, in KTAP and in JUnit")
def missing():
	sentence = "no RDMA device has the address or leads to it"
	_, lines, err, junit = accept(
		device((None, lambda module, text: module.fail(text, errno.ENODEV, sentence))), status=2)
	assert lines == ["KTAP version 1", f"1..{len(cases.GROUPS)}", f"Bail out! ENODEV (19): {sentence}",
			 "# Totals: pass:0 fail:0 xfail:0 xpass:0 skip:0 error:0"], lines
	assert err == f"krping: ENODEV (19): {sentence}\n", err
	assert junit == {"end": {"completed": "error"}}, junit
	with front.directory(), front.patched(front.paths, PROC="nothing"):
		status, out, err = krping("test", ADDR, "--junit", "junit.xml")
		assert status == 2 and out.splitlines()[2].startswith("Bail out! nothing is not there"), out
		assert "the module is not loaded" in err and of_junit("junit.xml")["end"], err
	with front.directory(), Module(device()) as module, front.patched(front.paths, RESULTS="nothing"):
		status, _, err = krping("test", ADDR)
		assert (status, module.commands) == (2, []) and "nothing is not there" in err, err


@suite.test("an address may be the name of a host, and a name that is none is refused")
def names():
	def find(name, *_):
		if name != "six.example":
			raise socket.gaierror(-2, "Name or service not known")
		return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::6", 0))]

	with front.directory(), Module(device()) as module, front.patched(socket, getaddrinfo=find):
		status, out, _ = krping("test", "six.example", "--only", "pingpong.dma")
		assert status == 0 and "address six.example" in out, out
		assert {text.options["addr6"] for text in module.commands} == {"2001:db8::6"}
		status, out, err = krping("test", "nobody.example")
	assert status == 2 and err == "krping: addr=nobody.example: Name or service not known\n", err


@suite.test("a device that lacks what runs need: 1, what fails of caps, and nothing more is run")
def faulty():
	found = canned.caps()["caps"] | {"connection_management": "does not answer"}
	del found["limits"]
	found["port"] = found["port"] | {"state": "DOWN"}
	found["preflight"] = [{"item": "pd", "asked": 1, "made": 0, "status": "failed", "errno": "ENOMEM"}]
	changes = {"status": "failed", "errno": "ENETDOWN", "errno_number": 100, "reason": "it is down",
		   "caps": found}
	module, lines, err, junit = accept(device(caps=changes), status=1)
	assert len(module.commands) == 1, module.commands
	assert nested(lines) == {
		"caps": {"": "fail", "device": "pass", "port": "fail", "management": "fail",
			 "objects": "fail", "limits": "fail"},
		"Bail out!": "ENETDOWN (100): it is down"}, lines
	for line in ("# port: reason: the port is DOWN, not ACTIVE", "# objects: reason: pd of 1: ENOMEM",
		     "# management: reason: the connection management: does not answer",
		     "# limits: reason: it is down"):
		assert f"  {line}" in lines, lines
	assert err == "krping: ENETDOWN (100): it is down\n" and junit["caps"]["port"] == "failure", err
	# A device of iWARP is not asked.
	found = canned.caps()["caps"] | {"connection_management": "not asked"}
	_, lines, _, _ = accept(device(caps={"caps": found, "transport": "iWARP"}), "--only", "caps")
	assert nested(lines)["caps"]["management"] == "skip", lines


# How it ends early

def stops(number, ended=False):
	"""A run that a signal of NUMBER comes into; if it has ENDED anyway, well."""
	def answer(module, text):
		os.kill(os.getpid(), number)
		front.sleep()
		if ended:
			return run(module, text)
		return module.fail(text, errno.EINTR, "interrupted by a signal", partial=True)
	return answer


@suite.test("a signal: 130, all until then is there, and nothing more is run")
def interrupted():
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		path = "pingpong.server_inv"
		module, lines, err, junit = accept(device((path, stops(number))), status=130)
		assert name_of(module.commands[-1]) == path, module.commands[-1].text
		found = nested(lines)
		assert found["Bail out!"] == "interrupted" and err == "krping: interrupted\n", (found, err)
		assert found["cut"] == {"dma": "pass", "reg": "pass"} and found["caps"][""] == "pass", found
		assert junit["pingpong"] == {"dma": "pass", "reg": "pass"}, junit
		assert junit["end"] == {"completed": "error"}, junit
		assert lines[-1] == "# Totals: pass:8 fail:0 xfail:0 xpass:0 skip:1 error:0", lines
	# It came when the run was over.
	module, lines, _, _ = accept(device(("pingpong.reg", stops(signal.SIGINT, ended=True))), status=130)
	assert nested(lines)["cut"] == {"dma": "pass", "reg": "pass"}, lines


@suite.test("a signal during conformance: the cases that were run are there; between runs: the same")
def interrupted_elsewhere():
	def answer(module, text):
		os.kill(os.getpid(), signal.SIGINT)
		front.sleep()
		module.keep(canned.conformance(PASSED[:1], module.next, tag=text.tag, options=text.text,
					       status="failed", errno="EINTR", errno_number=4,
					       reason="interrupted by a signal"))
		return errno.EINTR

	_, lines, _, junit = accept(device(("conform", answer)), "--only", "conform", status=130)
	assert nested(lines) == {"cut": {"stale_rkey": "pass"}, "Bail out!": "interrupted"}, lines
	assert junit["conform"] == {"stale_rkey": "pass"}, junit

	def look(_result):
		os.kill(os.getpid(), signal.SIGTERM)
		raise AssertionError

	first = cases.CASES[0]._replace(look=look)
	with front.patched(cases, CASES=(first, *cases.CASES[1:])):
		_, lines, err, _ = accept(device(), status=130)
	assert nested(lines)["Bail out!"] == "interrupted" and err == "krping: interrupted\n", err


def convert(lines):
	"""What samples/ktap-cases makes of LINES."""
	done = subprocess.run(("awk", "-f", CONVERTER), input="".join(f"{line}\n" for line in lines),
			      text=True, capture_output=True, check=True)
	return done.stdout.splitlines()


@suite.test("samples/ktap-cases lists the cases for those that take one at a time")
def converted():
	_, lines, _, junit = accept(device(("pingpong.poll", refuses), found=canned.CASES), status=1)
	words = {"pass": "pass", "failure": "fail", "skipped": "skip"}
	expected = [f"{group}.{name} {words[outcome]}" for group, found in junit.items()
		    for name, outcome in found.items()]
	assert convert(lines) == expected, convert(lines)
	# As the runner of kselftest prints it.
	assert convert([f"# {line}" for line in lines]) == expected
	found = convert(["KTAP version 1", "1..1", "  KTAP version 1", "  # Subtest: conform", "  1..1",
			 "  # rnr: reason: why", "  ok 1 rnr # XFAIL why", "ok 1 conform"])
	assert found == ["conform.rnr skip"], found
	# A set that ended early has failed.
	found = convert(["KTAP version 1", "1..4", "Bail out! the module is not loaded"])
	assert found == ["completed fail"], found


@suite.test("samples/lava: each case is told; without the program, or any result, it fails and says so")
def lava():
	def ask(*words):
		"""The exit status, the cases that LAVA is told of, and what is printed."""
		done = subprocess.run((os.path.join(front.TOP, "samples", "lava", "acceptance"), *words),
				      capture_output=True, text=True, check=False,
				      env=os.environ | {"PATH": "bin:/usr/bin:/bin"})
		with open("told", encoding="utf-8") as file:
			told = file.read().splitlines()
		os.unlink("told")
		return done.returncode, told, done.stdout

	def program(name, text):
		os.chmod(front.write(f"bin/{name}", f"#!/bin/sh\n{text}\n"), 0o755)

	with front.directory():
		os.mkdir("bin")
		program("lava-test-case", "echo $* >>told")
		status, told, out = ask()
		assert (status, told) == (127, ["ran --result fail"]), (status, told)
		assert "127: it is not installed" in out, out
		program("krping", 'echo "krping: the module is not loaded" >&2; exit 2')
		assert ask()[:2] == (2, ["ran --result fail"])
		program("krping", 'echo "$*"; printf "  # Subtest: a\\n  ok 1 b\\n  not ok 2 c\\n"; exit 1')
		status, told, out = ask("--device", "rxe0")
		assert out.startswith("test --quiet --device rxe0\n"), out
		assert (status, told) == (1, ["a.b --result pass", "a.c --result fail",
					      "ran --result pass"]), (status, told)


suite.main()
