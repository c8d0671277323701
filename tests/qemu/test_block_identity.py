# SPDX-License-Identifier: GPL-2.0
# guest: --tools fs-tools
"""A disk goes on with the store that it began with, wherever the kernel has that now, and with no
other: files of several file systems, and block devices that are set up anew."""

import contextlib
import os
import subprocess

import age
import block
import krping
from block import MIB, Raw, Server, call
from fragile import Scsi
from krping import wait_for
from ktap import Suite

TOOLS = "/tools/bin"
HERE, THERE = "/tmp/here", "/tmp/there"
DATA = b"\x5a" * 4096
# What becomes of the disk.
GOES_ON, STALE = "it goes on", "ESTALE"


def mounts():
	"""What is mounted below HERE and THERE."""
	with open("/proc/self/mounts", encoding="ascii") as file:
		places = [line.split()[1] for line in file]
	return [place for place in places[::-1] if place.startswith((HERE, THERE))]


def check():
	"""Nothing of a test is left."""
	left = mounts()
	for place in left:
		subprocess.run(("umount", "-l", place), check=False)
	for command in (("losetup", "-D"), ("dmsetup", "remove_all", "--force"), ("rmmod", "brd"),
			("rmmod", "scsi_debug")):
		subprocess.run(command, check=False, capture_output=True)
	block.check()
	assert not left, f"still mounted: {left}"


suite = Suite(check=check)


def memory(count=1, size=32):
	"""COUNT disks in memory of SIZE MiB."""
	call("modprobe", "brd", f"rd_nr={count}", f"rd_size={size << 10}")
	wait_for(lambda: os.path.exists(f"/dev/ram{count - 1}"))


def mount(what, where=HERE, *options):
	"""Mount WHAT on WHERE."""
	os.makedirs(where, exist_ok=True)
	call("mount", *options, what, where)


def umount(where=HERE):
	"""Unmount what is on WHERE."""
	call("umount", where)


# MiB that are enough for a file system of each kind. XFS asks for more unless it is told that
# nobody is to support it.
ENOUGH = {"ext4": 32, "xfs": 64, "f2fs": 96, "btrfs": 128}


def make(kind, device="/dev/ram0"):
	"""Make a file system of this KIND on DEVICE, and mount it."""
	call("modprobe", kind)
	if kind == "ext4":
		call("mkfs.ext4", "-q", "-F", device)
	else:
		more = ("--unsupported",) if kind == "xfs" else ()
		call(f"{TOOLS}/mkfs.{kind}", "-q", "-f", *more, device)
	mount(device)


def becomes(store, change, size=2 * MIB):
	"""What becomes of a disk with a store at the path STORE, after CHANGE(). That may return
	another path, at which the next server has it."""
	server = Server(f"size={size},store={store},persist")
	disk = server.disk("reconnect=60")
	log = krping.Log()
	with Raw(disk) as raw:
		raw.put(0, DATA)
		os.fsync(raw.fd)
		server.kill()
		server.options = f"size={size},store={change() or store},persist"
		server.start()
		wait_for(lambda: not disk.command.is_alive() or log.find("connected again after"),
			 what=log.text)
		if disk.command.is_alive():
			assert raw.get(0, 4096) == DATA
			raw.put(8192, DATA)
			os.fsync(raw.fd)
			found = GOES_ON
		else:
			found = krping.name(disk.command.wait())
	if disk.command in krping.Command.running:
		disk.stop()
	server.kill()
	return found


@suite.test("a file system on a loop device that gets another number")
def loop_number():
	memory()
	make("ext4")
	image = f"{HERE}/image"
	call("modprobe", "loop")
	call("truncate", "-s", "16M", image)
	call("mkfs.ext4", "-q", "-F", image)
	call("losetup", "/dev/loop3", image)
	mount("/dev/loop3", THERE)

	def change():
		umount(THERE)
		call("losetup", "-d", "/dev/loop3")
		call("losetup", "/dev/loop5", image)
		mount("/dev/loop5", THERE)
	assert becomes(f"{THERE}/store", change) == GOES_ON
	umount(THERE)
	call("losetup", "-d", "/dev/loop5")
	umount()


@suite.test("a file system on a loop device, and a copy of it on another")
def loop_copy():
	memory()
	make("ext4")
	call("modprobe", "loop")
	call("truncate", "-s", "16M", f"{HERE}/image")
	call("mkfs.ext4", "-q", "-F", f"{HERE}/image")
	call("losetup", "/dev/loop3", f"{HERE}/image")
	mount("/dev/loop3", THERE)

	def change():
		umount(THERE)
		call("losetup", "-d", "/dev/loop3")
		call("cp", f"{HERE}/image", f"{HERE}/copy")
		call("losetup", "/dev/loop3", f"{HERE}/copy")
		mount("/dev/loop3", THERE)
	assert becomes(f"{THERE}/store", change) == STALE
	umount(THERE)
	call("losetup", "-d", "/dev/loop3")
	umount()


