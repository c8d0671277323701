# SPDX-License-Identifier: GPL-2.0
"""Disks and servers of /etc/krping/disks.d, by the program that their unit runs. With systemd
they are in tests/packages/reboot."""

import contextlib
import os
import signal
import socket

import block
from block import MIB, Raw, call
from krping import ADDR, SCRIPTS, Program, listens, new_port, wait_for
from ktap import Suite

PROGRAM = os.path.join(SCRIPTS, "krping")
FILES = "/etc/krping/disks.d"
LINKS = "/dev/disk/by-id"
NOTIFY = "/tmp/notify"
STORE = "/tmp/store"
DATA = os.urandom(65536)

suite = Suite(check=block.check)


def start(name, *options):
	"""Start the disk or server NAME, whose file has OPTIONS."""
	os.makedirs(FILES, exist_ok=True)
	with open(f"{FILES}/{name}.conf", "w", encoding="utf-8") as file:
		file.write("\n".join(options))
	return Program("env", f"NOTIFY_SOCKET={NOTIFY}", PROGRAM, "disk", name)


def started(name, *options):
	"""The same, and wait until it says that it is ready: the program, and what it says."""
	with contextlib.suppress(FileNotFoundError):
		os.unlink(NOTIFY)
	# There is no udev here to make it.
	os.makedirs(LINKS, exist_ok=True)
	link = f"{LINKS}/krping-{name}"
	os.symlink("/dev/null", link)
	try:
		with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
			end.bind(NOTIFY)
			end.setblocking(False)
			program = start(name, *options)

			def said():
				with contextlib.suppress(BlockingIOError):
					return end.recv(4096).decode()
				return program.poll() is not None

			found = wait_for(said, what=program.output)
	finally:
		os.unlink(link)
	assert found is not True, program.finish()
	assert found.startswith("READY=1\nSTATUS="), found
	return program, found.removeprefix("READY=1\nSTATUS=")


def serve(port):
	"""A server of STORE at PORT."""
	program, said = started("export", "# of blocks", "server", f"port={port}, size=1M",
				f"store={STORE}")
	assert said == "serves disks", said
	wait_for(lambda: listens(port))
	return program


def attach(port):
	"""A disk of the server at PORT: the program, and the disk's number."""
	program, said = started("data", "client", f"addr={ADDR}", f"port={port}", "reconnect=60")
	number, = block.numbers()
	assert said == block.node(number), said
	return program, number


def pair():
	"""A server and a disk of it: the port, both programs, and the disk's number."""
	port = new_port()
	server = serve(port)
	disk, number = attach(port)
	return port, server, disk, number


def end(program, status=0, said=""):
	"""End PROGRAM as systemd does: it must exit with STATUS, and have SAID that."""
	found, output = program.stop()
	assert found == status and said in output, (found, output)


@suite.test("a disk and a server are ready when they are there, and SIGTERM ends them")
def both():
	port, server, disk, number = pair()
	with open(f"/sys/block/krping{number}/tag", encoding="ascii") as file:
		assert file.read() == "data\n"
	with Raw(block.node(number)) as raw:
		raw.put(MIB - len(DATA), DATA)
		assert raw.get(MIB - len(DATA), len(DATA)) == DATA
	end(disk)
	assert block.gone(number)
	end(server)
	assert not listens(port)
	os.unlink(STORE)


@suite.test("a server that ends and starts again leaves its disk as it is")
def restarted():
	port, server, disk, number = pair()
	with Raw(block.node(number)) as raw:
		raw.put(0, DATA)
		end(server)
		server = serve(port)
		assert raw.get(0, len(DATA)) == DATA
	end(disk)
	end(server)
	os.unlink(STORE)


@suite.test("a disk that is mounted stays, with status 1; a later start removes it and has it anew")
def in_use():
	port, server, disk, number = pair()
	node = block.node(number)
	call("mkfs.ext4", "-q", node)
	os.makedirs("/tmp/mounted", exist_ok=True)
	call("mount", node, "/tmp/mounted")
	end(disk, 1, f"{node} (mounted on /tmp/mounted) is in use, so it stays")
	with open("/tmp/mounted/file", "wb") as file:
		file.write(DATA)
	# A start in between fails, and leaves it.
	status, output = start("data", "client", f"addr={ADDR}", f"port={port}").finish()
	assert status == 1 and "was left by an earlier start, and is in use" in output, output
	call("umount", "/tmp/mounted")
	disk, number = attach(port)
	call("mount", block.node(number), "/tmp/mounted")
	with open("/tmp/mounted/file", "rb") as file:
		assert file.read() == DATA
	call("umount", "/tmp/mounted")
	end(disk)
	end(server)
	os.unlink(STORE)


@suite.test("status 0 where the disk is stopped by its number, 1 where its server is not there")
def ends():
	port, server, disk, number = pair()
	assert block.stop(number) == 0
	assert disk.finish()[0] == 0
	end(server)
	status, output = start("data", "client", f"addr={ADDR}", f"port={port}").finish()
	assert status == 1 and "/data.conf: ECONNREFUSED (111): " in output, output
	os.unlink(STORE)


@suite.test("a killed program leaves no disk that nobody uses, and no server")
def killed():
	port, server, disk, number = pair()
	disk.stop(signal.SIGKILL)
	wait_for(lambda: block.gone(number))
	server.stop(signal.SIGKILL)
	wait_for(lambda: not listens(port))
	os.unlink(STORE)


@suite.test("a mistake has status 2 and its line, with the module's sentence")
def mistakes():
	for options, said in (
		(("client", "# addr", f"addr={ADDR}", "reconect=1"),
		 "/data.conf:4: EINVAL (22): unknown option 'reconect'; did you mean 'reconnect'?"),
		(("client", "", f"addr={ADDR}, depth=0"),
		 "/data.conf:3: ERANGE (34): depth=0: must be from 1 to 1024"),
		(("client", "depth=1"), "/data.conf:1: EINVAL (22): client needs the server's address; "),
		(("client", f"addr={ADDR}", "store=ram"), "/data.conf:3: EINVAL (22): store is for "),
		(("server", "store=ram"), "/data.conf:2: EINVAL (22): store=ram needs a size; "),
		(("server", "store=ram", "size=1M", "store=ram"),
		 "/data.conf:4: EINVAL (22): store is given twice; "),
	):
		status, output = start("data", *options).finish()
		assert status == 2 and said in output, (options, status, output)


suite.main()
