# SPDX-License-Identifier: GPL-2.0
"""Usage: inside.py NUMBER...

In a guest whose module has all mutants: run for each NUMBER the test that is to notice it, and print
"NUMBER begins", and then one line with what came of it:

	NUMBER killed SENTENCE
	NUMBER survived
	NUMBER broken SENTENCE		the test cannot tell
	NUMBER again			it wants another guest

The test must pass without the mutant just before, unless nothing has failed since it did. Ends early
where the guest is in no state to go on.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

from table import TABLE

# Seconds after which a test is ended that has not ended itself: more than its own limit.
LIMIT = 800
# What ktap prints of an exception.
RAISED = re.compile(r"# ([a-z_]+\.)*[A-Z]\w*(:|$)")
HANGS = f"the test had not ended after {LIMIT} s"


def choose(test: str, number: int) -> None:
	"""Switch the mutant NUMBER on, in the module that TEST looks at."""
	if test == "test_probes":
		# A module of its own, which is unloaded by the test.
		subprocess.run(("insmod", "/krping/rdma_probes.ko"), check=True)
	for path in ("/proc/krping", "/proc/rdma_probes"):
		if os.path.exists(path):
			with open(path, "w", encoding="ascii") as file:
				file.write(f"mutant={number}")


def reload() -> str:
	"""Load the module anew, without any mutant. Return why that is impossible, or ""."""
	# Who has just been killed may still be on its way out of the module.
	for tries in range(50):
		try:
			done = subprocess.run(("rmmod", "krping"), capture_output=True, text=True,
					      check=False, timeout=60)
		except subprocess.TimeoutExpired:
			return "the module does not unload"
		if done.returncode == 0:
			subprocess.run(("insmod", "/krping/krping.ko"), check=True)
			return ""
		time.sleep(0.1 if tries else 0)
	return done.stderr.strip().splitlines()[-1]


def kernel_log() -> list[bytes]:
	"""The lines of the kernel's log."""
	return subprocess.run(["dmesg"], capture_output=True, check=True).stdout.splitlines()


def complaint(since: int) -> str:
	"""What the kernel's log has that it should not, after so many lines, or ""."""
	lines = kernel_log()[since:]
	with tempfile.NamedTemporaryFile() as file:
		file.write(b"\n".join(lines))
		file.flush()
		done = subprocess.run(["scripts/guest-log", file.name], check=False, text=True,
				      capture_output=True, errors="replace")
	return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def failure(output: str, status: int) -> str:
	"""The first failure in the OUTPUT of a test that ended with STATUS, or ""."""
	said = ""
	for line in output.splitlines():
		if line.startswith("not ok"):
			return f'"{re.sub("not ok [0-9]+ ", "", line)}" ({said[:200]})'
		# What the look for leftovers says after it may follow from it.
		if not said and RAISED.match(line):
			said = line[2:].strip()
		elif line.startswith("ok "):
			said = ""
	return f"exit status {status}: {said}" if status else ""


def outcome(killer: str, number: int) -> tuple[str, bool]:
	"""Run the test KILLER with the mutant NUMBER, or 0 for none. Return how it failed, or "", and
	whether the guest is as before."""
	test, _, word = killer.partition(":")
	since = len(kernel_log())
	if number:
		choose(test, number)
	words = [word.strip()] if word else []
	with tempfile.TemporaryFile("w+", errors="replace") as output:
		run = subprocess.Popen(["python3", f"tests/qemu/{test}.py", *words], stdout=output,
				       stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
		try:
			status = run.wait(LIMIT)
		except subprocess.TimeoutExpired:
			run.kill()
			return complaint(since) or HANGS, False
		output.seek(0)
		why = failure(output.read(), status)
	stays = reload()
	bad = complaint(since)
	return why or bad or stays, not (stays or bad)


def main() -> None:
	"""Try the mutants that the arguments name."""
	os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
	# The tests that have passed since something failed.
	passed = set()
	for number in map(int, sys.argv[1:]):
		print(number, "begins", flush=True)
		killer = TABLE[number - 1].killer
		if killer not in passed:
			why, sound = outcome(killer, 0)
			if why and passed:
				# It may be due to what failed before.
				print(number, "again", flush=True)
				sys.exit(3)
			if why or not sound:
				print(number, "broken", f"without it too: {why}", flush=True)
				continue
			passed.add(killer)
		why, sound = outcome(killer, number)
		verdict = "broken" if why == HANGS else "killed" if why else "survived"
		print(number, verdict, why, flush=True)
		if not sound:
			sys.exit(3)
		if why:
			passed = {""}


main()
