# SPDX-License-Identifier: GPL-2.0
"""Programs whose names are no module's, to be run in the tests' own process."""

import importlib.machinery
import importlib.util


def load(path):
	"""The program at PATH, as a module."""
	loader = importlib.machinery.SourceFileLoader("krping_program", path)
	module = importlib.util.module_from_spec(importlib.util.spec_from_loader("krping_program",
										 loader))
	loader.exec_module(module)
	return module
