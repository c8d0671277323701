# SPDX-License-Identifier: GPL-2.0
"""Commands made at random: options that may go together or not, and texts that are none."""

import errno
import re

MAX_COMMAND = 4096


def options(rng):
	"""Options, in which most values are sensible."""
	numbers = ("0", "1", "2", "3", "15", "16", "64", "255", "256", "1000", "1024", "1025",
		   "65535", "65536", "65537", "0x10", "4K", "1M", "2097153", "4294967295",
		   "4294967296", "18446744073709551615", "18446744073709551616", "-1", "", "010",
		   "1e3", "999999999999999999999999")
	flags = ("verbose", "validate", "server_inv", "read_inv", "local_dma_lkey", "poll",
		 "unsafe_global_rkey", "fr", "mem_mode=reg", "mem_mode=dma", "mem_mode=fastreg",
		 "pattern=binary", "pattern=text", "pattern=", "wlat", "rlat", "slat", "bw", "rbw",
		 "sbw", "duplex", "inline", "imm", "untimed", "cpu=0", "cpu=0+1-2+", "max_p99=1us",
		 "min_bw=1G", "expect=ok", "expect=EIO", "blk", "tag=x", "tag=" + "y" * 64)
	names = ("count", "size", "tos", "txdepth", "tx-depth", "threads", "duration", "qps",
		 "postlist", "signal_every", "sge")
	while True:
		if rng.random() < 0.6:
			yield rng.choice(flags)
		else:
			yield f"{rng.choice(names)}={rng.choice(numbers)}"


INSERTS = (b",", b"=", b"%", b" ", b"\n", b"\0", b"0x", b"\xc3\xbc", b"client", b"addr6=",
	   b"A" * 300)


def mutated(rng, text):
	"""TEXT with a few changes at random places."""
	data = bytearray(text.encode())
	for _ in range(rng.randrange(1, 6)):
		place = rng.randrange(len(data) + 1)
		kind = rng.randrange(5)
		if kind == 0:
			data[place:place] = bytes([rng.randrange(256)])
		elif kind == 1:
			del data[place:place + rng.randrange(1, 9)]
		elif kind == 2 and place < len(data):
			data[place] ^= 1 << rng.randrange(8)
		elif kind == 3:
			data[place:place] = rng.choice(INSERTS)
		else:
			other = rng.randrange(len(data) + 1)
			data[place:place] = data[min(place, other):max(place, other)]
	return bytes(data[:MAX_COMMAND - 100])


class Quiet:
	"""Within, the kernel's log is not shown on the console: that is slow here."""

	LEVELS = "/proc/sys/kernel/printk"

	def __enter__(self):
		with open(self.LEVELS, encoding="ascii") as file:
			self.levels = file.read()
		with open(self.LEVELS, "w", encoding="ascii") as file:
			file.write("1")

	def __exit__(self, *_):
		with open(self.LEVELS, "w", encoding="ascii") as file:
			file.write(self.levels)


class Generator:
	"""Commands that cannot do any harm, of every kind that a writer could think of. Each
	is its kind, its bytes, and the errnos that it may end with; 0 is success."""

	# Routed nowhere: nothing is sent there, and nobody can listen there.
	NOWHERE = "192.0.2.1"
	REFUSED = frozenset((errno.EINVAL, errno.ERANGE, errno.EOPNOTSUPP))
	ENDED = REFUSED | {errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.ENOENT, errno.ENOTBLK,
			   errno.ENOMEM, errno.ENODEV, errno.EISDIR}
	# Whatever comes before, a command cannot end like this.
	POISON = b",client,client"
	BLOCKS = ("blk", "blk", "tap", "tap=no-such-disk", "tap=/tmp", "store=ram", "store=/none/x",
		  "store=/tmp", "store=/dev/null", "store=", "store=x", "size=64K", "size=1", "size=4097",
		  "size=1M", "ro", "queues=2", "queues=65", "depth=8", "depth=0", "reconnect=0",
		  "request_timeout=0", "reconnect=86401", "detach", "persist", "allow=::1+10.0.0.0/8",
		  "allow=1", "max_memory=1M", "max_memory=1", "comm=dd", "comm=" + "c" * 16, "log",
		  "threads=2", "count=1", "stop=7", "force", "timeout=100")
	ENDS = ("stop=4000000000", "stop=7", "stop=", "stop=-1", "stop=7,force", "force", "stop=7,blk",
		"stop=7,force,force", "stop=4294967296", "stop=krping0")

	def __init__(self, rng):
		self.rng = rng
		self.kinds = ((30, self.mutation), (10, self.noise), (4, self.long), (30, self.plain),
			      (12, self.block), (4, self.stop), (9, self.cut), (1, self.empty))

	def command(self):
		"""The next one."""
		number = self.rng.randrange(100)
		for share, make in self.kinds:
			number -= share
			if number < 0:
				return (make.__name__, *make())
		raise AssertionError("the shares are not 100")

	def _words(self, most):
		choice = options(self.rng)
		words = (next(choice) for _ in range(self.rng.randrange(most)))
		# Many threads are another test's.
		return [word for word in words if not re.fullmatch("threads=([1-9][0-9]+|0x.*)", word)]

	def _text(self, words):
		role = self.rng.choice(("client", "client", "server", "loopback"))
		return ",".join([f"addr={self.NOWHERE}", role, *words])

	def mutation(self):
		"""What was a command once."""
		return mutated(self.rng, self._text(self._words(6))) + self.POISON, self.REFUSED

	def noise(self):
		"""What never was one."""
		return self.rng.randbytes(self.rng.randrange(1, 300)) + self.POISON, self.REFUSED

	def long(self):
		"""A long one, or one that is too long."""
		size = self.rng.choice((1000, MAX_COMMAND, MAX_COMMAND + 1, 5000, 70000))
		fill = self.rng.choice((b" ", b"A", b"\0", b",tag=x"))
		text = self._text(self._words(3)).encode()
		text += fill * ((size - len(text)) // len(fill)) + self.POISON
		return text[-size:], self.REFUSED

	def plain(self):
		"""Options as they are, together or not."""
		return self._text(self._words(8)).encode(), self.ENDED

	def block(self):
		"""The same of disks and taps."""
		words = [self.rng.choice(self.BLOCKS) for _ in range(self.rng.randrange(1, 6))]
		return self._text(words).encode(), self.ENDED

	def stop(self):
		"""The end of a disk that there is not."""
		return self.rng.choice(self.ENDS).encode(), self.REFUSED | {errno.ENOENT}

	def cut(self):
		"""The beginning of one, as a write in parts has it."""
		text = self._text(self._words(8)).encode()
		return text[:self.rng.randrange(1, len(text))], self.ENDED

	def empty(self):
		"""Nothing."""
		return self.rng.choice((b"", b"\n", b" ", b",", b"\0")), self.REFUSED | {0}
