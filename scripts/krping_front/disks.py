# SPDX-License-Identifier: GPL-2.0
"""Results of disks, of taps, and of who served them, as text."""

import typing
from collections.abc import Mapping

from .command import split, variant
from .kinds import KINDS
from .result import Result, Stage
from .rows import device
from .table import Column, Table, fixed
from .units import MIB

UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"))


class Row(typing.NamedTuple):
	"""A row of one of the tables."""

	values: Mapping[str, typing.Any]
	note: str = ""


def count(heading: str, name: str, left: bool = False) -> Column:
	"""A column that shows the value NAME as it is."""
	return Column(heading, lambda row: str(row.values.get(name, "-")), left)


def _mib(heading: str, name: str) -> Column:
	return Column(heading, lambda row: fixed(row.values.get(name, 0) / MIB))


def _usec(heading: str, name: str) -> Column:
	return Column(f"{heading}[usec]", lambda row: fixed(row.values[name] / 1000))


REQUESTS = (
	count("requests", "requests"),
	count("reads", "read_requests"),
	count("writes", "write_requests"),
	count("others", "other_requests"),
	_mib("read[MiB]", "disk_read_bytes"),
	_mib("written[MiB]", "disk_write_bytes"),
	count("errors", "errors"),
)
RECONNECTS = (count("reconnects", "reconnects"),)
DROPPED = (count("dropped", "dropped"),)
# Names as in the tables of other tests.
STAGES = (
	Column("stage", lambda row: row.values["name"], left=True),
	_usec("t_min", "min"),
	_usec("t_max", "max"),
	_usec("t_typical", "p50"),
	_usec("t_avg", "mean"),
	_usec("99%", "p99"),
	_usec("99.9%", "p99_9"),
)


def amount(number: int) -> str:
	"""NUMBER of bytes in the largest unit of which it is a multiple."""
	for unit, name in UNITS:
		if number and number % unit == 0:
			return f"{number // unit} {name}"
	return f"{number} bytes"


def has_figures(result: Result) -> bool:
	"""Whether RESULT is of a disk or a tap that came to be, or of who served one."""
	return KINDS[result["test"]].measure == "requests" and "requests" in result


def lines(result: Result) -> list[str]:
	"""The tables of RESULT, with a title."""
	attached = result.get("state") == "attached"
	client = result["role"] == "client"
	disk = result["test"] == "blk"
	what = [f"{result['test']}: {KINDS[result['test']].title}"]
	if client:
		what += [result.get("disk") or split(result["options"]).get("tap", "")]
	if disk:
		what.append(amount(result.get("size_bytes", 0)))
	title = [", ".join(part for part in what if part),
		 f"{result['role']} on {device(result)}" if device(result) else result["role"],
		 variant(result["options"])]
	if attached:
		title.append("stays until it is stopped")
	found = [f"# {'; '.join(part for part in title if part)}"]
	if attached:
		return found
	notes = [result.get("errno", "failed")] if result["status"] == "failed" else []
	columns: tuple[Column, ...] = REQUESTS
	if client:
		columns += RECONNECTS if disk else DROPPED
	found += _table(columns, [Row(result, ", ".join(notes))])
	parts = [Row({"name": name, **stage}) for name, stage in stages(result).items()]
	if parts:
		found += _table(STAGES, parts)
	return found


def stages(result: Result) -> dict[str, Stage]:
	"""The parts of the way of requests that RESULT has, by name."""
	parts = {"queued": result.get("queued_ns"), "wire": result.get("wire_ns"),
		 "total": result.get("total_ns")}
	return {name: stage for name, stage in parts.items() if stage and stage["count"]}


def _table(columns: tuple[Column, ...], rows: list[Row]) -> list[str]:
	table = Table(columns, rows)
	return [table.heading()] + [table.line(row) for row in rows]
