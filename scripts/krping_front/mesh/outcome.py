# SPDX-License-Identifier: GPL-2.0
"""What a mesh has come to: matrices, who is accused, which limits were missed, and the exit
status. Nothing here does I/O."""

import dataclasses
from collections.abc import Iterator

from krping_front.errors import FAILED, INTERRUPTED, MISSED, OK

from . import counts, outliers, power, rails
from .counts import Counts
from .figures import RETRANSMITS, label, sentence
from .host import Host
from .matrix import Grid, Key, Run
from .outliers import Again, Finding, Judgement
from .pairs import Pair
from .plan import Plan, Step
from .power import Unjudged
from .rounds import NO_DATA

# Failures whose sentences are kept; all are counted.
SENTENCES = 20_000
# The name that failures have in the place of a figure.
ERRORS = "errors"


@dataclasses.dataclass(frozen=True)
class Limits:
	"""What runs must come to. None is no limit."""

	max_p99_ns: int | None = None
	min_bytes_per_s: int | None = None
	# Whether an outlier, or one that could not be told, is as bad as a missed limit.
	outliers: bool = False


@dataclasses.dataclass(frozen=True)
class Failure:
	"""A run that failed."""

	key: Key
	repeat: int
	pair: Pair
	errno: str
	reason: str
	# Whether it was one of those that ran again what stood out.
	again: bool = False


@dataclasses.dataclass(frozen=True)
class Miss:
	"""A pair beyond a limit."""

	key: Key
	pair: Pair
	figure: str
	value: float
	limit: int


@dataclasses.dataclass(frozen=True)
class Accusation:
	"""A Finding with what it is about."""

	key: Key
	# A figure, or ERRORS.
	figure: str
	finding: Finding
	# The same when it was measured again, None where it was not.
	second: Again | None = None

	@property
	def stands(self) -> bool | None:
		"""Whether they did not stand out by chance; None where they were measured again and that
		cannot be told."""
		return True if self.second is None else self.second.stands


@dataclasses.dataclass(frozen=True)
class Gap:
	"""Hosts or pairs that a figure of a matrix does not judge."""

	key: Key
	figure: str
	unjudged: Unjudged


@dataclasses.dataclass(frozen=True)
class Verdict:
	"""Who is worse than the others, as far as that can be told."""

	# All that stood out, also those that do not stand.
	found: list[Accusation]
	gaps: list[Gap]
	# The figures of all matrices.
	figures: int

	@property
	def accused(self) -> list[Accusation]:
		"""Who is worse than the others."""
		return [each for each in self.found if each.stands]

	@property
	def dismissed(self) -> list[Accusation]:
		"""Who stood out once, and not again."""
		return [each for each in self.found if each.stands is False]

	@property
	def doubtful(self) -> list[Accusation]:
		"""Who stood out once, and it cannot be told whether again."""
		return [each for each in self.found if each.stands is None]

	@property
	def unjudged(self) -> int:
		"""How many figures there are of which it cannot be said that nobody else is worse."""
		return len({(each.key, each.figure) for each in self.gaps}
			   | {(each.key, each.figure) for each in self.doubtful})

	def __str__(self) -> str:
		count, unjudged = len(self.accused), self.unjudged
		if not unjudged:
			return f"{count} outliers"
		if count:
			return f"{count} outliers, and {unjudged} of {self.figures} figures not judged"
		if unjudged == self.figures:
			return "outliers not judged"
		judged = self.figures - unjudged
		return f"no outliers by {judged} of {self.figures} figures, and the others not judged"


@dataclasses.dataclass
class Spent:
	"""The seconds that rounds took."""

	rounds: int = 0
	# From the announcement of the first to all results, and the same of those that were run again.
	whole: float = 0.0
	# Of that from the start on until the last client of the round had ended.
	tests: float = 0.0

	def add(self, tests: float) -> None:
		"""Take in the TESTS of a round."""
		self.rounds += 1
		self.tests += tests


