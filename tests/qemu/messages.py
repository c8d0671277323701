# SPDX-License-Identifier: GPL-2.0
"""What the tests of messages share."""

import re
from pathlib import Path

import krping
from krping import ADDR, DEVICE, Command, run_ok

TIMEOUT = f"timeout={10000 * krping.SLOW}"


def check():
	"""Nothing is left, and messages pass as before."""
	krping.check()
	run_ok(f"loopback,addr={ADDR},messenger,echo,validate,conns=2,count=5,{TIMEOUT}")


def _caches():
	"""The name, objects and bytes of an object of each of the kernel's caches."""
	for shrink in Path("/sys/kernel/slab").glob("*/shrink"):
		# The kernel copies what is written into an object, whose slab counts as used up by it.
		# Of a text as long as this one that is a slab of few objects.
		shrink.write_text("1".ljust(3000), encoding="ascii")
	for line in Path("/proc/slabinfo").read_text(encoding="ascii").splitlines()[2:]:
		name, used, _, size = line.split()[:4]
		yield name, int(used), int(size)


def _used():
	"""Bytes of the kernel's objects, and of its memory that is mapped page by page."""
	objects = sum(used * size for _, used, size in _caches())
	found = re.search(r"^VmallocUsed: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"),
			  re.MULTILINE)
	return objects + int(found[1]) * 1024


def objects():
	"""How many objects there are of each of the kernel's caches that anything is taken from."""
	return {name: used for name, used, _ in _caches() if name.startswith("kmalloc")}


def pairs():
	"""How many queue pairs the device has."""
	return krping.resources()[DEVICE]["qp"]


def wait_for_pairs(count):
	"""Wait until the device has so many."""
	krping.wait_for(lambda: pairs() == count, what=lambda: f"{count} queue pairs: {pairs()}")


def _taken(conns, options):
	"""Bytes of memory that CONNS connections take at both ends."""
	krping.check()
	idle = pairs()
	before = _used()
	# Of so few chunks nearly none is under way.
	client = Command(f"loopback,addr={ADDR},messenger,echo,size=1,chunks=4,"
			 f"duration=600,conns={conns},timeout=600000{options}")
	wait_for_pairs(idle + 2 * conns)
	# Each connection has moved some.
	krping.wait_for(lambda: sum(line.counters.get("send_msgs", 0) for line in krping.lines())
			> 8 * conns)
	taken = _used() - before
	client.interrupt()
	return taken


def memory_of_connection(options=""):
	"""Bytes of memory that either end of a connection takes, with the device's part."""
	few, many = 8, 256
	return (_taken(many, options) - _taken(few, options)) / (many - few) / 2
