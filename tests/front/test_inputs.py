# SPDX-License-Identifier: GPL-2.0
"""tests/inputs: which tests run again after a change of which file."""

import functools
import os
import subprocess
import sys

from front import TOP
from ktap import Suite

PARTS = {"lint", "host", "front", "layout", "packages"}
suite = Suite()


def inputs(lines):
	"""What tests/inputs prints about the files of LINES."""
	return subprocess.run((sys.executable, os.path.join(TOP, "tests", "inputs"), *PARTS), text=True,
			      input=lines, capture_output=True, check=True).stdout


@functools.cache
def paths():
	"""The files of the checkout that tests may depend on."""
	found = (os.path.relpath(os.path.join(root, name), TOP)
		 for root, _, names in os.walk(TOP) for name in names)
	return [path for path in found
		if path.split("/")[0] in ("rust", "scripts", "tests", "docs", "samples", "Kbuild")]


@functools.cache
def digests(changed=None):
	"""The digest of each part and file of tests, where the file CHANGED is another one."""
	out = inputs("".join(f"{'ab'[path == changed] * 64}  {path}\n" for path in paths()))
	return dict(line.split() for line in out.splitlines())


def again(changed):
	"""The parts, and the names of files, that a change of the file CHANGED runs again."""
	before, after = digests(), digests(changed)
	assert before.keys() == after.keys()
	return {os.path.basename(name).removesuffix(".py")
		for name, digest in before.items() if after[name] != digest}


@suite.test("the module, and how guests are made: everything")
def module():
	everything = {os.path.basename(name).removesuffix(".py") for name in digests()}
	assert len(everything) > 70 and everything > PARTS
	for changed in ("rust/krping.rs", "Kbuild", "scripts/guest", "scripts/lib.sh",
			"tests/qemu/krping.py", "tests/qemu/ktap.py"):
		assert again(changed) == everything, (changed, everything - again(changed))


@suite.test("what only checks or packages: the parts, and the tests that name it")
def here():
	assert again("scripts/lint") == again("scripts/package") == PARTS
	assert again("scripts/demo") == PARTS | {"test_shell"}


@suite.test("a test: itself, and the parts; what a test imports: those that do")
def files():
	found = again("tests/qemu/test_cq.py")
	assert found == PARTS | {"test_cq"}, found
	found = again("tests/qemu/network.py")
	assert {"test_unreliable", "test_link"} <= found and not {"test_cq", "test_commands"} & found
	# By way of another one.
	assert {"test_messenger_hostile", "soak_lies"} <= again("tests/qemu/puppet.py")
	assert again("tests/qemu/soak_lies.py") == PARTS | {"soak_lies"}


@suite.test("the front and the docs: the tests that use them, and the parts")
def front():
	found = again("scripts/krping_front/table.py")
	assert {"test_front", "test_mesh", "test_schema"} | PARTS <= found, found
	assert not {"test_block", "test_pingpong"} & found, found
	found = again("docs/krping-result.schema.json")
	assert {"test_schema"} | PARTS <= found and "test_block" not in found, found
	assert again("tests/host/src/lib.rs") == PARTS


@suite.test("without a list of files nothing is known")
def none():
	assert inputs("") == ""


suite.main()
