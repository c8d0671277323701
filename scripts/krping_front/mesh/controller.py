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
from .pairs import Pair, Spec
from .plan import Plan, Step
from .rails import Wish
from .rounds import Round
from .wire import Message

SECOND = 10 ** 9
PROBES = 5
# The time from the announcement of the first round to its start, and the shortest and the longest
# that it may become, in ns.
LEADS = (SECOND // 5, SECOND // 50, 5 * SECOND)
# Seconds after which clocks are asked again.
CLOCKS = 60.0
# Hosts that begin a round later than that, in ns, are told of.
LATE = SECOND // 100


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


def nanoseconds(value: Any) -> int:
	"""VALUE, which a host has said. ValueError is raised for what is no time in 64 bits."""
	if not isinstance(value, int) or abs(value) >= 1 << 63:
		raise ValueError("no time")
	return value


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
		# The round that is under way, and the one before until all is known of it: results are
		# sent while the next round begins.
		self.current: Round | None = None
		self.past: Round | None = None
		self.number = -1
		# The rail that hosts listen on, and with which options, as far as that is known.
		self.listening: dict[int, tuple[int, str]] = {}
		self.listens = (-1, "")
		self.offsets_changed = False
		# The clock that hosts' are compared with, and when that is to be done again.
		self.clock = clock.Steady()
		self.clocks_due = math.inf
		self.lead_time = clock.Lead(*LEADS)
		self.spent = Spent()

	# What hosts say.

	def said(self, label: str | None, line: str) -> None:
		"""See Audience."""
		received = self.clock.now()
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
		except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
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
		if "mono" in message:
			by = host.clock.jump(nanoseconds(message["now"]), nanoseconds(message["mono"]))
			self.offsets_changed |= bool(by)
			if by and self.number >= 0:
				host.jumps.append((self.number, by))
		if say == "ready":
			if host.ident or host.reason:
				return
			try:
				host.introduce(message)
			except ValueError as error:
				self._fail(host, str(error))
		elif say == "clock":
			host.clock.answer(nanoseconds(message["sent"]), message["now"], received)
		elif not host.takes_part:
			return
		elif say == "result":
			self._take_result(host, message)
		elif self.current is None or message.get("n") != self.number:
			return
		elif say == "trouble":
			self.current.refused[host.number] = plain(message["reason"])
			self.listening.pop(host.number, None)
			say = "listening"
		elif say == "listening":
			self.listening[host.number] = self.listens
		elif say == "ended":
			self.current.longest = max(self.current.longest, nanoseconds(message["took"]))
		if say == self.wanted:
			self._answered(host)

	def _take_result(self, host: Host, message: Message) -> None:
		"""Take in what came of the runs of HOST in a round."""
		found = next((each for each in (self.past, self.current)
			      if each and each.step.number == message["n"]), None)
		if found is None or host.number not in found.awaited:
			return
		found.awaited.remove(host.number)
		late = max(0, nanoseconds(message.get("late", 0)))
		found.late = max(found.late, late)
		if late > LATE:
			host.late_rounds += 1
			host.latest = max(host.latest, late)
		for each in message["runs"]:
			figures = {str(name): float(value)
				   for name, value in each.get("figures", {}).items()
				   if math.isfinite(float(value)) and float(value) >= 0}
			errno = plain(each.get("errno", ""))
			if errno:
				# Its server may be why.
				self.listening.pop(int(each["peer"]), None)
			found.close(Run((host.number, int(each["peer"])), figures, errno,
					plain(each.get("reason", "")), late,
					frozenset(map(plain, each.get("devices", ())))))

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
		alive = loop.create_task(self._say_alive())
		try:
			try:
				launcher.start([host.name for host in self.hosts])
				await self.connect()
				await work()
			finally:
				alive.cancel()
				self._send({"do": "end"})
				# What ends now has done what it should.
				for host in self.hosts:
					host.over = True
				await launcher.stop()
		finally:
			for number in proc.ENDING:
				loop.remove_signal_handler(number)

	async def _say_alive(self) -> None:
		"""Let nodes know that the controller is there, whatever it waits for."""
		while True:
			await asyncio.sleep(wire.ALIVE)
			self._send({"do": "alive"})

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
		for host in self.present:
			host.clock.fresh = True
		for probe in range(PROBES):
			self._send({"do": "clock", "n": probe, "sent": self.clock.now()})
			for host in await self._wait("clock", self.present, self.deadlines.answer):
				self._fail(host, "it did not say the time within "
					   f"{self.deadlines.answer:g} s")
		self.offsets_changed = True
		self.clocks_due = time.monotonic() + CLOCKS

	@property
	def _offsets(self) -> list[int]:
		return [host.clock.offset or 0 for host in self.hosts]

	def introduce(self, port: int) -> None:
		"""Tell the hosts who is who."""
		self._send({"do": "plan", "schema": wire.SCHEMA, "port": port,
			    "ids": {host.ident: host.number for host in self.present},
			    "addresses": [host.addresses for host in self.hosts],
			    "offsets": self._offsets})
		self.offsets_changed = False

	async def run(self, whole: Plan, steps: Iterable[Step],
		      command: Callable[[Step], tuple[str, str, float]],
		      done: Callable[[Step, Pair], bool] | None,
		      progress: Callable[[int], object]) -> None:
		"""Run STEPS of the plan WHOLE. COMMAND says what servers and clients of a step are
		told, and how many seconds it takes at least. Pairs that are DONE are left out."""
		began = time.monotonic()
		try:
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
				if not whole.by_pair:
					# The module may not keep the results of two rounds with many
					# runs on a host.
					await self._report()
			await self._report()
		finally:
			self.spent.whole += time.monotonic() - began

	async def _round(self, step: Step, spec: Spec, pairs: set[Pair], rail: int,
			 command: tuple[str, str, float]) -> None:
		"""Run PAIRS, which SPEC means, as STEP says on RAIL."""
		if time.monotonic() >= self.clocks_due:
			await self.measure_clocks()
		self.number = step.number
		self.current = current = Round(step, rail, pairs, self.tell)
		current.close_those_without(self.hosts)
		if not current.open:
			return
		server, client, least = command
		seconds = least + self.deadlines.run
		if isinstance(spec, list):
			spec = sorted(current.open)
		self.listens = (rail, server)
		message = {"do": "round", "n": step.number, "spec": spec, "rail": rail, "server": server,
			   "client": client, "listen": self.deadlines.listen, "seconds": seconds,
			   "absent": current.absent(self.hosts)}
		if all(self.listening.get(number) == self.listens for _, number in current.open):
			start = self._start(current)
			self._send(message | start)
		else:
			self._send(message)
			await self._servers(current)
			start = self._start(current)
			self._send({"do": "go", "n": step.number} | start)
		await self._clients(current, start, seconds)
		self.spent.add(current.longest / SECOND)
		if self.past:
			await self._collect(self.past)
		self.past = current

	async def _servers(self, current: Round) -> None:
		"""The barrier before the round CURRENT: wait until the servers listen."""
		servers = {server for _, server in current.open}
		# A server that does not listen may need a while to be ended.
		limit = self.deadlines.listen + self.deadlines.answer
		for host in await self._wait("listening", [self.hosts[server] for server in servers
							   if self.hosts[server].takes_part], limit):
			self._fail(host, f"it did not answer in round {self.number} within {limit:g} s")

	def _start(self, current: Round) -> Message:
		"""When the clients of the round CURRENT begin, and which are left out."""
		if self.offsets_changed:
			self._send({"do": "offsets", "offsets": self._offsets})
			self.offsets_changed = False
		now = self.clock.now()
		ahead = self.lead_time.ahead([host.clock for host in self.present], now)
		return {"start": now + ahead, "skip": sorted(current.refused),
			"absent": current.absent(self.hosts)}

	async def _clients(self, current: Round, start: Message, seconds: float) -> None:
		"""Wait until the clients of the round CURRENT have ended, which have SECONDS from their
		START on."""
		absent = set(start["absent"])
		skip = absent.union(start["skip"])
		# A host whose server does not listen is a client as any other.
		clients = [self.hosts[client] for client in
			   {client for client, server in current.open if server not in skip} - absent]
		current.awaited = {host.number for host in clients}
		ahead = max(0, start["start"] - self.clock.now()) / SECOND
		limit = ahead + seconds + self.deadlines.answer
		for host in await self._wait("ended", clients, limit):
			self._fail(host, f"it did not answer in round {self.number} within {limit:g} s, "
					 "which is more than its commands had")

	async def _report(self) -> None:
		"""Have the hosts say what came of the last round, before another one begins."""
		if self.past:
			self._send({"do": "report"})
			await self._collect(self.past)
			self.past = None

	async def _collect(self, past: Round) -> None:
		"""Wait for what is still to be known of the round PAST."""
		number, limit = past.step.number, self.deadlines.answer
		for host in await self._wait("result", [self.hosts[each] for each in past.awaited
							if self.hosts[each].takes_part], limit):
			self._fail(host, f"it did not answer in round {self.number} within {limit:g} s: "
					 f"what came of round {number} is not known")
		self.lead_time.learn(past.late > LATE)
		for pair in sorted(past.open):
			past.close(past.lost(pair, self.hosts))
