# SPDX-License-Identifier: GPL-2.0
"""Where results come from: what only this host says of itself and of the device, which is added to
the results that this program writes."""

import contextlib
import functools
import os
import time
from collections.abc import Iterable

from . import paths
from .result import Provenance, Result


def add(found: Iterable[Result]) -> None:
	"""Add to each of FOUND, which are of this host, where it comes from."""
	for result in found:
		result["provenance"] = host() | device(result.get("device", ""),
						       result.get("port", 1), result.get("gid", ""))


@functools.cache
def host() -> Provenance:
	"""What this host says of itself."""
	from . import version  # noqa: PLC0415
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
	import ipaddress  # noqa: PLC0415

	from . import devices  # noqa: PLC0415
	with contextlib.suppress(ValueError):
		wanted = ipaddress.IPv6Address(gid)
		for netdev, found in devices.gids(f"{base}/ports/{port}"):
			if found == wanted and netdev:
				return netdev
	try:
		return min(os.listdir(f"{base}/device/net"))
	except (OSError, ValueError):
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


# Files that are told apart below a picture.
MOST = 4


def lines(found: list[tuple[str, Result]]) -> list[str]:
	"""Where FOUND, names of files and results, come from: a line for all, or one for each file
	and place that differ, and when they were measured."""
	texts: dict[str, dict[str, None]] = {}
	for name, result in found:
		texts.setdefault(_describe(result), {})[name] = None
	if len(texts) < 2:
		said = list(texts)
	else:
		said = [f"{', '.join(names)}: {text}" for text, names in texts.items()]
	more = len(said) - MOST
	if more > 0:
		said[MOST:] = [f"and {more} more"]
	return [line for line in [*said, _days([result for _, result in found])] if line]


def _describe(result: Result) -> str:
	origin = result.get("provenance", {})
	transport = f" ({result['transport']})" if "transport" in result else ""
	rate = origin.get("rate_mbit_per_s", 0)
	parts = [
		origin.get("host", ""),
		f"Linux {origin['kernel']}" if "kernel" in origin else "",
		f"krping {result['version']}" if "version" in result else "",
		f"{result['device']}{transport}" if "device" in result else "",
		result.get("driver", ""),
		f"firmware {origin['firmware']}" if "firmware" in origin else "",
		f"link {rate / 1000:g} Gbit/s" if rate else "",
		f"path MTU {result['path_mtu_bytes']}" if "path_mtu_bytes" in result else "",
		f"NUMA node {origin['numa_node']}" if "numa_node" in origin else "",
		f"{origin['cpus']} x {origin.get('cpu_model', origin.get('machine', 'CPU'))}"
		if "cpus" in origin else "",
	]
	return ", ".join(part for part in parts if part)


def _days(found: list[Result]) -> str:
	"""The days in UTC on which FOUND were measured."""
	moments = [result["ended_unix_ns"] // 10**9 for result in found if "ended_unix_ns" in result]
	ends = dict.fromkeys(time.strftime("%Y-%m-%d", time.gmtime(moment))
			     for moment in (min(moments), max(moments))) if moments else {}
	return " to ".join(ends)
