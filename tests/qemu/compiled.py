# SPDX-License-Identifier: GPL-2.0
"""Programs in C that tests run, each built once in a guest.

	PEER = Compiled("krping-peer", "peer.c", "-lrdmacm", "-libverbs")
	PEER.begin()	# where something else is to be done first
	Program(PEER.build(), "server")
"""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Compiled:
	"""The program NAME, of what gcc is given in WORDS; files are those of this folder."""

	def __init__(self, name, *words):
		self.path = f"/tmp/{name}"
		self.words = words
		self.compiler = None

	def begin(self):
		"""Begin to build it, unless that has been done since the guest's start."""
		if not self.compiler and not os.path.exists(self.path):
			self.compiler = subprocess.Popen(("gcc", "-o", f"{self.path}.new",
							  *self.words), cwd=HERE)

	def build(self):
		"""Return its path, once it is built."""
		self.begin()
		if self.compiler:
			status = self.compiler.wait()
			assert status == 0, f"gcc ended with {status}"
			os.rename(f"{self.path}.new", self.path)
			self.compiler = None
		return self.path
