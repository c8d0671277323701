# SPDX-License-Identifier: GPL-2.0
"""The promises that a disk has made to a program, and whether its store keeps them.

Each block that is written has content of its own, which says where and when it was
written. Known of each block are the versions that the medium may hold:

- a write adds one when it begins, whatever becomes of it;
- a flush or FUA write that succeeds drops what is older than the writes which had been
  answered when it began;
- one that fails has told of a loss: nothing is known of the writes answered before that,
  until their blocks are written again.

So a medium with a version that was dropped has lost what a flush has promised to keep.

A block may hold parts of several of its versions while one is on its way: a page that is being
written back can be written to meanwhile. The flush that comes later has the whole of it written.
"""

import struct
import threading

BLOCK = 4096
_VERSION = struct.Struct("<Q")
_WORDS = struct.Struct(f"<{BLOCK // _VERSION.size}Q")


def content(version):
	"""What is written as VERSION."""
	return _VERSION.pack(version) * (BLOCK // _VERSION.size)


def version_of(data):
	"""The version of which DATA is the content, or None."""
	version, = _VERSION.unpack_from(data)
	return version if data == content(version) else None


def parts_of(data):
	"""The versions of which DATA has parts."""
	return sorted(set(_WORDS.unpack(data)))


class Broken(AssertionError):
	"""A promise was not kept."""


class FalseOk(Broken):
	"""A flush succeeded, and what it was for is not on the medium."""


class Lost(Broken):
	"""What was written and answered is not what is read."""


class Block:
	"""What is known of one block."""

	def __init__(self):
		# Those that the medium may hold, in the order in which they were begun. A new
		# medium is all zeroes.
		self.versions = [0]
		# The last one that was answered, where nothing has failed since.
		self.answered = 0
		# How many losses had been told when it was.
		self.told = 0


class Promises:
	"""What a disk has promised of its blocks, by their numbers. Threads may share it, each
	of which writes blocks of its own."""

	def __init__(self, numbers):
		self.lock = threading.Lock()
		self.blocks = {number: Block() for number in numbers}
		self.told = 0
		self.sequence = 0

	def write_begins(self, numbers):
		"""A write of blocks NUMBERS begins. Returns what is to be written."""
		data = bytearray()
		with self.lock:
			for number in numbers:
				self.sequence += 1
				version = number << 40 | self.sequence
				self.blocks[number].versions.append(version)
				data += content(version)
		return bytes(data)

	def write_ends(self, numbers, succeeded):
		"""It has ended."""
		with self.lock:
			for block in map(self.blocks.get, numbers):
				block.answered = block.versions[-1] if succeeded else None
				block.told = self.told

	def flush_begins(self):
		"""A flush begins, or a FUA write. Returns what to give to flush_ends()."""
		with self.lock:
			covered = {number: block.answered for number, block in self.blocks.items()
				   if block.answered is not None and block.told == self.told}
			return self.told, covered

	def flush_ends(self, begun, succeeded, written=()):
		"""It has ended; it has WRITTEN these blocks."""
		told, covered = begun
		with self.lock:
			if not succeeded:
				self.told += 1
			elif told == self.told:
				last = {number: self.blocks[number].versions[-1] for number in written}
				for number, version in (covered | last).items():
					versions = self.blocks[number].versions
					if version in versions:
						del versions[:versions.index(version)]

	def unsure(self):
		"""The blocks of which nothing certain is known, as a loss was told."""
		with self.lock:
			return [number for number, block in self.blocks.items()
				if block.answered is None
				or (block.told != self.told and len(block.versions) > 1)]

	def allowed(self):
		"""The versions that the medium may hold now, by block."""
		with self.lock:
			return {number: list(block.versions) for number, block in self.blocks.items()}

	def check_medium(self, medium):
		"""The medium keeps what was promised, at this moment. Returns whether it could be
		read."""
		before = self.allowed()
		first, last = min(before), max(before)
		data = medium.get(first * BLOCK, (last + 1 - first) * BLOCK)
		if data is None:
			return False
		# What has begun meanwhile may be there already, even if it has been replaced since
		# and a flush has dropped it.
		after = self.allowed()
		for number in before:
			at = (number - first) * BLOCK
			found = parts_of(data[at:at + BLOCK])
			if not all(version in before[number]
				   or before[number][-1] < version <= after[number][-1]
				   for version in found):
				raise FalseOk(f"block {number}: {_text(*found)} is on the medium, a flush "
					      f"has promised one of {_text(*before[number])}")
		return True

	def check_read(self, number, data, exact):
		"""DATA was read from block NUMBER, whose writer has read it: EXACTLY the last
		that was answered, or what the medium may hold."""
		found = version_of(data)
		with self.lock:
			block = self.blocks[number]
			wanted = [block.answered] if exact else block.versions
			if found not in wanted:
				raise Lost(f"block {number}: read version {_text(found)}, "
					   f"not one of {_text(*wanted)}")


def _text(*versions):
	"""VERSIONS as people say them."""
	return ", ".join("of nobody" if version is None
			 else f"{version >> 40}.{version & (1 << 40) - 1}" for version in versions)
