# SPDX-License-Identifier: GPL-2.0
"""What is written to a disk is what is read from it: every block size, every shape of
memory, many at once."""

import functools
import os
import random

import block
from block import MIB, Fio, Raw
from ktap import Suite, diag

suite = Suite(check=block.check)

# What the module makes of a request's data: as it is, or in one piece.
PAGE = 4096
FILE = "/tmp/store"
SIZES = [512 << shift for shift in range(12)]
# Those that go to each kind of store: the smallest, the largest that a message carries, the next
# one, and the largest. For the others the kind makes no difference.
EDGES = (512, 4096, 8192, MIB)


def remove():
	"""Remove the file of a store."""
	if os.path.exists(FILE):
		os.unlink(FILE)


def stores():
	"""Servers' options, for a store of 64 MiB of each kind."""
	yield "size=64M,store=ram"
	remove()
	yield f"size=64M,store={FILE}"
	remove()


@suite.test("fio: random reads and writes, verified, of every block size")
def sizes():
	assert SIZES[-1] == MIB
	for number, options in enumerate(stores()):
		with block.loopback(options) as disk:
			# So many of each that none takes long, and that the queue is full; eight of the
			# largest are more than a server has memory for.
			jobs = [{"bs": size, "iodepth": 8, "io_size": 12 * size} if size > 128 << 10 else
				{"bs": size, "io_size": max(36 * size, min(80 * size, 256 << 10))}
				for at, size in enumerate(SIZES) if size in EDGES or at % 2 == number]
			Fio(jobs, filename=disk, size="64M", stonewall=True,
			    **block.VERIFY).succeed()
			figures = disk.figures()
		assert figures["errors"] == figures["reconnects"] == 0, figures


@suite.test("fio: block sizes mixed, several jobs at once")
def mixed():
	for options in stores():
		with block.loopback(options, "queues=2,depth=32") as disk:
			jobs = [{"offset": f"{16 * each}M", "size": "16M", "io_size": amount,
				 "bsrange": sizes, **block.VERIFY, "verify_backlog": 16, "randseed": each}
				for each, (sizes, amount) in enumerate((
					("512-4k", "256k"), ("512-128k", "3M"), ("4k-1M", "3M"),
					("3k-48k", "1M")))]
			Fio(jobs, filename=disk).succeed()


@suite.test("fio: reads and writes through the page cache")
def buffered():
	with block.loopback("size=32M,store=ram") as disk:
		block.fio(disk, rw="randwrite", direct=0, ioengine="psync", bs=8192, size="32M",
			  io_size="4M", verify="crc32c", end_fsync=1)


@suite.test("fio: the deepest queue, and one request at a time")
def depths():
	for few, options in enumerate(stores(), 1):
		for depth in (few, 1024):
			with block.loopback(options, f"depth={depth}") as disk:
				# One is kept free by the block layer for others.
				assert int(disk.attribute("queue/nr_requests")) == depth
				block.fio(disk, bs=4096, size="16M", io_size="256k" if depth < 3 else "3M",
					  **block.VERIFY | {"iodepth": min(2 * depth, 512)})
				figures = disk.figures()
			assert figures["errors"] == figures["reconnects"] == 0, figures


def shapes(raw, disk, rng):
	"""Pieces of memory, by what is special about them. Pieces do not overlap."""
	pages = len(raw.area) // PAGE
	most = int(disk.attribute("queue/max_segments"))
	align = int(disk.attribute("queue/dma_alignment")) + 1
	sectors = min(align, 512)
	yield "a page in one piece", [(0, PAGE)]
	yield "a sector", [(PAGE, 512)]
	yield "off the start of a page", [(512, 3584)]
	yield "as little aligned as may be", [(sectors, 512)]
	yield "over the ends of pages", [(PAGE - 512, 1024)]
	yield "off the start of a page, and long", [(512, 128 << 10)]
	yield "off by the least, and long", [(sectors, 64 << 10)]
	yield "1 MiB", [(0, MIB)]
	yield "1 MiB, off", [(512, MIB)]
	yield "more than one request takes", [(0, 3 * MIB)]
	yield "more than one request takes, off", [(1536, 3 * MIB + 512)]
	yield "scattered pages", [(PAGE * each, PAGE) for each in rng.sample(range(pages), 32)]
	yield "as many pages as there can be", \
		[(PAGE * each, PAGE) for each in rng.sample(range(pages), 256)]
	yield "a sector of each page", \
		[(PAGE * each + 512 * rng.randrange(8), 512)
		 for each in rng.sample(range(pages), min(most, 256))]
	yield "more pieces than a request takes", \
		[(PAGE * each + 1024, 1024) for each in rng.sample(range(pages), 700)]
	yield "two pieces that do not meet at a page", [(512, 512), (PAGE + 1024, 2048)]
	yield "a gap in each page", [(PAGE * each + half * 2048, 1024)
				     for each in range(16) for half in (0, 1)]
	yield "backwards", [(PAGE * each, PAGE) for each in reversed(range(64))]


