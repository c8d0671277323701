# SPDX-License-Identifier: GPL-2.0
"""krping caps: what a device says of itself, what it does, and what commands can ask."""

import argparse
import json

from . import device, pair, provenance, run, runner
from .address import place, source
from .command import Command
from .errors import FAILED, Quit, printing
from .result import Result


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	if arguments.port is not None and not arguments.client:
		raise Quit("--port is for --client")
	where = ",".join([place(arguments.addr), *source(arguments)])
	outcome = runner.run(Command(f"caps,{where}"))
	provenance.add(outcome.results)
	trouble = None
	if arguments.client and outcome.errno == 0 and outcome.results:
		trouble = check(pair.Server(where, arguments.port), outcome.results[0])
	with printing():
		for found in outcome.results:
			if arguments.json:
				print(json.dumps(found, separators=(",", ":")))
			elif "caps" in found:
				print("\n".join(device.lines(found)))
	status = run.finish(outcome)
	if trouble:
		raise trouble
	return status


def check(server: pair.Server, here: Result) -> Quit | None:
	"""Add the pair of SERVER and this host to the result HERE. Returns what is wrong, or None."""
	try:
		here["pair"] = pair.check(server, here)
	except Quit as trouble:
		return trouble
	reason = here["pair"].get("reason")
	return Quit(reason, FAILED) if reason else None
