# SPDX-License-Identifier: GPL-2.0
"""Commands made at random: options that may go together or not, and texts that are none."""

import errno
import json
import re

MAX_COMMAND = 4096
# The module's table of options.
TABLES = "/sys/kernel/debug/krping/options"


# Numbers in and out of every range, and some that are none.
NUMBERS = ("0", "1", "2", "3", "15", "16", "64", "255", "256", "1000", "1024", "1025", "65535",
	   "65536", "65537", "0x10", "4K", "1M", "2097153", "4294967295", "4294967296",
	   "18446744073709551615", "18446744073709551616", "-1", "", "010", "1e3",
	   "999999999999999999999999")
# Values beside the example of the table, where not just any does.
VALUES = {
	"comm": ("c" * 16,),
	"cpu": ("0", "0+1-2+"),
	"expect": ("ok", "EIO"),
	"idle": ("100", "0", ""),
	"size": ("64K", "1", "4097", "1M", "2097153", "4294967296", ""),
	"stop": ("7",),
	"store": ("/none/x", "/tmp", "/dev/null", "", "x"),
	"tag": ("x", "y" * 64),
	"tap": ("no-such-disk", "/tmp"),
	"timeout": ("100", "0", ""),
	# Nobody is there, so a client takes all of it.
	"wait": ("100", "0", ""),
}
# Of a disk: nobody has the memory for the others.
SMALL = ("64K", "1", "4097", "1M", "")


class Options:
	"""Options, in which most values are sensible, from the module's table."""

	def __init__(self, rng):
		self.rng = rng
		with open(TABLES, encoding="ascii") as file:
			tables = json.load(file)
		self.tests = tables["tests"]
		self.options = [option for option in tables["options"] if "role" not in option]
		self.fitting = {}

	def test(self, families):
		"""A test of FAMILIES."""
		return self.rng.choice([test for test in self.tests if test["family"] in families])

	def words(self, role, test, count):
		"""COUNT options of a command, most of which go with ROLE and TEST, after that which
		asks for the test."""
		fitting, asking = self._of(role, test)
		found = [self._word(option, test) for option in asking]
		for _ in range(count):
			choice = fitting if fitting and self.rng.random() < 0.8 else self.options
			found.append(self._word(self.rng.choice(choice), test))
		return found

	def _of(self, role, test):
		"""The options that go with ROLE and TEST, and that which asks for the test."""
		key = role, test["name"]
		if key not in self.fitting:
			self.fitting[key] = (
				[option for option in self.options
				 if test["name"] in option["goes"].get(role, ())
				 and "test" not in option],
				[option for option in self.options
				 if option["name"] == test.get("option")])
		return self.fitting[key]

	def _word(self, option, test):
		name = self.rng.choice((option["name"], *option.get("aliases", ())))
		values = VALUES.get(name, ())
		match option["kind"]:
			case "flag":
				return name
			case "number":
				values = values or NUMBERS
			case "word":
				values = (*option["words"], "")
			case "text" if name == "size" and test["family"] in ("disk", "tap"):
				values = SMALL
			case "text":
				values = (option["example"], *values)
		# A tap's server gives no disk.
		if name == "tap" and self.rng.random() < 0.3:
			return name
		return f"{name}={self.rng.choice(values)}"


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
	PLAIN = ("pingpong", "fastreg", "latency", "bandwidth", "caps", "conformance")
	# Whatever comes before, a command cannot end like this.
	POISON = b",client,client"
	ENDS = ("stop=4000000000", "stop=7", "stop=", "stop=-1", "stop=7,force", "force", "stop=7,blk",
		"stop=7,force,force", "stop=4294967296", "stop=krping0")

	def __init__(self, rng):
		self.rng = rng
		self.options = Options(rng)
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

	def _text(self, most, families=PLAIN):
		"""A command of a test of FAMILIES with fewer than MOST options."""
		role = self.rng.choice(("client", "client", "server", "loopback"))
		words = self.options.words(role, self.options.test(families),
					   self.rng.randrange(most))
		# Many threads are another test's.
		words = [word for word in words if not re.fullmatch("threads=([1-9][0-9]+|0x.*)", word)]
		return ",".join([f"addr={self.NOWHERE}", role, *words])

	def mutation(self):
		"""What was a command once."""
		return mutated(self.rng, self._text(6)) + self.POISON, self.REFUSED

	def noise(self):
		"""What never was one."""
		return self.rng.randbytes(self.rng.randrange(1, 300)) + self.POISON, self.REFUSED

	def long(self):
		"""A long one, or one that is too long."""
		size = self.rng.choice((1000, MAX_COMMAND, MAX_COMMAND + 1, 5000, 70000))
		fill = self.rng.choice((b" ", b"A", b"\0", b",tag=x"))
		text = self._text(3).encode()
		text += fill * ((size - len(text)) // len(fill)) + self.POISON
		return text[-size:], self.REFUSED

	def plain(self):
		"""Options as they are, together or not."""
		return self._text(8).encode(), self.ENDED

	def block(self):
		"""The same of disks and taps."""
		return self._text(6, ("disk", "tap")).encode(), self.ENDED

	def stop(self):
		"""The end of a disk that there is not."""
		return self.rng.choice(self.ENDS).encode(), self.REFUSED | {errno.ENOENT}

	def cut(self):
		"""The beginning of one, as a write in parts has it."""
		text = self._text(8).encode()
		return text[:self.rng.randrange(1, len(text))], self.ENDED

	def empty(self):
		"""Nothing."""
		return self.rng.choice((b"", b"\n", b" ", b",", b"\0")), self.REFUSED | {0}
