# SPDX-License-Identifier: GPL-2.0
"""The acceptance set: a row for each case, by groups, which are run in this order."""

from typing import NamedTuple

from krping_front.errors import Quit

from . import looks
from .figures import Check, done, exchanged, measured, moved, timed
from .looks import Look

# A ping/pong compares what comes back; its data is longer than a packet.
PINGPONG = "size=8K,count=100,validate"
LATENCY = "count=1000"
BANDWIDTH = "size=64K,count=200,validate"
ATOMIC = "count=1000,validate"
# One at a time, so that their latencies are no queue's.
TRANSFER = "size=4K,count=200,txdepth=1"
# And several at a time, each with pieces that one request or region does not have.
TRANSFERS = "size=64K,count=200,txdepth=8,segs=4,offset=512,biovec"
# Places and keys of either side that no device has all at hand.
REGIONS = "size=1000,count=2000,buffers=256,mrs=64,validate"

EXCHANGED = (done, exchanged, timed)
TIMED = (done, moved, timed)
MEASURED = (done, moved, measured)


class Case(NamedTuple):
	"""A case: a command, and what is checked of its results."""

	group: str
	# "" where the result itself has cases, with names.
	name: str
	# The command's, without its role and address.
	options: str
	# Of the client's results of a run.
	checks: tuple[Check, ...] = ()
	# Of the result of caps.
	look: Look | None = None
	# The field of its limits that must say that the device supports it.
	needs: str = ""
	# Whether both sides must be on this host.
	local: bool = False
	# What it takes besides on iWARP devices, which have no immediate data.
	on_iwarp: str = ""

	@property
	def path(self) -> str:
		"""Its name among all."""
		return f"{self.group}.{self.name}" if self.name else self.group


CASES = (
	Case("caps", "device", "caps", look=looks.device),
	Case("caps", "port", "caps", look=looks.port),
	Case("caps", "management", "caps", look=looks.management),
	Case("caps", "objects", "caps", look=looks.objects),
	Case("caps", "limits", "caps", look=looks.limits),
	# Before what would only hang, or come to nothing, where a device does not do what it must.
	Case("conform", "", "neg=all", local=True),
	Case("pingpong", "dma", f"{PINGPONG},mem_mode=dma", EXCHANGED),
	Case("pingpong", "reg", f"{PINGPONG},mem_mode=reg", EXCHANGED),
	Case("pingpong", "server_inv", f"{PINGPONG},mem_mode=reg,server_inv", EXCHANGED,
	     needs="server_inv"),
	Case("pingpong", "read_inv", f"{PINGPONG},mem_mode=reg,read_inv", EXCHANGED, needs="read_inv"),
	Case("pingpong", "local_dma_lkey", f"{PINGPONG},mem_mode=reg,local_dma_lkey", EXCHANGED,
	     local=True),
	Case("pingpong", "poll", f"{PINGPONG},poll", EXCHANGED),
	Case("pingpong", "pool", f"{PINGPONG},cq=pool", EXCHANGED),
	Case("pingpong", "threads", f"{PINGPONG},threads=4", EXCHANGED),
	Case("pingpong", "small", "size=1,count=100,validate", EXCHANGED),
	Case("pingpong", "large", "size=256K,count=20,validate,mem_mode=reg", EXCHANGED),
	Case("microbench", "wlat", f"wlat,{LATENCY}", TIMED, on_iwarp="poll"),
	Case("microbench", "rlat", f"rlat,{LATENCY}", TIMED),
	Case("microbench", "slat", f"slat,{LATENCY}", TIMED),
	Case("microbench", "alat", f"alat,{ATOMIC}", TIMED, needs="fetch_add"),
	Case("microbench", "caslat", f"caslat,{ATOMIC}", TIMED, needs="compare_swap"),
	Case("microbench", "bw", f"bw,{BANDWIDTH}", MEASURED),
	Case("microbench", "rbw", f"rbw,{BANDWIDTH}", MEASURED),
	Case("microbench", "sbw", f"sbw,{BANDWIDTH}", MEASURED),
	Case("microbench", "abw", f"abw,{ATOMIC}", MEASURED, needs="fetch_add"),
	Case("microbench", "casbw", f"casbw,{ATOMIC}", MEASURED, needs="compare_swap"),
	Case("microbench", "rwread", f"rwread,{TRANSFER}", TIMED),
	Case("microbench", "rwwrite", f"rwwrite,{TRANSFER}", TIMED),
	Case("microbench", "fastreg", "fr,count=500", (done,)),
	Case("load", "regions", f"rbw,{REGIONS}", MEASURED),
	Case("load", "transfers", f"rwread,{TRANSFERS}", TIMED),
)
GROUPS = tuple(dict.fromkeys(case.group for case in CASES))


class Group(NamedTuple):
	"""What is to be run of a group."""

	name: str
	cases: list[Case]


def chosen(words: str | None) -> list[Group]:
	"""The groups of --only WORDS, names of groups and cases with commas; without any all."""
	asked = [word.strip() for word in words.split(",")] if words is not None else list(GROUPS)
	found = [case for word in dict.fromkeys(asked) for case in _named(word)]
	groups = [Group(name, [case for case in CASES if case.group == name and case in found])
		  for name in GROUPS]
	# Names of conformance cases are the module's.
	for group in groups:
		group.cases.extend(case for case in dict.fromkeys(found)
				   if case.group == group.name and case not in CASES)
	return [group for group in groups if group.cases]


def _named(word: str) -> list[Case]:
	"""The cases that WORD names."""
	group, dot, name = word.partition(".")
	found = [case for case in CASES if word in (case.group, case.path)]
	if not found and group == "conform" and dot and name and not set(name) & set("+= \t\n."):
		return [Case(group, name, f"neg={name}", local=True)]
	if not found:
		if group not in GROUPS:
			raise Quit(f"--only: {word!r} is no group and no case; there are the groups "
				   f"{', '.join(GROUPS)}, and 'krping test --list' has the cases")
		raise Quit(f"--only: {group} has no case {name!r}; there are "
			   + ", ".join(case.name for case in CASES if case.group == group))
	return found
