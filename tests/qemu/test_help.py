# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Help where one stands: comments of /proc/krping, help, and the list of failed commands."""

import errno
import re
import subprocess
import time

import krping
from krping import ADDR, PROC, Command, name, new_port, run, run_ok, wait_for
from ktap import Suite

suite = Suite(check=krping.check)

ERRORS = "/sys/kernel/debug/krping/errors"
# As many as are kept.
KEPT = 64


def version():
	"""The version of the module."""
	with open("/sys/module/krping/version", encoding="ascii") as file:
		return file.read().strip()


def comments():
	"""The comments that /proc/krping has."""
	with open(PROC, encoding="ascii") as file:
		return [line.rstrip("\n") for line in file if line.startswith("#")]


def errors():
	"""The list of failed commands: time, command, errno's name, number, and sentence of each."""
	with open(ERRORS, encoding="ascii") as file:
		found = [re.fullmatch(r"\[ *([0-9]+\.[0-9]{6})\] (.*?): ([A-Z0-9]+) \(([0-9]+)\): (.+)\n",
				      line) for line in file]
	assert all(found), found
	return [(float(each[1]), *each.groups()[1:]) for each in found]


@suite.test("modinfo has the version, and so has sysfs")
def versions():
	with open("VERSION", encoding="ascii") as file:
		assert version() == file.read().strip()
	said = subprocess.run(("modinfo", "-F", "version", krping.MODULE), capture_output=True,
			      text=True, check=True).stdout
	assert said == version() + "\n", said


@suite.test("where nothing runs, comments say what this is and where to look")
def introduction():
	run_ok(f"loopback,addr={ADDR},count=1")
	found = comments()
	assert found[0].startswith(f"# krping {version()}: nothing runs."), found
	text = " ".join(found)
	for word in ("help=size", krping.RESULTS, ERRORS):
		assert word in text, (word, found)
	command = Command(f"loopback,addr={ADDR}")
	wait_for(lambda: len(krping.lines()) >= 2)
	assert comments() == [] and command.interrupt() == errno.EINTR
	wait_for(lambda: comments() == found)


@suite.test("help lists all options, help=NAME explains one, until another command is run")
def asked():
	run_ok("help")
	found = comments()
	assert len(found) > 60 and any(line.startswith("# wlat ") for line in found), found
	run_ok("help=max_p99")
	found = comments()
	assert found[0].startswith("# max_p99=N: ") and "#   not with: untimed" in found, found
	assert run("help=sise") == errno.EINVAL and comments() == found
	command = Command("server,port=" + str(new_port()))
	wait_for(krping.lines)
	assert comments() == []
	# Whoever reads lines is not disturbed.
	run_ok("help")
	assert len(krping.lines()) == 1 and len(comments()) > 60
	assert command.interrupt() == errno.EINTR
	run_ok(f"loopback,addr={ADDR},count=1")
	assert comments()[0].endswith("count=1000"), comments()


@suite.test("failed commands are listed, with the time, the errno and the sentence")
def listed():
	before = time.monotonic()
	port = new_port()
	texts = {"loopback,sise=1": (errno.EINVAL, "unknown option 'sise'; did you mean 'size'?"),
		 "wlat,\x07": (errno.EINVAL, None),
		 f"client,addr={ADDR},port={port},count=1": (errno.ECONNREFUSED, None),
		 f"loopback,addr={ADDR},wlat,qps=0": (errno.ERANGE, "qps=0: must be from 1 to 256"),
		 "stop=77": (errno.ENOENT, "stop: there is no disk krping77"),
		 f"stop=server:{port}": (errno.ENOENT, f"stop: there is no detached server on port {port}")}
	for text, (number, _) in texts.items():
		assert run(text) == number, text
	assert run(f"client,addr={ADDR},port={port},count=1,expect=ECONNREFUSED") == 0
	found = errors()[-len(texts):]
	for (text, (number, sentence)), line in zip(texts.items(), found):
		when, command, said, said_number, why = line
		assert before <= when <= time.monotonic(), (before, line)
		assert (said, int(said_number)) == (name(number), number), line
		assert re.sub("^[0-9]+: ", "", command) == text.replace("\x07", r"\x07"), (text, line)
		assert sentence in (None, why), line
	assert "nothing listens on that port" in found[2][4], found


@suite.test("what is kept is bounded, whatever is written")
def bounded():
	for number in range(3 * KEPT):
		assert run(f"wrong{number}," + "x" * 4000) == errno.EINVAL
	found = errors()
	assert len(found) == KEPT, len(found)
	assert [each[1].split(",")[0] for each in found] == [
		f"wrong{number}" for number in range(2 * KEPT, 3 * KEPT)], found
	assert all(len(each[1]) < 600 for each in found)
	assert found == sorted(found)
	assert krping.unload() == ""
	krping.load()
	assert errors() == []


suite.main()
