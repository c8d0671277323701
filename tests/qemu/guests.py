# SPDX-License-Identifier: GPL-2.0
"""The other guests of a test that asks for some (# guest: --peers N): what runs there, and what
pulls their plug or cable.

	second, third = guests.others()
	server = second.serve(f"server,port={port}")	# runs there beside the test
	run_ok(f"client,addr={second.addr},port={port}")
	assert server.wait() == 0

	with second.monitor.unplugged():		# its cable
	second.monitor.reset(); second.wait_up()	# its power

	suite = Suite(check=guests.check)		# nothing may be left on any of them
"""

import contextlib
import glob
import json
import os
import select
import shlex
import subprocess
import time

import krping
from ktap import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
# Seconds for an answer that takes no work. Three emulated guests share what CPUs there are.
PATIENCE = 60


class Monitor:
	"""QEMU's monitor of a guest (QMP)."""

	def __init__(self, path):
		self.file = open(path, "r+b", buffering=0)
		self.rest = b""
		self.count = 0
		# A program before this one may have done so: then it says that.
		self._ask("qmp_capabilities")

	def _ask(self, command, **arguments):
		"""Ask QEMU for COMMAND, and return its answer."""
		self.count += 1
		ident = f"{os.getpid()}.{self.count}"
		text = json.dumps({"execute": command, "arguments": arguments, "id": ident})
		self.file.write(text.encode() + b"\n")
		deadline = time.monotonic() + PATIENCE
		while True:
			line, found, rest = self.rest.partition(b"\n")
			if found:
				self.rest = rest
				# Others are events, and what it says first of itself.
				if json.loads(line).get("id") == ident:
					return json.loads(line)
				continue
			left = deadline - time.monotonic()
			assert left > 0 and select.select([self.file], [], [], left)[0], \
				f"the monitor does not answer to {command}: {self.rest!r}"
			self.rest += os.read(self.file.fileno(), 65536)

	def do(self, command, **arguments):
		"""Have QEMU do COMMAND."""
		said = self._ask(command, **arguments)
		assert "return" in said, (command, said)

	def reset(self):
		"""Have the guest lose its power, and get it back."""
		self.do("system_reset")

	def kill(self):
		"""End QEMU: the guest is gone for good."""
		self.do("quit")

	@contextlib.contextmanager
	def unplugged(self):
		"""Within, the guest's cable is out."""
		self.do("set_link", name="nic", up=False)
		try:
			yield
		finally:
			self.do("set_link", name="nic", up=True)

	@contextlib.contextmanager
	def frozen(self):
		"""Within, the guest does nothing at all."""
		self.do("stop")
		try:
			yield
		finally:
			self.do("cont")


class Command:
	"""A command that runs on another guest, as krping.Command does here."""

	def __init__(self, guest, text):
		self.guest = guest
		self.text = text
		self.number = guest.ask("begin", text)

	def is_alive(self):
		"""Whether it runs."""
		return self.guest.ask("ended", self.number) is None

	def wait(self, timeout=30):
		"""Wait for its end, and return its errno."""
		krping.wait_for(lambda: not self.is_alive(), timeout, f"the end of {self.text} there")
		return self.guest.ask("ended", self.number)

	def interrupt(self):
		"""Interrupt it, and return its errno."""
		return self.guest.ask("interrupt", self.number)


class Guest:
	"""Another guest."""

	def __init__(self, number):
		self.name = f"guest{number}"
		self.addr = f"10.99.0.{number}"
		self.monitor = Monitor(f"/dev/peer{number}")
		self.agent = None
		self.gone = False

	def words(self, *words):
		"""WORDS as a command here that runs them there."""
		return "ssh", "-n", "-o", "ConnectTimeout=10", self.name, shlex.join(words)

	def exec(self, *words):
		"""Run a program there, which must succeed. Return what it prints."""
		return self.ask("call", *words)

	def program(self, *words):
		"""A program beside the test."""
		# The agent compares what is left with what there was when it began.
		self.ask("name", 0)
		return krping.Program(*self.words(*words))

	def ask(self, name, *arguments, timeout=PATIENCE):
		"""Call a function of krping.py or far.py there."""
		if self.agent is None:
			self.agent = subprocess.Popen(
				("ssh", self.name, f"exec python3 -B {shlex.quote(HERE)}/far.py"),
				stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
		self.agent.stdin.write(json.dumps([name, *arguments]).encode() + b"\n")
		line = b""
		while not line.endswith(b"\n"):
			ready = select.select([self.agent.stdout], [], [], timeout * krping.SLOW)[0]
			assert ready, f"{self.name} does not answer to {name}{arguments}"
			data = os.read(self.agent.stdout.fileno(), 65536)
			assert data, f"{self.name} has ended at {name}{arguments}"
			line += data
		said = json.loads(line)
		assert "value" in said, f"{self.name}: {said['error']}"
		return said["value"]

	def command(self, text):
		"""Start a command there."""
		return Command(self, text)

	def serve(self, text):
		"""Start the server TEXT there, which names its port, and return it once that
		listens."""
		server = self.command(text)
		port = text.partition("port=")[2].partition(",")[0]
		krping.wait_for(lambda: self.ask("listens", port) or not server.is_alive(), PATIENCE)
		assert server.is_alive(), f"{self.name}: {krping.name(server.wait())} from {text}"
		return server

	def part(self):
		"""Let go of what was started there."""
		agent, self.agent = self.agent, None
		if agent:
			agent.kill()
			agent.wait()
			agent.stdin.close()
			agent.stdout.close()

	def kill(self):
		"""End the guest for good."""
		self.gone = True
		self.monitor.kill()
		self.part()

	def restart(self):
		"""Have the guest lose its power, and boot again."""
		self.monitor.reset()
		self.part()
		self.wait_up()

	def wait_up(self):
		"""Wait until it can be reached, with the module loaded."""
		def up():
			with contextlib.suppress(subprocess.TimeoutExpired):
				return subprocess.run(self.words("test", "-e", krping.PROC), check=False,
						      stdin=subprocess.DEVNULL, capture_output=True,
						      timeout=PATIENCE).returncode == 0
			return False
		krping.wait_for(up, 300, f"{self.name} to be back")


_all = []


def others():
	"""All other guests that are there."""
	if not _all:
		paths = sorted(glob.glob("/dev/peer[0-9]"))
		if not paths:
			raise Skip("there are no other guests; see scripts/guest --peers")
		_all.extend(Guest(int(path[-1])) for path in paths)
	return [guest for guest in _all if not guest.gone]


def check():
	"""Nothing is left here or on any other guest."""
	krping.check()
	for guest in others():
		guest.ask("check")
