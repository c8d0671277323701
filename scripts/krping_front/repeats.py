# SPDX-License-Identifier: GPL-2.0
"""Repetitions: runs that differ in nothing that figures depend on. They are one row, of medians."""

import statistics
from collections.abc import Iterable
from typing import Any

from . import counters
from .rows import LATENCIES, OTHERS, Row


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
	return {name: row.figure(name) for name in LATENCIES + OTHERS if row.has(name)}


def together(rows: list[Row]) -> Row:
	"""One Row of the repetitions ROWS: the median of each figure that all have, and between what
	the repetitions were. Those that did not come to their end count only where none did."""
	whole = [row for row in rows if row.has_figures and not row.source.get("partial")]
	rows = whole or [row for row in rows if row.has_figures] or rows
	if len(rows) == 1:
		return rows[0]
	samples = {name: [row.figure(name) for row in rows] for name in LATENCIES + OTHERS
		   if all(row.has(name) for row in rows)}
	medians = {name: statistics.median(found) for name, found in samples.items()}
	notes = list(dict.fromkeys(row.note for row in rows if row.note))
	return rows[0]._replace(
		note="; ".join(notes), histogram=None,
		iterations=sum(row.iterations for row in rows),
		elapsed_ns=sum(row.elapsed_ns for row in rows),
		counters=counters.total(row.counters for row in rows),
		latency={name: round(medians[name]) for name in LATENCIES if name in medians},
		bytes_per_s=medians.get("bytes_per_s"), rate=medians.get("rate"),
		late=round(medians["late"]) if "late" in medians else None,
		peak_bytes_per_s=medians.get("peak_bytes_per_s"),
		runs=len(rows), samples=samples)


def summary(row: Row, settings: dict[str, str]) -> dict[str, Any]:
	"""What the file of a sweep has of ROW, which was measured with SETTINGS."""
	found: dict[str, Any] = {"test": row.kind.name, "size": row.size, "settings": settings,
				 "runs": row.runs}
	found["figures"] = {
		name: {"median": value, "min": min(row.sample(name)), "max": max(row.sample(name))}
		for name, value in figures(row).items()}
	return found
