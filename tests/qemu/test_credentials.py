# SPDX-License-Identifier: GPL-2.0
# debug: yes
# oldest: yes
"""What a command does is done with the rights, root directory and namespaces of its writer, by
whichever thread.
"""

import contextlib
import ctypes
import errno
import os
import signal
import stat
import subprocess
import tempfile

import block
import krping
from krping import ADDR, listens, new_port, wait_for
from ktap import Suite
from writing import Writer, check_writers

# Bits of linux/capability.h.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID = 1, 2, 3, 4
CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_RAWIO, CAP_SYS_ADMIN = 10, 12, 17, 21

_libc = ctypes.CDLL(None, use_errno=True)


def check():
	"""Nothing is left."""
	check_writers()
	block.check()


suite = Suite(check=check)


def drop(*capabilities):
	"""Give up CAPABILITIES."""
	class Header(ctypes.Structure):
		"""struct __user_cap_header_struct."""
		_fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]

	class Data(ctypes.Structure):
		"""struct __user_cap_data_struct."""
		_fields_ = [(name, ctypes.c_uint32)
			    for name in ("effective", "permitted", "inheritable")]

	header, data = Header(0x20080522, 0), (Data * 2)()
	assert _libc.capget(ctypes.byref(header), data) == 0
	for capability in capabilities:
		word = data[capability // 32]
		for name in ("effective", "permitted", "inheritable"):
			setattr(word, name, getattr(word, name) & ~(1 << capability % 32))
	assert _libc.capset(ctypes.byref(header), data) == 0


@contextlib.contextmanager
def serving(role, options, enter=None):
	"""Start a store with OPTIONS: that of a "server", or of a "loopback" with a disk. Yields the
	errno that its command ended with, or None where it runs; ends it."""
	port = new_port()
	text = {"server": f"server,blk,port={port},persist,",
		"loopback": f"loopback,blk,addr={ADDR},detach,"}[role] + options
	writer = Writer(text, handle=True, enter=enter)
	wait_for(lambda: listens(port) or not writer.is_alive())
	status = None if writer.is_alive() else writer.wait()
	yield status or None
	if writer in Writer.running:
		assert writer.end(signal.SIGTERM)[0] == errno.EINTR
	for number in block.numbers():
		assert block.stop(number) == 0


def add(what):
	"""Add the decorated function as a test for servers, and one for disks of both."""
	def decorate(function):
		for role in ("server", "loopback"):
			suite.test(f"{role}: {what}")(lambda role=role: function(role))
		return function
	return decorate


@add("a store is opened, and made, in the writer's mount namespace")
def mounts(role):
	with tempfile.TemporaryDirectory() as place:
		def enter():
			os.unshare(os.CLONE_NEWNS)
			subprocess.run(("mount", "--make-rprivate", "/"), check=True)
			subprocess.run(("mount", "-t", "tmpfs", "none", place), check=True)
		with serving(role, f"store={place}/store,size=1M", enter) as number:
			assert number is None, krping.name(number)
			assert not os.listdir(place), os.listdir(place)
		# One that is there only for the writer, and one that is not.
		with open(f"{place}/outer", "wb") as file:
			file.truncate(1 << 20)
		with serving(role, f"store={place}/outer", enter) as number:
			assert number == errno.ENOENT, krping.name(number)


@add("a store is opened, and made, below the writer's root directory")
def root(role):
	with tempfile.TemporaryDirectory() as place:
		os.makedirs(f"{place}/proc")
		subprocess.run(("mount", "-t", "proc", "proc", f"{place}/proc"), check=True)

		def enter():
			os.chroot(place)
			os.chdir("/")
		try:
			with serving(role, "store=/inner,size=1M", enter) as number:
				assert number is None, krping.name(number)
				assert os.path.getsize(f"{place}/inner") == 1 << 20
				assert not os.path.exists("/inner")
		finally:
			subprocess.run(("umount", f"{place}/proc"), check=True)


@add("a store is opened, made and grown with the writer's rights")
def rights(role):
	def enter():
		drop(CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER)
	with tempfile.TemporaryDirectory() as place:
		path = f"{place}/store"
		with open(path, "wb") as file:
			file.write(b"S" * 8192)
		os.chown(path, 1000, 1000)
		os.chmod(path, 0o600)
		for options in ("", ",ro", ",size=1M"):
			with serving(role, f"store={path}{options}", enter) as number:
				assert number == errno.EACCES, krping.name(number)
		assert os.path.getsize(path) == 8192
		os.chown(place, 1000, 1000)
		os.chmod(place, 0o755)
		with serving(role, f"store={place}/new,size=1M", enter) as number:
			assert number == errno.EACCES, krping.name(number)
		assert os.listdir(place) == ["store"]
		with serving(role, f"store={path}") as number:
			assert number is None, krping.name(number)


@suite.test("a port below 1024 needs the writer's CAP_NET_BIND_SERVICE, for a disk of both too")
def low_ports():
	def enter():
		drop(CAP_NET_BIND_SERVICE)
	for number, test in enumerate(("", ",blk,store=ram,size=1M")):
		for text in (f"server,addr={ADDR}{test}", f"loopback,addr={ADDR},count=1{test}"):
			text = text.replace(",count=1,blk", ",blk") + f",port={700 + number}"
			status = Writer(text, handle=True, enter=enter).wait()
			assert status == errno.EACCES, f"{text}: {krping.name(status)}"


@suite.test("what a server writes is written with the writer's rights, not with all")
def threads():
	# Without CAP_FSETID a write takes the set-user-ID bit away.
	for dropped, kept in (((CAP_FSETID,), False), ((), True)):
		with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
			file.truncate(1 << 20)
			with serving("loopback", f"store={file.name}",
				     lambda dropped=dropped: drop(*dropped)) as number:
				assert number is None, krping.name(number)
				# Opening a store takes the bit away as well.
				os.fchmod(file.fileno(), 0o4755)
				with block.Raw(block.node(0)) as raw:
					raw.put(0, b"x" * 65536)
				mode = os.fstat(file.fileno()).st_mode
				assert bool(mode & stat.S_ISUID) == kept, oct(mode)


@suite.test("root of a user namespace, and without CAP_NET_ADMIN, may do nothing")
def users():
	def user():
		os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
		with open("/proc/self/uid_map", "w", encoding="ascii") as file:
			file.write("0 0 1")

	for enter in (user, lambda: drop(CAP_NET_ADMIN)):
		for text in (f"loopback,addr={ADDR},count=1", "server",
			     f"loopback,blk,addr={ADDR},store=ram,size=1M", "stop=0"):
			status = Writer(text, handle=True, enter=enter).wait()
			assert status == errno.EPERM, f"{text}: {krping.name(status)}"


@suite.test("disks, taps, their servers and their ends need CAP_SYS_ADMIN; other commands do not")
def administrators():
	def enter():
		drop(CAP_SYS_ADMIN)
	port = new_port()
	for text in (f"server,blk,store=ram,size=1M,port={port}", f"client,blk,addr={ADDR}",
		     f"loopback,blk,addr={ADDR},store=ram,size=1M", "server,tap,log",
		     f"client,tap=sda,addr={ADDR}"):
		status = Writer(text, handle=True, enter=enter).wait()
		assert status == errno.EPERM, f"{text}: {krping.name(status)}"
	with serving("loopback", "store=ram,size=1M") as number:
		assert number is None, krping.name(number)
		pid = os.fork()
		if pid == 0:
			enter()
			os._exit(block.stop(0))
		assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == errno.EPERM
		assert block.numbers() == [0]
	text = f"loopback,addr={ADDR},count=3,validate"
	assert Writer(text, handle=True, enter=enter).wait() == 0


@suite.test("unsafe_global_rkey, which opens all memory, needs CAP_SYS_RAWIO as /dev/mem does")
def all_memory():
	port = new_port()
	for text in (f"client,addr={ADDR},port={port},unsafe_global_rkey",
		     f"loopback,addr={ADDR},count=1,unsafe_global_rkey",
		     f"loopback,addr={ADDR},count=1,bw,unsafe_global_rkey",
		     f"server,port={port},bw,unsafe_global_rkey",
		     f"server,port={port},stream,unsafe_global_rkey"):
		log = krping.Log()
		status = Writer(text, handle=True, enter=lambda: drop(CAP_SYS_RAWIO)).wait()
		assert status == errno.EPERM, f"{text}: {krping.name(status)}"
		log.wait("unsafe_global_rkey opens all memory, and needs CAP_SYS_RAWIO")
	# It is enough, beside CAP_NET_ADMIN; and who has not got it can do all else.
	for dropped, option in ((CAP_SYS_ADMIN, ",unsafe_global_rkey"), (CAP_SYS_RAWIO, ",mem_mode=reg")):
		text = f"loopback,addr={ADDR},count=3,validate{option}"
		assert Writer(text, handle=True, enter=lambda which=dropped: drop(which)).wait() == 0


@suite.test("addresses, interfaces and devices are those of the writer's network namespace")
def network():
	def enter():
		os.unshare(os.CLONE_NEWNET)
	for text in (f"loopback,addr={ADDR},count=1", f"client,blk,addr={ADDR}",
		     f"loopback,blk,addr={ADDR},store=ram,size=1M", f"server,addr={ADDR}",
		     f"caps,addr={ADDR}", f"client,addr6=fe80::1%{krping.NETDEV}"):
		status = Writer(text, handle=True, enter=enter).wait()
		assert status in (errno.ENODEV, errno.EADDRNOTAVAIL, errno.ENETUNREACH), \
			f"{text}: {krping.name(status)}"


if __name__ == "__main__":
	suite.main()