def remade(kind):
	"""A file system of this KIND is made anew."""
	def change():
		umount()
		make(kind)
	return change


def remounted():
	"""The file system is mounted anew, while another one may have its number."""
	umount()
	mount("none", THERE, "-t", "tmpfs")
	mount("/dev/ram0")
	umount(THERE)


for _kind in ("ext4", "xfs", "f2fs", "btrfs"):
	def _anew(kind=_kind):
		if kind == "btrfs":
			age.needs("subvolumes")
		memory(size=ENOUGH[kind])
		make(kind)
		assert becomes(f"{HERE}/store", remounted) == GOES_ON
		os.unlink(f"{HERE}/store")
		assert becomes(f"{HERE}/store", remade(kind)) == STALE
		umount()
	suite.test(f"a file on {_kind}: the file system is mounted anew, and made anew")(_anew)


@suite.test("a file on btrfs and its copy in a snapshot are two stores, which can be served at once")
def snapshot():
	memory(size=ENOUGH["btrfs"])
	make("btrfs")
	call(f"{TOOLS}/btrfs", "subvolume", "create", f"{HERE}/one")
	store = f"{HERE}/one/store"
	call("truncate", "-s", "2M", store)
	call("sync")
	call(f"{TOOLS}/btrfs", "subvolume", "snapshot", f"{HERE}/one", f"{HERE}/two")
	with Server(f"store={store},persist") as one, Server(f"store={HERE}/two/store,persist") as two, \
	     one.disk() as first, two.disk() as second:
		serials = {disk.attribute("serial") for disk in (first, second)}
		assert len(serials) == 2, serials
	assert becomes(store, lambda: f"{HERE}/two/store") == STALE

	def copied():
		call("cp", "--reflink=always", store, f"{HERE}/one/copy")
		call("mv", f"{HERE}/one/copy", store)
	assert becomes(store, copied) == STALE
	umount()


@suite.test("a file on tmpfs: it moves, and another tmpfs is mounted in its place")
def on_tmpfs():
	mount("none", HERE, "-t", "tmpfs")

	def moves():
		os.rename(f"{HERE}/store", f"{HERE}/renamed")
		return f"{HERE}/renamed"
	assert becomes(f"{HERE}/store", moves) == GOES_ON

	def another():
		umount()
		mount("none", HERE, "-t", "tmpfs")
	assert becomes(f"{HERE}/renamed", another) == STALE
	umount()


@suite.test("a file on an overlay that is mounted anew, and on another one")
def on_overlay():
	memory()
	make("ext4")
	call("modprobe", "overlay")
	for name in ("lower", "upper", "work", "upper2", "work2"):
		os.mkdir(f"{HERE}/{name}")

	def put(number=""):
		mount("none", THERE, "-t", "overlay", "-o",
		      f"lowerdir={HERE}/lower,upperdir={HERE}/upper{number},workdir={HERE}/work{number}")

	def anew():
		umount(THERE)
		put()

	def another():
		umount(THERE)
		put("2")
	put()
	assert becomes(f"{THERE}/store", anew) == GOES_ON
	assert becomes(f"{THERE}/store", another) == STALE
	umount(THERE)
	umount()


@contextlib.contextmanager
def mapped(name, uuid, device):
	"""Within, a mapping of DEVICE with a UUID, as LVM makes them. Gives its path."""
	call("modprobe", "dm-mod")
	sectors = call("blockdev", "--getsz", device).strip()
	call("dmsetup", "create", name, *(("--uuid", uuid) if uuid else ()), "--noudevsync",
	     "--table", f"0 {sectors} linear {device} 0")
	if not os.path.exists(f"/dev/mapper/{name}"):
		call("dmsetup", "mknodes", name)
	try:
		yield f"/dev/mapper/{name}"
	finally:
		call("dmsetup", "remove", "--noudevsync", "--retry", name)


@suite.test("a volume of LVM keeps its identity, its snapshot is another one, and so are their files")
def volumes():
	memory(2, 16)
	with mapped("volume", "LVM-one", "/dev/ram0") as volume:
		call("mkfs.ext4", "-q", "-F", volume)
		mount(volume)
		call("truncate", "-s", "2M", f"{HERE}/store")
		umount()
	call("dd", "if=/dev/ram0", "of=/dev/ram1", "bs=1M", "conv=fsync")
	with contextlib.ExitStack() as maps:
		def again(uuid, device):
			maps.close()
			maps.enter_context(mapped("volume", uuid, device))

		def file(uuid, device):
			umount()
			again(uuid, device)
			mount("/dev/mapper/volume")
		again("LVM-one", "/dev/ram0")
		volume = "/dev/mapper/volume"
		mount(volume)
		# Each time the mapping has another number in this start of the host.
		assert becomes(f"{HERE}/store", lambda: file("LVM-one", "/dev/ram0")) == GOES_ON
		assert becomes(f"{HERE}/store", lambda: file("LVM-two", "/dev/ram1")) == STALE
		umount()
		again("LVM-one", "/dev/ram0")
		assert becomes(volume, lambda: again("LVM-one", "/dev/ram0")) == GOES_ON
		assert becomes(volume, lambda: again("LVM-two", "/dev/ram0")) == STALE
		again("", "/dev/ram0")
		assert becomes(volume, lambda: again("", "/dev/ram0")) == STALE


