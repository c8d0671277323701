# SPDX-License-Identifier: GPL-2.0
# debug: yes
# oldest: yes
"""tests/probes, a module that misuses rust/rdma and rust/kernel_ext by safe code: each misuse is
refused, with an errno that is documented, and harms nobody."""

import os
import re
import subprocess

import krping
from ktap import Suite

MODULE = "/krping/rdma_probes.ko"
FILE = "/proc/rdma_probes"

# What each probe says of its steps: see tests/probes/*.rs.
PROBES = {
	"a queue pair for datagrams is refused, whose requests have another form": (
		"datagrams", ["queue pair: EINVAL"]),
	"a completion proves that a key is invalid once": (
		"one_proof", ["accepted: invalidated new_key", "failed: 1", "byte: 0"]),
	"memory is registered for the direction that it is lent in": (
		"direction", [
			# What the device may only read.
			"Local: EACCES", "written: false", "RemoteWrite: EACCES", "written: false",
			"Remote: EACCES", "written: false", "RemoteAtomic: EACCES", "written: false",
			"RemoteRead: ok", "written: false",
			# What it may only write to. A key of its own opens nothing to the peer.
			"Local: ok", "written: false", "RemoteWrite: ok", "written: true",
			"Remote: EACCES", "written: false", "RemoteAtomic: EACCES", "written: false",
			"RemoteRead: EACCES", "written: false"]),
	"a transfer is over when its own last request is": (
		"own_entry", ["signal_all: EINVAL", "accepted: 2", "end: ok", "all arrived: true",
			      "accepted: 3"]),
	"a device writes nothing any more once its queue pair has gone": (
		"hasty", ["undrained: 3", "arrived late: 0", "in memory of others: 0"]),
	"a disk is added once, and not resumed more often than it was quiesced": (
		"disk", ["resume: EINVAL", "resume: ok", "resume: EINVAL", "add: ok", "add: EBUSY",
			 "add: EBUSY"]),
	"nothing names the memory of a queue pair that has gone": (
		"lists", ["buffers: 0", "list: EINVAL"]),
	"a request holds no more data itself than was asked for": (
		"inline", ["not asked for: EINVAL", "too much: EINVAL", "as much: ok",
			   "by address: ok"]),
	"a chunk goes back to its own queue": (
		"chunk", ["taken: false", "posted: 8", "posted again: 0", "taken back: true",
			  "claimed: 0"]),
	"threads that drain a queue pair at once all see its end": (
		"drains", ["failed: 0", "seen: 0"]),
	"a list that is not posted leaves its regions as they were": (
		"unposted", ["out of bounds: EINVAL", "valid: false", "no entry: EINVAL", "valid: false",
			     "invalidate: EINVAL", "register: ok", "out of bounds: EINVAL",
			     "valid: true", "invalidate: ok", "failed: 0"]),
	"a full queue is drained, and what fits of a list is what counts": (
		"full", ["more than its room: true", "list: ENOMEM", "first: false", "undrained: 0",
			 "list: ENOMEM", "first: true", "second: false", "undrained: 0"]),
	"completion queues have room for all that can come": (
		"sizes", ["no entries: EINVAL", "few entries: EINVAL", "overrun: ok",
			  "overrun pool: EINVAL", "overrun contexts: EINVAL",
			  "receives of another queue: EINVAL", "contexts without room: EAGAIN",
			  "receives of its own: ok"]),
	"an identifier whose port is in use has no device": (
		"port_in_use", ["bind: EADDRINUSE", "device: ENODEV", "bind: ok", "device: ok"]),
	"credentials within others end first": (
		"credentials", ["nested: true", "own: true"]),
}

suite = Suite(check=krping.check)


def probe(name, wanted):
	"""Run a probe, whose steps must end as WANTED says."""
	if not os.path.exists(FILE):
		subprocess.run(("insmod", MODULE), check=True)
	with open(FILE, "w", encoding="ascii") as file:
		file.write(name)
	with open(FILE, encoding="ascii") as file:
		said = [re.sub("errno ([0-9]+)", lambda number: krping.name(int(number[1])), line.strip())
			for line in file]
	assert said == wanted, said


for title, (which, steps) in PROBES.items():
	suite.test(title)(lambda which=which, steps=steps: probe(which, steps))


if __name__ == "__main__":
	try:
		suite.main()
	finally:
		if os.path.exists(FILE):
			subprocess.run(("rmmod", "rdma_probes"), check=True)
