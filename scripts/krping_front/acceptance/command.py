# SPDX-License-Identifier: GPL-2.0
"""krping test: the acceptance set on a device, as KTAP and JUnit."""

import argparse
import datetime
import json
import sys

from krping_front import proc, results, rows, version
from krping_front.address import place, source
from krping_front.errors import FAILED, INTERRUPTED, OK, Quit, stdout_gone

from . import cases, junit, target
from .cases import Group
from .report import Report
from .session import Session


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	chosen = cases.chosen(arguments.only)
	if arguments.list:
		listed(chosen)
		return OK
	if arguments.role == "client" and arguments.addr is None:
		raise Quit("--client needs ADDR, the server's address")
	if arguments.role != "client":
		if arguments.src is not None:
			raise Quit("--src is for --client; ADDR is where both sides are")
		if arguments.device is not None and arguments.addr is not None:
			raise Quit("ADDR and --device are both given; only --client takes both")
	for path in (arguments.junit, arguments.json):
		if path == "-":
			raise Quit("--junit and --json need the name of a file; stdout has the KTAP")
		if path is not None:
			results.check_writable(path)
	return Set(arguments, chosen).run()


def listed(chosen: list[Group]) -> None:
	"""Print the cases of the groups CHOSEN."""
	found = [case for group in chosen for case in group.cases]
	width = max(len(case.path) for case in found)
	for case in found:
		print(f"{case.path:{width}}  {case.options}")


class Set:
	"""The groups CHOSEN, which are run as ARGUMENTS say."""

	def __init__(self, arguments: argparse.Namespace, chosen: list[Group]) -> None:
		self.arguments = arguments
		self.chosen = chosen
		self.started = datetime.datetime.now(datetime.UTC)
		self.report = Report(len(chosen))
		self.session: Session | None = None

	def run(self) -> int:
		"""Run them, write the files, and return the exit status."""
		try:
			with proc.handled(dict.fromkeys(proc.ENDING, _interrupt)):
				return self._run()
		except Quit as ended:
			self._bail(str(ended))
			raise
		except KeyboardInterrupt:
			self._bail("interrupted")
			print("krping: interrupted", file=sys.stderr)
			return INTERRUPTED
		except BrokenPipeError:
			stdout_gone()
			self._bail("nobody reads the output")
			return FAILED
		finally:
			self._save()

	def _run(self) -> int:
		# Says what is amiss that is not the device's fault.
		results.newest()
		arguments = self.arguments
		addr = arguments.addr or target.address(arguments.device)
		origin = source(arguments) if arguments.role == "client" else []
		session = self.session = Session(arguments, ",".join([place(addr), *origin]))
		self.report.about(session.look, device=rows.device(session.look), address=addr,
				  kernel=results.host()[1], module=version.loaded(),
				  program=version.own())
		for group in self.chosen:
			if group.name != "caps":
				session.usable()
			self._group(session, group)
		session.check()
		self.report.close()
		return self.report.status

	def _group(self, session: Session, group: Group) -> None:
		"""Run GROUP."""
		if group.name == "conform":
			ended = session.conformance(group.cases)
			self.report.begin(group.name, len(ended))
			for done in ended:
				self.report.add(done)
			session.check()
		else:
			self.report.begin(group.name, len(group.cases))
			for case in group.cases:
				self.report.add(session.attempt(case))
		self.report.end()

	def _bail(self, reason: str) -> None:
		"""Say that it ends early, for REASON, in what is still read."""
		try:
			self.report.bail(reason)
			self.report.close()
		except BrokenPipeError:
			stdout_gone()

	def _save(self) -> None:
		"""Write the files that are wanted."""
		if self.arguments.junit is not None:
			started = self.started.isoformat(timespec="seconds")
			text = junit.text(self.report, started, results.host()[0])
			results.save(self.arguments.junit, text)
		if self.arguments.json is not None:
			found = self.session.results if self.session else []
			results.save(self.arguments.json, "".join(
				json.dumps(each, separators=(",", ":")) + "\n" for each in found))


def _interrupt(_number: int, _frame: object) -> None:
	raise KeyboardInterrupt
