# SPDX-License-Identifier: GPL-2.0
"""The module's tables of tests and options."""

import json
import os

from .paths import OPTIONS, open_debugfs

# Those of the module that this front came with.
SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "options.json")


def load():
	"""The tables of the module that is loaded; where they cannot be read, as without a
	module or without rights, those that this front came with."""
	try:
		with open_debugfs(OPTIONS) as file:
			return json.load(file)
	except (OSError, ValueError):
		with open(SHIPPED, encoding="utf-8") as file:
			return json.load(file)


TABLES = load()
TESTS = TABLES["tests"]
