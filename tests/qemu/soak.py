# SPDX-License-Identifier: GPL-2.0
"""What programs of random rounds have in common: their arguments, and their last line.

	options = soak.options(__doc__, rounds=20)
	for number in options.numbers():
		rng = options.rng(number)	# of one round, so that it can be repeated alone
		...
		options.counts["kind"] += 1
	soak.main(suite, options)

The last line of their output is `# seed=S rounds=N failures=F` and, after that, what was
counted, as `NAME=N`.
"""

import argparse
import collections
import random

import krping

# How much later things happen on the debug kernel. Limits are longer by far more:
# krping.SLOW.
SLOW = 6 if krping.SLOW > 1 else 1


class Options:
	"""The arguments."""

	def __init__(self, seed, rounds, only=None, words=()):
		self.seed = seed
		self.rounds = rounds
		self.only = only
		self.words = list(words)
		self.counts = collections.Counter()

	def numbers(self):
		"""The numbers of the rounds."""
		return [self.only] if self.only else range(1, self.rounds + 1)

	def rng(self, number):
		"""What is random in round NUMBER, whichever were before it."""
		return random.Random(f"{self.seed}.{number}")

	def deal(self, kinds, number):
		"""The kind of round NUMBER: as from shuffled packs of all KINDS, so that each
		comes as often as the others."""
		pack, place = divmod(number - 1, len(kinds))
		cards = list(kinds)
		random.Random(f"{self.seed}.{pack}.{len(cards)}").shuffle(cards)
		return cards[place]


def options(text, rounds, argv=None):
	"""Read ARGV, by default the program's, whose help is TEXT."""
	parser = argparse.ArgumentParser(description=text,
					 formatter_class=argparse.RawDescriptionHelpFormatter)
	parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 32),
			    help="of all that is random")
	parser.add_argument("--rounds", type=int, default=rounds, help=f"how many ({rounds})")
	parser.add_argument("--only", type=int, metavar="ROUND", help="just this one")
	parser.add_argument("words", nargs="*", help="only tests whose name has one of these")
	found = parser.parse_args(argv)
	return Options(found.seed, found.rounds, found.only, found.words)


def main(suite, chosen):
	"""Run the suite, as CHOSEN says, and print the last line."""
	try:
		suite.main(chosen.words)
	finally:
		counts = "".join(f" {name}={count}" for name, count in sorted(chosen.counts.items()))
		print(f"# seed={chosen.seed} rounds={len(chosen.numbers())} "
		      f"failures={suite.count['fail']}{counts}", flush=True)
