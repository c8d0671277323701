# SPDX-License-Identifier: GPL-2.0
"""The RDMA devices of this host with the IP addresses that lead to them."""

import glob
import ipaddress
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import paths

# They are found by PATH.
ADDRESSES = ("ip", "-j", "addr", "show")
LINKS = ("rdma", "-j", "link", "show")
SECONDS = 10
# What is said where no Rail is found.
NO_RAILS = "no RDMA device has an IP address here; 'rdma link' and 'ip address' show both"
# The kernel takes the first free place of a table of GIDs, and tables are long: after so many
# places that cannot be read, since they are free, none is looked at.
FREE = 32


class Rail(NamedTuple):
	"""A way to this host."""

	device: str
	netdev: str
	address: str
	# Bits of the address that all of its subnet have.
	prefix: int


def find() -> tuple[list[Rail], list[str]]:
	"""The Rails of this host, and what kept from finding more."""
	troubles: list[str] = []
	links = ask(LINKS, troubles)
	# sysfs says most of it, so a host without 'rdma' may do.
	if troubles and os.path.isdir(paths.INFINIBAND):
		troubles = []
	return rails(ask(ADDRESSES, troubles), links), troubles


def ask(words: tuple[str, ...], troubles: list[str]) -> list[dict[str, Any]]:
	"""The objects that the command WORDS prints. Why there are none is added to TROUBLES."""
	try:
		done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
				      errors="replace", check=False, timeout=SECONDS)
		if done.returncode:
			raise ValueError(done.stderr.strip() or f"status {done.returncode}")
		found = json.loads(done.stdout or "[]")
	except (OSError, ValueError, subprocess.TimeoutExpired) as error:
		reason = error.strerror if isinstance(error, OSError) else error
		troubles.append(f"'{' '.join(words)}' failed: {reason}")
		return []
	return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def rails(addresses: list[dict[str, Any]], links: list[dict[str, Any]]) -> list[Rail]:
	"""The Rails by what 'ip -j addr' and 'rdma -j link' say of this network namespace, and
	by sysfs, which may show devices of others, too."""
	local: dict[str, list[tuple[str, int]]] = {}
	for each in addresses:
		local[str(each.get("ifname"))] = [
			(info["local"], info["prefixlen"]) for info in each.get("addr_info", [])
			if "local" in info and info.get("scope") == "global"]
	pairs = {(str(each.get("ifname")), str(each["netdev"])) for each in links if "netdev" in each}
	pairs |= {(device, netdev) for device in _devices()
		  for netdev in _names(f"{paths.INFINIBAND}/{device}/device/net")}
	found = {Rail(device, netdev, address, prefix) for device, netdev in pairs
		 for address, prefix in local.get(netdev, [])}
	# RoCE has a GID for each address, also for those of VLANs on the interface.
	for device in _devices():
		for netdev, gid in _gids(device):
			found |= {Rail(device, netdev, address, prefix)
				  for address, prefix in local.get(netdev, []) if address == gid}
	return sorted(found, key=lambda rail: (":" in rail.address, rail))


def _names(path: str) -> list[str]:
	try:
		return sorted(os.listdir(path))
	except OSError:
		return []


def _devices() -> list[str]:
	return _names(paths.INFINIBAND)


def gids(port: str) -> Iterator[tuple[str, ipaddress.IPv6Address]]:
	"""Each GID of a port, whose directory in sysfs is PORT, after the interface that it is of."""
	free = 0
	for place in sorted(_names(f"{port}/gid_attrs/ndevs"), key=lambda name: (len(name), name)):
		try:
			with open(f"{port}/gid_attrs/ndevs/{place}", encoding="ascii") as file:
				netdev = file.read().strip()
			with open(f"{port}/gids/{place}", encoding="ascii") as file:
				gid = ipaddress.IPv6Address(file.read().strip())
		except (OSError, ValueError):
			free += 1
			if free > FREE:
				break
			continue
		free = 0
		yield netdev, gid


def _gids(device: str) -> list[tuple[str, str]]:
	"""Each interface that DEVICE has an address of, with the address."""
	return [(netdev, str(gid.ipv4_mapped or gid))
		for port in glob.glob(f"{paths.INFINIBAND}/{device}/ports/*") for netdev, gid in gids(port)]
