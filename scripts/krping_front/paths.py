# SPDX-License-Identifier: GPL-2.0
"""The files that are read, and why one of them cannot be opened."""

import io
import os

from .errors import Quit

PROC = "/proc/krping"
# The version of the loaded module, and the hash of its source, which a build without one has.
VERSIONS = ("/sys/module/krping/version", "/sys/module/krping/srcversion")
DEBUGFS = "/sys/kernel/debug"
RESULTS = f"{DEBUGFS}/krping/results"
OPTIONS = f"{DEBUGFS}/krping/options"
ERRORS = f"{DEBUGFS}/krping/errors"
KMSG = "/dev/kmsg"
MOUNTS = "/proc/mounts"
CPUINFO = "/proc/cpuinfo"
INFINIBAND = "/sys/class/infiniband"
NET = "/sys/class/net"
BLOCK = "/sys/block"
# Links that udev makes.
BY_ID = "/dev/disk/by-id"
# The files of disks and servers that come back after a reboot.
DISKS = "/etc/krping/disks.d"
# Where the first process finds its files.
INIT = "/proc/1/root"
HERE = os.path.dirname(os.path.abspath(__file__))
# The tables of the module that this front came with.
SHIPPED = os.path.join(HERE, "options.json")
# The directory with a file of known defects for each software driver.
KNOWN = os.path.join(os.path.dirname(HERE), "known")


def open_debugfs(path: str) -> io.TextIOWrapper:
	"""Open PATH. 'ip netns exec' and the like have a /sys of their own, without debugfs:
	there the first process's is read."""
	try:
		return open(path, encoding="utf-8", errors="replace")
	except FileNotFoundError:
		if _mounted():
			raise
	try:
		return open(f"{INIT}{path}", encoding="utf-8", errors="replace")
	except OSError:
		raise FileNotFoundError from None


def proc_trouble(error: OSError) -> Quit:
	"""Why PROC could not be opened, read or written: a Quit for the OSError ERROR."""
	if isinstance(error, FileNotFoundError):
		return Quit(f"{PROC} is not there, so the module is not loaded; "
			    "load it with 'modprobe krping', or with insmod")
	if isinstance(error, PermissionError) and os.geteuid() != 0:
		return Quit(f"{PROC} is for root only; run this as root, as with sudo")
	return Quit(f"{PROC}: {error.strerror}")


def results_trouble(error: OSError) -> Quit:
	"""The same for RESULTS."""
	if not os.path.exists(PROC):
		return proc_trouble(FileNotFoundError())
	if isinstance(error, PermissionError):
		if os.geteuid() != 0:
			return Quit(f"{RESULTS} is for root only; run this as root, as with sudo")
		return Quit(f"{RESULTS}: {error.strerror}; a kernel that is locked down, as with "
			    "Secure Boot, may close debugfs")
	if isinstance(error, FileNotFoundError):
		if not _mounted():
			return Quit("debugfs is not mounted; mount it with "
				    f"'mount -t debugfs none {DEBUGFS}'")
		return Quit(f"{RESULTS} is not there; is the loaded module another krping?")
	return Quit(f"{RESULTS}: {error.strerror}")


def _mounted() -> bool:
	"""Whether debugfs is mounted at DEBUGFS."""
	try:
		with open(MOUNTS, encoding="utf-8", errors="replace") as file:
			mounts = [line.split() for line in file]
	except OSError:
		return False
	return any(fields[1:3] == [DEBUGFS, "debugfs"] for fields in mounts)
