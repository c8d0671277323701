# SPDX-License-Identifier: GPL-2.0
"""krping disk: the command of a file, when it is ready, and how it ends. And its unit."""

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess

import front
from front import Module, krping
from krping_front import disk_service, paths
from ktap import Skip, Suite

suite = Suite(limit=60)

UNIT = os.path.join(front.TOP, "scripts/systemd/krping-disk@.service")


@contextlib.contextmanager
def files(answer=None, **texts):
	"""A Module with ANSWER, a directory of files with TEXTS by name, and no disk; a stop is not
	waited for."""
	with front.directory() as top, Module(answer) as module:
		for name in ("disks.d", "block", "by-id"):
			os.mkdir(name)
		for name, text in texts.items():
			front.write(f"disks.d/{name}.conf", text)
		with front.patched(paths, DISKS=f"{top}/disks.d", BLOCK=f"{top}/block",
				   BY_ID=f"{top}/by-id"), \
				front.patched(disk_service, BUSY=0.3, AGAIN=0.1):
			yield module


def attach(number, tag):
	"""Have there be disk NUMBER with TAG, and its link."""
	os.mkdir(f"block/krping{number}")
	front.write(f"block/krping{number}/tag", f"{tag}\n")
	os.symlink("/dev/null", f"by-id/krping-{tag}")


def detach(number, tag):
	"""Have disk NUMBER with TAG be gone."""
	shutil.rmtree(f"block/krping{number}")
	os.unlink(f"by-id/krping-{tag}")


def command(text):
	"""The command that a file with TEXT gives."""
	with files(lambda module, text: 0, data=text) as module:
		assert krping("disk", "data") == (0, "", "")
	return module.commands[-1].text


@suite.test("the command: options on lines or with commas, comments, and what is added")
def written():
	assert command("client\naddr=192.0.2.1\n") == "client,addr=192.0.2.1,blk,tag=data"
	assert command("# a comment, with a comma\n\n  client , blk,\n\taddr = 192.0.2.1\n\n#\n"
		       "reconnect=600") == "client,blk,addr=192.0.2.1,reconnect=600,tag=data"
	assert command("addr=::1\nserver\nstore=/a # b") == \
		"addr6=::1,server,store=/a # b,blk,persist,tag=data"
	for given in ("persist", "threads=2"):
		assert command(f"server\n{given}\nstore=ram\nsize=1M\n") == \
			f"server,{given},store=ram,size=1M,blk,tag=data"


def mistake(text, sentence, name="data"):
	"""A file with TEXT is refused with SENTENCE and status 2, and nothing is run."""
	with files(**{name: text}) as module:
		status, out, err = krping("disk", name)
		path = f"{paths.DISKS}/{name}.conf"
	assert (status, out) == (2, ""), (status, out)
	assert err == f"krping: {sentence.format(path=path)}\n", err
	assert not module.commands


@suite.test("2: what is not for a file is named with its line")
def mistakes():
	mistake("client\naddr=192.0.2.1,detach\n",
		"{path}:2: detach is not for this file; the disk or server belongs to the unit")
	mistake("client\n\n# tag=x\ntag=x\n",
		"{path}:4: tag is not for this file; the tag is the name of the file")
	mistake("stop=1\n", "{path}:1: stop is not for this file; 'systemctl stop' does that")
	mistake("loopback\n", "{path}:1: loopback is not for this file; give client or server")
	mistake("# client\naddr=192.0.2.1\n", "{path} has no role; give client or server")
	mistake("", "{path} has no role; give client or server")


@suite.test("2: no such file, one that is none, and names that are none")
def no_file():
	with files() as module:
		status, _, err = krping("disk", "data")
		assert status == 2, err
		assert err.startswith(f"krping: there is no {paths.DISKS}/data.conf; "), err
		os.mkdir("disks.d/directory.conf")
		status, _, err = krping("disk", "directory")
		assert (status, err) == (2, f"krping: {paths.DISKS}/directory.conf: Is a directory\n"), err
		for name in ("", ".data", "-data", "a/b", "../a", "a b", "a,b", "ä", "a" * 65):
			status, _, err = krping("disk", "--", name)
			assert status == 2, (name, err)
			assert err.startswith(f"krping: {name!r} is no name of a disk; "), err
	assert not module.commands


