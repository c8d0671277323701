# SPDX-License-Identifier: GPL-2.0
"""Hosts of a mesh, played in the controller's own process, and what may go wrong with them."""

import asyncio
import json
import math
import random
import time
import typing

import front
from krping_front.mesh import controller, launch, plan, wire
from krping_front.mesh.launch.base import Launcher

TYPICAL = 20_000.0
SPREAD = 0.1
SECOND = 10 ** 9


def poisson(rng, mean):
	"""A number of events of which there are MEAN."""
	count, left = 0, math.exp(-mean)
	chance = rng.random()
	while chance > left:
		chance *= rng.random()
		count += 1
	return count


class Played(Launcher):
	"""Plays all hosts. FAULTS are by host or, of a link, by the names of a pair: a dict with the
	name of a fault, and the round that it begins in where that matters."""

	faults = {}
	# Times a figure of a host's or pair's runs, by names.
	slow = {}
	# The same, but only until that round.
	passing = {}
	# By the same names, how many packets of a run are lost, by a client twice as many.
	lossy = {}
	# By a round, how many times slower all are from then on.
	slow_from = {}
	# By host, how many ns its runs take longer.
	late = {}
	spread = SPREAD
	seed = 1
	# Called with the number of each round.
	at_round = staticmethod(lambda number: None)
	# Those that were made, with all lines that were sent.
	made = []
	clock_offsets = {}

	def __init__(self, *arguments):
		super().__init__(*arguments)
		self.rng = random.Random(self.seed)
		self.sent = []
		self.round: dict[str, typing.Any] = {}
		self.runs = 0
		self.stopped = False
		# What hosts are to say of the round before.
		self.results = []
		self.dropped = []
		self.jumped = {}
		type(self).made.append(self)

	def start(self, hosts):
		self.hosts = hosts
		self.loop = asyncio.get_running_loop()
		self.number = {host: number for number, host in enumerate(hosts)}
		self.heads = {host: f'{{"host":"{host}","id":"id-{host}",' for host in hosts}
		for host in hosts:
			self.loop.call_soon(self._begin, host)

	def _begin(self, host):
		fault = self.faults.get(host, {})
		number = self.number[host]
		if "unreachable" in fault:
			self.audience.ended(host, f"ssh: connect to host {host}: No route to host "
						  "(status 255)")
			return
		if "silent" in fault:
			return
		if "shell" in fault:
			self.audience.said(host, "Welcome to the cluster")
		rails = [{"device": f"mlx5_{rail}", "netdev": f"eth{rail}",
			  "address": f"10.{rail}.{number >> 8}.{number & 255}", "prefix": 16}
			 for rail in range(2)]
		self._say(host, {"say": "ready", "schema": fault.get("schema", wire.SCHEMA),
				 "kernel": fault.get("kernel", "7.2.0"), "module": "1.0", "starts": True,
				 "lacks": fault.get("lacks", []), "rails": fault.get("rails", rails)})

	def _say(self, host, message):
		self.audience.said(host, self.heads[host] + json.dumps(message)[1:])

	def _clocks(self, host):
		if self.round and self._fault(host, "jumps"):
			self.jumped[host] = 3 * SECOND
		by = self.clock_offsets.get(host, 0) + self.jumped.get(host, 0)
		drift = 3 * SECOND if self.round and self._fault(host, "drifts") else 0
		return {"now": time.time_ns() + by + drift, "mono": time.monotonic_ns() + drift}

	def send(self, line):
		assert line.endswith("\n") and "\n" not in line[:-1]
		self.sent.append(line)
		self.loop.call_soon(self._answer, json.loads(line))

	def of(self, do):
		"""The messages that were sent to DO this."""
		return [message for message in map(json.loads, self.sent) if message["do"] == do]

	def _fault(self, host, name):
		"""Whether HOST has the fault NAME by now."""
		fault = self.faults.get(host)
		return fault is not None and name in fault and self.round["n"] >= fault[name]

	def _answer(self, message):
		if self.stopped:
			return
		do = message["do"]
		if do == "clock":
			for host in self.hosts:
				if not {"unreachable", "silent"} & self.faults.get(host, {}).keys():
					self._say(host, {"say": "clock", "n": message["n"],
							 "sent": message["sent"]} | self._clocks(host))
		elif do == "plan":
			self.addresses = message["addresses"]
		elif do == "round":
			self.round = message
			self.at_round(message["n"])
			self.servers = {}
			for client, server in plan.pairs_of(message["spec"], len(self.hosts)):
				self.servers.setdefault(client, []).append(server)
			before, self.results = self.results, []
			if "start" in message:
				self._go(message)
			else:
				for server in {each for many in self.servers.values() for each in many}:
					if server not in message["absent"]:
						self._listen(self.hosts[server])
			self._report(before)
		elif do == "go":
			self._go(message)
		elif do == "report":
			self._report(self.results)

	def _go(self, message):
		skip = {*message["skip"], *message["absent"]}
		for client, servers in self.servers.items():
			if client not in message["absent"]:
				self._run(self.hosts[client],
					  [each for each in servers if each not in skip])

	def _report(self, found):
		for host, result in found:
			if not self._gone(host) and not self._fault(host, "mute"):
				self._say(host, result)

	def _gone(self, host):
		if self._fault(host, "dies"):
			self.audience.ended(host, "Connection to host closed (status 255)")
			return True
		return self._fault(host, "hangs") or bool(
			{"unreachable", "silent", "lacks"} & self.faults.get(host, {}).keys())

	def _listen(self, host):
		if self._gone(host):
			return
		if self._fault(host, "port"):
			self._say(host, {"say": "trouble", "n": self.round["n"],
					 "reason": "the server ended: EADDRINUSE: the port is in use"})
			return
		self._say(host, {"say": "listening", "n": self.round["n"]} | self._clocks(host))

	def _run(self, host, servers):
		if self._gone(host):
			return
		if self._fault(host, "raves"):
			self._say(host, {"say": "ended", "n": self.round["n"], "took": "long"}
				  | self.faults[host].get("says", {}))
			return
		self._say(host, {"say": "ended", "n": self.round["n"], "took": 1000, "late": 0}
			  | self._clocks(host))
		self.results.append((host, {
			"say": "result", "n": self.round["n"], "late": 0,
			"runs": [] if self._fault(host, "quiet")
			else [self._figures(host, server) for server in servers]}))

	def _figures(self, host, peer):
		server = self.hosts[peer]
		self.runs += 1
		if any(self._fault(each, "link") for each in (host, server, (host, server))):
			return {"peer": peer, "errno": "ETIMEDOUT",
				"reason": "nothing happened for 10000 ms"}
		factor = (self.slow.get(host, 1) * self.slow.get(server, 1)
			  * self.slow.get((host, server), 1)
			  * self._passing(host) * self._passing(server) * self._passing((host, server))
			  * math.exp(self.rng.gauss(0, self.spread)))
		factor *= self._machine()
		late = self.late.get(host, 0) + self.late.get(server, 0)
		lost = poisson(self.rng, 2 * self.lossy.get(host, 0) + self.lossy.get(server, 0)
			       + 2 * self.lossy.get((host, server), 0)
			       + self.lossy.get((server, host), 0))
		client = self.round["client"]
		if client.split(",")[0] in ("bw", "rbw", "sbw"):
			figures = {"bytes_per_s": int(1e10 / factor)}
		else:
			figures = {"p50_ns": int(TYPICAL * factor) + late,
				   "p99_ns": int(3 * TYPICAL * factor) + late}
		# The second part of an address is the number of the device that it is of.
		address = self.addresses[self.number[host]][self.round["rail"]]
		device = 0 if self._fault(host, "strays") else int(address.split(".")[1])
		run = {"peer": peer, "figures": figures | {"retransmits": lost},
		       "devices": [f"mlx5_{device}"]}
		if self._fault(host, "half"):
			# It fails after it has measured something.
			run |= {"errno": "ECONNRESET", "reason": "the connection is lost"}
		return run

	def _machine(self):
		return math.prod(factor for first, factor in self.slow_from.items()
				 if self.round["n"] >= first)

	def _passing(self, who):
		factor, until = self.passing.get(who, (1, 0))
		return factor if self.round["n"] < until else 1

	def drop(self, host):
		self.dropped.append(host)

	async def stop(self):
		self.stopped = True


def play(*words, hosts="h[0-7]", faults=None, slow=None, passing=None, lossy=None, late=None,
	 slow_from=None, at_round=None, offsets=None, spread=SPREAD, seed=1, status=0):
	"""Run krping mesh WORDS with HOSTS, some of which have FAULTS, are SLOW, or are so in
	PASSING, or LOSSY or LATE: the launcher, stdout and stderr. Healthy figures have a SPREAD."""
	class Hosts(Played):
		"""Those of this mesh."""

		made = []

	Hosts.faults, Hosts.slow, Hosts.clock_offsets = faults or {}, slow or {}, offsets or {}
	Hosts.passing, Hosts.lossy, Hosts.late = passing or {}, lossy or {}, late or {}
	Hosts.slow_from, Hosts.spread, Hosts.seed = slow_from or {}, spread, seed
	Hosts.at_round = staticmethod(at_round or (lambda number: None))
	with front.patched(launch, LAUNCHERS={"ssh": Hosts}), \
			front.patched(controller, LEADS=(0, 0, 0)):
		found, out, err = front.krping("mesh", "--hosts", hosts, "--launcher", "ssh", *words)
	assert found == status, (found, out[-2000:], err[-2000:])
	return Hosts.made[0] if Hosts.made else None, out, err
