# SPDX-License-Identifier: GPL-2.0
"""Programs whose names are no module's, to be run in the tests' own process."""

import contextlib
import importlib.machinery
import importlib.util
import io


def load(path):
	"""The program at PATH, as a module."""
	loader = importlib.machinery.SourceFileLoader("krping_program", path)
	module = importlib.util.module_from_spec(importlib.util.spec_from_loader("krping_program",
										 loader))
	loader.exec_module(module)
	return module


def in_process(program, *words):
	"""Run the main function of PROGRAM, a module of load(), with WORDS in this process, as a new
	one takes long: its exit status, stdout and stderr."""
	out, err = io.StringIO(), io.StringIO()
	with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
		try:
			status = program.main([str(word) for word in words])
		except SystemExit as ended:
			status = ended.code
	return status, out.getvalue(), err.getvalue()