@suite.test("2: what the module refuses is named with its line")
def refused():
	for sentence, line in (("unknown option 'reconect'; did you mean 'reconnect'?", ":4"),
			       ("depth=0: must be from 1 to 1024", ":3"),
			       ("client needs the server's address; give addr=192.0.2.1", ":1"),
			       ("depth is given twice; give it once", ":3"),
			       ("'a b' is more than one option; separate options by commas", ""),
			       ("the command is empty", "")):
		def answer(module, _text, sentence=sentence):
			return module.refuse(errno.EINVAL, sentence)

		with files(answer, data="client\n#\ndepth=0\nreconect=1\n"):
			status, out, err = krping("disk", "data")
			path = paths.DISKS
		assert (status, out) == (2, ""), (status, out)
		assert err == f"krping: {path}/data.conf{line}: EINVAL (22): {sentence}\n", err


@suite.test("1: what may be over soon: it failed, and a name of a host that is not known yet")
def failed():
	def answer(module, text):
		return module.fail(text, errno.ECONNREFUSED, "nothing listens on that port", test="blk")

	with files(answer, data="client\naddr=192.0.2.1\n"):
		status, _, err = krping("disk", "data")
		path = f"{paths.DISKS}/data.conf"
	assert status == 1, status
	assert err == f"krping: {path}: ECONNREFUSED (111): nothing listens on that port\n", err
	with files(data="client\naddr=nobody.invalid\n") as module:
		status, _, err = krping("disk", "data")
	assert status == 1 and f"{path.rpartition('/')[2]}: addr=nobody.invalid: " in err, err
	assert not module.commands


@contextlib.contextmanager
def listening():
	"""A socket of systemd's."""
	with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
		end.bind("notify")
		before = os.environ.get("NOTIFY_SOCKET")
		os.environ["NOTIFY_SOCKET"] = os.path.abspath("notify")
		try:
			yield end
		finally:
			del os.environ["NOTIFY_SOCKET"]
			if before is not None:
				os.environ["NOTIFY_SOCKET"] = before


def told(end):
	"""What systemd was told."""
	end.setblocking(False)
	found = []
	with contextlib.suppress(BlockingIOError):
		while True:
			found.append(end.recv(4096).decode())
	return found


def ready(end):
	"""Wait until systemd has been told something."""
	end.settimeout(30)
	end.recv(4096, socket.MSG_PEEK)


def played(text, appear, disappear, stop=lambda module: 0):
	"""krping disk with a file of TEXT. The command has APPEAR(module) done; when systemd is told
	that it is ready, SIGTERM comes, and it ends with the errno of DISAPPEAR(module). STOP(module)
	is the errno of a stop=. Return status, stderr, what systemd was told, and all commands."""
	def answer(module, given):
		if given.text.startswith("stop="):
			return stop(module)
		appear(module)
		ready(end)
		os.kill(os.getpid(), signal.SIGTERM)
		front.sleep()
		number = disappear(module)
		return module.fail(given, number, "interrupted by a signal", test="blk")

	with files(answer, data=text) as module, listening() as end:
		status, _, err = krping("disk", "data")
		return status, err, told(end), [each.text for each in module.commands]


CLIENT = "client\naddr=192.0.2.1\n"
ATTACH = "client,addr=192.0.2.1,blk,tag=data"


def appear(_module):
	"""The disk appears."""
	attach(0, "other")
	attach(3, "data")


def vanish(_module):
	"""The disk vanishes, and the command is interrupted."""
	detach(3, "data")
	return errno.EINTR


