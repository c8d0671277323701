# SPDX-License-Identifier: GPL-2.0
"""Peers of streams that lie at random, on either side, for as many rounds as wanted: in each a
client tells lies to a server, and a server tells as many to a client."""

import puppet
import soak
import stream_puppet
import streams
from ktap import Suite, diag

# Lies to each side in a round. Few connections live through more.
LIES = 40
# Rounds between two looks at what is left.
PIECE = 25


def main(argv=None):
	"""Run the rounds."""
	options = soak.options(__doc__, 100, argv)
	suite = Suite(check=streams.check, limit=60 * PIECE)
	puppet.PUPPET.build()
	numbers = list(options.numbers())

	for first in range(0, len(numbers), PIECE):
		some = numbers[first:first + PIECE]

		@suite.test(f"rounds {some[0]} to {some[-1]}")
		def piece(some=some):
			for number in some:
				seed = options.rng(number).randrange(1 << 32)
				arrived, ends = stream_puppet.lie(seed, LIES)
				options.counts["messages"] += arrived
				for end in ends:
					options.counts[f"end.{end}"] += 1
			diag(f"{options.counts['messages']} messages")

	soak.main(suite, options)


main()
