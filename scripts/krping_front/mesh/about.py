# SPDX-License-Identifier: GPL-2.0
"""A host of a mesh, as it introduces itself."""

import os

from krping_front import devices, proc, results, tables, version
from krping_front.errors import Quit

from . import retransmits, wire
from .wire import Message


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
		"module": version.of_module(), "starts": bool(tables.option("start_at")), "lacks": lacks,
		"rails": [rail._asdict() for rail in rails]}
