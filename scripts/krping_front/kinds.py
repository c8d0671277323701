# SPDX-License-Identifier: GPL-2.0
"""The tests of krping, and what each measures."""

import typing

from .tables import TESTS

# What the table of a test has: latency, bandwidth or rate. Of no size, and with tables
# of their own: requests, of a disk; caps, of a device; cases, of conformance.
MEASURES = {
	"pingpong": "latency",
	"fastreg": "rate",
	"latency": "latency",
	"bandwidth": "bandwidth",
	"rw": "latency",
	"stream": "bandwidth",
	"messenger": "bandwidth",
	"disk": "requests",
	"tap": "requests",
	"caps": "caps",
	"conformance": "cases",
}


# What counts the operations of tests that are no microbenchmarks.
COUNTERS = {"pingpong": "write", "rw": "recv", "stream": "write"}


class Kind(typing.NamedTuple):
	"""One test."""

	# In results, and as --test names it.
	name: str
	# In commands; the ping/pong has none.
	option: str
	measure: str
	title: str
	# What counts its operations in /proc/krping; None where nothing does.
	counter: str | None
	# Whether both sides count them.
	mutual: bool
	# Bytes of an operation, if size= does not say it.
	size: int | None
	# Whether its server serves nothing else.
	apart: bool

	@classmethod
	def of(cls, row: dict[str, typing.Any]) -> typing.Self:
		"""The test of a row of the module's table."""
		counter = COUNTERS.get(row["family"], row.get("counter"))
		title = row["title"]
		if not title[1].isupper():
			title = title[0].lower() + title[1:]
		return cls(row["name"], row.get("option", ""), MEASURES[row["family"]],
			   title, counter and f"{counter}_msgs",
			   row["family"] in ("latency", "rw") and counter != "read",
			   row.get("size"), row["family"] in ("stream", "messenger"))


KINDS = {row["name"]: Kind.of(row) for row in TESTS}

# Tests that measure something by size. Some have one size only.
SIZED = {name: kind for name, kind in KINDS.items()
	 if kind.measure in ("latency", "bandwidth", "rate")}

# By the option that asks for it.
OPTIONS = {kind.option: kind for kind in KINDS.values() if kind.option}
