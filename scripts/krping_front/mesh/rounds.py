# SPDX-License-Identifier: GPL-2.0
"""A round of a mesh, as the controller knows it. Nothing here does I/O."""

import dataclasses
from collections.abc import Callable

from .host import Host
from .matrix import Run
from .pairs import Pair
from .plan import Step

# A host that has no part any more, and a server that does not listen.
DOWN, REFUSED = "EHOSTDOWN", "ECONNREFUSED"
NO_DATA = "ENODATA"


@dataclasses.dataclass
class Round:
	"""A round of which not all is known yet."""

	step: Step
	# The number of its rail.
	rail: int
	# The pairs that nothing is known of yet.
	open: set[Pair]
	# Called with each Run of it.
	tell: Callable[[Step, Run], object]
	# The hosts that are servers and do not listen, and why.
	refused: dict[int, str] = dataclasses.field(default_factory=dict)
	# The hosts that have not sent what came of it.
	awaited: set[int] = dataclasses.field(default_factory=set)
	# By how many ns its clients began late at most, and what the longest took.
	late: int = 0
	longest: int = 0

	def close(self, run: Run) -> None:
		"""RUN is what came of its pair."""
		if run.pair in self.open:
			self.open.remove(run.pair)
			self.tell(self.step, run)

	def absent(self, hosts: list[Host]) -> list[int]:
		"""The numbers of those of HOSTS that have no part, or no address on the rail."""
		return [host.number for host in hosts
			if not host.takes_part or host.addresses[self.rail] is None]

	def close_those_without(self, hosts: list[Host]) -> None:
		"""Close the pairs of those of HOSTS that are absent."""
		without = set(self.absent(hosts))
		if without:
			for pair in sorted(self.open):
				if without.intersection(pair):
					self.close(self.lost(pair, hosts))

	def lost(self, pair: Pair, hosts: list[Host]) -> Run:
		"""The Run of PAIR, two of HOSTS, of which nothing was heard."""
		client, server = (hosts[each] for each in pair)
		for host in (client, server):
			if not host.takes_part:
				return Run(pair, {}, DOWN, f"{host.name}: {host.reason}")
		if server.number in self.refused:
			return Run(pair, {}, REFUSED, f"{server.name}: {self.refused[server.number]}")
		for host in (client, server):
			if host.addresses[self.rail] is None:
				return Run(pair, {}, NO_DATA,
					   f"{host.name} has no address on rail {self.step.rail}")
		return Run(pair, {}, NO_DATA, f"{client.name} said nothing of it")
