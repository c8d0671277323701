# SPDX-License-Identifier: GPL-2.0
"""What a driver is known to do otherwise: the file of --known.

A line for each case, with the parts of it that may be not as demanded, as the results have
them in "reason":

	stale_lkey: how the request ended
	send_too_long: how the request ended; how the receive ended

Empty lines, and lines that begin with #, say nothing.
"""

import os

from . import paths
from .cases import Case
from .errors import Quit


def load(path: str) -> dict[str, list[str]]:
	"""The parts that may be not as demanded, by case, that the file PATH has, or the shipped
	one of that name."""
	try:
		with open(_place(path), encoding="utf-8") as file:
			lines = file.read().splitlines()
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None
	except UnicodeDecodeError:
		raise Quit(f"{path}: no text") from None
	found: dict[str, list[str]] = {}
	for number, line in enumerate(lines, 1):
		if not line.strip() or line.lstrip().startswith("#"):
			continue
		name, colon, parts = (part.strip() for part in line.partition(":"))
		if not colon or not name or not all(_parts(parts)):
			raise Quit(f"{path}:{number}: must be CASE: PART; PART..., as in "
				   "'stale_lkey: how the request ended'")
		if name in found:
			raise Quit(f"{path}:{number}: {name} is given twice")
		found[name] = _parts(parts)
	return found


def _place(path: str) -> str:
	"""PATH, or the shipped file of that name where there is no other."""
	shipped = os.path.join(paths.KNOWN, path)
	if os.sep in path or os.path.exists(path) or not os.path.exists(shipped):
		return path
	return shipped


def _parts(text: str) -> list[str]:
	return [part.strip() for part in text.split(";")]


def judge(case: Case, known: dict[str, list[str]]) -> Case:
	"""The Case, if it is one of KNOWN, as a failure that was expected (xfail) or a pass
	that was not (xpass). A failure in another part stays one."""
	if case.name not in known:
		return case
	if case.outcome == "pass":
		return case._replace(outcome="xpass", known=known[case.name])
	if case.outcome == "fail":
		new = [part for part in _parts(case.reason) if part not in known[case.name]]
		return case._replace(outcome="fail" if new else "xfail", known=known[case.name])
	return case
