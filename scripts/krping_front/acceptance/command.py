# SPDX-License-Identifier: GPL-2.0
"""krping test: the acceptance set on a device, as KTAP and JUnit."""

import argparse
import datetime
import json
import sys

from krping_front import options, proc, results, rows, version
from krping_front.address import add_argument, add_source, place, source
from krping_front.errors import FAILED, INTERRUPTED, OK, Quit, stdout_gone

from . import cases, junit, target
from .cases import Group
from .limits import MAX_P99, MIN_BW, takes
from .report import Report
from .session import Session

DESCRIPTION = """\
Run a standard set of cases against an RDMA device, and print KTAP: what the
device can do, ping/pong in all modes, microbenchmarks, conformance. Both sides
run on this host, unless --client says that a server runs at the address.
Without --device and ADDR it is the only RDMA device of this host.
"""
EXAMPLES = """\
examples:
  krping test
  krping test --device rxe0 --known rxe
  krping test 192.0.2.2 --junit krping.xml --json results.json
  krping test --max-p99 20us --max-p99 rlat=40us --min-bw 10G --duration 5
  krping test --only caps,pingpong,microbench.wlat
  krping test --client 192.0.2.1
  krping test --client 192.0.2.1 --device mlx5_1
  krping test --list

exit status:
  0    no case failed, but for those of --known; those that the device cannot do
       are skipped
  1    a case failed
  2    it could not be run: usage, the module is not loaded, not root, no such
       device
  3    nothing but limits of --max-p99 and --min-bw was missed
  130  interrupted
Whatever the end, what there is until then is written to --junit and --json.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	add_argument(parser.add_mutually_exclusive_group(),
		     "an address of the device, or with --client the server's; or a host")
	add_source(parser, "the RDMA device of this host, such as mlx5_0; without --client in place of "
			   "ADDR")
	parser.add_argument("--client", dest="role", action="store_const", const="client",
			    default="loopback", help="a server runs at ADDR; nothing of conform is run")
	parser.add_argument("--port", metavar="P", type=options.number_of("port"),
			    help="the server's port")
	parser.add_argument("--only", metavar="GROUP,...",
			    help=f"groups ({', '.join(cases.GROUPS)}) and cases, such as pingpong.dma")
	parser.add_argument("--max-p99", metavar="[CASE=]TIME", type=MAX_P99, action="append", default=[],
			    help="the limit of the 99th percentile of latencies, such as 20us, of one of "
				 f"{', '.join(takes('max_p99'))}, or of all; may be repeated")
	parser.add_argument("--min-bw", metavar="[CASE=]BYTES", type=MIN_BW, action="append", default=[],
			    help="the limit of bandwidths, in bytes per second, such as 10G, of one of "
				 f"{', '.join(takes('min_bw'))}, or of all but atomic operations; may be "
				 "repeated")
	parser.add_argument("--duration", metavar="S", type=options.number_of("duration"),
			    help="seconds of each microbenchmark (default: a number of operations)")
	parser.add_argument("--timeout", metavar="MS", type=options.number_of("timeout"),
			    help="the deadline of each wait (default: the module's)")
	parser.add_argument("--known", metavar="FILE",
			    help="conformance cases that are known to fail; rxe and siw are there")
	parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML there")
	parser.add_argument("--json", metavar="FILE", help="write the module's results there, one a line")
	parser.add_argument("--list", action="store_true", help="list the cases with their commands")
	parser.add_argument("--quiet", action="store_true", help="show no progress")


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
		self.report.about(device=rows.device(session.look), address=addr, kernel=results.host()[1],
				  module=version.loaded(), program=version.own())
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
