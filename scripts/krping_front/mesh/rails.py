# SPDX-License-Identifier: GPL-2.0
"""Rails: which address of each host a mesh uses. Nothing here does I/O."""

import collections
import fnmatch
import ipaddress
from typing import NamedTuple

from krping_front.devices import Rail
from krping_front.errors import Quit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Wish(NamedTuple):
	"""What one --rail asks for."""

	text: str
	# None where it names devices.
	network: Network | None

	def takes(self, rail: Rail) -> bool:
		"""Whether RAIL is of it."""
		if self.network is None:
			return fnmatch.fnmatchcase(rail.device, self.text)
		return ipaddress.ip_address(rail.address) in self.network


def wish(text: str) -> Wish:
	"""The Wish of --rail TEXT: a subnet, or the name of a device, which may have wildcards."""
	if "/" not in text:
		if not text:
			raise Quit("--rail: it is empty; give a device, such as mlx5_0, or a subnet")
		return Wish(text, None)
	try:
		return Wish(text, ipaddress.ip_network(text, strict=False))
	except ValueError as error:
		raise Quit(f"--rail {text!r}: {error}") from None


def usual(hosts: list[list[Rail]]) -> list[Wish]:
	"""The rail where none is asked for: the subnet that most of HOSTS have an address of."""
	counts: collections.Counter[Network] = collections.Counter()
	for rails in hosts:
		# Several addresses of one subnet are one vote.
		counts.update(list(dict.fromkeys(
			ipaddress.ip_network(f"{rail.address}/{rail.prefix}", strict=False)
			for rail in rails)))
	if not counts:
		return [Wish("*", None)]
	# Of several the first one that a host named, which is IPv4 where there is any.
	network = counts.most_common(1)[0][0]
	return [Wish(str(network), network)]


def devices(rails: list[Rail], wanted: Wish) -> frozenset[str]:
	"""The devices of the host with RAILS that are of the rail WANTED."""
	return frozenset(rail.device for rail in rails if wanted.takes(rail))


def address(rails: list[Rail], wanted: Wish) -> str | None:
	"""The address of the host with RAILS on the rail WANTED, None where it has none."""
	return next((rail.address for rail in rails if wanted.takes(rail)), None)
