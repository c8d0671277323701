# SPDX-License-Identifier: GPL-2.0
"""Peers that lie at random: the program in liar/, built once in a guest.

	with liar.Client("disk", port, seed=1, messages=1000) as client:
		counts = client.finish()
	with liar.Server(seed=1) as server:
		number = run(f"client,addr={ADDR},port={server.port},count=1")
		verdict, lie = server.connection()

Messages are lies that have arrived.
"""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import threading

import compiled
import krping
from krping import ADDR, new_port, wait_for

LIAR = compiled.Compiled("krping-liar")
# What any side may take for one step, in ms.
PATIENCE = 10000 * krping.SLOW


class Counts:
	"""What liars have said, and how it ended: add() those of each."""

	def __init__(self):
		self.messages = self.connections = 0
		self.kinds, self.ends = collections.Counter(), collections.Counter()

	def add(self, report):
		"""Add what one has reported."""
		self.messages += report["messages"]
		self.connections += report["connections"]
		self.kinds.update({kind: arrived for kind, (_, arrived) in report["kinds"].items()})
		self.ends.update(report["ends"])


class Liar(krping.Program):
	"""The program. Within, it runs."""

	def __init__(self, *words):
		super().__init__(LIAR.build(), *map(str, words))

	def __enter__(self):
		return self

	def __exit__(self, *_):
		if self in krping.Program.running:
			self.stop(signal.SIGKILL)

	def report(self, timeout=30):
		"""Wait for its end. What it has counted, if nothing was wrong."""
		status, output = self.finish(timeout)
		return self._judge(status, output)

	@staticmethod
	def _judge(status, output):
		wrong = [line for line in output.splitlines()
			 if not line.startswith(("{", "connection ", "listening"))]
		assert status == 0 and not wrong, \
			f"the liar ended with {status}: {os.linesep.join(wrong[:20])}"
		return json.loads(output.splitlines()[-1])


class Client(Liar):
	"""One that lies to the server of PROTOCOL ("tests", "disk" or "tap") on PORT."""

	def __init__(self, protocol, port, seed, messages):
		super().__init__("client", protocol, ADDR, port, seed, messages, 0, PATIENCE)


class Server(Liar):
	"""One that lies to whoever connects to its port, until it is ended."""

	def __init__(self, seed):
		self.port = new_port()
		self.seen = 0
		super().__init__("server", ADDR, self.port, seed, 1 << 40, 0, PATIENCE)
		wait_for(lambda: "listening" in self.output())

	def connections(self):
		"""How the connections have ended that it has not told of yet: for each the
		worst that may come of its lies, and which one that was."""
		found = re.findall("^connection [0-9]+ ([a-z]+) (.*)$", self.output(), re.MULTILINE)
		fresh = found[self.seen:]
		self.seen = len(found)
		return fresh

	def connection(self):
		"""The same of one connection, once it has ended."""
		found = []

		def ended():
			assert self.poll() is None, self.output()[-2000:]
			found.extend(self.connections())
			return found
		# Where the end is lost on the way, the transport has to find out.
		wait_for(ended, 90, "the liar to be done with a connection")
		assert len(found) == 1, found
		return found[0]

	def end(self):
		"""End it, and return what it has counted."""
		while self.poll() is None:
			self.send_signal(signal.SIGTERM)
			with contextlib.suppress(subprocess.TimeoutExpired):
				self.wait(0.2)
		return self.report()


class Outcomes(threading.Thread):
	"""Within, how a server's clients are found to have ended, by errno. The list of
	results has the last 256, so some may be missed."""

	def __init__(self, tag):
		super().__init__(daemon=True)
		self.tag = tag
		self.threads = set()
		self.errnos = collections.Counter()
		self.ending = threading.Event()

	def run(self):
		while not self.ending.wait(1):
			self.look()

	def look(self):
		"""Take the results that are new."""
		for each in krping.results(self.tag):
			if each["thread"] not in self.threads:
				self.errnos[each.get("errno", "ok")] += 1
				self.threads.add(each["thread"])

	def __enter__(self):
		self.start()
		return self

	def __exit__(self, *_):
		self.ending.set()
		self.join()
		self.look()
