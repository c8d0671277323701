# SPDX-License-Identifier: GPL-2.0
# guest: --icount
"""What microbenchmarks with many queue pairs say, where the clock counts instructions.

There a nanosecond is an instruction of the one CPU, which is never idle while an operation
is under way. An operation of these tests costs the same whether others are under way or
not, so queue pairs together are as fast as one alone, however few operations each does.
"""

import age
import krping
from krping import ADDR, new_tag, run_ok
from ktap import Suite

suite = Suite(check=krping.check)


def cost(options):
	"""Instructions for each operation, as the client says."""
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},timeout=60000,tag={tag},{options}")
	found = krping.result(tag, "client")
	return found["size"] * 10 ** 9 / found.get("total_bytes_per_s", found["bytes_per_s"])


def together(test, few, many, most, reference="count=1000"):
	"""Queue pairs with FEW operations and with MANY say what a long run does, the REFERENCE,
	within a part of MOST."""
	alone = cost(f"{test},{reference}")
	for pairs, count in ((4, few), (16, few), (16, many)):
		ratio = cost(f"{test},qps={pairs},count={count}") / alone
		assert 1 - most < ratio < 1 + most, (test, pairs, count, ratio)


@suite.test("latency: 16 queue pairs of 50 operations are as fast as one of 1000")
def latency():
	age.needs("even_cost")
	for test in ("slat", "wlat"):
		together(test, 50, 200, 0.1)


@suite.test("bandwidth: 16 queue pairs of 200 operations are as fast as one of 1000")
def bandwidth():
	for test in ("bw", "sbw"):
		together(test, 100, 200, 0.15)


@suite.test("duplex: both sides measure the same time, however short")
def duplex():
	for test in ("bw", "sbw", "rbw"):
		together(f"{test},duplex", 50, 200, 0.1, "qps=16,count=1000")


suite.main()
