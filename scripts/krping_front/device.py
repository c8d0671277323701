# SPDX-License-Identifier: GPL-2.0
"""What a device can do, as text: the results of caps."""

import typing

from .disks import amount
from .rows import device
from .table import Column, Table

# What a result's "caps" has, and of which type; "limits" only where all works that must.
PARTS = {"device": dict, "port": dict, "claims": dict, "preflight": list}

LIMITS = (
	("size_dma_bytes", "size="),
	("size_reg_bytes", "size= with mem_mode=reg"),
	("inline_bytes", "size= with inline"),
	("txdepth", "txdepth="),
	("qps", "qps="),
	("sge", "sge="),
	("sge_read", "sge= with rlat, rbw"),
	("depth", "depth= of a disk"),
)
ANSWERS = (
	("server_inv", "server_inv"),
	("read_inv", "read_inv"),
	("imm", "imm"),
	("blk", "blk, tap="),
)
DEVICE = (
	("firmware", "firmware"),
	("node_guid", "node GUID"),
	("vendor_id", "vendor"),
	("vendor_part_id", "part"),
	("hw_ver", "version"),
	("ports", "ports"),
)
PORT = (
	("number", "number"),
	("state", "state"),
	("link_layer", "link layer"),
	("active_mtu_bytes", "MTU"),
	("max_mtu_bytes", "largest MTU"),
	("max_message_bytes", "longest message"),
	("rate_mbit_per_s", "rate"),
)
MANAGEMENT = (("connection_management", "connection management"),)


class Item(typing.NamedTuple):
	"""A row of the preflight."""

	values: dict
	note: str = ""


PREFLIGHT = tuple(
	Column(name, lambda row, name=name: str(row.values.get(name, "-")), left=name == "item")
	for name in ("item", "asked", "made", "status"))


def trouble(found):
	"""Why FOUND, the "caps" of a result, is none; None where it is one."""
	if not isinstance(found, dict):
		return "caps is no object"
	for name, kind in PARTS.items():
		if not isinstance(found.get(name), kind):
			return f"caps has no {name}"
	if not all(isinstance(each, dict) for each in found["preflight"]):
		return "a preflight's item is no object"
	limits = found.get("limits", {})
	if not isinstance(limits, dict) or not all(
			isinstance(limits.get(name, {}), dict) for name, _ in ANSWERS):
		return "caps has no limits that are one"
	return None


def lines(result):
	"""The tables of RESULT, whose device was found, with a title."""
	caps = result["caps"]
	found = [f"# caps: what {device(result)} can do"]
	found += _part("device", DEVICE, caps["device"], {"vendor_id": hex})
	found += _part("port", PORT, caps["port"],
		       {name: amount for name, _ in PORT if name.endswith("_bytes")}
		       | {"rate_mbit_per_s": _rate})
	found += _values(MANAGEMENT, caps, {})
	claims = dict(caps["claims"])
	claims["features"] = ", ".join(claims.get("features", [])) or "none"
	found += _part("what it says", [(name, name) for name in claims], claims,
		       {"max_mr_size_bytes": _most})
	rows = [Item(each, each.get("errno", "")) for each in caps["preflight"]]
	table = Table(PREFLIGHT, rows)
	found += ["", "what it did", f" {table.heading()}"]
	found += [f" {table.line(row)}" for row in rows]
	limits = caps.get("limits")
	if limits:
		found += _part("what commands can ask for", LIMITS, limits,
			       {name: amount for name, _ in LIMITS if name.endswith("_bytes")})
		found += _values(ANSWERS, limits, {name: _answer for name, _ in ANSWERS})
	return found


def _part(title, names, values, shown):
	return ["", title] + _values(names, values, shown)


def _values(names, values, shown):
	"""A line for each of NAMES, pairs of a field of VALUES and what it is called here;
	SHOWN has a function for those that are not shown as they are."""
	return [f"  {heading:25}  {shown.get(name, str)(values[name])}".rstrip()
		for name, heading in names if name in values]


def _rate(megabits):
	return f"{megabits / 1000:g} Gbit/s" if megabits else "unknown"


def _most(number):
	return "no limit" if number == (1 << 64) - 1 else str(number)


def _answer(found):
	return "yes" if found.get("supported") else f"no ({found.get('reason', 'no reason')})"