class Outcome:
	"""What a mesh has come to so far."""

	def __init__(self, plan: Plan, hosts: list[Host], limits: Limits) -> None:
		self.plan = plan
		self.hosts = hosts
		self.limits = limits
		self.grids = {key: Grid(key, plan.count) for key in plan.runs}
		# What those that stood out measured again.
		self.again: dict[Key, Grid] = {}
		self.spent = Spent()
		# By host and rail: its devices there.
		self.devices: dict[tuple[int, str], frozenset[str]] = {}
		self.failures: list[Failure] = []
		self.failed = 0
		self.runs = 0
		# Of those that ran again what stood out, how many there were, and failures of pairs that
		# had none before.
		self.runs_again = self.failed_again = 0
		self.interrupted = False
		self.last_round = -1

	def is_again(self, step: Step) -> bool:
		"""Whether STEP is one of those that run again what stood out."""
		return step.number >= self.plan.step_count

	def checked(self, step: Step, run: Run) -> Run:
		"""RUN of STEP as it counts: where its client used a device that is not of the rail, it
		has measured something else."""
		client = self.hosts[run.pair[0]]
		if not run.devices or run.failed:
			return run
		place = (client.number, step.rail)
		if place not in self.devices:
			self.devices[place] = rails.devices(client.rails, rails.wish(step.rail))
		others = run.devices - self.devices[place]
		if not others:
			return run
		return dataclasses.replace(run, figures={}, errno=NO_DATA, reason=(
			f"it succeeded, but left {client.name} by {', '.join(sorted(others))}, which is "
			f"not of rail {step.rail}: routes of {client.name} lead there"))

	def add(self, step: Step, run: Run) -> None:
		"""Take in RUN of STEP."""
		key = (step.test, step.size, step.rail)
		if self.is_again(step):
			self._add_again(key, step, run)
			return
		self.grids[key].add(run)
		self.runs += 1
		self.last_round = max(self.last_round, step.number)
		if run.failed:
			self.failed += 1
			self._keep(Failure(key, step.repeat, run.pair, run.errno, run.reason))

	def _add_again(self, key: Key, step: Step, run: Run) -> None:
		"""Take in RUN of STEP, one of those that run again what stood out in the matrix KEY."""
		# It is large, where there are many hosts.
		if key not in self.again:
			self.again[key] = Grid(key, self.plan.count)
		self.again[key].add(run)
		self.runs_again += 1
		client, server = run.pair
		if run.failed and not self.grids[key].errors[client][server]:
			self.failed_again += 1
			self._keep(Failure(key, step.repeat, run.pair, run.errno, run.reason, again=True))

	def _keep(self, failure: Failure) -> None:
		if len(self.failures) < SENTENCES:
			self.failures.append(failure)

	def misses(self) -> Iterator[Miss]:
		"""The pairs that are beyond the limits."""
		limits = {"p99_ns": self.limits.max_p99_ns, "bytes_per_s": self.limits.min_bytes_per_s}
		for key, grid in self.grids.items():
			for figure, more_is_worse in grid.figures.items():
				limit = limits.get(figure)
				if limit is None:
					continue
				for client, line in enumerate(grid.values[figure]):
					for server, value in enumerate(line):
						if value is not None and (
								value > limit if more_is_worse
								else value < limit):
							yield Miss(key, (client, server), figure,
								   value, limit)

	def judge(self) -> Verdict:
		"""Who is worse than the others, or seemed to be so, and of whom that cannot be said."""
		found, gaps, figures = [], [], 0
		for key, grid in self.grids.items():
			found += [Accusation(key, ERRORS, finding)
				  for finding in outliers.failing(grid.tried, grid.errors)]
			for figure in grid.figures:
				judged = self._judge(grid, figure)
				found += [Accusation(key, figure, finding,
						     self._second(key, figure, finding, judged.found))
					  for finding in judged.found]
				gaps += [Gap(key, figure, each) for each in judged.unjudged]
				figures += bool(grid.known(figure))
		return Verdict(found, gaps, figures)

	def _judge(self, grid: Grid, figure: str) -> Judgement:
		"""What FIGURE of GRID says of hosts and pairs."""
		matrix = grid.values[figure]
		if figure == RETRANSMITS:
			return Judgement(counts.find(self._counts(grid)), power.too_few(matrix))
		return outliers.judge(matrix, grid.figures[figure])

	def _counts(self, grid: Grid) -> Counts:
		"""The retransmits of GRID."""
		return Counts(grid.values[RETRANSMITS], grid.counted, self.plan.by_pair)

	def _second(self, key: Key, figure: str, finding: Finding,
		    found: list[Finding]) -> Again | None:
		"""FINDING, one of those that were FOUND, as it is by what was measured again."""
		if key not in self.again:
			return None
		grid, fresh = self.grids[key], self.again[key]
		if figure == RETRANSMITS:
			return counts.again(self._counts(grid), self._counts(fresh),
					    _series(fresh, finding), finding, found)
		# What is real is there each time, so the best of the runs has to be as bad.
		return outliers.again(grid.values[figure], fresh.best(figure), finding,
				      grid.figures[figure])

	def status(self, missed: bool, verdict: Verdict) -> int:
		"""The exit status, where limits were MISSED, and VERDICT is that on outliers."""
		if self.interrupted:
			return INTERRUPTED
		if self.failed or self.failed_again or any(host.reason for host in self.hosts):
			return FAILED
		doubtful = self.limits.outliers and bool(verdict.accused or verdict.unjudged)
		return MISSED if missed or doubtful else OK

	def names(self, pair: Pair) -> str:
		"""PAIR for people."""
		client, server = pair
		return f"{self.hosts[client].name} -> {self.hosts[server].name}"

	def who(self, finding: Finding) -> str:
		"""Who is accused by FINDING."""
		if finding.kind == "pair":
			assert finding.client is not None and finding.server is not None
			return f"pair {self.names((finding.client, finding.server))}"
		number = finding.server if finding.client is None else finding.client
		assert number is not None
		side = "" if finding.kind == "host" else f" as {finding.kind}"
		return f"host {self.hosts[number].name}{side}"

	def accuse(self, each: Accusation) -> str:
		"""EACH as a sentence."""
		finding = each.finding
		if each.figure == ERRORS:
			return f"{self.who(finding)}: {finding.factor:.0%} of its runs failed"
		again = self._when_again(each)
		if each.figure == RETRANSMITS:
			return (f"{self.who(finding)}: {finding.factor:.3g} retransmits in a run "
				f"(score {finding.score:.1f}{again})")
		has = ""
		if finding.kind == "pair":
			assert finding.client is not None and finding.server is not None
			value = self.grids[each.key].values[each.figure][finding.client][finding.server]
			has = f", {sentence(each.figure, value)}"
		return (f"{self.who(finding)}: {label(each.figure)} is {finding.factor:.3g} times worse "
			f"than typical{has} (score {finding.score:.1f}{again})")

	def _when_again(self, each: Accusation) -> str:
		"""What came of it when who is accused by EACH was run again, as the end of a sentence."""
		texts = []
		if each.second:
			times = "" if each.figure == RETRANSMITS else " times"
			texts.append(f"{each.second.factor:.3g}{times}")
		if each.key in self.again:
			runs, failed = self.again[each.key].tally(each.finding)
			if failed:
				texts.append(f"{failed} of {runs} failed")
		return f"; when run again, {' and '.join(texts)}" if texts else ""


def _series(grid: Grid, finding: Finding) -> list[float]:
	"""The retransmits of the pair that FINDING is about, one run after the other; none where it
	is about a host."""
	if finding.kind != "pair":
		return []
	assert finding.client is not None and finding.server is not None
	return grid.all_of(RETRANSMITS, (finding.client, finding.server))


def title(key: Key) -> str:
	"""KEY for people."""
	test, size, rail = key
	return f"{test}, {size} bytes, rail {rail}"
