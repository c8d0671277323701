# SPDX-License-Identifier: GPL-2.0
"""perftest's tests, as the line above their output and its JSON name them, and what each is here."""

import re
from typing import NamedTuple


class Operation(NamedTuple):
	"""What a test repeats."""

	# The tests here of its latency and of its bandwidth.
	latency: str
	bandwidth: str
	immediate: bool = False
	# Whether the peer's program sees it complete, and so can measure it.
	seen: bool = False
	# Of how many ways a latency is the mean.
	ways: int = 1


FETCH_ADD = Operation("alat", "abw")
OPERATIONS = {
	"Send": Operation("slat", "sbw", seen=True, ways=2),
	"Send_imm": Operation("slat", "sbw", immediate=True, seen=True, ways=2),
	"RDMA_Write": Operation("wlat", "bw", ways=2),
	"RDMA_Write_imm": Operation("wlat", "bw", immediate=True, seen=True, ways=2),
	"RDMA_Read": Operation("rlat", "rbw"),
	"Atomic": FETCH_ADD,
	"Atomic FETCH_AND_ADD": FETCH_ADD,
	"Atomic CMP_AND_SWAP": Operation("caslat", "casbw"),
}
# "RDMA_Write Bidirectional Post List BW Test", and with _ for each space in JSON.
TITLE = re.compile(
	r"(?P<verb>(?:Send|RDMA_Write)(?:_imm)?|RDMA_Read|Atomic(?:[ _](?:CMP_AND_SWAP|FETCH_AND_ADD))?)"
	r"(?P<both>[ _]Bidirectional)?(?:[ _]Post[ _]List)?(?:[ _](?P<measure>BW|Latency))?"
	r"(?P<forwarding>[ _]forwarding)?(?P<multicast>[ _]Multicast)?[ _]Test")


class Test(NamedTuple):
	"""A test of perftest's."""

	title: str
	operation: Operation
	is_latency: bool
	# Whether its figures are of both directions together.
	both: bool
	multicast: bool

	@property
	def name(self) -> str:
		"""The name of the test here that measures the same."""
		return self.operation.latency if self.is_latency else self.operation.bandwidth

	@property
	def options(self) -> list[str]:
		"""The options here that ask for the same."""
		wanted = {"imm": self.operation.immediate, "duplex": self.both, "mcast": self.multicast}
		return [option for option, given in wanted.items() if given]

	@property
	def answered(self) -> bool:
		"""Whether a server has figures of its own."""
		return self.operation.seen or self.both or (self.is_latency and self.operation.ways == 2)


def named(title: str) -> Test | str | None:
	"""The test of TITLE; what it measures, where nothing here does that; None if it is no title."""
	match = TITLE.fullmatch(title)
	if match is None:
		return None
	if match["forwarding"]:
		return "packets that are forwarded"
	if match["measure"] is None:
		return "rates of flow steering, or latency under load"
	verb = match["verb"]
	if verb.startswith("Atomic"):
		verb = "Atomic " + verb[7:] if verb[7:] else "Atomic"
	return Test(title, OPERATIONS[verb], match["measure"] == "Latency", bool(match["both"]),
		    bool(match["multicast"]))
