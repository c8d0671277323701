# SPDX-License-Identifier: GPL-2.0
"""Runs the cases on one device, and judges them."""

import argparse
import time
from typing import NamedTuple

from krping_front import conform, known, progress, runner
from krping_front.cases import Case as Judged
from krping_front.command import Command
from krping_front.errors import FAILED, INTERRUPTED, Quit
from krping_front.result import Result
from krping_front.runner import Outcome

from . import figures, limits
from .cases import Case
from .figures import Wrong


class Done(NamedTuple):
	"""A case that has ended."""

	case: Judged
	seconds: float
	# The command that was run for it; "" for none.
	command: str = ""
	# Whether it only missed a limit.
	missed: bool = False


class Session:
	"""Runs cases on the device of PLACE, the options for an address and for where a client
	connects from, as ARGUMENTS say."""

	def __init__(self, arguments: argparse.Namespace, place: str) -> None:
		self.arguments = arguments
		self.place = place
		self.known = known.load(arguments.known) if arguments.known is not None else {}
		self.show = progress.wanted(arguments.quiet)
		# All results so far.
		self.results: list[Result] = []
		# Whether a signal came while a command ran, and how long the last one took.
		self.stopped = False
		self.seconds = 0.0
		self.look = self._look()

	def _look(self) -> Result:
		"""The result of caps, which the cases depend on."""
		self.command = self._command("caps", "client")
		outcome = self._run(self.command, "caps")
		found = next((each for each in outcome.results if "caps" in each), None)
		if found is None:
			raise Quit(outcome.message if outcome.errno else
				   "; ".join(outcome.warnings) or "the module has no result of caps")
		self.trouble = outcome.message if outcome.errno else ""
		return found

	def usable(self) -> None:
		"""Raise a Quit unless all works that runs need."""
		if self.trouble:
			raise Quit(self.trouble, FAILED)

	def attempt(self, case: Case) -> Done:
		"""Run CASE, and judge it."""
		if case.look is not None:
			return self._looked(case)
		reason = self._why_not(case)
		if reason:
			return Done(Judged(case.name, "skip", reason=reason), 0.0)
		command = self._command(self._options(case))
		outcome = self._run(command, case.path)
		return Done(_judge(case, command, outcome), self.seconds, command.text, outcome.missed)

	def conformance(self, group: list[Case]) -> list[Done]:
		"""Run the conformance cases of GROUP, which are one command."""
		names = [case.name or "all" for case in group]
		if self.arguments.role != "loopback":
			return [Done(Judged(name, "skip", reason="not with --client: both sides are on the "
					    "device of one host"), 0.0) for name in names]
		names = ["all"] if "all" in names else names
		command = self._command(f"neg={'+'.join(names)}")
		outcome = self._run(command, "conform", partial=True)
		if outcome.refused:
			raise Quit(outcome.message)
		found = next((each for each in outcome.results if "cases" in each), None)
		judged = [known.judge(case, self.known) for case in conform.judge(found, names)]
		if not conform.ended(outcome, judged) and outcome.status != INTERRUPTED:
			judged.append(Judged("end", "fail", reason=outcome.message if outcome.errno else
					     "the module says of no case how it ended"))
		share = self.seconds / max(len(judged), 1)
		return [Done(case, share, command.text if case.name == "end" else
			     conform.again(command.text, case.name)) for case in judged]

	def _looked(self, case: Case) -> Done:
		"""CASE, which is a look at the device."""
		assert case.look is not None
		found = case.look(self.look)
		outcome = "fail" if found.wrong else "skip" if found.skip else "pass"
		return Done(Judged(case.name, outcome, seen=found.seen, reason=found.wrong or found.skip,
				   expected=found.expected if found.wrong else ""),
			    0.0, self.command.text)

	def _why_not(self, case: Case) -> str:
		"""Why CASE cannot be run here; "" if it can."""
		if case.local and self.arguments.role != "loopback":
			return "not with --client: it is an option of the server"
		said = dict(self.look["caps"].get("limits", {})).get(case.needs, {})
		if case.needs and isinstance(said, dict) and not said.get("supported", False):
			return str(said.get("reason", f"the device has no {case.needs}"))
		return ""

	def _options(self, case: Case) -> str:
		"""The options of CASE, with its limit, and for so long as is asked for."""
		words = case.options.split(",")
		if case.group == "microbench" and self.arguments.duration:
			words = [word for word in words if not word.startswith("count=")]
			words.append(f"duration={self.arguments.duration}")
		if self.look.get("transport") == "iWARP":
			words.append(case.on_iwarp)
		return ",".join(filter(None, [*words, limits.added(case, self.arguments)]))

	def _command(self, options: str, role: str = "") -> Command:
		"""The Command of OPTIONS in ROLE, that of the session without one."""
		words = [role or self.arguments.role, self.place, options]
		if self.arguments.port and role != "client":
			words.append(f"port={self.arguments.port}")
		if self.arguments.timeout is not None:
			words.append(f"timeout={self.arguments.timeout}")
		return Command(",".join(words))

	def _run(self, command: Command, label: str, partial: bool = False) -> Outcome:
		"""Run COMMAND, and return its Outcome. An interrupt raises KeyboardInterrupt: at once,
		unless what it has done until then is wanted as a PARTIAL result."""
		self.check()
		start = time.monotonic()
		outcome = runner.run(command, self.show, label)
		self.seconds = time.monotonic() - start
		self.results += outcome.results
		self.stopped = outcome.signal is not None or outcome.status == INTERRUPTED
		if outcome.status == INTERRUPTED and not partial:
			self.check()
		return outcome

	def check(self) -> None:
		"""Raise KeyboardInterrupt if a signal has come that ends the session."""
		if self.stopped:
			raise KeyboardInterrupt


def _judge(case: Case, command: Command, outcome: Outcome) -> Judged:
	"""CASE by the OUTCOME of its COMMAND."""
	clients = [each for each in outcome.results if each["role"] == "client"]
	seen = figures.text(clients) if clients and any(each["iterations"] for each in clients) else ""
	if outcome.above is not None:
		return Judged(case.name, "skip", reason=outcome.sentence)
	wrong = (Wrong(outcome.message, _limit(command) if outcome.missed else "success")
		 if outcome.errno else figures.wrong(clients, command, case.checks))
	if wrong is None:
		return Judged(case.name, "pass", seen=seen)
	return Judged(case.name, "fail", wrong.expected, seen, wrong.reason)


def _limit(command: Command) -> str:
	"""The limits that COMMAND sets."""
	return ",".join(f"{name}={command.options[name]}" for name in ("max_p99", "min_bw")
			if name in command.options)
