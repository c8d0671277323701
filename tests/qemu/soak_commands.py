# SPDX-License-Identifier: GPL-2.0
"""Random commands in any number: --seed S --rounds N. None of them can do any harm, so
each must be refused or fail with an errno that it may fail with, and say why in the
kernel's log; and nothing may be left. The same seed makes the same commands."""

import argparse
import atexit
import collections
import ctypes
import errno
import os
import random
import re

import block
import krping
from commands import Generator, Quiet
from krping import ADDR, PROC, Log
from ktap import Suite

# How many are written before the log is read, which holds more than so many.
BATCH = 500

libc = ctypes.CDLL(None, use_errno=True)
kinds, errnos = collections.Counter(), collections.Counter()


def name(number):
	"""An errno's name, or "ok"."""
	return krping.name(number) if number else "ok"


class Writer:
	"""/proc/krping, opened once."""

	def __init__(self):
		self.fd = os.open(PROC, os.O_RDWR | os.O_CLOEXEC)

	def __del__(self):
		os.close(self.fd)

	def write(self, data):
		"""The errno of the command DATA."""
		written = libc.write(self.fd, data, ctypes.c_size_t(len(data)))
		if written < 0:
			return ctypes.get_errno()
		assert written == len(data), f"{written} of {len(data)} bytes of {data!r}"
		return 0

	def write_nothing(self):
		"""The errno of a command in memory that is not there."""
		written = libc.write(self.fd, ctypes.c_void_p(8), ctypes.c_size_t(20))
		return ctypes.get_errno() if written < 0 else 0


def is_named(line, data):
	"""Whether LINE says what is wrong with DATA: by a word of it, or that it is a command."""
	if re.search("command|option|role", line):
		return True
	words = re.findall(rb"[a-z0-9_]{2,}", data)
	return any(word.decode() in line for word in words)


def judge_log(lines, failed):
	"""LINES are what the log says of the commands FAILED, in this order, and each names
	something. Those that had a number say it first, and may say more."""
	refusals = [line for line in lines if not re.match(r"krping: [0-9]+: ", line)]
	numbered = {line.split()[1] for line in lines} - {line.split()[1] for line in refusals}
	assert len(refusals) + len(numbered) >= len(failed), \
		f"{len(failed)} commands failed, and the log has {len(refusals)} refusals and " \
		f"{len(numbered)} other reasons"
	for line in lines:
		assert all(0x20 <= ord(letter) < 0x7f for letter in line), repr(line)
		assert len(line) > 20, line
	if len(refusals) == len(failed):
		for line, data in zip(refusals, failed):
			assert is_named(line, data), f"{line!r} of {data!r}"


def batch(generator, writer, count):
	"""Write COUNT commands, and judge them."""
	log, failed = Log(), []
	for _ in range(count):
		kind, data, allowed = generator.command()
		number = writer.write(data)
		kinds[kind] += 1
		errnos[number] += 1
		if b"expect=" in data:
			allowed = allowed | {0}
		assert number in allowed, f"{name(number)} from {kind} {data!r}: {log.text()[-500:]}"
		if number:
			failed.append(data)
	lines = [line for line in log.lines() if line.startswith("krping: ")]
	judge_log(lines, failed)
	# What is no memory is no command, and what works still works.
	assert writer.write_nothing() == errno.EFAULT
	assert writer.write(f"loopback,addr={ADDR},count=1".encode()) == 0
	assert not krping.lines(), krping.lines()
	assert not block.numbers(), block.numbers()
	kinds["unmapped"] += 1
	kinds["run"] += 1
	errnos.update((errno.EFAULT, 0))


def summary(seed):
	"""The last line."""
	words = [f"seed={seed}", f"commands={sum(kinds.values())}"]
	words += [f"kind:{kind}={count}" for kind, count in sorted(kinds.items())]
	words += [f"errno:{name(number)}={count}" for number, count in sorted(errnos.items())]
	print("#", " ".join(words), flush=True)


def main(argv=None):
	"""Run it all."""
	parser = argparse.ArgumentParser(description=__doc__)
	parser.add_argument("--seed", type=int, default=1)
	parser.add_argument("--rounds", type=int, default=20000)
	options = parser.parse_args(argv)
	suite = Suite(check=block.check, limit=300 + options.rounds // 50 * krping.SLOW)

	@suite.test(f"{options.rounds} commands at random")
	def soak():
		generator, writer = Generator(random.Random(options.seed)), Writer()
		with Quiet():
			for done in range(0, options.rounds, BATCH):
				batch(generator, writer, min(BATCH, options.rounds - done))
		assert len(errnos) > 5, errnos

	atexit.register(summary, options.seed)
	suite.main([])


if __name__ == "__main__":
	main()
