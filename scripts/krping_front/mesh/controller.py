# SPDX-License-Identifier: GPL-2.0
"""The controller of a mesh: it leads hosts through the rounds, in one thread.

Whatever it waits for has a deadline. A host that misses one, or ends, has no part from then on,
with a reason; the others go on."""

import asyncio
import contextlib
import dataclasses
import math
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

from krping_front import proc

from . import clock, plan, rails, wire
from .host import Host, plain
from .launch.base import Launcher
from .matrix import Run
from .outcome import Spent
from .plan import Pair, Plan, Step
from .rails import Wish
from .wire import Message

SECOND = 10 ** 9
PROBES = 5
# The time from the announcement of the first round to its start, and the shortest and the longest
# that it may become, in ns.
LEADS = (SECOND // 5, SECOND // 50, 5 * SECOND)
# Hosts that begin a round later than that, in ns, are told of.
LATE = SECOND // 100
# A host that has no part any more, and a server that does not listen.
DOWN, REFUSED = "EHOSTDOWN", "ECONNREFUSED"
NO_DATA = "ENODATA"


@dataclasses.dataclass(frozen=True)
class Deadlines:
	"""Seconds that hosts have."""

	# Until 'krping node' has said what the host is.
	connect: float = 30
	# For an answer that takes no work.
	answer: float = 10
	# Until a server listens.
	listen: float = 10
	# For a round, from its start on, beyond what its duration is.
	run: float = 60


class Interrupted(Exception):
	"""A signal is to end the mesh."""


class Controller:
	"""Leads the hosts."""

	def __init__(self, names: list[str], deadlines: Deadlines,
		     tell: Callable[[Step, Run], object]) -> None:
		"""TELL is called with each Run of each Step."""
		self.hosts = [Host(name, number) for number, name in enumerate(names)]
		self.by_name = {host.name: host for host in self.hosts}
		self.deadlines = deadlines
		self.tell = tell
		self.launcher: Launcher | None = None
		# Of whom an answer is waited for: hosts and what "say" must be.
		self.waiting: set[str] = set()
		self.wanted = ""
		self.changed = asyncio.Event()
		self.signals: list[int] = []
		self.step: Step | None = None
		self.number = -1
		# The pairs of this step that nothing is known of yet.
		self.open: set[Pair] = set()
		self.refused: dict[int, str] = {}
		self.offsets_changed = False
		self.lead_time = clock.Lead(*LEADS)
		self.spent = Spent()
		# By how many ns the clients of this step began late at most, and what the longest took.
		self.late = self.longest = 0

	# What hosts say.

	def said(self, label: str | None, line: str) -> None:
		"""See Audience."""
		received = time.time_ns()
		host = self.by_name.get(label) if label is not None else self._speaker(line)
		if host is None:
			return
		try:
			message = host.receiver.take(line)
		except ValueError:
			# Such as what a login shell says.
			host.noise = plain(line)
			return
		if message is None:
			return
		try:
			self._hear(host, message, received)
		except (ValueError, KeyError, TypeError, AttributeError):
			self._fail(host, f"it said what makes no sense: {plain(message)[:100]}")

	def _speaker(self, line: str) -> Host | None:
		"""The host that says in LINE which one it is."""
		try:
			return self.by_name.get(str(wire.parse(line).get("host")))
		except ValueError:
			return None

	def ended(self, name: str, reason: str) -> None:
		"""See Audience."""
		host = self.by_name[name]
		if not host.over:
			host.over = True
			what = "'krping node' has ended there" if host.ident else "cannot be reached"
			self._fail(host, f"{what}: {plain(reason)}{host.last_words}")

	def _hear(self, host: Host, message: Message, received: int) -> None:
		say = message.get("say")
		if host.ident and message["id"] != host.ident:
			raise ValueError("another node of the same name")
		if "mono" in message and say != "clock":
			by = host.clock.jump(int(message["now"]), int(message["mono"]))
			if by:
				host.jumps.append((self.number, by))
				self.offsets_changed = True
		if say == "ready":
			if host.ident or host.reason:
				return
			try:
				host.introduce(message)
			except ValueError as error:
				self._fail(host, str(error))
		elif say == "clock":
			host.clock.answer(int(message["sent"]), int(message["now"]),
					  int(message["mono"]), received)
		elif message.get("n") != self.number or not host.takes_part:
			return
		elif say == "trouble":
			self.refused[host.number] = plain(message["reason"])
			say = "listening"
		elif say == "result":
			self._take_runs(host, message)
		if say == self.wanted:
			self._answered(host)

	def _take_runs(self, host: Host, message: Message) -> None:
		late = max(0, int(message.get("late", 0)))
		self.late = max(self.late, late)
		if late > LATE:
			host.late_rounds += 1
			host.latest = max(host.latest, late)
		for each in message["runs"]:
			figures = {str(name): float(value)
				   for name, value in each.get("figures", {}).items()
				   if math.isfinite(float(value)) and float(value) >= 0}
			errno = plain(each.get("errno", ""))
			self.longest = max(self.longest, int(each.get("took", 0)))
			self._close((host.number, int(each["peer"])),
				    Run((host.number, int(each["peer"])), figures, errno,
					plain(each.get("reason", "")), late))

	def _answered(self, host: Host) -> None:
		self.waiting.discard(host.name)
		if not self.waiting:
			self.changed.set()

	def _fail(self, host: Host, reason: str) -> None:
		"""HOST has no part from now on."""
		if not host.reason:
			host.reason = reason
			host.failed_in = self.number if self.number >= 0 else None
			if self.launcher:
				self.launcher.drop(host.name)
		self._answered(host)

	# What is waited for.

	async def _wait(self, wanted: str, hosts: Iterable[Host], seconds: float) -> list[Host]:
		"""Wait until each of HOSTS has said WANTED or has failed, and return those that have
		not after SECONDS."""
		self.wanted = wanted
		self.waiting = {host.name for host in hosts}
		self.changed.clear()
		if self.waiting and not self.signals:
			with contextlib.suppress(TimeoutError):
				await asyncio.wait_for(self.changed.wait(), seconds)
		if self.signals:
			raise Interrupted
		late = [self.by_name[name] for name in self.waiting]
		self.waiting = set()
		self.wanted = ""
		return sorted(late, key=lambda host: host.number)

	@property
	def present(self) -> list[Host]:
		"""The hosts that take part."""
		return [host for host in self.hosts if host.takes_part]

	def _send(self, message: Message) -> None:
		assert self.launcher
		self.launcher.send(wire.down(message))

	def interrupt(self, number: int) -> None:
		"""The signal NUMBER has come."""
		self.signals.append(number)
		self.changed.set()

	# From the first host to the last round.

	async def lead(self, launcher: Launcher, work: Callable[[], Any]) -> None:
		"""Start 'krping node' on all hosts by LAUNCHER, wait for WORK(), and end what was
		started, whatever happens."""
		self.launcher = launcher
		loop = asyncio.get_running_loop()
		for number in proc.ENDING:
			if signal.getsignal(number) is not signal.SIG_IGN:
				loop.add_signal_handler(number, self.interrupt, number)
		try:
			try:
				launcher.start([host.name for host in self.hosts])
				await self.connect()
				await work()
			finally:
				self._send({"do": "end"})
				# What ends now has done what it should.
				for host in self.hosts:
					host.over = True
				await launcher.stop()
		finally:
			for number in proc.ENDING:
				loop.remove_signal_handler(number)

	async def connect(self) -> None:
		"""Wait for the hosts to be there."""
		for host in await self._wait("ready", self.hosts, self.deadlines.connect):
			self._fail(host, "it did not say that it is ready within "
				   f"{self.deadlines.connect:g} s{host.last_words}")

	async def agree(self, wishes: list[Wish]) -> list[Wish]:
		"""Ask for the clocks, and choose the addresses on the rails of WISHES, or on the usual
		one. Return the rails."""
		for host in self.present:
			if host.lacks:
				self._fail(host, host.lacks[0])
		await self.measure_clocks()
		wishes = wishes or rails.usual([host.rails for host in self.present])
		for host in self.hosts:
			host.addresses = [rails.address(host.rails, wanted) for wanted in wishes]
		for host in self.present:
			if not any(host.addresses):
				has = ", ".join(f"{rail.device} {rail.address}" for rail in host.rails)
				self._fail(host, "it has no RDMA device with an address of "
					   f"{', '.join(wanted.text for wanted in wishes)}; it has {has}")
		return wishes

	async def measure_clocks(self) -> None:
		"""Find out how far the clock of each host is off."""
		for probe in range(PROBES):
			self._send({"do": "clock", "n": probe, "sent": time.time_ns()})
			for host in await self._wait("clock", self.present, self.deadlines.answer):
				self._fail(host, "it did not say the time within "
					   f"{self.deadlines.answer:g} s")

	@property
	def _offsets(self) -> list[int]:
		return [host.clock.offset or 0 for host in self.hosts]

	def introduce(self, port: int) -> None:
		"""Tell the hosts who is who."""
		self._send({"do": "plan", "schema": wire.SCHEMA, "port": port,
			    "ids": {host.ident: host.number for host in self.present},
			    "addresses": [host.addresses for host in self.hosts],
			    "offsets": self._offsets})

	async def run(self, whole: Plan, steps: Iterable[Step],
		      command: Callable[[Step], tuple[str, str, float]],
		      done: Callable[[Step, Pair], bool] | None,
		      progress: Callable[[int], object]) -> None:
		"""Run STEPS of the plan WHOLE. COMMAND says what servers and clients of a step are
		told, and how many seconds it takes at least. Pairs that are DONE are left out."""
		for step in steps:
			progress(step.number)
			spec = step.spec
			if done:
				spec = [pair for pair in plan.pairs_of(spec, whole.count)
					if not done(step, pair)]
			pairs = set(plan.pairs_of(spec, whole.count))
			if pairs:
				rail = whole.rails.index(step.rail)
				await self._round(step, spec, pairs, rail, command(step))

	async def _round(self, step: Step, spec: plan.Spec, pairs: set[Pair], rail: int,
			 command: tuple[str, str, float]) -> None:
		"""Run PAIRS, which SPEC means, as STEP says on RAIL."""
		began = time.monotonic()
		self.step, self.number, self.open, self.refused = step, step.number, pairs, {}
		self.late = self.longest = 0
		self._close_those_without(rail)
		server, client, least = command
		seconds = least + self.deadlines.run
		if isinstance(spec, list):
			spec = sorted(self.open)
		if self.open:
			self._send({"do": "round", "n": step.number, "spec": spec, "rail": rail,
				    "server": server, "client": client,
				    "listen": self.deadlines.listen, "seconds": seconds})
			await self._servers()
			await self._clients(seconds)
			self.lead_time.learn(self.late)
			self.spent.add(time.monotonic() - began, self.longest / SECOND)
		for pair in sorted(self.open):
			self._close(pair, self._lost(pair))

	async def _servers(self) -> None:
		"""The barrier before a round: wait until the servers listen."""
		servers = {server for _, server in self.open}
		# A server that does not listen may need a while to be ended.
		limit = self.deadlines.listen + self.deadlines.answer
		for host in await self._wait("listening", [self.hosts[server] for server in servers
							   if self.hosts[server].takes_part], limit):
			self._fail(host, f"it did not answer in round {self.number} within {limit:g} s")

	async def _clients(self, seconds: float) -> None:
		"""Start the clients, and wait for what they come to within SECONDS."""
		absent = {host.number for host in self.hosts if not host.takes_part}
		skip = self.refused.keys() | absent
		clients = {client for client, server in self.open if server not in skip} - absent
		if self.offsets_changed:
			self._send({"do": "offsets", "offsets": self._offsets})
			self.offsets_changed = False
		ahead = self.lead_time.ahead([host.clock for host in self.present])
		self._send({"do": "go", "n": self.number, "start": time.time_ns() + ahead,
			    "skip": sorted(skip)})
		limit = ahead / SECOND + seconds + self.deadlines.answer
		for host in await self._wait("result", [self.hosts[client] for client in clients],
					     limit):
			self._fail(host, f"it did not answer in round {self.number} within {limit:g} s, "
					 "which is more than its commands had")

	def _close_those_without(self, rail: int) -> None:
		"""Close the pairs of hosts that have no part, or no address on RAIL."""
		without = {host.number for host in self.hosts
			   if not host.takes_part or host.addresses[rail] is None}
		if without:
			for pair in sorted(self.open):
				if without.intersection(pair):
					self._close(pair, self._lost(pair))

	def _lost(self, pair: Pair) -> Run:
		"""The Run of PAIR, of which nothing was heard."""
		client, server = (self.hosts[each] for each in pair)
		for host in (client, server):
			if not host.takes_part:
				return Run(pair, {}, DOWN, f"{host.name}: {host.reason}")
		if server.number in self.refused:
			return Run(pair, {}, REFUSED, f"{server.name}: {self.refused[server.number]}")
		assert self.step
		for host in (client, server):
			if None in host.addresses:
				return Run(pair, {}, NO_DATA,
					   f"{host.name} has no address on rail {self.step.rail}")
		return Run(pair, {}, NO_DATA, f"{client.name} said nothing of it")

	def _close(self, pair: Pair, run: Run) -> None:
		"""RUN is what came of PAIR."""
		if pair in self.open:
			self.open.remove(pair)
			assert self.step
			self.tell(self.step, run)
