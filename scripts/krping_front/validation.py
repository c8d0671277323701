# SPDX-License-Identifier: GPL-2.0
"""What runs have compared of the data that came, as text."""

from collections.abc import Iterable

from .command import split
from .result import Result
from .tables import TESTS

# These compare only what arrived last, unless they are asked for all.
LAST = [row["name"] for row in TESTS if row["family"] in ("latency", "bandwidth")]
WHOLE = [row["name"] for row in TESTS if row["family"] == "bandwidth" and "size" not in row]


def lines(results: list[Result]) -> list[str]:
	"""A line for each side of RESULTS, those of one command, that has compared data, and what else is
	to be said of it; none where none was to be."""
	compared = [each for each in results if "validated" in each]
	found = [line for role in ("client", "server")
		 if (line := _side(role, [each for each in compared if each["role"] == role]))]
	said = {each["validated"]["peer"] for each in compared if "peer" in each["validated"]}
	if said and not any(line.startswith("# server") for line in found):
		found.append("# server: has compared what arrived there, and found "
			     + ("something wrong" if "wrong" in said else "nothing wrong"))
	if compared and not found:
		found.append("# nothing was validated: no data came that could be compared")
	return found


def _side(role: str, results: list[Result]) -> str:
	"""The line of RESULTS, which are of ROLE; "" where nothing was compared."""
	count = sum(each["validated"]["msgs"] for each in results)
	wrong = sum(each["validated"]["wrong"] for each in results)
	if not count + wrong:
		return ""
	size = sum(each["validated"]["bytes"] for each in results)
	of_size = {each["size"] for each in results if each["validated"]["msgs"]}
	each_has = next(iter(of_size)) if len(of_size) == 1 else 0
	amount = f"{_number(count, 'message')}"
	amount += f" of {each_has} bytes" if each_has * count == size else f" with {_number(size, 'byte')}"
	return f"# {role}: {amount} validated, {wrong} wrong{_rest(results)}"


def _number(count: int, what: str) -> str:
	return f"{count} {what}{'' if count == 1 else 's'}"


def _rest(results: Iterable[Result]) -> str:
	"""What is to be said of the messages of RESULTS that were not compared."""
	tests = {each["test"] for each in results
		 if split(each["options"]).get("validate") != "full" and each["test"] in LAST}
	if not tests:
		return ""
	if any({"buffers", "mrs"} & {*split(each["options"])} for each in results):
		return ": the last at each place"
	return ": the last that came" + ("; validate=full compares all" if tests & {*WHOLE} else "")
