# SPDX-License-Identifier: GPL-2.0
"""krping node with a module that is played, as a program of its own: what ssh, srun and the like
start in test_mesh_node.py. Its arguments are those of krping.

PLAYED is a directory; there is a directory for each host in it, with a line for each command, and
what faults there are: a file FAULT.HOST.
With rail.HOST it has another address, on rxe1."""

import errno
import itertools
import os
import sys
import threading
import time

import front
from krping_front import devices, proc, tables
from krping_front.devices import Rail
from krping_front.mesh import wire

PLAYED = os.environ["PLAYED"]
NAME = sys.argv[sys.argv.index("--name") + 1] if "--name" in sys.argv \
	else os.environ.get("SLURMD_NODENAME") or os.uname().nodename
HOME = os.path.join(PLAYED, NAME)
LOCK = threading.Lock()
THREADS = itertools.count(101)
# What the device counts in each run: two packets were lost, and one of them was told of twice.
LOST = {"sent_pkts": 100, "completer_retry_err": 2, "rcvd_seq_err": 1}


def fault(name):
	"""Whether this host has the fault NAME."""
	return os.path.exists(os.path.join(PLAYED, f"{name}.{NAME}"))


def note(text):
	"""Have the test know of TEXT."""
	with open(os.path.join(HOME, "commands"), "a", encoding="utf-8") as file:
		file.write(f"{time.time_ns()} {text}\n")


def answer(module, text):
	"""Play the command TEXT."""
	note(text.text)
	if text.role == "server":
		if fault("port"):
			with LOCK:
				return module.fail(text, errno.EADDRINUSE, "the port is in use",
						   role="server")
		front.pass_time(0.02, "a server listens a while after its command")
		module.show(f"{next(THREADS)} listen\n")
		front.sleep()
		note("ended")
		return errno.EINTR
	if "start_at" in text.options:
		left = int(text.options["start_at"]) - time.time_ns()
		front.pass_time(max(0, left) / 1e9, "start_at")
	note("begins")
	if fault("stuck"):
		front.sleep()
		note("interrupted")
		return errno.EINTR
	if fault("clock"):
		# Somebody sets it, once.
		os.unlink(os.path.join(PLAYED, f"clock.{NAME}"))
		now = time.time_ns
		time.time_ns = lambda: now() + 3 * 10 ** 9
	with LOCK:
		if fault("link"):
			return module.fail(text, errno.ETIMEDOUT, "nothing happened for 10000 ms")
		timed = text.kind.measure == "latency" and "untimed" not in text.options
		figures = {"p50_ns": 20_000, "p99_ns": 60_000} if timed else {}
		for _ in range(text.value("threads", 1) - fault("few")):
			# 10.0.1.0/24 is that of rxe1.
			second = text.options["addr"].startswith("10.0.1.") or fault("strays")
			module.result(text, device="rxe1" if second else "rxe0", min_ns=1, max_ns=10 ** 6,
				      mean_ns=25_000, **figures,
				      **({} if fault("mute") else {"hw_counters": LOST}))
	return 0


def main():
	"""Play the module, and run krping."""
	os.makedirs(HOME, exist_ok=True)
	os.chdir(HOME)
	note(f"pid {os.getpid()}")
	if fault("starts"):
		tables.TABLES["options"].append({"name": "start_at"})
	number = sum(NAME.encode()) % 250 + 1
	rails = [Rail("rxe0", "eth0", f"10.0.0.{number}", 24)]
	if fault("hasty"):
		wire.SILENCE = 4.0
	if fault("rail"):
		rails.append(Rail("rxe1", "eth1", f"10.0.1.{number}", 24))
	with front.Module(answer), front.patched(devices, find=lambda: (rails, [])):
		# A write returns at once what a signal made of it.
		assert proc.write
		return front.program.main(sys.argv[1:])


if __name__ == "__main__":
	sys.exit(main())
