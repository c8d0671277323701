# SPDX-License-Identifier: GPL-2.0
"""What kernels have that older ones lack, as far as tests depend on it: found by running them on
Linux 6.12 and 7.2. The module itself asks no kernel for its version."""

import os
import re

from ktap import Skip

# By name: the first series that has it, of those that were tried, and what its lack is called.
SINCE = {
	"namespaces": ((7, 2), "soft-RoCE has no network namespaces"),
	"access_event": ((7, 2), "soft-RoCE tells no responder of a refused access"),
	"bio_vecs": ((7, 2), "rdma_rw takes scatterlists only"),
	"even_cost": ((7, 2), "soft-RoCE's latency of several queue pairs is not that of one, 0.77 of it"),
	"port_speed": ((7, 2), "the core does not say how fast a port is"),
}


def has(name: str) -> bool:
	"""Whether this kernel has it."""
	series = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
	return series >= SINCE[name][0]


def needs(name: str) -> None:
	"""Skip the test on a kernel without it."""
	if not has(name):
		raise Skip(f"Linux {os.uname().release}: {SINCE[name][1]}")
