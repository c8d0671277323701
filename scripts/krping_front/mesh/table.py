# SPDX-License-Identifier: GPL-2.0
"""A mesh as text, for a terminal."""

import collections
import statistics
from collections.abc import Iterable, Iterator

from krping_front.kinds import KINDS

from . import nodeset
from .figures import RETRANSMITS, label, sentence
from .matrix import Grid, summary
from .outcome import ERRORS, Accusation, Gap, Miss, Outcome, Verdict, title

# Matrices of more hosts do not fit; then the worst hosts are shown.
FITS = 12
# Of each kind of line.
MOST = 20
WORST = 10


def columns(rows: list[list[str]]) -> list[str]:
	"""ROWS as lines; the first column is flush left, the others flush right."""
	widths = [max(map(len, column)) for column in zip(*rows)]
	return [("  " + "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
				  for place, (cell, width) in enumerate(zip(row, widths)))).rstrip()
		for row in rows]


def lines(outcome: Outcome, verdict: Verdict, misses: list[Miss]) -> Iterator[str]:
	"""All that is to be said of OUTCOME, with the VERDICT on outliers; MISSES are beyond limits."""
	names = [host.name for host in outcome.hosts]
	for grid in outcome.grids.values():
		if any(map(any, grid.tried)):
			yield from _grid(grid, names)
			yield ""
	yield from _listed("worse than the others", _accusations(outcome, verdict.accused))
	yield from _listed("stood out once, and not when they were run again", [
		f"{outcome.accuse(each)}; {title(each.key)}" for each in verdict.dismissed])
	yield from _listed("not judged; there is less noise with --repeat, --count or --duration", [
		*(f"{outcome.accuse(each)}; {title(each.key)}" for each in verdict.doubtful),
		*_gaps(outcome, verdict.gaps)])
	yield from _listed("beyond limits", [
		f"{title(each.key)}: {outcome.names(each.pair)}: {label(each.figure)} is "
		f"{sentence(each.figure, each.value)}, and the limit {sentence(each.figure, each.limit)}"
		for each in misses])
	yield from _failures(outcome)
	yield from _listed("hosts that had no part to the end", [
		f"{host.name}: {host.reason}" + (f" (round {host.failed_in})"
						 if host.failed_in is not None else "")
		for host in outcome.hosts if host.reason])
	yield from _listed("clocks and starts", [
		f"{host.name}: {note}" for host in outcome.hosts for note in host.notes])
	well = sum(not host.reason for host in outcome.hosts)
	yield from _times(outcome)
	again = f"{outcome.failed_again} failed when run again, " * bool(outcome.failed_again)
	yield (f"# {outcome.runs} runs of {well} of {len(outcome.hosts)} hosts; {outcome.failed} "
	       f"failed, {again}{len(misses)} beyond limits, {verdict}")


def _times(outcome: Outcome) -> Iterator[str]:
	"""What the rounds took, and how much of that the tests themselves."""
	spent = outcome.spent
	if spent.rounds:
		yield (f"# {spent.rounds} rounds in {spent.whole:.1f} s, of which the tests took "
		       f"{spent.tests:.1f} s")


def _listed(what: str, texts: list[str]) -> Iterator[str]:
	if not texts:
		return
	yield f"# {what}"
	yield from (f"  {text}" for text in texts[:MOST])
	if len(texts) > MOST:
		yield f"  and {len(texts) - MOST} more, which --json and --html have"
	yield ""


def _accusations(outcome: Outcome, accused: list[Accusation]) -> list[str]:
	"""A sentence for each of the ACCUSED who is one in a single matrix, and one for all
	matrices of each who is one in several."""
	groups: dict[str, list[Accusation]] = collections.defaultdict(list)
	for each in accused:
		groups[outcome.who(each.finding)].append(each)
	found = []
	for who, many in groups.items():
		keys = list(dict.fromkeys(each.key for each in many))
		if len(keys) == 1:
			found += [f"{outcome.accuse(each)}; {title(each.key)}" for each in many]
			continue
		worst: dict[str, float] = {}
		for each in many:
			worst[each.figure] = max(worst.get(each.figure, 0.0), each.finding.factor)
		texts = [_worse(figure, factor) for figure, factor in worst.items()]
		found.append(f"{who}: {', '.join(texts)}; in {len(keys)} of {len(outcome.grids)} "
			     f"matrices, such as {title(keys[0])}")
	return found


def _worse(figure: str, factor: float) -> str:
	"""How much worse FIGURE is, at most, of somebody who is accused in several matrices."""
	if figure == ERRORS:
		return f"up to {factor:.0%} of its runs failed"
	if figure == RETRANSMITS:
		return f"up to {factor:.3g} retransmits in a run"
	return f"{label(figure)} is up to {factor:.3g} times worse than typical"


