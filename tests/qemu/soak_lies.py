# SPDX-License-Identifier: GPL-2.0
"""Peers of streams and of messages that lie at random, on either side, for as many rounds as wanted:
in each a client tells lies to a server, and a server tells as many to a client."""

import messenger_puppet
import puppet
import soak
import stream_puppet
import streams
from ktap import Suite, diag

# Lies to each side in a round. Few connections live through more.
LIES = 40
# Rounds between two looks at what is left.
PIECE = 25
LIARS = {"stream": stream_puppet.lie, "messenger": messenger_puppet.lie}


def add(suite, options, what, some):
	"""Add a test of the rounds SOME of WHAT."""
	@suite.test(f"{what}, rounds {some[0]} to {some[-1]}")
	def piece():
		for number in some:
			seed = options.rng(number).randrange(1 << 32)
			arrived, ends = LIARS[what](seed, LIES)
			options.counts[f"{what}.messages"] += arrived
			for end in ends:
				options.counts[f"{what}.{end}"] += 1
		diag(f"{options.counts[f'{what}.messages']} messages")


def main(argv=None):
	"""Run the rounds."""
	options = soak.options(__doc__, 100, argv)
	suite = Suite(check=streams.check, limit=60 * PIECE)
	puppet.PUPPET.build()
	numbers = list(options.numbers())
	for what in LIARS:
		for first in range(0, len(numbers), PIECE):
			add(suite, options, what, numbers[first:first + PIECE])
	soak.main(suite, options)


main()
