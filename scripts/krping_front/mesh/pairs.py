# SPDX-License-Identifier: GPL-2.0
"""The pairs of a round, as hosts are told of them. A host is a number here, and a pair is
(client, server)."""

Pair = tuple[int, int]
# All pairs in a message to nodes: a list of a million would go to a thousand hosts.
ALL = "all"
# The pairs of a round as a message has them: a list, or ALL.
Spec = list[Pair] | str


def part_of(spec: Spec, host: int, count: int) -> tuple[list[int], list[int]]:
	"""The part that HOST has in a round: the servers that it is a client of, and the clients
	that it is the server of."""
	if isinstance(spec, str):
		others = [each for each in range(count) if each != host]
		return others, others
	return ([server for client, server in spec if client == host],
		[client for client, server in spec if server == host])
