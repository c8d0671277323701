# SPDX-License-Identifier: GPL-2.0
"""The tests of other testers, which tell of the device that is there whether they pass.

Each test is a process with a deadline, and prints a line when it has ended:

	LABEL pass TEST
	LABEL fail TEST SENTENCE
	LABEL late TEST			it had not ended at its deadline

A test that is skipped prints none."""

import contextlib
import ctypes
import glob
import importlib
import os
import select
import signal
import subprocess
import sys
import time
import unittest
from collections.abc import Callable, Iterator

# Seconds for a test, for all of a tester, and for a test that has been killed to be gone.
DEADLINE = 20
BUDGET = 240
GRACE = 20
ADDR, DEVICE = os.environ["KRPING_ADDR"], os.environ["KRPING_DEVICE"]
# That of ADDR in the table of the device.
GID = "1"
# Modules of rdma-core's tests that have nothing for a soft device: its tests skip them all.
FOREIGN = ("mlx5", "efa", "cuda", "flow", "parent_domain", "rss", "shared_pd", "tag_matching")

Test = tuple[str, Callable[[], str]]


def pyverbs(folder: str) -> Iterator[Test]:
	"""The tests of rdma-core, by pyverbs."""
	if "tests" not in sys.modules:
		sys.path[:0] = [f"{folder}/usr/lib/python3/dist-packages", f"{folder}/tests", folder]
		sys.argv[1:] = ["--dev", DEVICE]
		(library,) = glob.glob(f"{folder}/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0")
		ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
		importlib.import_module("args_parser").parser.parse_args()
	for path in sorted(glob.glob(f"{folder}/tests/test_*.py")):
		name = os.path.basename(path)[:-3]
		if any(word in name for word in FOREIGN):
			continue
		for case in cases(unittest.defaultTestLoader.loadTestsFromName(f"tests.{name}")):
			yield case.id().rpartition(".")[2].removeprefix("test_"), lambda: verdict(case)


def cases(tests: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
	"""All that TESTS has."""
	if isinstance(tests, unittest.TestCase):
		yield tests
		return
	for some in tests:
		yield from cases(some)


def verdict(case: unittest.TestCase) -> str:
	"""Run CASE. Return "pass", "skip", or "fail" and why."""
	result = unittest.TestResult()
	case.run(result)
	why = result.failures + result.errors
	return f"fail {why[0][1].strip().splitlines()[-1]}" if why else "skip" if result.skipped else "pass"


def pair(server: str, client: str, port: int) -> str:
	"""Run both, SERVER until it listens at the TCP port PORT, or with the connection manager (0)."""
	with subprocess.Popen(server.split(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
			      text=True) as waits:
		while waits.poll() is None and not listens(port):
			time.sleep(0.1)
		comes = subprocess.run(client.split(), capture_output=True, text=True, check=False)
		_, said = waits.communicate()
	for who, status, what in (("client", comes.returncode, comes.stderr + comes.stdout),
				  ("server", waits.returncode, said)):
		if status:
			return f"fail {who}: {status} {' '.join(what.split())[-150:]}"
	return "pass"


def listens(port: int) -> bool:
	"""Whether someone listens at the TCP port PORT, or with the connection manager (0)."""
	if not port:
		return "LISTEN" in subprocess.run(("rdma", "resource", "show", "cm_id"), check=False,
						  capture_output=True, text=True).stdout
	lines = [line.split() for table in ("tcp", "tcp6")
		 for line in open(f"/proc/net/{table}", encoding="ascii")]
	return any(words[1].endswith(f":{port:04X}") and words[3] == "0A" for words in lines)


def rping(_: str) -> Iterator[Test]:
	"""rping, which validates what has come."""
	for options in ("", "-S 4096", "-S 65535", "-q"):
		both = f"-a {ADDR} -C 20 -V {options}"
		yield f"rping{options}".replace(" ", ""), lambda: pair(
			f"rping -s {both}", f"rping -c {both}", 0)


def pingpong(_: str) -> Iterator[Test]:
	"""The ping-pongs of libibverbs, which validate what has come."""
	for words in ("rc", "rc -e", "rc -N", "rc -s 65536", "uc", "ud -s 1024", "srq", "srq -e"):
		kind, _, options = words.partition(" ")
		both = f"ibv_{kind}_pingpong -d {DEVICE} -g {GID} -n 100 -c {options}"
		yield words.replace(" ", ""), lambda: pair(both, f"{both} {ADDR}", 18515)


def perftest(_: str) -> Iterator[Test]:
	"""perftest, which has no validation."""
	for words in ("write_bw", "read_bw", "send_bw", "write_lat", "read_lat", "send_lat",
		      "atomic_bw -A CMP_AND_SWAP", "atomic_lat -A FETCH_AND_ADD", "write_bw -c UC",
		      "send_bw -c UD", "send_bw -e", "send_lat --use-srq", "write_bw --write_with_imm",
		      "write_bw -q 4", "read_bw -o 8", "send_bw -b", "write_bw -R"):
		size = "" if "atomic" in words else "-s 1024" if "UD" in words else "-s 16384"
		both = f"ib_{words} -d {DEVICE} -x {GID} -n 100 -F {size}"
		port = 0 if "-R" in words else 18515
		yield words.replace(" ", ""), lambda: pair(both, f"{both} {ADDR}", port)


TESTERS = {"pyverbs": pyverbs, "rping": rping, "pingpong": pingpong, "perftest": perftest}


def attempt(test: Callable[[], str]) -> tuple[str, bool]:
	"""Run TEST in a process of its own. Return what it says, and whether it is gone."""
	read, write = os.pipe()
	child = os.fork()
	if not child:
		os.setsid()
		try:
			said = test()
		except BaseException as error:
			said = f"fail {error!r}"
		os.write(write, " ".join(said.split()).encode()[:400])
		os._exit(0)
	os.close(write)
	ready, _, _ = select.select((read,), (), (), DEADLINE)
	said = (os.read(read, 400).decode(errors="replace") or "fail it died") if ready else "late"
	os.close(read)
	end = time.monotonic() + GRACE
	while time.monotonic() < end:
		with contextlib.suppress(ProcessLookupError):
			os.killpg(child, signal.SIGKILL)
		if os.waitpid(child, os.WNOHANG)[0]:
			return said, True
		time.sleep(0.02)
	return said, False


def outcome(label: str, folder: str) -> tuple[str, bool]:
	"""Have the tester of LABEL test the device. Return what inside.py says of that, and whether the
	guest is good for another one."""
	end = time.monotonic() + BUDGET
	for name, test in TESTERS[label.partition("/")[2]](folder):
		said, gone = attempt(test)
		word, _, why = said.partition(" ")
		if word != "skip":
			print(label, word, name, why, flush=True)
		if not gone:
			return f"hung {name}", False
		if time.monotonic() > end:
			break
	return "told", True
