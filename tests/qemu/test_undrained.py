# SPDX-License-Identifier: GPL-2.0
# debug: only
"""A queue pair that its device never flushes.

Soft-RoCE leaves one behind, whose receives stay, where it has no memory for it at the time
when it is to become ready to receive.
"""

import errno
import time

import injection
import krping
from injection import Injector
from krping import ADDR, Log
from ktap import Skip, Suite

SENTENCE = "flushing a queue pair failed with ETIMEDOUT; it is destroyed all the same"

suite = Suite(check=krping.check)


def fails(options):
	"""A run of both sides, of which one has no memory for its queue pair."""
	injector = Injector("failslab", injection.function("rxe_qp_from_attr", "rdma_rxe"))
	log, before = Log(), time.monotonic()
	injector.arm(1)
	try:
		found = krping.run(f"loopback,addr={ADDR},count=1{options}")
	finally:
		injected = injector.disarm()
	if not injected:
		raise Skip("soft-RoCE has allocated nothing there")
	assert found == errno.ENOMEM, (krping.name(found), log.text())
	assert log.find(SENTENCE), (time.monotonic() - before, log.text())
	krping.run_ok(f"loopback,addr={ADDR},count=1,validate")


@suite.test("it is destroyed all the same")
def waited_for():
	fails("")


@suite.test("it is destroyed all the same, polled")
def polled():
	fails(",poll")


@suite.test("it is destroyed all the same, on a queue of the pool")
def pooled():
	fails(",cq=pool")


if __name__ == "__main__":
	suite.main()
