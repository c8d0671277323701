# SPDX-License-Identifier: GPL-2.0
"""The links below /dev/disk that the shipped udev rule makes, by a udevd that runs in the
guest with Debian's rules and this one."""

import os
import re
import shutil
import struct
import subprocess

import block
import krping
from block import MIB, Raw, Server, call
from krping import ADDR, wait_for
from ktap import Suite

RULE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
		    "../../scripts/udev/60-krping.rules")
RULES = "/run/udev/rules.d"
UDEVD = "/lib/systemd/systemd-udevd"
LINKS = "/dev/disk"
UUID = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9fa"


def stop_udevd():
	"""End udevd, which looks at no disk from here on."""
	if os.path.exists("/run/udev/control"):
		subprocess.run(("udevadm", "control", "--exit"), check=False)


def check():
	"""As for every test of disks, after udevd has looked at what has gone."""
	settle()
	block.check()


def settle():
	"""Wait until udevd has nothing to do, and so no disk open."""
	call("udevadm", "settle", "--timeout=60", timeout=120)


def links(kind):
	"""The links in the directory KIND of /dev/disk: name, disk or partition."""
	path = os.path.join(LINKS, kind)
	names = sorted(os.listdir(path)) if os.path.isdir(path) else []
	found = {name: os.path.basename(os.path.realpath(os.path.join(path, name)))
		 for name in names}
	return {name: device for name, device in found.items() if device.startswith("krping")}


def await_links(kind, expected):
	"""Wait until /dev/disk/KIND has the links EXPECTED to krping's disks, and no other."""
	wait_for(lambda: links(kind) == expected, what=f"{kind}: {links(kind)}, not {expected}")
	settle()


def by_id_links(disk, parts=()):
	"""The links of DISK in by-id, and those of partitions with numbers PARTS."""
	names = [f"krping-{name}" for name in (disk.attribute("serial"), disk.tag)]
	return dict.fromkeys(names, disk.name) | \
		{f"{name}-part{part}": f"{disk.name}p{part}" for name in names for part in parts}


suite = Suite(check=check)


@suite.test("the rule is one that udev takes")
def verified():
	call("udevadm", "verify", "--resolve-names=never", RULE)


@suite.test("udevd starts with it")
def starts():
	os.makedirs(RULES, exist_ok=True)
	shutil.copy(RULE, RULES)
	call(UDEVD, "--daemon")
	settle()


@suite.test("by-id: the server's address and the store's number; nothing is left of a stopped disk")
def by_id():
	store = "/tmp/store"
	with Server(f"size=1M,store={store},threads=2") as server:
		with server.disk() as disk:
			serial = disk.attribute("serial")
			assert re.fullmatch(re.escape(ADDR) + "-[0-9a-f]{16}", serial), serial
			await_links("by-id", by_id_links(disk))
		await_links("by-id", {})
		# The same store has the same name.
		with server.disk() as disk:
			assert disk.attribute("serial") == serial
			await_links("by-id", by_id_links(disk))
	os.unlink(store)
	with Server("size=1M,store=ram") as server, server.disk() as disk:
		other = disk.attribute("serial")
		assert other != serial and other.startswith(f"{ADDR}-"), (other, serial)
		await_links("by-id", by_id_links(disk))
	await_links("by-id", {})


@suite.test("by-id by tag: but for no tag, one that the program makes up, and one with a /")
def by_tag():
	with Server("size=1M,store=ram,persist") as server:
		for tag, name in (("data", "data"), ("a disk", "a_disk"), ("", None), ("a/b", None),
				  ("krping.12.3f", None), ("krping.", "krping.")):
			option = tag and f",tag={tag}"
			krping.run_ok(f"client,blk,addr={ADDR},port={server.port}{option},detach")
			number, = block.numbers()
			with open(f"/sys/block/krping{number}/tag", encoding="ascii") as file:
				assert file.read() == f"{tag}\n", tag
			with open(f"/sys/block/krping{number}/serial", encoding="ascii") as file:
				names = [file.read().strip()] + [name] * bool(name)
			await_links("by-id", {f"krping-{each}": f"krping{number}" for each in names})
			assert block.stop(number) == 0
			await_links("by-id", {})


@suite.test("by-uuid and by-label once there is a file system, and mount finds it by both")
def file_system():
	with block.loopback("size=16M,store=ram") as disk:
		await_links("by-id", by_id_links(disk))
		assert links("by-uuid") == links("by-label") == {}
		call("mkfs.ext4", "-q", "-U", UUID, "-L", "far_away", disk.path)
		await_links("by-uuid", {UUID: disk.name})
		await_links("by-label", {"far_away": disk.name})
		os.makedirs("/tmp/mounted", exist_ok=True)
		for source in (f"UUID={UUID}", f"{LINKS}/by-label/far_away"):
			call("mount", source, "/tmp/mounted")
			with open("/proc/mounts", encoding="ascii") as file:
				assert f"{disk.path} /tmp/mounted ext4" in file.read(), source
			call("umount", "/tmp/mounted")
		settle()
	await_links("by-uuid", {})


@suite.test("by-partuuid, and by-id of a partition")
def partitions():
	with block.loopback("size=16M,store=ram") as disk:
		# A DOS partition table: its signature, and one partition from 1 MiB on.
		table = bytearray(512)
		struct.pack_into("<I", table, 440, 0x12345678)
		struct.pack_into("<B3xB3xII", table, 446, 0, 0x83, MIB // 512, 4 * MIB // 512)
		table[510:] = b"\x55\xaa"
		await_links("by-id", by_id_links(disk))
		with Raw(disk) as raw:
			raw.put(0, bytes(table) + bytes(4096 - 512))
		# udevd has the kernel look for partitions when a program closes the disk.
		part = f"{disk.name}p1"
		await_links("by-partuuid", {"12345678-01": part})
		await_links("by-id", by_id_links(disk, parts=[1]))
		call("mkfs.ext4", "-q", "-U", UUID, f"/dev/{part}")
		await_links("by-uuid", {UUID: part})
	await_links("by-partuuid", {})


try:
	suite.main()
finally:
	stop_udevd()
