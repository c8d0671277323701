# SPDX-License-Identifier: GPL-2.0
"""krping mesh: tests between the pairs of many hosts."""

import argparse
import datetime
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from krping_front import progress, results
from krping_front.errors import FAILED, INTERRUPTED, OK, Quit, printing

from . import again, document, html, nodeset, plan, power, table
from . import arguments as given
from .figures import FIGURES, label
from .journal import Journal, Start, refuse_left
from .matrix import Run
from .outcome import ERRORS, Limits, Outcome
from .pairs import Pair
from .plan import Step


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	from . import launch
	hosts = nodeset.expand(arguments.hosts)
	name = arguments.launcher or launch.usual()
	_refuse(arguments, hosts)
	mesh = Mesh(arguments, hosts, name)
	if arguments.check:
		return mesh.check()
	return mesh.run()


def _refuse(arguments: argparse.Namespace, hosts: list[str]) -> None:
	"""Refuse ARGUMENTS that make no sense, before any of HOSTS is asked."""
	checked = given.planned(arguments, hosts, given.wishes(arguments))
	given.extra(arguments.option, "--option")
	given.extra(arguments.server_option, "--server-option")
	if arguments.check:
		return
	if len(hosts) < 2:
		raise Quit("--hosts: a mesh has at least two hosts")
	for name, limit, figure in (("--max-p99", arguments.max_p99, "p99_ns"),
				    ("--min-bw", arguments.min_bw, "bytes_per_s")):
		tests = ", ".join(kind.name for kind in arguments.test)
		if limit is not None and not any(
				figure in FIGURES[kind.measure] for kind in arguments.test):
			raise Quit(f"{name}: no test measures {label(figure)}; --test is {tests}")
	if arguments.fail_on_outliers and len(hosts) < power.ENOUGH:
		raise Quit(f"--fail-on-outliers: {len(hosts)} hosts are too few to tell who is worse than "
			   f"the others; it takes {power.ENOUGH}")
	if arguments.html == "-":
		raise Quit("--html -: a page is for a file")
	if arguments.resume and arguments.json in (None, "-"):
		raise Quit("--resume needs --json FILE: what it goes on from is FILE.part")
	if arguments.json not in (None, "-") and not arguments.resume:
		refuse_left(arguments.json)
	for path in (arguments.json, arguments.html):
		if path is not None:
			results.check_writable(path, leave=False)
	most = plan.most_results(checked.pattern, len(hosts)) * arguments.concurrency
	if most > results.KEPT:
		print(f"krping: a round of {arguments.pattern} with --concurrency "
		      f"{arguments.concurrency} leaves up to {most} results on a host, and a module "
		      f"keeps {results.KEPT}; runs whose results are lost are failures", file=sys.stderr)


def _now() -> str:
	"""The time, as documents have it."""
	return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


