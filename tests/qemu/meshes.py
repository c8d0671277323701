# SPDX-License-Identifier: GPL-2.0
"""krping mesh as a program, and what it measured."""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
		       "scripts", "krping")


def begin(names, *words, launcher="netns", before=(), **more):
	"""A mesh of the hosts NAMES, which has begun. BEFORE are words before the command."""
	return subprocess.Popen((*before, sys.executable, PROGRAM, "mesh", "--launcher", launcher,
				 "--hosts", names, "--connect-timeout", "120", *words),
				stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
				stderr=subprocess.PIPE, text=True, **more)


def mesh(names, *words, status=0, **more):
	"""Run a mesh of the hosts NAMES, which ends with STATUS, unless that is None: its document,
	and what it prints."""
	with tempfile.TemporaryDirectory() as path:
		document = os.path.join(path, "mesh.json")
		running = begin(names, *words, "--json", document, **more)
		out, err = running.communicate()
		assert status in (None, running.returncode), (running.returncode, out[-2000:], err[-2000:])
		with open(document, encoding="utf-8") as file:
			return json.load(file), out + err


def cells(document, figure, test="wlat"):
	"""The figures of each pair of a test, by the names of client and server."""
	matrix, = (each for each in document["matrices"] if each["test"] == test)
	names = [host["name"] for host in document["hosts"]]
	return {(client, server): value
		for client, row in zip(names, matrix["figures"][figure])
		for server, value in zip(names, row) if value is not None}


def accused(document, figure=None, factor=0):
	"""Who is an outlier, by FIGURE if one is given, and is worse by more than FACTOR: hosts, and
	pairs of hosts that none of these is."""
	names = set()
	for each in document["outliers"]:
		if figure not in (None, each["figure"]) or each["factor"] <= factor:
			continue
		client, server = each["client"], each["server"]
		if each["kind"] == "pair":
			names.add(frozenset((client, server)))
		else:
			names.add(client or server)
	return {each for each in names if isinstance(each, str) or not each & names}
