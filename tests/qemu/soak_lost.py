# SPDX-License-Identifier: GPL-2.0
"""Acknowledged writes of random places, and what their server and the medium below the store go
through before the next flush: each round deals one of the cells of docs/block.md's table, and random
blocks that are written, flushed, or written anew before it. A flush that succeeds promises all that
was answered before it: if the next one succeeds, every block has what was written last.

A round repeats by its seed and number: --seed S --only N.
"""

import block
import krping
import losses
import soak
from block import Raw, Server
from krping import wait_for
from ktap import Suite
from losses import EITHER, KEPT, STORES, TABLE, TOLD, Place, Process, safely

BLOCK = 4096
# Blocks of the store that are written.
BLOCKS = 512

suite = Suite(check=block.check)

CELLS = {f"{kind}, {row[0].__name__}": (row[0], row[1], is_file, options, row[2 + at])
	 for row in TABLE for at, (kind, is_file, options) in enumerate(STORES)}


class Contents:
	"""Blocks of a disk, with what was written to them last."""

	def __init__(self, raw, rng):
		self.raw, self.rng = raw, rng
		self.blocks = {}

	def write(self, count):
		"""Write COUNT of them."""
		for _ in range(count):
			number = self.rng.randrange(BLOCKS)
			data = self.rng.randbytes(64) * (BLOCK // 64)
			self.raw.put(number * BLOCK, data)
			self.blocks[number] = data

	def wrong(self):
		"""Numbers of those that have something else."""
		return [number for number, data in self.blocks.items()
			if self.raw.get(number * BLOCK, BLOCK) != data]


def play(options, rng, cell):
	"""A round."""
	happens, make, is_file, flags, wanted = cell
	starter = rng.choice((krping.Command, Process))
	with make() as medium, safely():
		place = Place(medium, is_file)
		server = Server(f"store={place},persist{flags}", command=starter)
		with server.disk("reconnect=90") as disk:
			with Raw(disk) as raw:
				contents = Contents(raw, rng)
				for _ in range(rng.randrange(4)):
					contents.write(rng.randint(1, 20))
					assert raw.flush() == "ok"
				contents.write(rng.randint(1, 60))
				happens(place, server)
				server.options = f"store={place},persist{flags}"
				server.start()
				said = raw.flush()
				wrong = contents.wrong()
				options.counts["lost"] += bool(wrong) and said == "ok"
				assert said in ("ok", TOLD), said
				assert said == TOLD or not wrong, \
					f"the flush is ok, and {len(wrong)} blocks are lost: {wrong[:8]}"
				found = KEPT if said == "ok" else TOLD
				options.counts["false_eio"] += (found, wanted) == (TOLD, KEPT)
				# Direct I/O has put it on the medium: only a flush of metadata fails.
				assert wanted in (found, EITHER) or (found == KEPT and "direct" in flags), \
					f"{found}, not {wanted}"
			wait_for(lambda: losses.writes(disk), what="a flush after all closed it")
		server.kill()
		place.unmount()


def main():
	"""Run the rounds."""
	options = soak.options(__doc__, rounds=24)
	options.counts.update(lost=0, false_eio=0)
	for number in options.numbers():
		name = options.deal(CELLS, number)
		suite.test(f"round {number}: {name}")(
			lambda number=number, name=name: play(options, options.rng(number), CELLS[name]))
	soak.main(suite, options)


if __name__ == "__main__":
	main()
