# SPDX-License-Identifier: GPL-2.0
"""Disks below a store that fail, and are well again with what they had.

	with fragile.Mapping() as disk:
		... disk.path ...
		disk.fail()	# whatever is asked of it fails from now on
		disk.mend()	# with what it had before

Unlike media.py's, they are disks of which the kernel forgets what it knew when nobody has them open.
"""

import contextlib
import os
import subprocess

from block import call
from krping import wait_for


class Mapping:
	"""A mapping of a disk in memory. Within, it is there. RUN runs a program where it is to
	be."""

	NAME = "krpingfragile"
	SLOW = "krpingslow"

	def __init__(self, run=call):
		self.run = run
		self.path = f"/dev/mapper/{self.NAME}"
		self.sectors = 0

	def __enter__(self):
		self.run("modprobe", "brd", "rd_nr=1", "rd_size=98304")
		self.run("modprobe", "dm-mod")
		self.sectors = int(self.run("blockdev", "--getsz", "/dev/ram0"))
		# LVM gives its mappings such a UUID: by that it is known again.
		self.create(self.NAME, self.table("linear"), "--uuid", "LVM-krping")
		return self

	def __exit__(self, *_):
		self.run("dmsetup", "remove", "--noudevsync", "--retry", self.NAME)
		self.run("rmmod", "brd")

	def create(self, name, table, *options):
		"""Make the mapping NAME."""
		self.run("dmsetup", "create", name, *options, "--noudevsync", "--table", table)
		self.run("dmsetup", "mknodes", name)

	def table(self, kind):
		"""A table of one target."""
		rest = "/dev/ram0 0" if kind == "linear" else ""
		return f"0 {self.sectors} {kind} {rest}".strip()

	def become(self, kind):
		"""Be of another KIND from now on: linear or error."""
		self.run("dmsetup", "suspend", "--noflush", "--nolockfs", self.NAME)
		self.run("dmsetup", "load", self.NAME, "--table", self.table(kind))
		self.run("dmsetup", "resume", "--noudevsync", self.NAME)

	def fail(self):
		"""Whatever is asked of it fails from now on."""
		self.become("error")

	def mend(self):
		"""It is well again, with what it had."""
		self.become("linear")

	@contextlib.contextmanager
	def slow(self, milliseconds):
		"""Within, another device that is this one, but for writes that take so long. Gives
		its path."""
		self.run("modprobe", "dm-delay")
		self.create(self.SLOW,
			    f"0 {self.sectors} delay {self.path} 0 0 {self.path} 0 {milliseconds}")
		try:
			yield f"/dev/mapper/{self.SLOW}"
		finally:
			self.run("dmsetup", "remove", "--noudevsync", "--retry", self.SLOW)


class Scsi:
	"""A disk of SCSI, which can be unplugged and comes back with its identifier, under another
	name. Within, it is there. It has a cache of its own. OPTIONS are those of scsi_debug."""

	def __init__(self, *options):
		self.options = options
		self.host = self.path = ""

	def __enter__(self):
		call("modprobe", "sd_mod")
		call("modprobe", "scsi_debug", "delay=0", "max_luns=1", *self.options)
		self.host = next(name for name in os.listdir("/sys/bus/pseudo/devices/adapter0")
				 if name.startswith("host"))
		self.find()
		return self

	def __exit__(self, *_):
		wait_for(lambda: subprocess.run(("rmmod", "scsi_debug"), check=False,
						capture_output=True).returncode == 0)

	@property
	def name(self):
		"""Its name in /sys/block."""
		return os.path.basename(self.path)

	def find(self):
		"""Look for its name, which it has anew each time."""
		def name():
			return [each for each in os.listdir("/sys/block")
				if f"/{self.host}/" in os.path.realpath(f"/sys/block/{each}")]
		self.path = f"/dev/{wait_for(name)[0]}"
		# It has a name before it can be opened.
		wait_for(self.ready)

	def ready(self):
		"""Whether it can be opened."""
		try:
			os.close(os.open(self.path, os.O_RDONLY))
		except OSError:
			return False
		return True

	def fail(self):
		"""Be unplugged."""
		with open(f"/sys/block/{self.name}/device/delete", "w", encoding="ascii") as file:
			file.write("1")
		wait_for(lambda: not os.path.exists(f"/sys/block/{self.name}"))

	def mend(self):
		"""Be plugged in again."""
		with open(f"/sys/class/scsi_host/{self.host}/scan", "w", encoding="ascii") as file:
			file.write("- - -")
		self.find()
