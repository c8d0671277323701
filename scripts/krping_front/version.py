# SPDX-License-Identifier: GPL-2.0
"""The versions of this program and of the module that is loaded."""

import contextlib
import json
import os

from . import paths


def own() -> str:
	"""The version of this program, and of the module that it came with."""
	with open(paths.SHIPPED, encoding="utf-8") as file:
		found: str = json.load(file)["version"]
	return found


def of_module() -> str:
	"""The version of the module that is loaded, or the hash of its source; "" where it has
	neither, or is not loaded."""
	for path in paths.VERSIONS:
		with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
			return file.read().strip()
	return ""


def loaded() -> str:
	"""The version of the module that is loaded, or why there is none."""
	return of_module() or ("without a version" if os.path.exists(paths.PROC) else "not loaded")


def text() -> str:
	"""Both, as the program prints them."""
	return f"krping {own()}\nmodule {loaded()}"
