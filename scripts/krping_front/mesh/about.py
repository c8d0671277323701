# SPDX-License-Identifier: GPL-2.0
"""A host of a mesh, as it introduces itself."""

import contextlib
import os

from krping_front import devices, proc, results, tables
from krping_front.errors import Quit

from . import retransmits, wire
from .wire import Message

# Where the module says its version; without one, the hash of its source.
VERSIONS = ("/sys/module/krping/version", "/sys/module/krping/srcversion")


def about() -> Message:
	"""What this host says of itself."""
	lacks = []
	try:
		proc.lines()
	except Quit as trouble:
		lacks.append(str(trouble))
	else:
		try:
			results.newest()
		except Quit as trouble:
			lacks.append(str(trouble))
	rails, troubles = devices.find()
	lacks += troubles
	if not rails:
		lacks.append(devices.NO_RAILS)
	for device in {rail.device for rail in rails}:
		# So that it is known when runs are to be reported.
		retransmits.counted(device)
	return {"say": "ready", "schema": wire.SCHEMA, "kernel": os.uname().release,
		"module": _version(), "starts": bool(tables.option("start_at")), "lacks": lacks,
		"rails": [rail._asdict() for rail in rails]}


def _version() -> str:
	"""The version of the module that is loaded, "" where it says none."""
	for path in VERSIONS:
		with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
			return file.read().strip()
	return ""
