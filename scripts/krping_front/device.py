# SPDX-License-Identifier: GPL-2.0
"""What a device can do, as text: the results of caps."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import pair, tables
from .disks import Row, amount, count
from .result import Answer, Result
from .rows import device
from .table import Table

# Pairs of a field and what it is called here, the fields, and what shows some of them.
Names = Iterable[tuple[str, str]]
Values = Mapping[str, Any]
Shown = Mapping[str, Callable[[Any], str]]

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
	("qp_uc", "qp=uc"),
	("qp_ud", "qp=ud"),
	("mcast", "mcast="),
	("fetch_add", ", ".join(tables.of_verb("fetch_add"))),
	("compare_swap", ", ".join(tables.of_verb("compare_swap"))),
	("mtu", "mtu="),
	("blk", "blk, tap="),
	("biovec", "biovec"),
	("comm", "comm="),
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

PREFLIGHT = tuple(count(name, name, left=name == "item")
		  for name in ("item", "asked", "made", "status"))


def lines(result: Result) -> list[str]:
	"""The tables of RESULT, whose device was found, with a title."""
	caps = result["caps"]
	found = [f"# caps: what {device(result)} can do"]
	found += _part("device", DEVICE, caps["device"], {"vendor_id": hex})
	found += _part("port", PORT, caps["port"],
		       {name: amount for name, _ in PORT if name.endswith("_bytes")}
		       | {"rate_mbit_per_s": _rate})
	found += _values(MANAGEMENT, caps, {})
	claims = caps["claims"] | {"features": ", ".join(caps["claims"].get("features", [])) or "none"}
	found += _part("what it says", [(name, name) for name in claims], claims,
		       {"max_mr_size_bytes": _most})
	rows = [Row(each, each.get("errno", "")) for each in caps["preflight"]]
	table = Table(PREFLIGHT, rows)
	found += ["", "what it did", f" {table.heading()}"]
	found += [f" {table.line(row)}" for row in rows]
	limits = caps.get("limits")
	if limits:
		found += _part("what commands can ask for", LIMITS, limits,
			       {name: amount for name, _ in LIMITS if name.endswith("_bytes")})
		found += _values(ANSWERS, limits, {name: _answer for name, _ in ANSWERS})
	return found + (pair.lines(result) if "pair" in result else [])


def _part(title: str, names: Names, values: Values, shown: Shown) -> list[str]:
	return ["", title] + _values(names, values, shown)


def _values(names: Names, values: Values, shown: Shown) -> list[str]:
	"""A line for each of NAMES, pairs of a field of VALUES and what it is called here;
	SHOWN has a function for those that are not shown as they are."""
	return [f"  {heading:25}  {shown.get(name, str)(values[name])}".rstrip()
		for name, heading in names if name in values]


def _rate(megabits: int) -> str:
	return f"{megabits / 1000:g} Gbit/s" if megabits else "unknown"


def _most(number: int) -> str:
	return "no limit" if number == (1 << 64) - 1 else str(number)


def _answer(found: Answer) -> str:
	return "yes" if found.get("supported") else f"no ({found.get('reason', 'no reason')})"
