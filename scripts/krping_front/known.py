# SPDX-License-Identifier: GPL-2.0
"""What a driver is known to do otherwise: the file of --known.

A line for each case, with the parts of it that may be not as demanded, as the results have
them in "reason", and with the beginning of what is seen then, where that tells it from another
defect:

	stale_lkey: how the request ended: WR flushed
	send_too_long: how the request ended; how the receive ended: remote operation error
	ud_bad_ah: memory is not as it must be

A line "include FILE" has all that is in the shipped FILE, of which no case may be given again. Empty
lines, and lines that begin with #, say nothing.
"""

import os
import typing
from collections.abc import Sequence

from . import paths
from .cases import Case
from .errors import Quit


class Known(typing.NamedTuple):
	"""What a case is known to do otherwise."""

	# What may be not as demanded.
	parts: Sequence[str]
	# How what is seen begins then.
	seen: str = ""

	@property
	def text(self) -> Sequence[str]:
		"""It for a report."""
		return (*self.parts, f"seen: {self.seen}") if self.seen else self.parts


def load(path: str) -> dict[str, Known]:
	"""What the file PATH, or the shipped one of that name, says of cases, by their names."""
	try:
		with open(_place(path), encoding="utf-8") as file:
			lines = file.read().splitlines()
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None
	except UnicodeDecodeError:
		raise Quit(f"{path}: no text") from None
	found: dict[str, Known] = {}
	for number, line in enumerate(lines, 1):
		if not line.strip() or line.lstrip().startswith("#"):
			continue
		word, _, other = line.strip().partition(" ")
		if word == "include" and other in os.listdir(paths.KNOWN):
			found |= load(os.path.join(paths.KNOWN, other))
			continue
		name, colon, rest = (part.strip() for part in line.partition(":"))
		parts, second, seen = (part.strip() for part in rest.partition(":"))
		if not colon or not name or not all(_parts(parts)) or (second and not seen):
			raise Quit(f"{path}:{number}: must be CASE: PART; PART... or CASE: PART: SEEN, "
				   "as in 'stale_lkey: how the request ended: WR flushed', or "
				   "include FILE, of a shipped file")
		if name in found:
			raise Quit(f"{path}:{number}: {name} is given twice")
		found[name] = Known(_parts(parts), seen)
	return found


def _place(path: str) -> str:
	"""PATH, or the shipped file of that name where there is no other."""
	shipped = os.path.join(paths.KNOWN, path)
	if os.sep in path or os.path.exists(path) or not os.path.exists(shipped):
		return path
	return shipped


def _parts(text: str) -> list[str]:
	return [part.strip() for part in text.split(";")]


def judge(case: Case, known: dict[str, Known]) -> Case:
	"""The Case, if it is one of KNOWN, as a failure that was expected (xfail) or a pass
	that was not (xpass). A failure in another part, or with another end, stays one."""
	if case.name not in known:
		return case
	expected = known[case.name]
	if case.outcome == "pass":
		return case._replace(outcome="xpass", known=expected.text)
	if case.outcome == "fail":
		new = any(part not in expected.parts for part in _parts(case.reason)) \
			or not case.seen.startswith(expected.seen)
		return case._replace(outcome="fail" if new else "xfail", known=expected.text)
	return case
