# SPDX-License-Identifier: GPL-2.0
"""The shell of a guest: krping is found, what the greeting tells to try works, and so does the demo."""

import json
import os
import shutil
import subprocess

import krping
from krping import ADDR, ADDR6, DEVICE
from ktap import Suite

suite = Suite(check=krping.check)


def call(*words):
	"""What a program prints, which succeeds."""
	done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
			      check=False)
	assert (done.returncode, done.stderr) == (0, ""), (words, done)
	return done.stdout


@suite.test("krping is in the path")
def path():
	assert os.path.realpath(shutil.which("krping")) == os.path.realpath("scripts/krping")
	said = call("krping", "--version").splitlines()
	assert said[0].split()[1] == said[1].split()[1], said


@suite.test("a file may be written where a shell begins, as quickstart.md has it")
def written():
	assert os.getcwd() == "/krping"
	call("krping", "sweep", "--loopback", ADDR, "--test", "wlat", "--sizes", "64", "--count", "10",
	     "--quiet", "--json", "sweep.json")
	with open("sweep.json", encoding="utf-8") as file:
		assert [each["iterations"] for each in json.load(file)["results"]] == [10]


@suite.test("the greeting has the addresses, and three commands that work")
def greeting():
	text = call("scripts/guest-greeting")
	first = text.splitlines()[0]
	for word in (ADDR, ADDR6, DEVICE, os.uname().release):
		assert word in first, (word, first)
	commands = [line.split() for line in text.splitlines() if line.startswith("  krping ")]
	assert len(commands) == 3, text
	for words in commands:
		assert call(*words), words


@suite.test("the demo shows what it types and what that does, and leaves nothing")
def demo():
	done = subprocess.run(("scripts/demo", "guest"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
			      stderr=subprocess.STDOUT, text=True, check=False)
	said = done.stdout
	assert done.returncode == 0, said
	for text, count in (("$ echo server,", 3), ("$ echo client,", 4), ("both returned", 2),
			    ("ok: 1000 iterations of 4096 bytes", 2), ("Connection refused", 1),
			    ("\nthe same\n", 1), ("/dev/krping0: 13/24576 files (0.0% non-contiguous)", 1),
			    ("$ echo stop=0", 1)):
		assert said.count(text) == count, (text, said.count(text), said)
	_, _, left = said.rpartition("$ rdma resource show qp\n")
	assert left and all(" GSI " in line for line in left.splitlines()), left


suite.main()
