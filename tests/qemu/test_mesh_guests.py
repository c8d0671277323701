# SPDX-License-Identifier: GPL-2.0
# guest: --peers 2
"""krping mesh between three machines, over ssh and by ClusterShell: this one and two others, each
with a kernel of its own."""

import contextlib
import json
import re
import signal
import subprocess

import guests
import krping
import network
from krping import wait_for
from ktap import Suite
from meshes import begin, cells, mesh

NAMES = "guest[1-3]"
HOSTS = ("guest1", "guest2", "guest3")
PAIRS = {(client, server) for client in HOSTS for server in HOSTS if client != server}
QUICK = ("--test", "wlat", "--sizes", "64", "--count", "50")
# The first round has the third machine, and the last one the two others.
LONG = ("--test", "wlat", "--sizes", "64", "--duration", "3", "--directions", "both",
	"--option", "timeout=8000", "--timeout", "15")


def check():
	"""Nothing runs or is left of a mesh, on any machine."""
	guests.check()
	# None is found, and that is no failure.
	look = ("sh", "-c", "pgrep -af 'krping (nod[e]|mes[h])' || :")
	for running in (network.call(*look), *(guest.exec(*look) for guest in guests.others())):
		assert not running, running


suite = Suite(check=check)


def busy(guest, count=1000):
	"""Whether a client on GUEST, or here without one, is amid its run."""
	lines = guest.ask("lines") if guest else krping.lines()
	return any(counters.get("write_msgs", 0) > count for _, _, counters, *_ in lines)


@suite.test("all pairs of three machines by ClusterShell, with the clocks of all")
def all_pairs():
	found, text = mesh(NAMES, "--test", "wlat,bw", "--sizes", "4K", "--count", "100", "--confirm", "0",
			   launcher="clustershell")
	assert f"{2 * len(PAIRS)} runs of 3 of 3 hosts; 0 failed" in text, text
	assert found["launcher"] == "clustershell", found["launcher"]
	for figure, test in (("p50_ns", "wlat"), ("bytes_per_s", "bw")):
		values = cells(found, figure, test)
		assert values.keys() == PAIRS and min(values.values()) > 0, (figure, values)


@suite.test("a machine without the module, and one that is no machine: --check by ClusterShell names "
	    "them, and so does a mesh over ssh, which runs the others")
def lacking():
	third = guests.others()[1]
	third.exec("rmmod", "krping")
	try:
		running = begin("guest[2-3],guest9", "--check", launcher="clustershell")
		out, err = finish(running)
		found, _ = mesh(f"{NAMES},guest9", *QUICK, launcher="ssh", status=1)
	finally:
		third.exec("insmod", krping.MODULE)
		# What is left is compared with what there was at first.
		third.part()
	assert running.returncode == 1, (out, err)
	missing = out.partition("# what is missing")[2]
	lacks = missing.replace("\n  ", "\n")
	assert re.search("\nguest3: .*not loaded", lacks), out
	assert re.search("\nguest9: cannot be reached: ", lacks), out
	assert "guest2" not in missing and "1 of 3 hosts are ready" in missing, out
	assert found["launcher"] == "ssh", found["launcher"]
	reasons = {host["name"]: host["reason"] for host in found["hosts"]}
	assert "not loaded" in reasons["guest3"], reasons
	assert reasons["guest9"].startswith("cannot be reached: "), reasons
	assert not reasons["guest1"] and not reasons["guest2"], reasons
	assert cells(found, "p50_ns").keys() == {("guest1", "guest2"), ("guest2", "guest1")}, found


@suite.test("Ctrl-C ends all that runs on all machines, and leaves nothing behind")
def interrupted():
	others = guests.others()
	for launcher, names, machines in (("ssh", "guest[2-3]", others),
					  ("clustershell", NAMES, (None, *others))):
		running = begin(names, "--test", "wlat", "--duration", "600", "--pattern", "storm",
				launcher=launcher)
		for guest in machines:
			wait_for(lambda where=guest: busy(where, 100), 120)
		running.send_signal(signal.SIGINT)
		_, err = running.communicate(timeout=100)
		assert running.returncode == 130, err[-2000:]
		check()


@contextlib.contextmanager
def restarted(guest):
	"""Have GUEST lose its power; afterwards it has booted again."""
	guest.part()
	guest.monitor.reset()
	yield
	guest.wait_up()


def finish(running, timeout=400):
	"""Wait for the end of a mesh, and return what it prints."""
	try:
		return running.communicate(timeout=timeout)
	except subprocess.TimeoutExpired:
		running.send_signal(signal.SIGINT)
		said = running.communicate(timeout=60)
		raise AssertionError(f"not done after {timeout} s: {said}") from None


def lose(how, launcher):
	"""Run a mesh, and lose the third machine HOW in the middle of it. That is a row with a
	reason, and all that was run without it stands."""
	third = guests.others()[1]
	path = f"/tmp/lost.{launcher}.json"
	running = begin(NAMES, *LONG, "--json", path, launcher=launcher)
	wait_for(lambda: busy(third, 100) or running.poll() is not None, 120)
	with how(third):
		out, err = finish(running)
	assert running.returncode == 1, (out[-2000:], err[-2000:])
	with open(path, encoding="utf-8") as file:
		found = json.load(file)
	by_name = {host["name"]: host for host in found["hosts"]}
	assert by_name["guest3"]["reason"] and not by_name["guest3"]["ok"], by_name
	assert by_name["guest1"]["ok"] and by_name["guest2"]["ok"], by_name
	assert all("guest3" in (each["client"], each["server"]) and each["reason"]
		   for each in found["failures"]), found["failures"]
	assert {("guest1", "guest2"), ("guest2", "guest1")} <= cells(found, "p50_ns").keys(), found


@suite.test("a machine that hangs in mid-run ends as a row with a reason, and the others stand")
def hangs():
	lose(lambda guest: guest.monitor.frozen(), "ssh")
	# What had hung there goes on, and finds that nobody waits for it any more.
	wait_for(lambda: not guests.others()[1].ask("lines"), 120)


@suite.test("so does one that loses its power")
def killed():
	lose(restarted, "clustershell")


suite.main()
