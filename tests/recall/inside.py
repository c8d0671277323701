# SPDX-License-Identifier: GPL-2.0
"""Usage: inside.py [--brief] MODULES TESTERS DRIVER:MODULE[/TESTER]...

In a guest with the folder MODULES: load each MODULE in place of the kernel's DRIVER, have krping test its
device, or one that uses it, and print "MODULE begins", and then one line:

	MODULE noticed CASE,... SENTENCE
	MODULE silent
	MODULE unfinished		its time was over, and nothing was wrong until then
	MODULE hung CASE,...		it does not end; the cases that had failed, or the one that is begun
	MODULE broken SENTENCE		it could not be tried

With --brief krping runs its conformance cases, and one ping/pong with another host. With TESTER it is one
of those in others.py that tests the device, with its files in the folder TESTERS, and MODULE/TESTER is what
the lines begin with. It notices nothing on its own; the line is one of:

	MODULE/TESTER told
	MODULE/TESTER hung TEST		a process of that test does not end even when it is killed
	MODULE/TESTER broken SENTENCE

Before that, each test has a line of others.py.

Ends early where the guest is in no state to go on.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from typing import NamedTuple

import others
import wire
from defect import split
from swap import remove, swap

# Seconds for which the test of a device may take. Soft-iWARP keeps the known failures waiting, and an
# unanswered connection for 10 s.
BUDGET = 90
# And with another host.
WIRE_BUDGET = 40
# Seconds in which it ends when it is interrupted then.
GRACE = 20
# Milliseconds after which krping gives a step of its up.
PATIENCE = 4000
ADDR = os.environ["KRPING_ADDR"]


def failures(output: str) -> tuple[list[str], str]:
	"""The cases that failed in OUTPUT, KTAP, and the first one's sentence; "run" where krping gave up
	before one had failed."""
	cases, said, bail_out = [], {}, ""
	for line in output.splitlines():
		case = re.match(r" *not ok [0-9]+ (\w+)$", line)
		what = re.match(r" *# (\w+): (?:seen|reason): (.*)", line)
		if what:
			said.setdefault(what[1], what[2])
		elif case and line.startswith(" "):
			cases.append(case[1])
		elif line.startswith("Bail out! "):
			bail_out = line.partition("! ")[2]
	if bail_out and not cases:
		return ["run"], bail_out
	return cases, said.get(cases[0], "") if cases else ""


def begun() -> str:
	"""The conformance case that the module has begun and not ended, or ""."""
	log = subprocess.run(("dmesg",), capture_output=True, text=True, check=False).stdout
	last = re.findall(r"krping: \d+: neg (\w+)( begins|: )", log)[-1:]
	return last[0][0] if last and last[0][1] == " begins" else ""


def interrupted(run: subprocess.Popen[str]) -> str | None:
	"""Interrupt RUN, which tells what has failed by then. Return what it complains of, or None where
	it does not end."""
	run.send_signal(signal.SIGINT)
	try:
		return run.communicate(timeout=GRACE)[1]
	except subprocess.TimeoutExpired:
		run.kill()
		return None


class Tried(NamedTuple):
	"""What came of a run of krping test."""
	cases: list[str]
	sentence: str
	# Its time was over.
	late: bool
	# It does not end.
	hung: bool = False
	# It could not be run.
	broken: bool = False


def tried(kind: str, budget: int, *words: str) -> Tried:
	"""Run krping test with the arguments WORDS on a device of KIND, BUDGET seconds at most."""
	late = False
	with open("/tmp/ktap", "w+", encoding="utf-8") as ktap:
		run = subprocess.Popen(
			("scripts/krping", "test", "--quiet", "--timeout", str(PATIENCE), "--known", kind,
			 *words),
			stdin=subprocess.DEVNULL, stdout=ktap, stderr=subprocess.PIPE, text=True)
		try:
			_, said = run.communicate(timeout=budget)
		except subprocess.TimeoutExpired:
			late = True
			said = interrupted(run)
		ktap.seek(0)
		cases, sentence = failures(ktap.read())
	if said is None:
		return Tried(cases or [begun()], "", late, hung=True)
	if late and cases == ["run"]:
		# It gave up since it was interrupted.
		cases = []
	if not late and run.returncode not in (0, 1):
		sentence = said.strip().splitlines()[-1] if said.strip() else str(run.returncode)
		cases = ["run"]
	return Tried(cases, sentence, late)


def on_wire(kind: str, only: str) -> tuple[Tried, bool]:
	"""Run the cases ONLY with another host, on devices of KIND. Return what came of it, and whether
	the guest is as before."""
	why = wire.lay(kind)
	if why:
		return Tried([], why, False, broken=True), False
	server = wire.serve()
	found = tried(kind, WIRE_BUDGET, "--client", wire.FAR, "--only", only)
	return found, wire.take_away(server)


def outcome(driver: str, brief: bool) -> tuple[str, bool]:
	"""What krping says of DRIVER, which is loaded, and whether the guest is good for another one. BRIEF
	leaves all but the conformance cases, and one ping/pong with another host, out."""
	kind = split(driver)[1].removeprefix("rdma_")
	# Soft-iWARP sends by TCP wherever that goes, and serves no other network namespace.
	has_wire = kind == "rxe"
	only = ["conform"] if brief else ["caps", "conform"] if has_wire else []
	found, good = tried(kind, BUDGET, ADDR, *(["--only", ",".join(only)] if only else [])), True
	if has_wire and not found.cases and not found.hung:
		late = found.late
		found, good = on_wire(kind, "pingpong.dma" if brief else "pingpong,microbench,load")
		found = found._replace(late=late or found.late)
	if found.broken:
		return f"broken {found.sentence}", False
	if found.hung:
		return f"hung {','.join(found.cases)}", False
	if found.cases:
		return f"noticed {','.join(found.cases)} {found.sentence}", good
	return "unfinished" if found.late else "silent", good


def main() -> None:
	"""Do what the usage says."""
	os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
	parser = argparse.ArgumentParser()
	parser.add_argument("--brief", action="store_true")
	parser.add_argument("modules")
	parser.add_argument("testers")
	parser.add_argument("runs", nargs="+")
	arguments = parser.parse_args()
	before = ""
	for driver, _, label in (word.partition(":") for word in arguments.runs):
		module, _, tester = label.partition("/")
		print(label, "begins", flush=True)
		why = swap(f"{arguments.modules}/{module}.ko", driver, before)
		if why:
			found, good = f"broken {why}", False
		elif tester:
			found, good = others.outcome(label, arguments.testers)
		else:
			found, good = outcome(driver, arguments.brief)
		print(label, found, flush=True)
		before = driver
		# What a driver holds is not used again.
		if not good or remove():
			sys.exit(3)


main()