class Mesh:
	"""One mesh, from its hosts to its files."""

	def __init__(self, arguments: argparse.Namespace, hosts: list[str], launcher: str) -> None:
		self.arguments = arguments
		self.hosts = hosts
		self.launcher = launcher
		self.started = _now()
		self.outcome: Outcome | None = None
		self.journal: Journal | None = None
		self.shown = 0.0
		self.failures = 0
		self.visible = progress.wanted(arguments.quiet)

	# Around the event loop.

	def _lead(self, work: Callable[[Any], Any]) -> Any:
		"""Lead the hosts through WORK(controller), and return the controller."""
		import asyncio

		from . import launch
		from .controller import Controller, Deadlines, Interrupted

		async def all_of_it() -> Controller:
			made = Controller(self.hosts, Deadlines(
				connect=self.arguments.connect_timeout, run=self.arguments.timeout),
				self._take)
			words = ["sudo", "-n"] if self.arguments.sudo else []
			words += [self.arguments.krping, "node"]
			try:
				await made.lead(launch.named(self.launcher, words, made),
						lambda: work(made))
			except Interrupted:
				self.interrupted = True
			return made

		self.interrupted = False
		try:
			return asyncio.run(all_of_it())
		finally:
			self._clear()

	def check(self) -> int:
		"""Say what hosts have and what they lack."""
		async def work(controller: Any) -> None:
			await controller.measure_clocks()

		controller = self._lead(work)
		outcome = Outcome(given.planned(self.arguments, self.hosts, []), controller.hosts,
				  Limits())
		with printing():
			print("\n".join(table.check_lines(outcome)))
		if self.interrupted:
			return INTERRUPTED
		bad = any(host.reason or host.lacks for host in controller.hosts)
		return FAILED if bad else OK

	def run(self) -> int:
		"""Run the mesh."""
		try:
			controller = self._lead(self._work)
		except BaseException:
			# What was run stays for --resume.
			if self.journal:
				self.journal.close(False)
			raise
		if self.outcome is None:
			return self._nobody(controller)
		self.outcome.interrupted = self.interrupted
		verdict, misses = self.outcome.judge(), list(self.outcome.misses())
		status = self.outcome.status(bool(misses), verdict)
		if self.arguments.json != "-":
			with printing():
				print("\n".join(table.lines(self.outcome, verdict, misses)))
		whole = document.document(self.outcome, verdict, misses, status, self._about())
		# Where the disk is full the journal stays, and --resume writes what is missing here.
		if self.arguments.json is not None:
			results.replace(self.arguments.json, document.text(whole))
		if self.arguments.html is not None:
			results.replace(self.arguments.html, html.page(whole))
		if self.journal:
			self.journal.close(not self.interrupted)
		if self.interrupted:
			print("krping: interrupted"
			      + ("; --resume goes on with it" if self.journal else ""), file=sys.stderr)
		return status

	def _nobody(self, controller: Any) -> int:
		"""Nothing was run: say why, and return the exit status."""
		if self.interrupted:
			print("krping: interrupted", file=sys.stderr)
			return INTERRUPTED
		for host in controller.hosts:
			print(f"krping: {host.name}: {host.reason or 'ready'}", file=sys.stderr)
		raise Quit("fewer than two hosts are ready, so nothing was run; --check says what "
			   "hosts lack")

	# Within the event loop.

	async def _work(self, controller: Any) -> None:
		wishes = await controller.agree(given.wishes(self.arguments))
		if len(controller.present) < 2:
			return
		whole = given.planned(self.arguments, self.hosts, wishes)
		limits = Limits(self.arguments.max_p99, self.arguments.min_bw,
				self.arguments.fail_on_outliers)
		outcome = Outcome(whole, controller.hosts, limits)
		journal = None
		if self.arguments.json not in (None, "-"):
			start = Start(self.started, {
				host.name: [host.kernel, host.module] for host in controller.present})
			journal = Journal(self.arguments.json, self._depends(wishes), start,
					  self.arguments.resume)
			journal.restore(outcome)
			self.started = journal.started
		self.outcome, self.journal = outcome, journal
		outcome.spent = controller.spent
		controller.introduce(self.arguments.port)
		await self._run(controller, whole.steps(), whole.step_count,
				journal.has if journal and journal.done else None)
		await self._run_again(controller)

	async def _run(self, controller: Any, steps: Iterable[Step], count: int,
		       done: Callable[[Step, Pair], bool] | None = None) -> None:
		assert self.outcome
		await controller.run(self.outcome.plan, steps,
				     lambda step: given.commands(self.arguments, step), done,
				     lambda number: self._show(number, count))

	async def _run_again(self, controller: Any) -> None:
		"""Run again what stood out, so that chance accuses nobody."""
		assert self.outcome
		whole, times = self.outcome.plan, self.arguments.confirm
		if not times:
			return
		import asyncio
		# It takes long where there are many hosts, which hear of the controller meanwhile.
		verdict = await asyncio.to_thread(self.outcome.judge)
		found = [(each.key, each.finding) for each in verdict.found if each.figure != ERRORS]
		chosen = again.wanted(whole, found, times)
		await self._run(controller, again.steps(whole, chosen, times),
				whole.step_count + again.count(chosen))

	def _take(self, step: Step, run: Run) -> None:
		assert self.outcome
		run = self.outcome.checked(step, run)
		self.outcome.add(step, run)
		if self.journal and not self.outcome.is_again(step):
			self.journal.add(step, run)

	def _show(self, number: int, total: int) -> None:
		"""Show on the terminal how far it is."""
		now = time.monotonic()
		if self.visible and now - self.shown > 0.2 and self.outcome:
			self.shown = now
			print(f"\r\033[Kround {number + 1} of {total}, {self.outcome.runs} runs, "
			      f"{self.outcome.failed + self.outcome.failed_again} failed", end="",
			      file=sys.stderr, flush=True)

	def _clear(self) -> None:
		if self.shown:
			print("\r\033[K", end="", file=sys.stderr, flush=True)

	# What it was asked for.

	def _depends(self, wishes: list[Any]) -> dict[str, Any]:
		"""All that the runs depend on."""
		wanted = self.arguments
		return {"hosts": self.hosts, "pattern": wanted.pattern, "directions": wanted.directions,
			"tests": [kind.name for kind in wanted.test], "sizes": wanted.sizes,
			"rails": [wish.text for wish in wishes], "count": wanted.count,
			"duration": wanted.duration, "options": wanted.option,
			"server_options": wanted.server_option, "concurrency": wanted.concurrency,
			"repeat": wanted.repeat, "sample": wanted.rounds}

	def _about(self) -> dict[str, Any]:
		"""What the document says of all of it."""
		host, kernel = results.host()
		assert self.outcome
		depends = self._depends([])
		del depends["hosts"]
		return {"started": self.started, "ended": _now(),
			"host": host, "kernel": kernel, "launcher": self.launcher,
			"asked": depends | {"rails": list(self.outcome.plan.rails),
					    "confirm": self.arguments.confirm},
			"limits": {"max_p99_ns": self.arguments.max_p99,
				   "min_bytes_per_s": self.arguments.min_bw,
				   "outliers": self.arguments.fail_on_outliers}}
