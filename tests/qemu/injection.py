# SPDX-License-Identifier: GPL-2.0
"""Allocations that fail on demand, on a kernel with fault injection.

	slab = Injector("failslab")
	slab.arm(3)			# the third one from now that krping is behind
	number = krping.run(...)
	if slab.disarm():		# it was asked for, so it has failed
		...

	with Nth(3) as nth:		# the third fault of this thread, whatever it is in
		number = krping.run(...)
	if nth.injected:
		...

Krping is behind an allocation where a function of its is on the stack: what its threads, its
callbacks and the writes to it allocate, and what the kernel allocates for them there.
"""

import ctypes
import functools
import os
import re

DEBUGFS = "/sys/kernel/debug"
# Of slabs, and of pages.
KINDS = ("failslab", "fail_page_alloc")
ANYWHERE = (1 << 64) - 1


def available():
	"""Whether this kernel can inject failures."""
	return all(os.path.isdir(f"{DEBUGFS}/{kind}") for kind in KINDS)


def _functions(module=None):
	"""The functions of a module, or of the kernel itself: (address, name), in order."""
	tail = rf"\t\[{module}\]\n" if module else r"\n"
	with open("/proc/kallsyms", encoding="ascii") as file:
		found = re.findall(rf"^([0-9a-f]+) [tT] (\S+){tail}", file.read(), re.MULTILINE)
	return sorted((int(address, 16), name) for address, name in found)


def function(name, module=None):
	"""Where a function of a module is, or one of the kernel itself: its start and end."""
	functions = _functions(module)
	start = {each: address for address, each in functions}[name]
	return start, min(address for address, _ in functions if address > start)


def _krping():
	"""Where krping's functions are. Memory for modules is given out in pages."""
	addresses = [address for address, _ in _functions("krping")]
	return addresses[0] & ~0xfff, (addresses[-1] | 0xfff) + 1


@functools.cache
def _leak_checker():
	"""Where kmemleak allocates something for each allocation of others. It does without
	where it cannot, so that a failure there says nothing."""
	try:
		return function("__alloc_object")
	except KeyError:
		return 0, 0


def _set(kind, name, value):
	with open(f"{DEBUGFS}/{kind}/{name}", "w", encoding="ascii") as file:
		file.write(str(value))


def _note(may):
	"""Tell the guest's runner, who reads the kernel's log, whether allocations MAY fail."""
	with open("/dev/kmsg", "w", encoding="ascii") as file:
		file.write(f"tests: allocations {'may' if may else 'do not'} fail\n")


def _aim(kind, start, end):
	"""Have only those fail that a function between START and END is behind."""
	# A stack of each failure is a bad sign for the guest's runner; and while the kernel
	# prints, others go on counting.
	_set(kind, "verbose", 0)
	_set(kind, "task-filter", "N")
	_set(kind, "stacktrace-depth", 32)
	if kind in KINDS:
		_set(kind, "ignore-gfp-wait", "N")
	if kind == "fail_page_alloc":
		_set(kind, "ignore-gfp-highmem", "N")
		_set(kind, "min-order", 0)
	for name, place in (("require", (start, end)), ("reject", _leak_checker())):
		_set(kind, f"{name}-start", hex(place[0]))
		_set(kind, f"{name}-end", hex(place[1]))


# In so many runs the failure that was asked for must have come.
LATE = 8


class Injector:
	"""One of KINDS.

	The kernel counts what passes the filter, and fails what the interval divides. It never
	says the count. But when it has failed one, and we choose only intervals beyond the
	count, the count is the interval; and where it has not, yet, a run more will come
	there. Another thread may count one more while the failure is on its way: then the next
	interval may be missed, and what comes is late, at twice of it."""

	# By kind: what the count is not beyond, and whether it is just that.
	_counts = {}

	def __init__(self, kind, behind=None):
		"""One of KIND, of allocations that krping is behind, or what is between the
		two addresses BEHIND."""
		self.kind = kind
		_set(kind, "probability", 0)
		_aim(kind, *(behind or _krping()))
		if self._pending():
			# Of a test that has failed.
			Injector._counts[kind] = (self._get("interval"), False)
			_set(kind, "times", 0)
		self.runs = 0

	def _get(self, name):
		with open(f"{DEBUGFS}/{self.kind}/{name}", encoding="ascii") as file:
			return int(file.read())

	def _pending(self):
		"""Whether a failure was asked for and has not come."""
		return self._get("interval") > 1 and self._get("times") > 0

	def arm(self, number):
		"""Have the allocation NUMBER from now fail, 1 being the next. Return False where
		one that was asked for before is still to come: that one is asked for again."""
		pending = self._pending()
		if not pending:
			count, _ = Injector._counts.get(self.kind, (0, True))
			# At 1 nothing is counted.
			_set(self.kind, "interval", max(2, count + number))
			_set(self.kind, "times", 1)
			self.runs = 0
		self.runs += 1
		_note(True)
		_set(self.kind, "probability", 100)
		return not pending

	def disarm(self):
		"""No more failures. Return whether there was one."""
		_set(self.kind, "probability", 0)
		_note(False)
		if self._pending():
			return False
		interval = self._get("interval")
		_, exact = Injector._counts.get(self.kind, (0, True))
		if self.late() and exact:
			Injector._counts[self.kind] = (2 * interval, False)
		else:
			Injector._counts[self.kind] = (interval, True)
		return True

	def late(self):
		"""Whether the failure came where none was asked for."""
		return self.runs > LATE


class Nth:
	"""Within, the fault NUMBER of this thread is injected: in an allocation, whoever is behind
	it, or where it copies from or to user space. Nothing but what is to be tested should be
	within. Makes the counts of every Injector wrong."""

	@staticmethod
	def prepare():
		"""Once, before the first."""
		for kind in (*KINDS, "fail_usercopy"):
			_aim(kind, 0, ANYWHERE)

	def __init__(self, number):
		self.number = b"%d" % number
		self.injected = None
		self.fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR | os.O_CLOEXEC)

	def __enter__(self):
		_note(True)
		os.write(self.fd, self.number)
		return self

	def __exit__(self, *_):
		# What is still to come may come here.
		while True:
			try:
				self.injected = int(os.pread(self.fd, 16, 0)) == 0
				if not self.injected:
					os.pwrite(self.fd, b"0", 0)
				break
			except OSError:
				continue
		os.close(self.fd)
		_note(False)


_libc = ctypes.CDLL(None, use_errno=True)
_DELETE_MODULE, _FINIT_MODULE = 176, 313


def _syscall(*words):
	return 0 if _libc.syscall(*words) == 0 else ctypes.get_errno()


def insmod(fd):
	"""Load the module that FD is open on, in this thread. Return the errno."""
	return _syscall(_FINIT_MODULE, fd, b"", 0)


def rmmod():
	"""Unload krping, in this thread. Return the errno."""
	return _syscall(_DELETE_MODULE, b"krping", os.O_NONBLOCK)
