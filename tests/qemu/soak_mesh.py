# SPDX-License-Identifier: GPL-2.0
"""Meshes of network namespaces, with and without a host or a pair that is worse than the others:
who that is must be named, where it is slow, and nobody else.

A host or a pair is slow by 20 ms, or loses 1% of what is sent, as netem does it. Every second
mesh has none of that.
"""

import hosts
import krping
import meshes
import soak
from ktap import Suite

COUNT = 8
# How many operations a run has: of a delay each operation tells, of losses one in a hundred does.
KINDS = {"slow host": 100, "slow pair": 100, "lossy host": 300, "lossy pair": 300}
WORDS = ("--test", "wlat,bw", "--sizes", "64")


def check():
	"""Nothing runs."""
	assert not krping.lines(), krping.lines()


suite = Suite(check=check, limit=600 * soak.SLOW)


def injected(net, kind, rng):
	"""Have a host or a pair of NET be as KIND says. Return who that is."""
	host, other = rng.sample(list(net.numbers), 2)
	only = other if "pair" in kind else None
	if "slow" in kind:
		net.slow(host, only=only)
	else:
		net.lose(host, only=only)
	return host, frozenset((f"h{host}", f"h{other}")) if only else f"h{host}"


def add_round(options, net, number):
	"""The test of round NUMBER, between the hosts of NET."""
	kind = options.deal(tuple(KINDS), number // 2) if number % 2 == 0 else "none"
	count = options.counts

	def play():
		host, bad = injected(net, kind, options.rng(number)) if kind != "none" else (None, None)
		try:
			# Runs may fail where packets are lost.
			found, text = meshes.mesh(net.names, *WORDS, "--count", str(KINDS.get(kind, 300)),
						   status=None)
		finally:
			if host:
				net.calm(host)
		who = meshes.accused(found)
		name = kind.replace(" ", "_")
		count[f"meshes.{name}"] += 1
		count[f"named.{name}"] += bad in who
		healthy = who - {bad}
		count[f"healthy_accused.{name}"] += bool(healthy)
		count["once_only"] += len(found["dismissed"])
		figures = {each["figure"] for each in found["outliers"]}
		print(f"# {kind}: {bad}: named {sorted(map(str, who))} by {sorted(figures)}, dismissed "
		      f"{[each['sentence'] for each in found['dismissed']]}; {found['spent']}", flush=True)
		assert not healthy and (bad in who or bad is None), (bad, who, text)
	suite.test(f"round {number}: {kind}")(play)


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=16, argv=argv)
	with hosts.Hosts(COUNT) as net:
		for number in options.numbers():
			add_round(options, net, number)
		soak.main(suite, options)


if __name__ == "__main__":
	main()
