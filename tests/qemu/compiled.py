# SPDX-License-Identifier: GPL-2.0
"""Programs in C that tests run. scripts/compiled has built them for guests, where gcc takes long; in
a guest without these each is built once.

	PEER = Compiled("krping-peer")
	PEER.begin()	# where something else is to be done first
	Program(PEER.build(), "server")
"""

import glob
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
VERBS = ("-lrdmacm", "-libverbs")
# What gcc is given to build each; files are those of this folder.
PROGRAMS = {
	"krping-liar": ("-O1", *sorted(glob.glob("liar/*.c", root_dir=HERE)), *VERBS),
	"krping-member": ("member.c", *VERBS),
	"krping-peer": ("peer.c", *VERBS),
	"krping-puppet": ("-O1", "puppet.c", *VERBS),
	"krping-stranger": ("stranger.c", "-libverbs"),
	"write_data": ("-O2", "write_data.c"),
}
# Where those that have been built lie.
BUILT = f"{HERE}/built"


def gcc(name, target):
	"""Begin to build NAME as TARGET."""
	return subprocess.Popen(("gcc", "-o", target, *PROGRAMS[name]), cwd=HERE)


class Compiled:
	"""The program NAME."""

	def __init__(self, name):
		self.name = name
		self.path = f"/tmp/{name}"
		self.compiler = None

	def begin(self):
		"""Begin to build it, unless that has been done before."""
		if self.compiler or os.path.exists(self.path):
			return
		if os.path.exists(f"{BUILT}/{self.name}"):
			shutil.copy(f"{BUILT}/{self.name}", self.path)
		else:
			self.compiler = gcc(self.name, f"{self.path}.new")

	def build(self):
		"""Return its path, once it is built."""
		self.begin()
		if self.compiler:
			status = self.compiler.wait()
			assert status == 0, f"gcc ended with {status}"
			os.rename(f"{self.path}.new", self.path)
			self.compiler = None
		return self.path
