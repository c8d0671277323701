# SPDX-License-Identifier: GPL-2.0
"""Where results come from: what only this host says of itself and of the device, which is added to
the results that this program writes."""

import contextlib
import functools
import ipaddress
import os
from collections.abc import Iterable

from . import paths, version
from .result import Provenance, Result


def add(found: Iterable[Result]) -> None:
	"""Add to each of FOUND, which are of this host, where it comes from."""
	for result in found:
		result["provenance"] = host() | device(result.get("device", ""),
						       result.get("port", 1), result.get("gid", ""))


@functools.cache
def host() -> Provenance:
	"""What this host says of itself."""
	names = os.uname()
	found: Provenance = {"host": names.nodename, "kernel": names.release,
			     "machine": names.machine, "front": version.own(),
			     "cpus": os.cpu_count() or 1}
	model = _cpu_model()
	if model:
		found["cpu_model"] = model
	return found


def _cpu_model() -> str:
	"""The name of the first CPU; "" where the architecture has none."""
	with contextlib.suppress(OSError), open(paths.CPUINFO, encoding="utf-8",
						errors="replace") as file:
		for line in file:
			name, _, value = line.partition(":")
			if name.strip() == "model name":
				return value.strip()
	return ""


@functools.cache
def device(name: str, port: int, gid: str) -> Provenance:
	"""What sysfs has of PORT of the device NAME, and of the interface of its address GID."""
	if not name:
		return {}
	found: Provenance = {}
	base = f"{paths.INFINIBAND}/{name}"
	firmware = _line(f"{base}/fw_ver")
	if firmware:
		found["firmware"] = firmware
	# Such as "100 Gb/sec (4X EDR)".
	rate = _number(_line(f"{base}/ports/{port}/rate").partition(" ")[0])
	if rate:
		found["rate_mbit_per_s"] = int(rate * 1000)
	layer = _line(f"{base}/ports/{port}/link_layer")
	if layer:
		found["link_layer"] = layer
	interface = _interface(base, port, gid)
	if interface:
		found["interface"] = interface
		mtu = _number(_line(f"{paths.NET}/{interface}/mtu"))
		if mtu:
			found["interface_mtu_bytes"] = int(mtu)
	# -1 is for no node in particular, and of devices without a bus there is none.
	node = _number(_line(f"{base}/device/numa_node"))
	if node is not None and node >= 0:
		found["numa_node"] = int(node)
	return found


def _interface(base: str, port: int, gid: str) -> str:
	"""The network interface of the address GID of a RoCE port, or of the device's bus; "" where
	neither is known."""
	with contextlib.suppress(ValueError, OSError):
		wanted = ipaddress.IPv6Address(gid)
		places = f"{base}/ports/{port}"
		for place in sorted(os.listdir(f"{places}/gids"), key=lambda name: (len(name), name)):
			text = _line(f"{places}/gids/{place}")
			if text and ipaddress.IPv6Address(text) == wanted:
				found = _line(f"{places}/gid_attrs/ndevs/{place}")
				if found:
					return found
	try:
		return sorted(os.listdir(f"{base}/device/net"))[0]
	except (OSError, IndexError):
		return ""


def _line(path: str) -> str:
	"""The line that the file PATH has; "" where it cannot be read."""
	try:
		with open(path, encoding="utf-8", errors="replace") as file:
			return file.read().strip()
	except OSError:
		return ""


def _number(text: str) -> float | None:
	"""The number TEXT; None where it is none."""
	try:
		return float(text)
	except ValueError:
		return None
