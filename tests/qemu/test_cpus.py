# SPDX-License-Identifier: GPL-2.0
# time: real (it is about which CPU does what)
"""cpu=: where the threads of a command run."""

import errno
import glob
import os
import re

import krping
from krping import ADDR, Command, new_port, new_tag, run_ok, wait_for
from ktap import Skip, Suite

suite = Suite(check=krping.check)

CPUS = os.cpu_count()


def placed():
	"""The CPUs that each thread of krping may run on, as the kernel writes them, in the
	order of their numbers."""
	found = {}
	for path in glob.glob("/proc/[0-9]*/status"):
		try:
			with open(path, encoding="utf-8", errors="replace") as file:
				text = file.read()
		except OSError:
			continue
		name = re.search(r"^Name:\tkrping/(\d+)$", text, re.MULTILINE)
		if name:
			found[int(name[1])] = re.search(r"^Cpus_allowed_list:\t(\S+)$", text,
							re.MULTILINE)[1]
	return [found[number] for number in sorted(found)]


ANYWHERE = f"0-{CPUS - 1}" if CPUS > 1 else "0"


def threads(text, number):
	"""Where the NUMBER threads of the command TEXT run while it does."""
	command = Command(text)
	wait_for(lambda: len([line for line in krping.lines() if line.device]) >= number)
	found = placed()
	assert command.interrupt() == errno.EINTR
	return found


@suite.test("without cpu= threads run anywhere")
def anywhere():
	found = threads(f"loopback,addr={ADDR},slat", 2)
	assert set(found) == {ANYWHERE}, found


@suite.test("client threads take the CPUs of the list in turns")
def in_turns():
	if CPUS < 2:
		raise Skip("one CPU")
	port = new_port()
	server = krping.serve(f"server,persist,port={port}")
	for cpus, expected, test in (("0", "000", "bw"), ("1", "111", "count=0"),
				     ("0-1", "010", "wlat"), ("1+0", "101", "slat"),
				     ("0x1+1+0", "110", "rlat"), ("0-1", "010", "bw,poll")):
		found = threads(f"client,addr={ADDR},port={port},threads=3,cpu={cpus},{test}", 6)
		pinned = [each for each in found if each != ANYWHERE]
		assert pinned == list(expected), (cpus, test, found)
		# The server's are not this command's.
		assert len(found) - len(pinned) >= 1, found
		wait_for(lambda: len(krping.lines()) == 1)
	assert server.interrupt() == errno.EINTR


@suite.test("so do a server's and a loopback's")
def others():
	if CPUS < 2:
		raise Skip("one CPU")
	found = threads(f"loopback,addr={ADDR},sbw,threads=2,cpu=1", 4)
	assert set(found) == {"1"}, found
	port = new_port()
	server = krping.serve(f"server,persist,port={port},cpu=1")
	found = threads(f"client,addr={ADDR},port={port},slat,threads=2,cpu=0", 4)
	assert sorted(found) == ["0", "0", "1", "1", "1"], found
	assert server.interrupt() == errno.EINTR


@suite.test("a run with cpu= succeeds, and its results repeat the list")
def succeeds():
	for cpus, shown in (("0", "0"), ("0+0", "0+0"), (f"0-{CPUS - 1}", ANYWHERE),
			    ("0x0", "0")):
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},bw,count=10,qps=2,cpu={cpus},tag={tag}")
		assert f",cpu={shown}," in krping.result(tag, "client")["options"]


@suite.test("a CPU that does not exist")
def absent():
	# A server without clients has one thread.
	for role, options in (("loopback", ",threads=3,sbw"), ("client", ",threads=9"),
			      ("server", "")):
		for cpus, wrong in ((str(CPUS), CPUS), ("8191", 8191)) \
				+ ((f"0-{CPUS}", CPUS),) * (role != "server"):
			krping.run_fails(f"{role},addr={ADDR},port={new_port()},cpu={cpus}{options}",
					 errno.EINVAL, f"CPU {wrong}")


@suite.test("lists that are none: EINVAL")
def malformed():
	for cpus in ("a", "1-0", "0++1", "+0", "0+", "-1", "0-", "8192", "01",
		     "0+2+4+6+8+10+12+14+16"):
		krping.run_fails(f"loopback,addr={ADDR},count=1,cpu={cpus}", errno.EINVAL,
				 "cpu=.*: must be numbers of CPUs and ranges of them")


suite.main()