@suite.test("memory of every shape, written and read back")
def memory():
	rng = random.Random(4)
	for number, options in enumerate(stores()):
		with block.loopback(options) as disk, Raw(disk, 8 * MIB) as raw, \
		     Raw(disk, 8 * MIB) as other:
			for at, (what, pieces) in enumerate(shapes(raw, disk, rng)):
				length = sum(each for _, each in pieces)
				# Each shape at each of them, with one kind of store.
				offset = (0, 7 * MIB + 1536)[(at + number) % 2]
				data = noise(rng, length)
				# Around it nothing may change.
				around = noise(rng, length + 1024)
				start = max(offset - 512, 0)
				other.put(start, around)
				scatter(raw, pieces, data)
				raw.write(offset, pieces)
				scatter(raw, pieces, bytes(length))
				raw.read(offset, pieces)
				where = f"{what} at {offset}"
				block.compare(gather(raw, pieces), data, where)
				expected = around[:offset - start] + data \
					+ around[offset - start + length:]
				block.compare(other.get(start, length + 1024), expected, where)


@functools.cache
def all_noise():
	"""Random bytes, which take long to make."""
	return random.Random(6).randbytes(6 * MIB)


def noise(rng, length):
	"""LENGTH of them, from a random one on."""
	start = rng.randrange(len(all_noise()) - length + 1)
	return all_noise()[start:start + length]


def scatter(raw, pieces, data):
	"""Put DATA into PIECES."""
	at = 0
	for start, length in pieces:
		raw.area[start:start + length] = data[at:at + length]
		at += length


def gather(raw, pieces):
	"""What PIECES hold."""
	return b"".join(raw.area[start:start + length] for start, length in pieces)


@suite.test("reads change no memory beside theirs")
def beside():
	with block.loopback("size=4M,store=ram") as disk, Raw(disk, MIB) as raw:
		rng = random.Random(5)
		data = rng.randbytes(MIB)
		raw.put(0, data)
		for pieces in ([(512, 512)], [(PAGE, 512)], [(PAGE - 512, 1024)], [(1536, 2048)],
			       [(PAGE * each + 1024, 512) for each in range(0, 200, 2)],
			       [(512, 65536)], [(2560, 200 * 1024)]):
			before = bytearray(b"\xa5" * MIB)
			raw.area[:] = before
			raw.read(0, pieces)
			at = 0
			for start, length in pieces:
				before[start:start + length] = data[at:at + length]
				at += length
			block.compare(raw.area[:], bytes(before), str(pieces[:3]))


@suite.test("random requests against a model of the disk")
def model():
	seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
	diag(f"SEED={seed}")
	rng = random.Random(seed)
	for options in stores():
		whole = 6 * MIB
		with block.loopback(options.replace("64M", "6M")) as disk, Raw(disk, 4 * MIB) as raw:
			expected = bytearray(whole)
			for number in range(60):
				offset, pieces = request(rng, whole, len(raw.area))
				length = sum(each for _, each in pieces)
				kind = rng.choice(("read", "write", "write", "zero", "discard"))
				if kind == "write":
					data = noise(rng, length)
					scatter(raw, pieces, data)
					raw.write(offset, pieces)
					expected[offset:offset + length] = data
				elif kind == "read":
					raw.read(offset, pieces)
					block.compare(gather(raw, pieces),
						      bytes(expected[offset:offset + length]),
						      f"request {number}, SEED={seed}")
				else:
					raw.zero(offset, length, kind == "discard")
					expected[offset:offset + length] = bytes(length)
			block.compare(raw.get(0, whole), bytes(expected), f"SEED={seed}")


def request(rng, whole, area):
	"""A random offset on a disk of WHOLE bytes, and pieces of AREA for a request."""
	pieces, at = [], 512 * rng.randrange(16)
	for _ in range(rng.choice((1, 1, 1, 2, 5, 40, 300))):
		length = 512 * rng.choice((1, 1, 2, 3, 8, 8, 16, 60, 256, 2049))
		if at + length > area or sum(each for _, each in pieces) + length > whole:
			break
		pieces.append((at, length))
		# Often right behind it.
		at += length + 512 * rng.choice((0, 0, 1, 7, 8))
	rng.shuffle(pieces)
	length = sum(each for _, each in pieces)
	return 512 * rng.randrange((whole - length) // 512 + 1), pieces


suite.main()