@suite.test("0: a disk is ready when its link is there, and SIGTERM ends it")
def disk():
	status, err, said, commands = played(CLIENT, appear, vanish)
	assert (status, err, commands) == (0, "", [ATTACH]), (status, err, commands)
	assert said == ["READY=1\nSTATUS=/dev/krping3"], said


@suite.test("a disk is ready without a link where udev makes none")
def no_link():
	def unlinked(module):
		appear(module)
		os.unlink("by-id/krping-data")

	def gone(module):
		front.write("by-id/krping-data", "")
		return vanish(module)

	with front.patched(disk_service, LINK=0.5):
		status, _, said, _ = played(CLIENT, unlinked, gone)
	assert (status, said) == (0, ["READY=1\nSTATUS=/dev/krping3"]), (status, said)


@suite.test("0: a server is ready when its thread is there, and SIGTERM ends it")
def server():
	def listens(module):
		module.show("101 listen\n102 listen\n")

	status, err, said, commands = played("server\nstore=/a\n", listens,
					     lambda module: errno.EINTR)
	assert (status, err, commands) == (0, "", ["server,store=/a,blk,persist,tag=data"]), (status, err)
	assert said == ["READY=1\nSTATUS=serves disks"], said


@suite.test("a disk that is open for a moment is removed when it is closed")
def busy():
	attempts = []

	def stop(_module):
		attempts.append(True)
		if len(attempts) < 3:
			return errno.EBUSY
		detach(3, "data")
		return 0

	def ended(_module):
		# As patient as if it were not a test, until files() sets it back.
		disk_service.BUSY = 60
		return errno.EBUSY

	status, err, _, commands = played(CLIENT, appear, ended, stop)
	assert (status, err, commands) == (0, "", [ATTACH] + ["stop=3"] * 3), (status, err, commands)


@suite.test("1: a disk that is in use stays, and where it is mounted is said")
def in_use():
	def mounted(module):
		appear(module)
		front.write("mounts", "/dev/krping3 /mnt ext4 rw 0 0\n/dev/krping3p1 /srv/a ext4 rw 0 0\n"
			    "/dev/krping31 /no ext4 rw 0 0\n/dev/sda / ext4 rw 0 0\n")

	status, err, _, _ = played(CLIENT, mounted, lambda module: errno.EBUSY,
				   lambda module: errno.EBUSY)
	assert status == 1, status
	assert err == ("krping: /dev/krping3 (mounted on /mnt, /srv/a) is in use, so it stays: unmount or "
		       "close it, then 'krping run stop=3'\n"), err


@suite.test("a disk that an earlier start has left is removed first; 1 where it is in use")
def left():
	def answer(module, text):
		if text.text == "stop=3":
			if module.in_use:
				return errno.EBUSY
			detach(3, "data")
		return 0

	for open_, wanted, ran in ((False, 0, ["stop=3", ATTACH]), (True, 1, ["stop=3"])):
		with files(answer, data=CLIENT) as module:
			module.in_use = open_
			attach(3, "data")
			status, _, err = krping("disk", "data")
		assert status == wanted, (status, err)
		assert list(dict.fromkeys(each.text for each in module.commands)) == ran, module.commands
		assert err == ("krping: /dev/krping3 was left by an earlier start, and is in use: unmount "
			       "or close it\n" if open_ else ""), err


@suite.test("the unit is one that systemd takes, and starts a program that is there")
def unit():
	if not shutil.which("systemd-analyze"):
		raise Skip("systemd-analyze is not installed")
	with open(UNIT, encoding="utf-8") as file:
		text = file.read()
	with front.directory():
		front.write(os.path.basename(UNIT), text.replace("/usr/bin/krping", front.PROGRAM))
		done = subprocess.run(("systemd-analyze", "verify", "--man=no", "./krping-disk@.service"),
				      text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
				      check=False)
	assert (done.returncode, done.stdout) == (0, ""), (done.returncode, done.stdout)


suite.main()
