# SPDX-License-Identifier: GPL-2.0
"""make install-front and make uninstall: what they leave, with and without a kernel's headers."""

import glob
import os
import shutil
import subprocess

import front
from ktap import Suite

suite = Suite(limit=120)


def make(*words, **environment):
	"""Run make WORDS in a copy of what it needs, with ENVIRONMENT: its exit status and stderr."""
	for name in ("Makefile", "VERSION"):
		shutil.copy(os.path.join(front.TOP, name), name)
	for name in ("scripts", "docs", "samples"):
		shutil.copytree(os.path.join(front.TOP, name), name, dirs_exist_ok=True)
	done = subprocess.run(["make", "-s", *words], capture_output=True, text=True, check=False,
			      env=os.environ | environment)
	return done.returncode, done.stderr


def files(path):
	"""All files below PATH."""
	return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


@suite.test("the program is installed compiled, with completion where zsh looks, and all is removed")
def round_trip():
	with front.directory() as here:
		top = os.path.join(here, "top")
		status, err = make("install-front", f"DESTDIR={top}")
		assert status == 0, err
		share = f"{top}/usr/local/share"
		assert os.path.exists(f"{share}/zsh/site-functions/_krping")
		# What runs it elsewhere comes along, and the module's own samples do not.
		for name in ("operation-cost.bt", "samples/lava/acceptance", "samples/ktap-cases",
			     "samples/kselftest/krping/krping.sh", "samples/tmt/acceptance.sh"):
			assert os.access(f"{share}/krping/{name}", os.X_OK), name
		assert os.path.exists(f"{share}/krping/samples/.fmf/version")
		assert not [name for name in files(share) if name.endswith((".rs", ".c"))]
		compiled = glob.glob(f"{share}/krping/krping_front/__pycache__/run.*.pyc")
		assert len(compiled) == 1, compiled
		with open(compiled[0], "rb") as file:
			text = file.read()
		assert b"/usr/local/share/krping/krping_front/run.py" in text and here.encode() not in text
		# There are no headers there: the program goes all the same, and it says that no module did.
		status, err = make("uninstall", f"DESTDIR={top}", "KDIR=/nonexistent")
		assert status != 0 and "so no module is removed; name it: make uninstall KDIR=" in err, err
		assert files(top) == [], files(top)


@suite.test("below /usr it is compiled, too, but for a package, which is for any Python")
def below_usr():
	for words, compiles in (((), True), (("DESTDIR=/tmp/package",), False)):
		done = subprocess.run(["make", "-n", "install-front", "prefix=/usr", *words], cwd=front.TOP,
				      capture_output=True, text=True, check=True)
		assert ("-m compileall" in done.stdout) == compiles, (words, done.stdout)


@suite.test("without headers and KDIR, the modules of the running kernel are removed")
def running_kernel():
	with front.directory() as here:
		top = os.path.join(here, "top")
		updates = f"{top}/lib/modules/{os.uname().release}/updates"
		os.makedirs(updates)
		front.write(f"{updates}/krping.ko", "")
		os.mkdir("bin")
		front.write("bin/depmod", "#!/bin/sh\n")
		os.chmod("bin/depmod", 0o755)
		status, err = make("uninstall", f"INSTALL_MOD_PATH={top}",
				   PATH=f"{here}/bin:{os.environ['PATH']}")
		assert status == 0 and files(top) == [], (status, err, files(top))


if __name__ == "__main__":
	suite.main()
