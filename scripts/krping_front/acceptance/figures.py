# SPDX-License-Identifier: GPL-2.0
"""What is checked of the client's results of a run."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from krping_front import rows
from krping_front.command import Command
from krping_front.result import Result
from krping_front.rows import Row
from krping_front.table import fixed
from krping_front.units import bandwidth


class Wrong(NamedTuple):
	"""A mistake in a result."""

	reason: str
	expected: str


# A check of a client's result of a command. Returns the mistake that it finds, or None.
Check = Callable[[Mapping[str, Any], Command], Wrong | None]


def done(found: Mapping[str, Any], command: Command) -> Wrong | None:
	"""All iterations were done."""
	count = command.value("count", 0)
	if count and found["iterations"] != count:
		return Wrong(f"{found['iterations']} iterations in place of {count}", f"{count} iterations")
	return None if found["iterations"] else Wrong("no iteration was done", "an iteration or more")


def exchanged(found: Mapping[str, Any], _command: Command) -> Wrong | None:
	"""Each iteration of a ping/pong had its four messages."""
	expected = 2 * found["iterations"]
	for name in ("send_msgs", "recv_msgs"):
		if found.get(name) != expected:
			return Wrong(f"{name} is {found.get(name)} in place of {expected}",
				     f"{name} {expected}")
	return None


def moved(found: Mapping[str, Any], command: Command) -> Wrong | None:
	"""Each iteration was an operation that was counted."""
	counter = command.kind.counter
	assert counter is not None
	if found.get(counter, 0) < found["iterations"]:
		return Wrong(f"{counter} is {found.get(counter)} after {found['iterations']} iterations",
			     f"{counter} {found['iterations']} or more")
	return None


def timed(found: Mapping[str, Any], _command: Command) -> Wrong | None:
	"""Each iteration was timed, and the percentiles are in order."""
	values: list[int] = [found.get(name, 0) for name in ("min_ns", "p50_ns", "p99_ns", "max_ns")]
	if not values[0] or values != sorted(values):
		return Wrong(f"min, p50, p99 and max are {values} ns", "these above 0, and ascending")
	count = sum(each[2] for each in found.get("histogram_ns", ()))
	if count != found["iterations"]:
		return Wrong(f"the histogram has {count} of {found['iterations']} iterations",
			     "a histogram of all")
	return None


def measured(found: Mapping[str, Any], command: Command) -> Wrong | None:
	"""The bandwidth is that of the data that was moved."""
	size = command.kind.size or command.value("size", 64)
	if found.get("bytes") != found["iterations"] * size:
		return Wrong(f"{found.get('bytes')} bytes in {found['iterations']} iterations of {size}",
			     f"{found['iterations'] * size} bytes")
	return None if found.get("bytes_per_s") else Wrong("there is no bandwidth", "one above 0")


def wrong(clients: list[Result], command: Command, checks: tuple[Check, ...]) -> Wrong | None:
	"""What is wrong with the results of CLIENTS of COMMAND, by CHECKS; None for nothing."""
	threads = command.value("threads", 1)
	if len(clients) != threads:
		return Wrong(f"there are {len(clients)} results of clients in place of {threads}",
			     f"{threads} results")
	return next((said for each in clients for check in checks if (said := check(each, command))), None)


def text(clients: list[Result]) -> str:
	"""The figures of the results of CLIENTS in one line."""
	row = rows.together([rows.of(each) for each in clients])
	parts = [f"{row.iterations} iterations of {row.size} bytes", *_measured(row)]
	return ", ".join(parts)


def _measured(row: Row) -> list[str]:
	"""What ROW has of its measure."""
	if row.measure == "bandwidth":
		return [bandwidth(row.bytes_per_s or 0.0, digits=2), f"{fixed(row.rate, 0)}/s"]
	if row.measure == "rate":
		return [f"{fixed(row.rate, 0)}/s"]
	return [f"{name} {fixed(row.microseconds(field))} us"
		for name, field in (("p50", "p50_ns"), ("p99", "p99_ns"), ("max", "max_ns"))]
