# SPDX-License-Identifier: GPL-2.0
"""What is checked of the client's results of a run."""

from collections.abc import Callable, Mapping
from typing import Any

from krping_front import rows
from krping_front.command import Command
from krping_front.result import Result
from krping_front.rows import Row
from krping_front.table import fixed
from krping_front.units import bandwidth

# A check of a client's result of a command. Returns the mistake that it finds, or "".
Check = Callable[[Mapping[str, Any], Command], str]


def done(found: Mapping[str, Any], command: Command) -> str:
	"""All iterations were done."""
	count = command.value("count", 0)
	if count and found["iterations"] != count:
		return f"{found['iterations']} iterations in place of {count}"
	return "" if found["iterations"] else "no iteration was done"


def exchanged(found: Mapping[str, Any], _command: Command) -> str:
	"""Each iteration of a ping/pong had its four messages."""
	expected = 2 * found["iterations"]
	for name in ("send_msgs", "recv_msgs"):
		if found.get(name) != expected:
			return f"{name} is {found.get(name)} in place of {expected}"
	return ""


def moved(found: Mapping[str, Any], command: Command) -> str:
	"""Each iteration was an operation that was counted."""
	counter = command.kind.counter
	assert counter is not None
	if found.get(counter, 0) < found["iterations"]:
		return f"{counter} is {found.get(counter)} after {found['iterations']} iterations"
	return ""


def timed(found: Mapping[str, Any], _command: Command) -> str:
	"""Each iteration was timed, and the percentiles are in order."""
	values: list[int] = [found.get(name, 0) for name in ("min_ns", "p50_ns", "p99_ns", "max_ns")]
	if not values[0] or values != sorted(values):
		return f"min, p50, p99 and max are {values} ns"
	count = sum(each[2] for each in found.get("histogram_ns", ()))
	if count != found["iterations"]:
		return f"the histogram has {count} of {found['iterations']} iterations"
	return ""


def measured(found: Mapping[str, Any], command: Command) -> str:
	"""The bandwidth is that of the data that was moved."""
	size = command.kind.size or command.value("size", 64)
	if found.get("bytes") != found["iterations"] * size:
		return f"{found.get('bytes')} bytes in {found['iterations']} iterations of {size}"
	return "" if found.get("bytes_per_s") else "there is no bandwidth"


def wrong(clients: list[Result], command: Command, checks: tuple[Check, ...]) -> str:
	"""What is wrong with the results of CLIENTS of COMMAND, by CHECKS; "" for nothing."""
	threads = command.value("threads", 1)
	if len(clients) != threads:
		return f"there are {len(clients)} results of clients in place of {threads}"
	return next((said for each in clients for check in checks if (said := check(each, command))), "")


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
