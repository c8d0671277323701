# SPDX-License-Identifier: GPL-2.0
"""Tests that print KTAP (Documentation/dev-tools/ktap.rst), for use in guests.

	from ktap import Skip, Suite
	suite = Suite()

	@suite.test("a mode that the device lacks is refused")
	def refused():
		if not device():
			raise Skip("no device")
		assert run("...") == errno.EOPNOTSUPP

	suite.main()

A test fails by raising anything but Skip. The arguments of such a program select
the tests whose name contains one of them. It exits with 0 when all passed, 1
when one failed, and 4 when all were skipped.
"""

import os
import signal
import sys
import time
import traceback

# Whether this is the debug kernel, which is slow.
DEBUG = os.uname().release.endswith("-dbg")
# How many times longer a test may take than on the stock kernel, as `limit` says it.
LONGER = 8 if DEBUG else 1


class Skip(Exception):
	"""Raised by a test that cannot run here; says why."""


class TimeLimit(Exception):
	"""A test ran for too long."""


def diag(text):
	"""Print TEXT as diagnostic lines, which never count as results."""
	for line in str(text).splitlines() or [""]:
		print("#", line, flush=True)


class Suite:
	"""Some tests, run in the order in which they were added."""

	def __init__(self, check=None, limit=600):
		"""CHECK is called after every test, and fails the test by raising.
		LIMIT is how many seconds each test may take, on a machine that is busy."""
		self.check = check
		self.limit = limit
		self.tests = []
		self.count = {"pass": 0, "fail": 0, "skip": 0}

	def test(self, name, limit=None):
		"""Add the decorated function as the test NAME. It may be called
		with arguments, too: suite.test("name")(lambda: ...)."""
		# What KTAP would read as a directive or as another line.
		name = " ".join(name.replace("#", " ").split())
		if name in (known for known, _, _ in self.tests):
			raise ValueError(f"two tests are named {name!r}")

		def add(function):
			self.tests.append((name, function, (limit or self.limit) * LONGER))
			return function
		return add

	def main(self, argv=None):
		"""Run the selected tests, print what became of each, and exit."""
		words = sys.argv[1:] if argv is None else argv
		chosen = [test for test in self.tests
			  if not words or any(word in test[0] for word in words)]
		count = self.count
		print("KTAP version 1", flush=True)
		print(f"1..{len(chosen)}", flush=True)
		for number, (name, function, limit) in enumerate(chosen, 1):
			start = time.monotonic()
			before = _cpu()
			_mark(f"test: {name}")
			outcome, reason = self._run(function, limit)
			taken = time.monotonic() - start
			if taken > 10:
				diag(f"took {taken:.0f} s")
			spent = [after - then for after, then in zip(_cpu(), before)]
			if spent[0] > 10:
				diag("CPU: {:.0f} s; this program {:.0f}, others {:.0f} and {:.0f} in the "
				     "kernel, the kernel itself {:.0f}".format(*spent))
			count[outcome] += 1
			word = "not ok" if outcome == "fail" else "ok"
			tail = f" # SKIP {reason}" if outcome == "skip" else ""
			print(f"{word} {number} {name}{tail}", flush=True)
		print("# Totals: pass:{pass} fail:{fail} xfail:0 xpass:0 skip:{skip} error:0"
		      .format(**count), flush=True)
		if not chosen:
			diag(f"no test's name contains {' or '.join(words) or 'anything'}")
			sys.exit(1)
		sys.exit(1 if count["fail"] else 0 if count["pass"] else 4)

	def _run(self, function, limit):
		outcome, reason = "pass", ""
		for step in (function, self.check):
			try:
				if step:
					_limited(step, limit)
			except Skip as skip:
				outcome, reason = "skip", " ".join(str(skip).split())
			except KeyboardInterrupt:
				raise
			except BaseException as error:
				outcome = "fail"
				_explain(error)
		return outcome, reason


def _cpu():
	"""Seconds of CPU until now: of the whole guest, of this program, of those that it has run, in
	user space and in the kernel, and of all else."""
	own = os.times()
	with open("/proc/stat", encoding="ascii") as file:
		words = file.readline().split()[1:]
	# All but idling, alone or for input and output.
	busy = sum(int(words[at]) for at in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")
	mine = own.user + own.system
	return busy, mine, own.children_user, own.children_system, max(0, busy - sum(own[:4]))


def _mark(text):
	"""Say in the kernel's log what its next lines belong to."""
	try:
		with open("/dev/kmsg", "w", encoding="utf-8") as log:
			log.write(text + "\n")
	except OSError:
		pass


def _limited(function, limit):
	def expire(_signal, _frame):
		raise TimeLimit(f"not done after {limit} s")

	before = signal.signal(signal.SIGALRM, expire)
	signal.setitimer(signal.ITIMER_REAL, limit)
	try:
		function()
	finally:
		signal.setitimer(signal.ITIMER_REAL, 0)
		signal.signal(signal.SIGALRM, before)


def _explain(error):
	"""Where the test failed, from the test's own frames, and why."""
	if error.__context__ and not error.__suppress_context__:
		_explain(error.__context__)
		diag("after which")
	for frame in traceback.extract_tb(error.__traceback__):
		if frame.filename != __file__:
			diag(f"{os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}")
	for line in traceback.format_exception_only(error):
		diag(line)