def _gaps(outcome: Outcome, gaps: list[Gap]) -> list[str]:
	"""GAPS, those of a figure together, with the worst of them, and those with too few hosts."""
	groups: dict[object, list[Gap]] = collections.defaultdict(list)
	for each in gaps:
		known = each.unjudged
		groups[known if known.noise is None else (each.figure, known.who)].append(each)
	found = []
	for many in groups.values():
		worst = max(many, key=lambda each: each.unjudged.factor or 0.0)
		figures = ", ".join(dict.fromkeys(label(each.figure) for each in many))
		count = len({each.key for each in many})
		where = f"in {count} of {len(outcome.grids)} matrices, such as " if count > 1 else ""
		found.append(f"{worst.unjudged.sentence(figures)}; {where}{title(worst.key)}")
	return found


def _failures(outcome: Outcome) -> Iterator[str]:
	"""The failures, those with the same sentence together. Those of hosts that have no part
	are said of the hosts."""
	down = {f"{host.name}: {host.reason}" for host in outcome.hosts if host.reason}
	groups: dict[tuple[str, str, str], list[str]] = collections.defaultdict(list)
	for each in outcome.failures:
		if each.reason not in down:
			what = title(each.key) + ", when run again" * each.again
			groups[what, each.errno, each.reason].append(outcome.names(each.pair))
	yield from _listed("failures", [
		f"{what}: {errno}: {reason}: {_some(pairs)}"
		for (what, errno, reason), pairs in groups.items()])


def _some(pairs: list[str]) -> str:
	more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
	return ", ".join(pairs[:4]) + more


def _grid(grid: Grid, names: list[str]) -> Iterator[str]:
	kind = KINDS[grid.test]
	yield f"# {kind.name}: {kind.title}; {grid.size} bytes; rail {grid.rail}"
	for figure in grid.figures:
		found = summary(grid.known(figure))
		if found is None:
			if figure != RETRANSMITS:
				yield f"  {label(figure)}: nothing was measured"
			continue
		if figure == RETRANSMITS and not found[-1]:
			yield f"  {label(figure)}: none"
			continue
		yield (f"  {label(figure)}: least {sentence(figure, found[0])}, median "
		       f"{sentence(figure, found[1])}, most {sentence(figure, found[2])}")
		rows = _matrix(grid, figure, names) if len(names) <= FITS else _worst(grid, figure, names)
		yield from columns(rows)


def _matrix(grid: Grid, figure: str, names: list[str]) -> list[list[str]]:
	"""All cells of FIGURE; "!" is for failures."""
	head = ["client \\ server", *names]
	return [head] + [[name] + [
		"" if client == server and not grid.tried[client][server]
		else sentence(figure, grid.values[figure][client][server])
		+ "!" * bool(grid.errors[client][server])
		for server in range(len(names))] for client, name in enumerate(names)]


def _typical(figure: str, cells: Iterable[float | None]) -> float | None:
	"""The median of CELLS of FIGURE; of counts, most of which may be 0, the mean."""
	known = [cell for cell in cells if cell is not None]
	if not known:
		return None
	return statistics.fmean(known) if figure == RETRANSMITS else statistics.median(known)


def _worst(grid: Grid, figure: str, names: list[str]) -> list[list[str]]:
	"""The hosts with the worst medians of FIGURE, or means of a count."""
	values = grid.values[figure]
	more_is_worse = grid.figures[figure]
	hosts = []
	for number, name in enumerate(names):
		sides = (_typical(figure, values[number]),
			 _typical(figure, (line[number] for line in values)))
		known = [side for side in sides if side is not None]
		if known:
			worst = max(known) if more_is_worse else -min(known)
			errors = sum(grid.errors[number]) + sum(line[number] for line in grid.errors)
			hosts.append((worst, name, sides, errors))
	hosts.sort(key=lambda each: each[0], reverse=True)
	by = "mean" if figure == RETRANSMITS else "median"
	return [[f"the worst hosts, by {by}", "as client", "as server", "failed"]] + [
		[name, *(sentence(figure, side) for side in sides), str(errors)]
		for _, name, sides, errors in hosts[:WORST]]


def check_lines(outcome: Outcome) -> Iterator[str]:
	"""What --check has found out of the hosts."""
	rows = [["host", "kernel", "module", "clock", "rails"]]
	for host in outcome.hosts:
		offset = host.clock.offset
		rows.append([
			host.name, host.kernel or "-", host.module or "-",
			"-" if offset is None
			else f"{offset / 1e6:+.3f} +- {host.clock.error / 1e6:.3f} ms",
			", ".join(f"{rail.device} {rail.address}/{rail.prefix}"
				  for rail in host.rails) or "-"])
	yield from columns(rows)
	groups: dict[str, list[str]] = collections.defaultdict(list)
	for host in outcome.hosts:
		for lack in dict.fromkeys(([host.reason] if host.reason else []) + host.lacks):
			groups[lack].append(host.name)
	yield from _listed("what is missing", [
		f"{nodeset.fold(hosts)}: {reason}" for reason, hosts in groups.items()])
	ready = sum(not host.reason and not host.lacks for host in outcome.hosts)
	yield f"# {ready} of {len(outcome.hosts)} hosts are ready"
