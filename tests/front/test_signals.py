# SPDX-License-Identifier: GPL-2.0
"""krping run and signals: what interrupts a run, and what does not. The command that runs
sleeps in the kernel, as a write to /proc/krping does."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time

import front
from front import Module, krping
from krping_front import proc
from ktap import Suite

suite = Suite(limit=60)

TEXT = "loopback,addr=192.0.2.2,wlat,count=10"


def endless(module, text):
	"""A command that runs until a signal interrupts it, as a write(2) does; it says
	when that was."""
	module.show("101-mlx5_0 0 0 0 0 640 10 0 0\n102-mlx5_0 0 0 0 0 640 10 0 0\n")
	try:
		front.sleep()
	finally:
		module.ended = time.monotonic()
	return module.fail(text, errno.EINTR, "interrupted by a signal", iterations=10,
			   elapsed_ns=10**6, partial=True)


@contextlib.contextmanager
def signals(module, *numbers):
	"""Send NUMBERS to this process one after the other, as soon as a command runs. The last one
	ends it."""
	def send():
		front.wait_for(front.sleeps)
		for number in numbers[:-1]:
			os.kill(os.getpid(), number)
			front.pass_time(0.1, "a signal that must not end the run may do so")
		module.last = time.monotonic()
		os.kill(os.getpid(), numbers[-1])

	signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGALRM})
	thread = threading.Thread(target=send, daemon=True)
	thread.start()
	signal.pthread_sigmask(signal.SIG_SETMASK, ())
	yield
	thread.join()


@suite.test("130: Ctrl-C and other signals interrupt it, and its result is shown")
def interrupted():
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		before = {each: signal.getsignal(each) for each in proc.ENDING + proc.STOPPING}
		with front.directory(), Module(endless) as module, signals(module, number):
			status, out, err = krping("run", TEXT)
		assert status == 130 and err == "krping: interrupted\n", (status, err)
		assert out.splitlines()[-1].split()[:2] == ["64", "10"], out
		assert out.splitlines()[-1].endswith("EINTR, partial"), out
		assert before == {each: signal.getsignal(each) for each in before}


@suite.test("signals that nobody handles, and a stop, do not end a run")
def ignored():
	with front.directory(), Module(endless) as module, \
			signals(module, signal.SIGCHLD, signal.SIGTSTP, signal.SIGWINCH,
				signal.SIGURG,
				signal.SIGINT):
		status, out, _ = krping("run", TEXT)
	assert status == 130, (status, out)
	assert module.ended >= module.last, (module.ended, module.last)


@suite.test("the writing thread takes no signal but the one that interrupts it")
def mask():
	def answer(module, text):
		module.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
		module.result(text)
		return 0

	before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
	with front.directory(), Module(answer) as module:
		assert krping("run", TEXT)[0] == 0
	# These two cannot be blocked.
	open_ = signal.valid_signals() - module.mask - {signal.SIGKILL, signal.SIGSTOP}
	assert open_ == {proc.INTERRUPT}, open_
	assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@suite.test("a signal before the write begins is not lost")
def early():
	interrupt, interrupted = proc.Writer.interrupt, threading.Event()

	def note(writer):
		interrupt(writer)
		interrupted.set()

	def answer(module, text):
		os.kill(os.getpid(), signal.SIGINT)
		# The first interruption is over when the write begins.
		front.wait_for(interrupted.is_set)
		return endless(module, text)

	with front.directory(), Module(answer), front.patched(proc.Writer, interrupt=note):
		status, _, _ = krping("run", TEXT)
	assert status == 130, status


@suite.test("a signal that this program was started to ignore stays ignored")
def nohup():
	before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
	try:
		with front.directory(), Module(endless) as module, \
				signals(module, signal.SIGHUP, signal.SIGINT):
			status, _, _ = krping("run", TEXT)
		assert status == 130
		assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
	finally:
		signal.signal(signal.SIGHUP, before)


@suite.test("what fails beside a run interrupts it, and is passed on")
def beside():
	def tick():
		raise ZeroDivisionError

	with front.directory(), Module(endless):
		try:
			proc.run(TEXT, tick, 0.05)
			raise AssertionError("returned")
		except ZeroDivisionError:
			pass
	assert threading.active_count() == 1, threading.enumerate()


@suite.test("Ctrl-C while the program starts ends it without a traceback")
def starting():
	with front.directory() as path:
		# What it imports first takes its time.
		front.write("argparse.py", "print('started', flush=True)\nimport time\ntime.sleep(30)\n")
		program = subprocess.Popen((sys.executable, front.PROGRAM, "--help"), text=True,
					   env=os.environ | {"PYTHONPATH": path},
					   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		assert program.stdout.readline() == "started\n"
		program.send_signal(signal.SIGINT)
		out, err = program.communicate()
	assert (program.returncode, out, err) == (-signal.SIGINT, "", ""), (program.returncode, err)
	# And while it reads its arguments.
	with front.patched(front.program, parser=ctrl_c):
		assert krping("run", TEXT) == (130, "", "krping: interrupted\n")


@suite.test("the program starts without what only other subcommands need")
def lazy():
	code = ("import runpy, sys; sys.argv = ['krping', 'run', 'x']\n"
		f"try: runpy.run_path({front.PROGRAM!r}, run_name='__main__')\n"
		"except SystemExit: print(*sys.modules)")
	done = subprocess.run((sys.executable, "-S", "-c", code), capture_output=True, text=True,
			      check=True)
	for name in ("asyncio", "difflib", "email", "matplotlib", "numpy", "selectors", "socket",
		     "subprocess", "krping_front.plot", "krping_front.sweep", "krping_front.mesh",
		     "krping_front.option_help", "krping_front.version"):
		assert name not in done.stdout.split(), name


def ctrl_c(_words):
	"""Ctrl-C."""
	raise KeyboardInterrupt


suite.main()
