# SPDX-License-Identifier: GPL-2.0
"""Repetitions: runs that differ in nothing that figures depend on. They are one row, of medians."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from . import counters
from .rows import LATENCIES, Row
from .stats import median

# The figures of a row that are no latencies.
OTHERS = ("bytes_per_s", "rate", "late")


def key(row: Row) -> tuple[object, ...]:
	"""What repetitions have in common with ROW."""
	return (row.kind.name, row.role, row.size, row.due, row.device, row.variant, row.duplex)


def groups(rows: Iterable[Row]) -> list[list[Row]]:
	"""ROWS that are repetitions of each other, in lists, in the order of their first."""
	found: dict[tuple[object, ...], list[Row]] = {}
	for row in rows:
		found.setdefault(key(row), []).append(row)
	return list(found.values())


def figures(row: Row) -> dict[str, float]:
	"""The figures of ROW that are known, by name."""
	others = {name: getattr(row, name) for name in OTHERS}
	return row.latency | {name: value for name, value in others.items() if value is not None}


def together(rows: list[Row]) -> Row:
	"""One Row of the repetitions ROWS: the median of each figure that all have, and between what
	the repetitions were. Those that did not come to their end count only where none did."""
	whole = [row for row in rows if row.has_figures and not row.source.get("partial")]
	rows = whole or [row for row in rows if row.has_figures] or rows
	if len(rows) == 1:
		return rows[0]
	each = [figures(row) for row in rows]
	values = {name: [found[name] for found in each] for name in each[0]
		  if all(name in found for found in each)}
	medians = {name: median(found) for name, found in values.items()}
	notes = list(dict.fromkeys(row.note for row in rows if row.note))
	return dataclasses.replace(
		rows[0], note="; ".join(notes), histogram=None,
		iterations=sum(row.iterations for row in rows),
		elapsed_ns=sum(row.elapsed_ns for row in rows),
		counters=counters.total(row.counters for row in rows),
		latency={name: round(medians[name]) for name in LATENCIES if name in medians},
		bytes_per_s=medians.get("bytes_per_s"), rate=medians.get("rate"),
		late=round(medians["late"]) if "late" in medians else None,
		runs=len(rows), spread={name: (min(found), max(found)) for name, found in values.items()})


def summary(row: Row, settings: dict[str, str]) -> dict[str, Any]:
	"""What the file of a sweep has of ROW, which was measured with SETTINGS."""
	found: dict[str, Any] = {"test": row.kind.name, "size": row.size, "settings": settings,
				 "runs": row.runs}
	found["figures"] = {
		name: dict(zip(("median", "min", "max"), (value, *row.spread.get(name, (value, value)))))
		for name, value in figures(row).items()}
	return found
