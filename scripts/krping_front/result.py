# SPDX-License-Identifier: GPL-2.0
"""What a result and a sweep are: those of their fields that this program goes by."""

import typing
from typing import Any, Literal

# The version of a result that is understood, and that of a sweep's file.
SCHEMA = 1
SWEEP = 1

# Ascending low, high and count, in ns.
Histogram = list[tuple[int, int, int]]


class Stage(typing.TypedDict):
	"""The latencies of a disk's requests, of all or of a part of their way."""

	count: int
	min: int
	mean: int
	p50: int
	p99: int
	p99_9: int
	max: int


class Series(typing.TypedDict):
	"""A run over time."""

	interval_ns: int
	began_unix_ns: int
	# When the last operation ended, since the beginning.
	ended_ns: int
	# Intervals before the first one that is there.
	dropped: int
	columns: list[str]
	intervals: list[list[int]]
	# The moment and the latency of the longest operations.
	worst: typing.NotRequired[list[tuple[int, int]]]


class OpenLoop(typing.TypedDict):
	"""A run whose operations were due at moments of the clock."""

	rate: int
	# Operations for which there was no room when they were due, and those that never had any.
	late: int
	unposted: int


class Validated(typing.TypedDict):
	"""What was compared of the data that came."""

	# Messages and bytes that were right.
	msgs: int
	bytes: int
	wrong: int
	# What the peer says of what arrived there.
	peer: typing.NotRequired[Literal["right", "wrong"]]


class Trial(typing.TypedDict):
	"""A case of conformance."""

	name: str
	outcome: Literal["pass", "fail", "skip"]
	expected: typing.NotRequired[str]
	seen: typing.NotRequired[str]
	reason: typing.NotRequired[str]


class Device(typing.TypedDict, total=False):
	"""What a device says of itself."""

	vendor_id: int


class Port(typing.TypedDict, total=False):
	"""A device's port."""

	active_mtu_bytes: int
	max_mtu_bytes: int
	max_message_bytes: int
	rate_mbit_per_s: int


class Claims(typing.TypedDict, total=False):
	"""What a device says that it can do."""

	features: list[str]


class Answer(typing.TypedDict, total=False):
	"""Whether commands can ask for something."""

	supported: bool
	reason: str


class Limits(typing.TypedDict, total=False):
	"""What commands can ask for."""

	size_dma_bytes: int
	size_reg_bytes: int
	inline_bytes: int
	server_inv: Answer
	read_inv: Answer
	imm: Answer
	fetch_add: Answer
	compare_swap: Answer
	qp_uc: Answer
	qp_ud: Answer
	mcast: Answer
	mtu: Answer
	blk: Answer
	biovec: Answer
	comm: Answer


class Caps(typing.TypedDict):
	"""What a device can do; limits only where all works that must."""

	device: Device
	port: Port
	claims: Claims
	preflight: list[dict[str, Any]]
	limits: typing.NotRequired[Limits]


class Pair(typing.TypedDict):
	"""The ends of a path to a server, as this program adds it."""

	own_port: Port
	# What the server tells of it.
	server_port: typing.NotRequired[Port]
	gid: typing.NotRequired[str]
	peer_gid: typing.NotRequired[str]
	path_mtu_bytes: typing.NotRequired[int]
	# The longest messages of one packet that come back.
	gets_through_bytes: int
	# Why longer ones do not.
	reason: typing.NotRequired[str]


class Provenance(typing.TypedDict, total=False):
	"""Where a result comes from, as this program adds it: the host, and the device as sysfs has it."""

	host: str
	kernel: str
	machine: str
	cpu_model: str
	cpus: int
	front: str
	firmware: str
	rate_mbit_per_s: int
	link_layer: str
	interface: str
	interface_mtu_bytes: int
	numa_node: int


class _Always(typing.TypedDict):
	schema: int
	id: int
	thread: int
	tag: str
	role: Literal["client", "server", "loopback"]
	test: str
	options: str
	status: Literal["ok", "failed"]
	size: int
	iterations: int
	elapsed_ns: int


class Result(_Always, total=False):
	"""A result. The module may have new fields."""

	version: str
	ended_unix_ns: int
	device: str
	transport: str
	driver: str
	port: int
	gid: str
	peer_gid: str
	path_mtu_bytes: int
	server_port: Port
	errno: str
	errno_number: int
	reason: str
	partial: bool
	start_late_ns: int
	min_ns: int
	max_ns: int
	mean_ns: int
	stddev_ns: int
	p50_ns: int
	p90_ns: int
	p99_ns: int
	p99_9_ns: int
	p99_99_ns: int
	histogram_ns: Histogram
	series: Series
	open_loop: OpenLoop
	bytes_per_s: int
	total_bytes_per_s: int
	usage: dict[str, int]
	hw_counters: dict[str, int]
	port_counters: dict[str, int]
	peer_iterations: int
	peer_elapsed_ns: int
	peer_bytes_per_s: int
	validated: Validated
	disk: str
	state: str
	size_bytes: int
	requests: int
	read_requests: int
	write_requests: int
	other_requests: int
	disk_read_bytes: int
	disk_write_bytes: int
	errors: int
	reconnects: int
	dropped: int
	queued_ns: Stage
	wire_ns: Stage
	total_ns: Stage
	caps: Caps
	pair: Pair
	cases: list[Trial]
	provenance: Provenance


class Stopped(typing.TypedDict):
	"""Where a sweep ended early."""

	test: str
	size: int
	reason: str
	settings: typing.NotRequired[dict[str, str]]


class Run(typing.TypedDict):
	"""A run of a sweep that came to its end."""

	# Without its tag.
	command: str
	repetition: int
	tag: str
	# Whether it missed a limit.
	missed: bool


class Summary(typing.TypedDict):
	"""The repetitions of one place of a sweep."""

	test: str
	size: int
	settings: dict[str, str]
	runs: int
	# The median, the least and the most of each.
	figures: dict[str, dict[str, Any]]


class Sweep(typing.TypedDict):
	"""A sweep's file."""

	krping_sweep: int
	started: str
	host: str
	kernel: str
	role: str
	addr: str
	options: str
	# Each is looked at by itself.
	results: list[Any]
	stopped: list[Stopped]
	# The values of each axis.
	axes: typing.NotRequired[dict[str, list[str]]]
	repeat: typing.NotRequired[int]
	runs: typing.NotRequired[list[Run]]
	summary: typing.NotRequired[list[Summary]]
