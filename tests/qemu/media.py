# SPDX-License-Identifier: GPL-2.0
"""A store whose medium can be broken, and looked at past every cache.

	with media.medium("m", 8 * MIB) as medium, block.Server(f"store={medium}") as server:
		medium.fail()		# whatever touches it fails from now on
		medium.mend()
		medium.get(0, 4096)	# what a crash of the server's host would leave

The store is a partition of a null_blk. It has a page cache of its own: so what is read from
the whole disk is what has been written back, and to read it writes nothing back.
"""

import contextlib
import mmap
import os

import tap

SECTOR = 512
# Of the partition, in sectors.
START = 2048


class Medium:
	"""The medium of a store; str() is the store's path."""

	def __init__(self, disk, size):
		self.disk = disk
		self.partition = tap.add_partition(disk, 1, START * SECTOR, size)
		self.sectors = size // SECTOR
		self.broken = None
		self.fd = os.open(disk.path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)

	def __str__(self):
		return self.partition.path

	def fail(self, first=0, count=None):
		"""From now on what touches COUNT sectors from FIRST fails, by default all do."""
		self.mend()
		count = count or self.sectors - first
		self.broken = f"{START + first}-{START + first + count - 1}"
		tap.configure(self.disk, "badblocks", f"+{self.broken}")

	def mend(self):
		"""Nothing fails any more."""
		if self.broken:
			tap.configure(self.disk, "badblocks", f"-{self.broken}")
			self.broken = None

	def get(self, offset, length):
		"""What is on the medium; None while that cannot be read."""
		found = mmap.mmap(-1, length)
		try:
			done = os.preadv(self.fd, [found], START * SECTOR + offset)
		except OSError:
			return None
		assert done == length, (done, length)
		return bytes(found)


@contextlib.contextmanager
def medium(name, size, **options):
	"""Within, a Medium of SIZE bytes. OPTIONS are those of null_blk."""
	whole = size + START * SECTOR
	with tap.null_blk(name, size=whole, **({"discard": 0} | options)) as disk:
		found = Medium(disk, size)
		try:
			yield found
		finally:
			found.mend()
			os.close(found.fd)
