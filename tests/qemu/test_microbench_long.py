# SPDX-License-Identifier: GPL-2.0
"""A long microbenchmark takes no more memory than its first seconds."""

import re

import krping
from krping import ADDR, Command, new_tag, wait_for
from ktap import Suite, diag
from microbench import moving

suite = Suite(check=krping.check)

SECONDS = 20
# Kept memory would grow with each operation, and an emulated CPU does some thousands of
# them a second. So at the end even 64 bytes for each, the least that a request or
# a packet takes, are several times as much as this, while what else happens in a guest
# (its tests' own output, slabs that come and go in pages of each CPU) is far less.
TOLERANCE = 2 << 20


def memory():
	"""What there is, and what the kernel uses for itself, in bytes, by kind."""
	with open("/proc/meminfo", encoding="ascii") as file:
		text = file.read()
	return {kind: int(re.search(rf"^{kind}: *(\d+) kB$", text, re.MULTILINE)[1]) << 10
		for kind in ("MemAvailable", "SUnreclaim", "KernelStack", "PageTables",
			     "VmallocUsed", "Percpu")}


def slabs():
	"""The bytes in objects of each cache."""
	found = {}
	with open("/proc/slabinfo", encoding="ascii") as file:
		for line in list(file)[2:]:
			cache, active, _, size = line.split()[:4]
			found[cache] = int(active) * int(size)
	return found


@suite.test(f"{SECONDS} seconds of slat and bw, beside each other", limit=SECONDS + 600)
def flat():
	tag = new_tag()
	commands = [Command(f"loopback,addr={ADDR},{test},duration={SECONDS},tag={tag}")
		    for test in ("slat,qps=2", "bw,postlist=4")]
	wait_for(lambda: moving(4, 1000))
	krping.pass_time(3, "the first seconds, for what is taken once")
	before, caches = memory(), slabs()
	moved = operations()
	krping.pass_time(SECONDS - 6, "the run, less its beginning and its end")
	moved = operations() - moved
	after = memory()
	grown = {cache: size - caches.get(cache, 0) for cache, size in slabs().items()}
	assert [command.wait(60) for command in commands] == [0, 0]
	for kind, size in after.items():
		diag(f"{kind}: {size >> 10} kB, {(size - before[kind]) >> 10:+} kB")
	worst = max(grown, key=grown.get)
	diag(f"{moved} operations; the cache that grew most: {worst}, {grown[worst] >> 10:+} kB")
	# What makes the tolerance one that notices.
	assert moved * 64 > 2 * TOLERANCE, moved
	# This has the programs' own, and what is not of slabs.
	assert before.pop("MemAvailable") - after.pop("MemAvailable") < 4 * TOLERANCE, after
	assert sum(after.values()) - sum(before.values()) < TOLERANCE, (before, after)
	assert grown[worst] < TOLERANCE / 4, (worst, grown[worst])
	found = krping.results(tag)
	assert {each["status"] for each in found} == {"ok"}, found


def operations():
	"""How many SENDs and WRITEs all lines count."""
	return sum(line.counters.get("send_msgs", 0) + line.counters.get("write_msgs", 0)
		   for line in krping.lines())


suite.main()
