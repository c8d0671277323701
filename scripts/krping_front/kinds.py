# SPDX-License-Identifier: GPL-2.0
"""The tests of krping, and what each measures."""

import typing


class Kind(typing.NamedTuple):
	"""One test."""

	# In results, and as --test names it.
	name: str
	# In commands; the ping/pong has none.
	option: str
	# What its table has: latency, bandwidth or rate. Of no size, and with tables of
	# their own: requests, of a disk; caps, of a device; cases, of conformance.
	measure: str
	title: str
	# What counts its operations in /proc/krping; None where nothing does.
	counter: str | None
	# Whether both sides count them.
	mutual: bool


KINDS = {kind.name: kind for kind in (
	Kind("pingpong", "", "latency", "ping/pong, whole iterations", "write_msgs", False),
	Kind("fastreg", "fr", "rate", "fast registration", None, False),
	Kind("wlat", "wlat", "latency", "RDMA WRITE latency, half the round trip",
	     "write_msgs", True),
	Kind("rlat", "rlat", "latency", "RDMA READ latency, the whole round trip",
	     "read_msgs", False),
	Kind("slat", "slat", "latency", "SEND latency, half the round trip", "send_msgs", True),
	Kind("bw", "bw", "bandwidth", "RDMA WRITE bandwidth", "write_msgs", False),
	Kind("rbw", "rbw", "bandwidth", "RDMA READ bandwidth", "read_msgs", False),
	Kind("sbw", "sbw", "bandwidth", "SEND bandwidth", "send_msgs", False),
	Kind("blk", "blk", "requests", "a disk", None, False),
	Kind("tap", "tap", "requests", "a tap of a disk", None, False),
	Kind("caps", "caps", "caps", "what a device can do", None, False),
	Kind("neg", "neg", "cases", "conformance", None, False),
)}

# Those that measure something by size.
SIZED = {name: kind for name, kind in KINDS.items()
	 if kind.measure in ("latency", "bandwidth", "rate")}

# By the option that asks for it.
OPTIONS = {kind.option: kind for kind in KINDS.values() if kind.option}
