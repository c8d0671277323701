# SPDX-License-Identifier: GPL-2.0
"""Short loopbacks, one after the other, for a machine that has no time for them: none may fail.
A failure shows what each side has seen."""

import krping
import soak
from krping import ADDR, new_tag
from ktap import Suite, diag

suite = Suite(check=krping.check, limit=120 * soak.SLOW)

# So many in each test, as what is checked after a test takes longer than a loopback.
GROUP = 20

OPTIONS = ("mem_mode=dma,local_dma_lkey,size=4096", "mem_mode=reg,size=4096",
	   "mem_mode=reg,server_inv,size=64K", "mem_mode=dma,size=64,validate", "slat", "rlat", "bw")


def loopback(options, rng):
	"""One of them."""
	text = rng.choice(OPTIONS)
	tag = new_tag()
	number = krping.run(f"loopback,addr={ADDR},count=10,{text},tag={tag}")
	options.counts["loopbacks"] += 1
	if number:
		options.counts["failed"] += 1
		for each in krping.results(tag):
			diag(f"{each['role']}: {each['status']} {each.get('reason', '')}")
		raise AssertionError(f"{text}: {krping.name(number)}")


def add_group(options, first):
	"""The test of the loopbacks from number FIRST on."""
	last = min(first + GROUP - 1, options.rounds)

	def play():
		for number in range(first, last + 1):
			loopback(options, options.rng(number))
	suite.test(f"loopbacks {first} to {last}")(play)


def main(argv=None):
	"""Run them, or what ARGV says."""
	options = soak.options(__doc__, rounds=200, argv=argv)
	options.counts.update(loopbacks=0, failed=0)
	for first in list(options.numbers())[::GROUP]:
		add_group(options, first)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
