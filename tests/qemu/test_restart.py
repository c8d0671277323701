# SPDX-License-Identifier: GPL-2.0
"""Only a signal to the program ends a command, not what merely disturbs its write(): that is
restarted, and the command goes on meanwhile. And a writer that does not come back leaves nothing.
"""

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
import tempfile

import block
import krping
from krping import ADDR, listens, new_port, wait_for
from ktap import Suite
from writing import Writer, check_writers, threads

GROUPS = "/tmp/krping.cgroup"
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_CONT, PTRACE_DETACH = 0x4206, 0x4207, 7, 17


def check():
	"""Nothing is left."""
	check_writers()
	block.check()
	wait_for(lambda: not threads(), what=f"the end of {threads()}")


suite = Suite(check=check)


@contextlib.contextmanager
def running():
	"""A server of a disk and the disk's command, each a process that only writes."""
	port = new_port()
	server = Writer(f"server,blk,store=ram,size=8M,persist,port={port}")
	wait_for(lambda: listens(port))
	disk = Writer(f"client,blk,addr={ADDR},port={port}")
	wait_for(lambda: block.numbers() and os.path.exists(block.node(0)))
	wait_for(lambda: [line for line in krping.lines() if line.name == "krping0"])
	yield port, server, disk
	assert server.is_alive() and disk.is_alive()
	assert listens(port) and block.numbers() == [0]
	works()
	assert krping.run("stop=0") == 0
	assert disk.wait() == 0
	assert server.end(signal.SIGTERM)[0] == -signal.SIGTERM


def works():
	"""The disk does what it is for."""
	with block.Raw(block.node(0)) as raw:
		data = os.urandom(65536)
		raw.put(0, data)
		block.compare(raw.get(0, len(data)), data)


@contextlib.contextmanager
def group(*pids):
	"""A control group with those processes."""
	os.makedirs(GROUPS, exist_ok=True)
	subprocess.run(("mount", "-t", "cgroup2", "none", GROUPS), check=True)
	path = f"{GROUPS}/writers"
	os.makedirs(path)
	for pid in pids:
		put(f"{path}/cgroup.procs", pid)
	try:
		yield path
	finally:
		put(f"{path}/cgroup.freeze", 0)
		for pid in pids:
			with contextlib.suppress(OSError):
				put(f"{GROUPS}/cgroup.procs", pid)
		wait_for(lambda: not populated(path))
		os.rmdir(path)
		subprocess.run(("umount", GROUPS), check=True)


def put(path, value):
	"""Have a file of the kernel's say VALUE."""
	with open(path, "w", encoding="ascii") as file:
		file.write(f"{value}\n")


def events(path):
	"""What the control group PATH says of itself."""
	with open(f"{path}/cgroup.events", encoding="ascii") as file:
		return dict(line.split() for line in file)


def populated(path):
	"""Whether a process is in the control group."""
	return events(path)["populated"] == "1"


def freeze(path):
	"""Freeze the control group, and wait until it is."""
	put(f"{path}/cgroup.freeze", 1)
	wait_for(lambda: events(path)["frozen"] == "1")


@suite.test("control groups that are frozen, three times: server and disk work on")
def cgroup():
	with running() as (_, server, disk), group(server.pid, disk.pid) as path:
		for _ in range(3):
			freeze(path)
			works()
			put(f"{path}/cgroup.freeze", 0)
			wait_for(lambda: events(path)["frozen"] == "0")
			works()


@suite.test("tasks that are frozen for a suspend: server and disk work on")
def suspend():
	with running():
		put("/sys/power/pm_test", "freezer")
		try:
			put("/sys/power/state", "freeze")
		finally:
			put("/sys/power/pm_test", "none")


@suite.test("a debugger that attaches, stops, continues and detaches")
def traced():
	libc = ctypes.CDLL(None, use_errno=True)
	libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
	with running() as (_, server, disk):
		for writer in (server, disk):
			for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
				assert libc.ptrace(request, writer.pid, None, None) == 0
			_, status = os.waitpid(writer.pid, 0)
			assert os.WIFSTOPPED(status), status
			works()
			for request in (PTRACE_CONT, PTRACE_INTERRUPT):
				assert libc.ptrace(request, writer.pid, None, None) == 0
			os.waitpid(writer.pid, 0)
			assert libc.ptrace(PTRACE_DETACH, writer.pid, None, None) == 0


@suite.test("SIGSTOP and SIGCONT: server and disk work on")
def stopped():
	with running() as (_, server, disk):
		for writer in (server, disk):
			os.kill(writer.pid, signal.SIGSTOP)
			wait_for(lambda: krping.process_state(writer.pid) == "T")
			works()
			os.kill(writer.pid, signal.SIGCONT)
			wait_for(lambda: krping.process_state(writer.pid) != "T")


@suite.test("a handler with SA_RESTART in mid-run, and then one without")
def handlers():
	port = new_port()

	def handle():
		for number, restarts in ((signal.SIGUSR2, True), (signal.SIGTERM, False)):
			signal.signal(number, lambda *_: None)
			signal.siginterrupt(number, not restarts)
	writer = Writer(f"server,persist,port={port}", enter=handle, handle=True)
	wait_for(lambda: listens(port))
	for _ in range(20):
		os.kill(writer.pid, signal.SIGUSR2)
		# It is awake from then on, until it waits in write() again.
		wait_for(lambda: krping.process_state(writer.pid) == "S")
	assert writer.is_alive() and listens(port)
	krping.run_ok(f"client,addr={ADDR},port={port},count=10,validate")
	status, _ = writer.end(signal.SIGTERM)
	assert status == errno.EINTR, status
	assert not listens(port)


@suite.test("a writer that dies while it is frozen leaves nothing, though its file stays open")
def killed():
	port = new_port()
	with open("/proc/krping", "wb", buffering=0) as shared:
		pid = os.fork()
		if pid == 0:
			try:
				os.write(shared.fileno(), f"server,persist,port={port}".encode())
			finally:
				os._exit(0)
		wait_for(lambda: listens(port))
		with group(pid) as path:
			freeze(path)
			assert listens(port)
			os.kill(pid, signal.SIGKILL)
			os.waitpid(pid, 0)
			wait_for(lambda: not listens(port))
			wait_for(lambda: not krping.lines())


@suite.test("another command of a task whose write was given up ends the first one")
def replaced():
	port = new_port()
	with tempfile.TemporaryDirectory() as place:
		program = f"{place}/jump"
		subprocess.run(("gcc", "-x", "c", "-o", program, "-"), input=JUMP, text=True,
			       check=True)
		done = krping.Program(program, f"server,persist,port={port}",
				      f"loopback,addr={ADDR},count=3,validate")
		wait_for(lambda: listens(port))
		done.send_signal(signal.SIGUSR1)
		status, output = done.finish()
		assert status == 0, output
	assert not listens(port)


# Leaves a write() by a jump out of the handler of SIGUSR1, and writes another command.
JUMP = """
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;

static void jump(int number)
{
	siglongjmp(back, number);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = jump, .sa_flags = SA_RESTART };
	int fd = open("/proc/krping", O_WRONLY);

	sigaction(SIGUSR1, &action, NULL);
	if (fd < 0 || argc != 3)
		return 1;
	if (sigsetjmp(back, 1) == 0)
		return 2 + (write(fd, argv[1], strlen(argv[1])) > 0);
	return write(fd, argv[2], strlen(argv[2])) < 0 ? 4 : 0;
}
"""


if __name__ == "__main__":
	suite.main()
