# SPDX-License-Identifier: GPL-2.0
# time: real (the module's end races with its users)
# debug: yes
# oldest: yes
"""Unloading the module while something of it is open, mapped, read, written or pending: it stays
and rmmod says so, or what is left of it does no harm."""

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import struct
import threading

import age
import krping
from block import Server, gone, stop
from krping import ADDR, PROC, Program, new_port, run_ok, wait_for
from ktap import Suite

suite = Suite(check=krping.check)

DEBUGFS = "/sys/kernel/debug/krping"
TRACEFS = "/sys/kernel/tracing"
EVENTS = f"{TRACEFS}/events/krping"


@contextlib.contextmanager
def opened(path, flags=os.O_RDONLY):
	"""Within, the file PATH is open: its file descriptor."""
	fd = os.open(path, flags | os.O_CLOEXEC)
	try:
		yield fd
	finally:
		os.close(fd)


def error_of(function, *arguments):
	"""The errno with which FUNCTION fails, or 0."""
	try:
		function(*arguments)
	except OSError as failed:
		return failed.errno
	return 0


def stays():
	"""rmmod says that the module is in use."""
	said = krping.unload()
	assert "in use" in said and krping.loaded(), f"rmmod: {said!r}"


def goes():
	"""rmmod unloads the module."""
	said = krping.unload()
	assert said == "" and not krping.loaded(), f"rmmod: {said!r}"


@contextlib.contextmanager
def without():
	"""Within, the module is not loaded."""
	goes()
	try:
		yield
	finally:
		krping.load()


def works():
	"""The module does what it is for."""
	run_ok(f"loopback,addr={ADDR},count=3,validate")


@suite.test("an open file of debugfs keeps the module, and can be read on")
def debugfs_open():
	works()
	for name in os.listdir(DEBUGFS):
		with opened(f"{DEBUGFS}/{name}") as fd:
			os.read(fd, 1)
			stays()
			assert error_of(os.read, fd, 4096) == 0, name
		with without():
			assert not os.path.exists(DEBUGFS)
	works()


@suite.test("an open /proc/krping outlives the module, and fails from then on")
def proc_open():
	with contextlib.ExitStack() as files:
		begun, fresh = (files.enter_context(opened(PROC)) for _ in range(2))
		writer = files.enter_context(opened(PROC, os.O_RDWR))
		os.read(begun, 1)
		for again in (False, True):
			if again:
				# The file of the module that is loaded anew is another one.
				krping.load()
			else:
				goes()
			assert error_of(os.read, begun, 4096) == errno.EIO
			assert error_of(os.read, fresh, 4096) == errno.EIO
			assert error_of(os.write, writer, b"help") == errno.EIO
			assert error_of(os.lseek, begun, 0, os.SEEK_SET) == errno.EINVAL
	works()


@contextlib.contextmanager
def repeated(function):
	"""Within, a thread calls FUNCTION again and again; it may fail with an errno."""
	ending = threading.Event()
	calls = []

	def body():
		krping.block_signals()
		while not ending.is_set():
			calls.append(error_of(function))
	thread = threading.Thread(target=body, daemon=True)
	thread.start()
	try:
		yield calls
	finally:
		ending.set()
		thread.join()


def read_all(path):
	"""Read the file PATH, which may be missing."""
	with open(path, "rb") as file:
		file.read()


@suite.test("the module comes and goes while its files are read and written")
def files_in_use():
	def write():
		with opened(PROC, os.O_WRONLY) as fd:
			os.write(fd, b"help")

	def proc():
		read_all(PROC)

	def debugfs():
		read_all(f"{DEBUGFS}/options")
		krping.pass_time(0.01, "rmmod has a moment, as an open file keeps the module")
	for function in (proc, write, debugfs):
		with repeated(function) as calls:
			for _ in range(3):
				before = calls.count(0)
				wait_for(lambda: calls.count(0) > before)
				# A call that is in progress keeps it.
				wait_for(lambda: krping.unload() == "")
				wait_for(lambda: calls and calls[-1] in (errno.ENOENT, errno.EIO))
				krping.load()
		assert set(calls) <= {0, errno.ENOENT, errno.EIO, errno.ENODEV, errno.ENXIO}, set(calls)
	works()


@suite.test("files of tracepoints, and what they have recorded, outlive the module")
def traces():
	age.needs("trace_files")
	if not os.path.exists(EVENTS):
		Program("mount", "-t", "tracefs", "tracefs", TRACEFS).finish()
	with opened(f"{EVENTS}/connect/enable", os.O_WRONLY) as fd:
		os.write(fd, b"1")
	try:
		works()
		names = [f"{EVENTS}/connect/{name}" for name in ("enable", "format", "id", "filter")]
		names += [f"{EVENTS}/enable", f"{TRACEFS}/trace"]
		with contextlib.ExitStack() as files:
			fds = [files.enter_context(opened(name)) for name in names]
			for fd in fds:
				os.read(fd, 1)
			if krping.unload():
				stays()
				files.close()
				goes()
			for fd in fds:
				error_of(os.read, fd, 4096)
		read_all(f"{TRACEFS}/trace")
	finally:
		if not krping.loaded():
			krping.load()
	works()


