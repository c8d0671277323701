# SPDX-License-Identifier: GPL-2.0
"""krping conform and the case that asks for the link to go down: what is done to the
interface, when, and that it is up again in the end."""

import contextlib
import errno
import os
import signal
import sys
import threading

import canned
import front
from front import Module, krping, wait_for
from krping_front import link, paths, runner
from ktap import Suite

suite = Suite(limit=60)

# One that every machine has; what would be done to it is only noted.
NETDEV = "lo"
DOWN, UP = (f"link set dev {NETDEV} {way}" for way in ("down", "up"))
WORDS = ("conform", "--link", NETDEV, "192.0.2.1", "port_down")
TAKE = "neg port_down: take the port of mlx5_0 down, within 10000 ms"
BRING = "neg port_down: bring the port of mlx5_0 up, within 10000 ms"
CASE = {"name": "port_down", "outcome": "pass", "expected": "success", "seen": "success (0)",
	"reason": ""}


def calls():
	"""How `ip` was called."""
	with open("calls", encoding="utf-8") as file:
		return file.read().splitlines()


@contextlib.contextmanager
def played(answer, more=""):
	"""Have a Module with ANSWER, and an `ip` that notes how it is called, and then does
	MORE."""
	with front.directory(), Module(answer) as module:
		front.write("calls", "")
		front.write("ip", f'#!/bin/sh\necho "$*" >>{os.path.abspath("calls")}\n{more}\n')
		os.chmod("ip", 0o755)
		with front.patched(link, IP=os.path.abspath("ip")):
			yield module


def asking(module, text):
	"""The case as it goes, while its user is as quick as is asked for."""
	module.log(f"{module.next}: {text.text}")
	assert calls() == []
	module.log(f"{module.next}: {TAKE}")
	wait_for(lambda: calls() == [DOWN])
	front.pass_time(0.3, "the interface stays down until the log asks for it")
	assert calls() == [DOWN]
	module.log(f"{module.next}: {BRING}")
	wait_for(lambda: calls() == [DOWN, UP])
	module.keep(canned.conformance([CASE], module.next, tag=text.tag, options=text.text))
	return 0


@suite.test("the interface goes down and up when the log asks for it, once each")
def follows():
	with played(asking) as module:
		status, out, err = krping(*WORDS)
		assert calls() == [DOWN, UP]
	assert (status, err) == (0, ""), (status, out, err)
	assert module.commands[0].text.startswith("neg=port_down,addr=192.0.2.1,tag="), module.commands
	assert "ok 1 port_down" in out.splitlines(), out


def stopped(module, text):
	"""The case, with the link down, until a signal comes."""
	module.log(f"{module.next}: {TAKE}")
	wait_for(lambda: calls() == [DOWN])
	front.sleep()
	return module.fail(text, errno.EINTR, "interrupted by a signal")


@suite.test("130: the interface is up again after a signal, whichever it was")
def interrupted():
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		with played(stopped):
			def send(number=number):
				wait_for(front.sleeps)
				os.kill(os.getpid(), number)

			thread = threading.Thread(target=send, daemon=True)
			thread.start()
			before = signal.getsignal(number)
			status, _, err = krping(*WORDS)
			thread.join()
			assert calls() == [DOWN, UP], calls()
		assert (status, err) == (130, "krping: interrupted\n"), (status, err)
		assert signal.getsignal(number) == before


@suite.test("the interface is up again where the run fails, and after a signal behind it")
def failed():
	def fails(module, text):
		module.log(f"{module.next}: {TAKE}")
		wait_for(lambda: calls() == [DOWN])
		return module.fail(text, errno.ENODEV, "the RDMA device was removed")

	with played(fails):
		status, _, err = krping(*WORDS)
		assert (status, calls()) == (2, [DOWN, UP]), (status, calls())
	assert "ENODEV" in err, err

	def behind(*_):
		os.kill(os.getpid(), signal.SIGTERM)
		raise AssertionError("no signal has come")

	with played(fails), front.patched(runner, _explain=behind):
		status, _, _ = krping(*WORDS)
		assert (status, calls()) == (130, [DOWN, UP]), (status, calls())


@suite.test("an interface that cannot be taken down, or does not come up: 2, and the run ends")
def refused():
	def waits(module, text):
		module.log(f"{module.next}: {TAKE}")
		front.sleep()
		return module.fail(text, errno.EINTR, "interrupted by a signal")

	with played(waits, "echo Operation not permitted >&2; exit 2") as module:
		status, out, err = krping(*WORDS)
		assert calls() == [DOWN], calls()
		assert len(module.commands) == 1
	assert (status, out) == (2, ""), (status, out)
	assert err.endswith(f"ip {DOWN}: Operation not permitted\n"), err
	with played(waits), front.patched(link, IP="/nonexistent/ip"):
		status, _, err = krping(*WORDS)
	assert (status, err) == (2, "krping: /nonexistent/ip: No such file or directory\n"), err
	# Down it goes, but not up.
	with played(asking, 'case "$*" in *up) exit 1;; esac'):
		status, _, err = krping(*WORDS)
	assert status == 2 and err.endswith(f"ip {UP}: failed\n"), (status, err)


@suite.test("without --link stderr says what to do, also with --quiet")
def told():
	def answer(module, text):
		for line in (TAKE, BRING):
			module.log(f"{module.next}: {line}")
			told = f"krping: {line.partition(': ')[2]}\n"
			wait_for(lambda told=told: told in front.printed(sys.stderr))
		module.keep(canned.conformance([CASE], module.next, tag=text.tag,
					       options=text.text))
		return 0

	for more in ((), ("--quiet",)):
		with played(answer):
			status, _, err = krping("conform", "192.0.2.1", "port_down", *more)
			assert calls() == []
		assert status == 0 and err.splitlines() == [
			"krping: take the port of mlx5_0 down, within 10000 ms",
			"krping: bring the port of mlx5_0 up, within 10000 ms"], err


@suite.test("--link without the case, or with no interface: 2, and nothing is run")
def usage():
	for words, sentence in (
			(("--link", NETDEV, "192.0.2.1"), "--link is for port_down"),
			(("--link", NETDEV, "192.0.2.1", "rnr"), "--link is for port_down"),
			(("--link", "none9", "192.0.2.1", "port_down"),
			 "--link none9: there is no such interface")):
		with played(asking) as module:
			status, out, err = krping("conform", *words)
		assert (status, out, module.commands) == (2, "", []), (status, out)
		assert sentence in err, err
	with played(lambda _module, _text: front.sleep() or errno.EINTR), \
			front.patched(paths, KMSG="nothing"):
		status, _, err = krping(*WORDS)
	assert status == 2 and "the kernel's log cannot be read" in err, err


suite.main()
