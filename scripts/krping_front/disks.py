# SPDX-License-Identifier: GPL-2.0
"""Results of disks, of taps, and of who served them, as text."""

import typing

from .command import split, variant
from .kinds import KINDS
from .rows import device
from .table import Column, Table, fixed

MIB = 1 << 20
UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"))


class Row(typing.NamedTuple):
	"""A row of one of the tables."""

	values: dict
	note: str = ""


def _count(heading, name):
	return Column(heading, lambda row: str(row.values.get(name, "-")))


def _mib(heading, name):
	return Column(heading, lambda row: fixed(row.values.get(name, 0) / MIB))


def _usec(heading, name):
	return Column(f"{heading}[usec]", lambda row: fixed(row.values[name] / 1000))


REQUESTS = (
	_count("requests", "requests"),
	_count("reads", "read_requests"),
	_count("writes", "write_requests"),
	_count("others", "other_requests"),
	_mib("read[MiB]", "disk_read_bytes"),
	_mib("written[MiB]", "disk_write_bytes"),
	_count("errors", "errors"),
)
RECONNECTS = (_count("reconnects", "reconnects"),)
DROPPED = (_count("dropped", "dropped"),)
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


def amount(number):
	"""NUMBER of bytes in the largest unit of which it is a multiple."""
	for unit, name in UNITS:
		if number and number % unit == 0:
			return f"{number // unit} {name}"
	return f"{number} bytes"


def has_figures(result):
	"""Whether RESULT is of a disk or a tap that came to be, or of who served one."""
	return KINDS[result["test"]].measure == "requests" and "requests" in result


def lines(result):
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
	columns = REQUESTS
	if client:
		columns += RECONNECTS if disk else DROPPED
	found += _table(columns, [Row(result, ", ".join(notes))])
	stages = [Row({"name": name} | result[f"{name}_ns"]) for name in ("queued", "wire", "total")
		  if result.get(f"{name}_ns", {}).get("count")]
	if stages:
		found += _table(STAGES, stages)
	return found


def _table(columns, rows):
	table = Table(columns, rows)
	return [table.heading()] + [table.line(row) for row in rows]