def perf_event(number):
	"""Open a counter of the tracepoint NUMBER, of all processes on the first CPU."""
	system_call = {"x86_64": 298, "aarch64": 241}[platform.machine()]
	# Type 2 is a tracepoint; then the size of the structure and the number.
	attributes = struct.pack("IIQ", 2, 112, int(number)) + bytes(96)
	libc = ctypes.CDLL(None, use_errno=True)
	fd = libc.syscall(system_call, attributes, -1, 0, -1, ctypes.c_ulong(0))
	assert fd >= 0, os.strerror(ctypes.get_errno())
	return fd


@suite.test("a counter of a tracepoint keeps the module")
def perf():
	with open(f"{EVENTS}/connect/id", encoding="ascii") as file:
		fd = perf_event(file.read())
	try:
		works()
		stays()
	finally:
		os.close(fd)
	with without():
		pass


@suite.test("open files of sysfs outlive the module")
def sysfs():
	names = ("version", "refcnt", "initstate", "uevent")
	with contextlib.ExitStack() as files:
		paths = [f"/sys/module/krping/{name}" for name in names]
		fds = [files.enter_context(opened(path)) for path in paths
		       if os.access(path, os.R_OK) and os.stat(path).st_mode & 0o400]
		with without():
			for fd in fds:
				assert error_of(os.read, fd, 4096) == errno.ENODEV
	works()


def forced(number):
	"""Stop the disk NUMBER, which somebody uses."""
	assert stop(number, force=True) == 0 and gone(number)


@suite.test("a disk that was taken by force keeps the module while it is open or mapped")
def disk_open():
	for is_mapped in (False, True):
		with Server("size=1M,store=ram") as server:
			disk = server.disk()
			fd = os.open(disk.path, os.O_RDWR)
			place = mmap.mmap(fd, 4096) if is_mapped else None
			if is_mapped:
				os.close(fd)
				place[:8] = b"a page !"
			forced(disk.number)
			disk.command.wait()
		stays()
		if is_mapped:
			place.close()
		else:
			# A removed disk has a size of 0.
			assert os.pread(fd, 4096, 65536) == b""
			assert error_of(os.pwrite, fd, bytes(4096), 65536) == errno.ENOSPC
			os.close(fd)
		with without():
			pass


@suite.test("open attributes of a disk outlive the module")
def disk_attributes():
	with Server("size=1M,store=ram") as server, contextlib.ExitStack() as files:
		disk = server.disk()
		folder = f"/sys/block/{disk.name}"
		fds = [files.enter_context(opened(f"{folder}/{name}"))
		       for name in ("serial", "tag", "stat", "inflight", "queue/write_cache")]
		for fd in fds:
			os.read(fd, 1)
		disk.stop()
		assert server.wait() == 0
		with without():
			for fd in fds:
				assert error_of(os.pread, fd, 4096, 0) == errno.ENODEV


def waits(program):
	"""Whether PROGRAM sleeps in a way that signals do not disturb, as for I/O."""
	return krping.process_state(program.pid) == "D"


@suite.test("a request that waits for a server keeps the module until it has failed")
def disk_pending():
	server = Server("size=1M,store=ram,persist")
	with server:
		disk = server.disk("reconnect=60")
		server.kill()
		reader = Program("dd", f"if={disk}", "of=/dev/null", "bs=4k", "count=1", "iflag=direct")
		wait_for(lambda: waits(reader))
		stays()
		forced(disk.number)
		status, said = reader.finish()
		assert status and "Input/output error" in said, said
		disk.command.wait()
	with without():
		pass


@suite.test("the module goes at once when its last command has ended, again and again")
def threads_end():
	for _ in range(3):
		works()
		goes()
		krping.load()
		port = new_port()
		run_ok(f"server,port={port},detach,persist")
		stays()
		run_ok(f"client,addr={ADDR},port={port},count=1")
		run_ok(f"stop=server:{port},force")
		# The thread gives its reference back after the last of its code.
		wait_for(lambda: krping.unload() == "")
		krping.load()


@suite.test("connections that are being made, and their events, end with the module")
def connecting():
	port = new_port()
	with repeated(lambda: Program("rping", "-c", "-a", ADDR, "-p", str(port), "-C", "1").finish()):
		for _ in range(3):
			run_ok(f"server,port={port},detach,persist")
			server = f"stop=server:{port},force"
			wait_for(krping.lines)
			run_ok(server)
			wait_for(lambda: krping.unload() == "")
			krping.load()
	works()


suite.main()
