# SPDX-License-Identifier: GPL-2.0
"""Usage: inside.py MODULE:DRIVER...

In a guest with MODULEs in /tools: load each in place of the kernel's DRIVER, have krping test its
device, or one that uses it, and print "MODULE begins", and then one line:

	MODULE noticed CASE,... SENTENCE
	MODULE silent
	MODULE hung CASE,...		it does not end; the cases that had failed before that, or the last one
				that has begun
	MODULE broken SENTENCE		it could not be tried

Ends early where the guest is in no state to go on.
"""

import os
import re
import signal
import subprocess
import sys
import time

from defect import DEVICES

# Seconds for which the test of a device may take.
BUDGET = 60
# Seconds in which it ends when it is interrupted then, and its exit status.
GRACE = 20
INTERRUPTED = 130
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


def unload_with_users(module: str) -> str:
	"""Unload MODULE, and what uses it before. Return why not, or ""."""
	try:
		users = os.listdir(f"/sys/module/{module}/holders")
	except FileNotFoundError:
		return ""
	for user in users:
		why = unload_with_users(user)
		if why:
			return why
	return unload(module)


def load_core(path: str, driver: str) -> str:
	"""Load the core anew, with the module PATH in place of DRIVER. Return why not, or ""."""
	for wanted in ("rdma_cm", "rdma_ucm", "ib_uverbs"):
		depends = subprocess.run(("modprobe", "--show-depends", wanted), check=True,
					 capture_output=True, text=True).stdout
		for file in re.findall(r"^insmod (\S+)", depends, re.MULTILINE):
			module = os.path.basename(file).partition(".")[0].replace("-", "_")
			if os.path.exists(f"/sys/module/{module}"):
				continue
			why = call("insmod", path) if module == driver else call("modprobe", module)
			if why:
				return why
	return ""


def swap(path: str, driver: str, before: str) -> str:
	"""Have the module PATH, a DRIVER, be in place of what is there, where a module for BEFORE was the
	last one, or none (""). Return why not, or ""."""
	device = DEVICES.get(driver, driver)
	kind = device.removeprefix("rdma_")
	call("rdma", "link", "delete", DEVICE)
	why = unload("krping") or unload("rdma_rxe") or unload("siw")
	if not why and (driver in DEVICES or before in DEVICES):
		why = unload_with_users("ib_core") or load_core(path, driver)
	return (why or call("insmod", path if device == driver else f"/tools/{device}.ko")
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


def outcome(path: str, driver: str, before: str) -> tuple[str, bool]:
	"""What krping says of the module PATH, where a module for BEFORE was the last one, and whether the
	guest is good for another one."""
	why = swap(path, driver, before)
	kind = DEVICES.get(driver, driver).removeprefix("rdma_")
	if why:
		return f"broken {why}", False
	with open("/tmp/ktap", "w+", encoding="utf-8") as ktap:
		run = subprocess.Popen(
			("scripts/krping", "test", ADDR, "--quiet", "--timeout", str(PATIENCE), "--known",
			 kind), stdin=subprocess.DEVNULL, stdout=ktap, stderr=subprocess.PIPE, text=True)
		try:
			_, said = run.communicate(timeout=BUDGET)
		except subprocess.TimeoutExpired:
			said = interrupted(run)
		ktap.seek(0)
		cases, sentence = failures(ktap.read())
	if said is None:
		return f"hung {','.join(cases) or begun()}", False
	if run.returncode not in (0, 1, INTERRUPTED):
		sentence = said.strip().splitlines()[-1] if said.strip() else str(run.returncode)
		return f"noticed run {sentence}", True
	return f"noticed {','.join(cases)} {sentence}" if cases else "silent", True


def main() -> None:
	"""Do what the usage says."""
	os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
	before = ""
	for module, driver in (word.split(":") for word in sys.argv[1:]):
		print(module, "begins", flush=True)
		found, good = outcome(f"/tools/{module}.ko", driver, before)
		print(module, found, flush=True)
		before = driver
		if not good:
			sys.exit(3)


main()
