# SPDX-License-Identifier: GPL-2.0
"""The device that is tested, by an address of this host that leads to it."""

from krping_front import devices
from krping_front.devices import Rail
from krping_front.errors import Quit


def address(device: str | None) -> str:
	"""The first address of DEVICE, or of the only RDMA device of this host."""
	rails, troubles = devices.find()
	names = list(dict.fromkeys(rail.device for rail in rails))
	if device is None and len(names) != 1:
		if names:
			raise Quit(f"there are several RDMA devices, {_listed(rails)}; choose one with "
				   "--device, or give an address")
		raise Quit("; ".join([devices.NO_RAILS, *troubles]))
	found = [rail.address for rail in rails if rail.device == (device or names[0])]
	if not found:
		raise Quit("; ".join([f"--device {device}: this host has no such RDMA device with an IP "
				      f"address; it has {_listed(rails) or 'none'}", *troubles]))
	return found[0]


def _listed(rails: list[Rail]) -> str:
	"""Each device of RAILS with its first address."""
	first: dict[str, str] = {}
	for rail in rails:
		first.setdefault(rail.device, rail.address)
	return ", ".join(f"{device} ({addr})" for device, addr in sorted(first.items()))
