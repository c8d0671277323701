# SPDX-License-Identifier: GPL-2.0
"""The guest's second CPU, which tests take offline."""

import contextlib
import os

from ktap import Skip


def cpu_online(online=None):
	"""Whether the second CPU is online, after having it be so."""
	path = "/sys/devices/system/cpu/cpu1/online"
	if not os.path.exists(path):
		raise Skip("there is one CPU, or it stays")
	if online is not None:
		with open(path, "w", encoding="ascii") as file:
			file.write("1" if online else "0")
	with open(path, encoding="ascii") as file:
		return file.read().strip() == "1"


@contextlib.contextmanager
def one_cpu():
	"""Within, the guest has one CPU."""
	cpu_online(False)
	try:
		yield
	finally:
		cpu_online(True)
