# SPDX-License-Identifier: GPL-2.0
"""What is checked of a device by the result of caps."""

from collections.abc import Callable
from typing import Any, NamedTuple

from krping_front import rows
from krping_front.disks import amount
from krping_front.result import Result


class Found(NamedTuple):
	"""What a check has found."""

	seen: str
	# What is wrong, or why there is nothing to be checked; "" for neither.
	wrong: str = ""
	skip: str = ""
	expected: str = ""


Look = Callable[[Result], Found]


def device(result: Result) -> Found:
	"""The device itself, with its firmware."""
	about: dict[str, Any] = dict(result["caps"]["device"])
	firmware = about.get("firmware") or "none"
	return Found(f"{rows.device(result)}, firmware {firmware}, "
		     f"vendor {about.get('vendor_id', 0):#x}, part {about.get('vendor_part_id', 0)}")


def port(result: Result) -> Found:
	"""The port is up."""
	about: dict[str, Any] = dict(result["caps"]["port"])
	state = about.get("state", "of an unknown state")
	rate = about.get("rate_mbit_per_s", 0)
	seen = (f"port {about.get('number', 1)} {state}, {about.get('link_layer', 'unknown link')}, "
		f"MTU {amount(about.get('active_mtu_bytes', 0))}, "
		f"{f'{rate / 1000:g} Gbit/s' if rate else 'rate unknown'}")
	return Found(seen, "" if state == "ACTIVE" else f"the port is {state}, not ACTIVE",
		     expected="ACTIVE")


def management(result: Result) -> Found:
	"""The connection management answers."""
	about: dict[str, Any] = dict(result["caps"])
	said = about.get("connection_management", "not asked")
	if said == "not asked" and result.get("transport") == "iWARP":
		return Found(said, skip="iWARP: TCP makes the connections")
	return Found(said, "" if said == "answers" else f"the connection management: {said}",
		     expected="answers")


def objects(result: Result) -> Found:
	"""Queues and regions can be made, as many and as large as the device says."""
	items = result["caps"]["preflight"]
	made = ", ".join(f"{each['item']} {each['made']}" for each in items)
	failed = [f"{each['item']} of {each['asked']}: {each.get('errno', 'failed')}"
		  for each in items if each["status"] == "failed"]
	return Found(made, ", ".join(failed), expected=", ".join(
		f"{each['item']} {each['asked']}" for each in items if each["status"] == "failed"))


def limits(result: Result) -> Found:
	"""Commands can ask for something: all works that they need."""
	found: dict[str, Any] = dict(result["caps"].get("limits", {}))
	seen = ", ".join(f"{name} {value}" for name, value in found.items() if isinstance(value, int))
	return Found(seen, "" if found else result.get("reason", "there are none"),
		     expected="limits of size=, txdepth= and others")
