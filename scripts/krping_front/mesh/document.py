# SPDX-License-Identifier: GPL-2.0
"""A mesh as a JSON document; docs/krping-mesh.schema.json is its schema. Nothing here does
I/O."""

import json
from collections.abc import Iterator
from typing import Any

from .figures import label
from .matrix import Grid
from .outcome import Accusation, Gap, Miss, Outcome, Verdict

VERSION = 1

Document = dict[str, Any]


def document(outcome: Outcome, verdict: Verdict, misses: list[Miss], status: int,
	     about: Document) -> Document:
	"""The document of OUTCOME, with the VERDICT on outliers. ABOUT is what it was asked for, and
	when."""
	names = [host.name for host in outcome.hosts]

	def key(each: tuple[str, int, str]) -> Document:
		return {"test": each[0], "size": each[1], "rail": each[2]}

	def accusation(each: Accusation) -> Document:
		again = each.second and {"factor": round(each.second.factor, 4),
					 "score": round(each.second.score, 2)}
		return key(each.key) | {
			"figure": each.figure, "kind": each.finding.kind,
			"client": _name(names, each.finding.client),
			"server": _name(names, each.finding.server),
			"factor": round(each.finding.factor, 4), "score": round(each.finding.score, 2),
			"again": again, "sentence": outcome.accuse(each)}

	def unjudged(each: Gap) -> Document:
		known = each.unjudged
		return key(each.key) | {
			"figure": each.figure, "who": known.who, "count": known.count,
			"noise": None if known.noise is None else round(known.noise, 4),
			"factor": None if known.factor is None else round(known.factor, 4),
			"sentence": known.sentence(label(each.figure))}

	return {
		"krping_mesh": VERSION, **about, "status": status,
		"interrupted": outcome.interrupted,
		"rounds": {"planned": outcome.plan.step_count, "begun": outcome.last_round + 1},
		"spent": {"rounds": outcome.spent.rounds, "whole_s": round(outcome.spent.whole, 3),
			  "tests_s": round(outcome.spent.tests, 3)},
		"runs": {"all": outcome.runs, "failed": outcome.failed},
		"again": {"runs": outcome.runs_again, "failed": outcome.failed_again},
		"hosts": [_host(host, outcome.plan.rails) for host in outcome.hosts],
		"matrices": [_matrix(grid, outcome.again.get(name))
			     for name, grid in outcome.grids.items()],
		"verdict": str(verdict),
		"outliers": [accusation(each) for each in verdict.accused],
		"dismissed": [accusation(each) for each in verdict.dismissed],
		"doubtful": [accusation(each) for each in verdict.doubtful],
		"unjudged": [unjudged(each) for each in verdict.gaps],
		"misses": [key(each.key) | {
			"client": names[each.pair[0]], "server": names[each.pair[1]],
			"figure": each.figure, "value": each.value, "limit": each.limit}
			for each in misses],
		"failures": [key(each.key) | {
			"client": names[each.pair[0]], "server": names[each.pair[1]],
			"repeat": each.repeat, "again": each.again, "errno": each.errno,
			"reason": each.reason}
			for each in outcome.failures],
	}


def _name(names: list[str], number: int | None) -> str | None:
	return None if number is None else names[number]


def _host(host: Any, rails: tuple[str, ...]) -> Document:
	return {"name": host.name, "ok": not host.reason, "reason": host.reason or None,
		"failed_in_round": host.failed_in, "kernel": host.kernel, "module": host.module,
		"module_starts": host.starts,
		"addresses": dict(zip(rails, host.addresses)),
		"rails": [rail._asdict() for rail in host.rails],
		"clock_offset_ns": host.clock.offset, "clock_error_ns": host.clock.error,
		"clock_jumps": [{"round": number, "ns": by} for number, by in host.jumps],
		"late_rounds": host.late_rounds, "latest_ns": host.latest}


def _matrix(grid: Grid, again: Grid | None) -> Document:
	whole = {name: [[None if cell is None else round(cell) for cell in line] for line in values]
		 for name, values in grid.values.items()}
	return {"test": grid.test, "size": grid.size, "rail": grid.rail, "figures": whole,
		"runs": grid.tried, "errors": grid.errors,
		"series": [{"client": client, "server": server, "figures": figures}
			   for (client, server), figures in sorted(grid.series.items())],
		"again": list(_again(again)) if again else []}


def _again(grid: Grid) -> Iterator[Document]:
	"""The pairs of GRID with all that each has measured."""
	for client, line in enumerate(grid.tried):
		for server, runs in enumerate(line):
			if runs:
				yield {"client": client, "server": server, "runs": runs,
				       "errors": grid.errors[client][server],
				       "figures": {name: grid.all_of(name, (client, server))
						   for name in grid.figures}}


def text(found: Document) -> str:
	"""The file of FOUND, with a line for each field, and for each row of a matrix."""
	def pack(value: Any) -> str:
		return json.dumps(value, separators=(",", ":"))

	def listed(values: list[Any], depth: int) -> str:
		if not values:
			return "[]"
		space = "\n" + "  " * depth
		return "[" + space + f",{space}".join(map(pack, values)) + "\n" + "  " * (depth - 1) + "]"

	def matrix(each: Document) -> str:
		rows = {name: listed(values, 3) for name, values in each["figures"].items()}
		figures = ",\n   ".join(f"{pack(name)}: {value}" for name, value in rows.items())
		rest = [f"{pack(name)}: {listed(value, 2) if isinstance(value, list) else pack(value)}"
			for name, value in each.items() if name != "figures"]
		return "{" + ",\n  ".join([*rest, f'"figures": {{\n   {figures}}}']) + "}"

	parts = []
	for name, value in found.items():
		if name == "matrices":
			inner = ",\n ".join(map(matrix, value))
			parts.append(f"{pack(name)}: [{inner}]")
		else:
			parts.append(f"{pack(name)}: "
				     f"{listed(value, 1) if isinstance(value, list) else pack(value)}")
	return "{\n" + ",\n".join(parts) + "\n}\n"