@suite.test("a RAID that is stopped and assembled anew")
def raid():
	memory(2)
	call("modprobe", "md-mod")
	call("modprobe", "raid1")
	# Mdadm takes no time of its own to become active without udev.
	environment = ("env", "MDADM_NO_UDEV=1", f"{TOOLS}/mdadm")
	call(*environment, "--create", "/dev/md9", "--run", "--metadata=1.2", "--level=1",
	     "--raid-devices=2", "--assume-clean", "/dev/ram0", "/dev/ram1")

	def anew():
		call(*environment, "--stop", "/dev/md9")
		call(*environment, "--assemble", "/dev/md7", "--run", "/dev/ram0", "/dev/ram1")
		return "/dev/md7"
	assert becomes("/dev/md9", anew) == GOES_ON
	call(*environment, "--stop", "/dev/md7")


@suite.test("a loop device has no identifier: set up anew it is another store, and the log says so")
def loop_device():
	memory()
	call("modprobe", "loop")
	call("losetup", "/dev/loop3", "/dev/ram0")
	log = krping.Log()

	def change():
		call("losetup", "-d", "/dev/loop3")
		call("losetup", "/dev/loop3", "/dev/ram0")
	assert becomes("/dev/loop3", change) == STALE
	log.expect("/dev/loop3 has no identifier of its own")
	call("losetup", "-d", "/dev/loop3")


def part(device):
	"""Make two partitions on DEVICE, with new UUIDs. Gives their paths."""
	subprocess.run((f"{TOOLS}/sfdisk", "--quiet", "--no-tell-kernel", device), check=True, text=True,
		       input="label: gpt\n2048,16384\n18432,16384\n")
	call("blockdev", "--rereadpt", device)
	between = "p" if device[-1].isdigit() else ""
	paths = [f"{device}{between}{number}" for number in (1, 2)]
	wait_for(lambda: all(map(os.path.exists, paths)))
	return paths


@suite.test("partitions of a disk without an identifier, which is set up anew and parted anew")
def partitions():
	memory()
	call("modprobe", "loop", "max_part=4")
	call("losetup", "--partscan", "/dev/loop3", "/dev/ram0")
	first, second = part("/dev/loop3")

	def moved():
		call("losetup", "-d", "/dev/loop3")
		call("losetup", "--partscan", "/dev/loop5", "/dev/ram0")
		wait_for(lambda: os.path.exists("/dev/loop5p1"))
		return "/dev/loop5p1"
	assert becomes(first, lambda: second) == STALE
	assert becomes(first, moved) == GOES_ON
	assert becomes("/dev/loop5p1", lambda: part("/dev/loop5")[0]) == STALE
	call("losetup", "-d", "/dev/loop5")


@suite.test("partitions of a disk with an identifier, which is unplugged and plugged in again")
def partitions_of_scsi():
	with Scsi("dev_size_mb=24") as medium:
		first, second = part(medium.path)

		def plugged():
			medium.fail()
			medium.mend()
			path = f"{medium.path}1"
			wait_for(lambda: os.path.exists(path))
			return path
		assert becomes(first, lambda: second) == STALE
		# Its cache is lost with it, but what was written before was flushed.
		assert becomes(first, plugged) == GOES_ON


@suite.test("a disk says what sizes its store does its work best with")
def topology():
	names = ("logical_block_size", "physical_block_size", "minimum_io_size", "optimal_io_size",
		 "discard_granularity")

	def sizes(disk):
		said = []
		for each in names:
			with open(f"/sys/block/{disk}/queue/{each}", encoding="ascii") as file:
				said.append(int(file.read()))
		return said
	with Scsi("dev_size_mb=32", "physblk_exp=3", "lbpu=1", "opt_xferlen_exp=9", "opt_blks=1024",
		  "unmap_granularity=64") as medium:
		wanted = sizes(medium.name)
		assert wanted == [512, 4096, 512 << 9, 512 * 1024, 512 * 64], wanted
		with Server(f"store={medium.path}") as server, server.disk() as disk:
			assert sizes(disk.name) == wanted, (sizes(disk.name), wanted)
	# Of a file nothing is known.
	with Server("size=1M,store=/tmp/topology") as server, server.disk() as disk:
		assert sizes(disk.name) == [512, 512, 512, 0, 512], sizes(disk.name)
	os.unlink("/tmp/topology")


suite.main()
