# SPDX-License-Identifier: GPL-2.0
"""The version: one file has it, and all else says the same."""

import json
import os
import re
import subprocess
import sys

import front
from front import krping
from krping_front import paths
from ktap import Suite

suite = Suite()


def text(*path):
	"""The text of a file of the checkout."""
	with open(os.path.join(front.TOP, *path), encoding="utf-8") as file:
		return file.read()


VERSION = text("VERSION").strip()


@suite.test("the tables, DKMS and the changelog have the version of the file VERSION")
def same():
	assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", VERSION) and text("VERSION") == VERSION + "\n"
	assert json.loads(text("scripts", "krping_front", "options.json"))["version"] == VERSION
	assert f'PACKAGE_VERSION="{VERSION}"\n' in text("dkms.conf")
	newest = re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)
	assert newest[1] == VERSION, newest


@suite.test("krping --version: of the program, and of the module or that there is none")
def shown():
	with front.directory() as path:
		absent, there = f"{path}/absent", front.write(f"{path}/there", "1.2.3\n")
		for version, proc, said in ((absent, absent, "not loaded"),
					    (absent, there, "without a version"),
					    (there, there, "1.2.3")):
			with front.patched(paths, VERSIONS=(version,), PROC=proc):
				assert krping("--version") == (0, f"krping {VERSION}\nmodule {said}\n", "")


@suite.test("what is run often starts without what takes long to import, and others need")
def quick():
	for words in (("--version",), ("run", "loopback"), ("caps", "192.0.2.1"), ("options", "size")):
		done = subprocess.run((sys.executable, "-X", "importtime", front.PROGRAM, *words),
				      stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
		imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()
			    if line.startswith("import time:")}
		assert {"argparse", "krping_front.errors"} <= imported, (words, done.stderr[-2000:])
		slow = imported & {"asyncio", "dataclasses", "inspect", "shutil", "socket", "tempfile"}
		assert not slow, (words, slow)


suite.main()
