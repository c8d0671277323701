# SPDX-License-Identifier: GPL-2.0
"""Load a driver in place of the one that is there, in a guest."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable

from defect import DEVICES, split

DEVICE = os.environ["KRPING_DEVICE"]
# The interface of the guest that the device is on.
NETDEV = "eth9"


def call(*words: str) -> str:
	"""Run a program. Return what it complains of, or ""."""
	with tempfile.TemporaryFile("w+") as complaints:
		run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
				       stderr=complaints)
		try:
			status = run.wait(60)
		except subprocess.TimeoutExpired:
			# Nobody waits for it: a driver may keep it for ever.
			run.kill()
			return f"{' '.join(words)}: it does not end"
		complaints.seek(0)
		return f"{' '.join(words)}: {complaints.read().strip()}" if status else ""


def until(condition: Callable[[], bool], seconds: float) -> bool:
	"""Wait until CONDITION holds, for so many SECONDS at most, and return whether it does."""
	end = time.monotonic() + seconds
	while not condition():
		if time.monotonic() > end:
			return False
		time.sleep(0.1)
	return True


def unload(module: str) -> str:
	"""Unload MODULE. Who has been killed may still be on its way out of it. Return why not, or ""."""
	for _ in range(100):
		if not os.path.exists(f"/sys/module/{module}"):
			return ""
		why = call("rmmod", module)
		if why.endswith("it does not end"):
			break
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


def remove() -> str:
	"""Remove the device, its driver and krping. Return why not, or ""."""
	call("rdma", "link", "delete", DEVICE)
	return unload("krping") or unload("rdma_rxe") or unload("siw")


def swap(path: str, driver: str, before: str) -> str:
	"""Have the module PATH, a DRIVER, be in place of what is there, where a module for BEFORE was the
	last one, or none (""). Return why not, or ""."""
	own, device = split(driver)
	kind = device.removeprefix("rdma_")
	why = remove()
	if not why and (own in DEVICES or split(before)[0] in DEVICES):
		why = unload_with_users("ib_core") or load_core(path, own)
	return (why or call("insmod", path if device == own else
			f"{os.path.dirname(path)}/{device}.ko")
		or call("rdma", "link", "add", DEVICE, "type", kind, "netdev", NETDEV)
		or call("insmod", "/krping/krping.ko"))
