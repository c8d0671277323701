# SPDX-License-Identifier: GPL-2.0
"""Facts: what the head of perftest's output says of a run, and its JSON as test_info."""

import re

# The options here that are named so.
OPTIONS = {"number of qps": "qps", "tx depth": "txdepth", "post list": "postlist"}
# All names, as fact() has them, from 2021 on.
NAMES = frozenset(OPTIONS) | {
	"aes xts", "block size", "buffer size", "connection type", "cq moderation", "cqe poll batch",
	"cuda device", "data ex method", "dcs active num streams", "dcs num streams", "device",
	"dual port", "gid index", "gid index2", "ibv wr api", "link type", "lock free",
	"max inline data", "mtu", "multicast runs", "musa device", "numa node",
	"number of data encryption keys", "outstand reads", "pcie relax order", "rdma cm qps",
	"recv post list", "rx depth", "test with events", "tos", "transport type",
	"use cuda memory", "use musa memory", "use rocm memory", "using ddp", "using enhanced reorder",
	"using srq", "warning1", "warning2",
}
# A line of the head has one or two.
ONE = r"([^:\t]+?)[ \t]*:[ ]*(\S+)"
LINE = re.compile(rf"[ ]*{ONE}(?:[ ]*\t[ \t]*{ONE})?[ \t]*")


def name(text: str) -> str:
	"""The name of the fact that is TEXT in the head, or in JSON."""
	return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def of_line(line: str) -> dict[str, str]:
	"""The facts of LINE, none where it is no line of a head; or with a name that is none of NAMES."""
	match = LINE.fullmatch(line)
	if match is None:
		return {}
	return {name(each): value for each, value in (match.groups()[:2], match.groups()[2:]) if each}
