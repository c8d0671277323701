# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""What results say of the device: its counters and those of its port, which are compared with the
kernel's own."""

import glob
import os

import block
import krping
import tap
from krping import ADDR, new_tag, run_ok, wait_for
from ktap import Suite

DIRECTORY = f"/sys/class/infiniband/{krping.DEVICE}"
GROUPS = {"hw_counters": (f"{DIRECTORY}/ports/1/hw_counters", f"{DIRECTORY}/hw_counters"),
	  "port_counters": (f"{DIRECTORY}/ports/1/counters",)}


def check():
	"""Nothing is left, neither of krping nor of what was tapped."""
	block.check()
	tap.check()


suite = Suite(check=check)


def device_counters():
	"""What sysfs says: the counters of each of GROUPS."""
	found = {}
	for group, directories in GROUPS.items():
		found[group] = {}
		for path in (path for each in directories for path in glob.glob(f"{each}/*")):
			if os.path.basename(path) == "lifespan":
				continue
			with open(path, encoding="ascii") as file:
				found[group][os.path.basename(path)] = int(file.read())
	return found


def assert_moved(found, before, after, packets):
	"""The counters of the result FOUND, of a run with so many PACKETS at least, are among those
	that sysfs had BEFORE and AFTER it."""
	for group, known in after.items():
		moved = found.get(group, {})
		assert all(0 < by <= known[name] - before[group][name] for name, by in moved.items()), \
			(group, moved, before, after)
	for group, name in (("hw_counters", "sent_pkts"), ("port_counters", "port_xmit_packets")):
		# soft-iWARP has neither.
		assert (group in found) == (name in after[group]), (group, found)
		if group in found:
			assert found[group][name] >= packets, found[group]


@suite.test("counters of the device and its port are between those before and after a run")
def moved():
	for words, packets in (("sbw,size=64,count=1000", 1000), ("count=300", 600),
			       ("messenger,count=200,conns=2", 200)):
		tag, before = new_tag(), device_counters()
		run_ok(f"loopback,addr={ADDR},{words},tag={tag}")
		ended = [krping.result(tag, role) for role in ("client", "server")]
		after = device_counters()
		for found in ended:
			assert_moved(found, before, after, packets)


@suite.test("disks, taps and their servers have them, too")
def blocks():
	before = device_counters()
	with block.Server("size=4M,store=ram") as server, server.disk() as disk:
		block.call("dd", "if=/dev/zero", f"of={disk}", "bs=4k", "count=100", "oflag=direct")
	served = wait_for(server.results)
	after = device_counters()
	assert_moved(disk.result(), before, after, 100)
	assert_moved(served[0], before, after, 100)

	before = device_counters()
	with tap.null_blk("a") as disk, tap.Server("log") as server:
		with server.tap(disk) as watch:
			tap.write_data(disk, "size=1M")
		found = watch.result()
	assert_moved(found, before, device_counters(), 1)


@suite.test("a result on a device without a port counter that moves has no member for it")
def only_moved():
	tag = new_tag()
	run_ok(f"loopback,addr={ADDR},wlat,count=10,tag={tag}")
	found = krping.result(tag, "client")
	for group in GROUPS:
		assert all(found.get(group, {1: 1}).values()), found


suite.main()
