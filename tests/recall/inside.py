# SPDX-License-Identifier: GPL-2.0
"""Usage: inside.py MODULE:DRIVER...

In a guest with MODULEs in /tools: load each in place of the kernel's DRIVER, have krping test its
device, and print "MODULE begins", and then one line:

	MODULE noticed CASE,... SENTENCE
	MODULE silent
	MODULE hung CASE,...		it had not ended in time; the cases that had failed before that
	MODULE broken SENTENCE		it could not be tried

Ends early where the guest is in no state to go on.
"""

import os
import re
import subprocess
import sys
import time

# Seconds for which the test of a device may take.
BUDGET = 60
# Milliseconds after which krping gives a step of its up.
PATIENCE = 4000
ADDR, DEVICE = os.environ["KRPING_ADDR"], os.environ["KRPING_DEVICE"]
# The interface of the guest that the device is on.
NETDEV = "eth9"


def call(*words: str) -> str:
	"""Run a program. Return what it complains of, or ""."""
	try:
		done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
	except subprocess.TimeoutExpired:
		return f"{' '.join(words)}: it does not end"
	return f"{' '.join(words)}: {done.stderr.strip()}" if done.returncode else ""


def unload(module: str) -> str:
	"""Unload MODULE. Who has been killed may still be on its way out of it. Return why not, or ""."""
	for _ in range(100):
		if not os.path.exists(f"/sys/module/{module}"):
			return ""
		why = call("rmmod", module)
		time.sleep(0.1)
	return why


def swap(path: str, driver: str) -> str:
	"""Have the module PATH, a DRIVER, drive the device in place of what does. Return why not, or ""."""
	kind = driver.removeprefix("rdma_")
	call("rdma", "link", "delete", DEVICE)
	return (unload("krping") or unload("rdma_rxe") or unload("siw") or call("insmod", path)
		or call("rdma", "link", "add", DEVICE, "type", kind, "netdev", NETDEV)
		or call("insmod", "/krping/krping.ko"))


def failures(output: str) -> tuple[list[str], str]:
	"""The cases that failed in OUTPUT, KTAP, and the first one's sentence."""
	cases, said = [], {}
	for line in output.splitlines():
		case = re.match(r" *not ok [0-9]+ (\w+)$", line)
		what = re.match(r" *# (\w+): (?:seen|reason): (.*)", line)
		if what:
			said.setdefault(what[1], what[2])
		elif case and line.startswith(" "):
			cases.append(case[1])
	return cases, said.get(cases[0], "") if cases else ""


def outcome(path: str, driver: str) -> str:
	"""What krping says of the module PATH."""
	why = swap(path, driver)
	if why:
		return f"broken {why}"
	with open("/tmp/ktap", "w+", encoding="utf-8") as ktap:
		run = subprocess.Popen(
			("scripts/krping", "test", ADDR, "--quiet", "--timeout", str(PATIENCE), "--known",
			 driver.removeprefix("rdma_")), stdin=subprocess.DEVNULL, stdout=ktap,
			stderr=subprocess.PIPE, text=True)
		try:
			_, said = run.communicate(timeout=BUDGET)
		except subprocess.TimeoutExpired:
			run.kill()
			said = None
		ktap.seek(0)
		cases, sentence = failures(ktap.read())
	if said is None:
		return f"hung {','.join(cases)}"
	if run.returncode not in (0, 1):
		return f"noticed run {said.strip().splitlines()[-1] if said.strip() else run.returncode}"
	return f"noticed {','.join(cases)} {sentence}" if cases else "silent"


def main() -> None:
	"""Do what the usage says."""
	os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
	for module, driver in (word.split(":") for word in sys.argv[1:]):
		print(module, "begins", flush=True)
		found = outcome(f"/tools/{module}.ko", driver)
		print(module, found, flush=True)
		if found.startswith(("hung", "broken")):
			sys.exit(3)


main()
