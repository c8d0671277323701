# SPDX-License-Identifier: GPL-2.0
"""A line of perftest's figures, of its text or its JSON, and the result that it is."""

import dataclasses
import math
import typing
from typing import Any

from krping_front.errors import Quit
from krping_front.result import SCHEMA, Result

from .columns import COLUMNS, GBIT, MIB, QUANTILES
from .facts import OPTIONS
from .tests import Test

# No message is larger.
MOST_BYTES = 1 << 31
# Nothing takes fewer cycles.
FEWEST_CYCLES = 100


@dataclasses.dataclass
class Figures:
	"""A line of figures."""

	# Where it is from, for messages.
	where: str
	test: Test
	# What the head of the output says, by the names of facts.
	facts: dict[str, str]
	is_server: bool
	# Numbers as they are written, by the names of columns.
	cells: dict[str, str]
	# Bytes per second of its bandwidths.
	unit: float
	# Of which direction, if not of all: "local" or "remote".
	side: str = ""

	def number(self, name: str) -> float:
		"""The number of the column NAME, 0 without one."""
		return float(self.cells.get(name, 0))

	@property
	def trouble(self) -> str:
		"""What keeps it from being a result; "" where nothing does."""
		for name, text in self.cells.items():
			if COLUMNS[name].counts and not _is_amount(text):
				return f"{COLUMNS[name].heading} is {text}"
		if not (self.number("iterations") and 0 < self.number("size") <= MOST_BYTES):
			return "it is of {iterations} iterations of {size} bytes".format(**self.cells)
		return ""

	def drop_deviation(self) -> str:
		"""Leave out a standard deviation that is no number: perftest takes squares in 32 bits.
		Returns what is to be said of that, "" where there is nothing."""
		text = self.cells.get("deviation", "0")
		if _is_amount(text):
			return ""
		del self.cells["deviation"]
		return f"t_stdev is {text}, and left out"

	def check_unit(self) -> None:
		"""Its times are in microseconds, as far as can be seen: with -C they are not, and its
		headings say so all the same."""
		times = [self.number(name) for name in QUANTILES if name in self.cells]
		if len(times) == len(QUANTILES) and min(times) >= FEWEST_CYCLES \
				and all((time * 2).is_integer() for time in times):
			raise Quit(f"{self.where}: latencies of whole and half numbers only are cycles of "
				   "the CPU's clock (-C), whatever the heading says; run it without -C")


def _is_amount(text: str) -> bool:
	"""Whether TEXT is a number that an amount can be."""
	return math.isfinite(float(text)) and float(text) >= 0


def result(figures: Figures, number: int) -> Result:
	"""The result of FIGURES, which have no trouble, with NUMBER."""
	figures.check_unit()
	test, facts = figures.test, figures.facts
	role = "server" if figures.is_server else "client"
	words = [role, "perftest"]
	words += [f"{option}={facts[name]}" for name, option in OPTIONS.items() if name in facts]
	service = facts.get("connection type", "RC").lower()
	words += [f"qp={service}"] if service != "rc" else []
	words += ["srq"] if facts.get("using srq") == "ON" else []
	words += ["events"] if "events" in facts else []
	words += [f"sl={figures.cells['sl']}"] if "sl" in figures.cells else []
	words += test.options + [figures.side] * bool(figures.side)
	size, iterations = int(figures.number("size")), int(figures.number("iterations"))
	found: dict[str, Any] = {
		"schema": SCHEMA, "id": number, "thread": number, "tag": "", "role": role,
		"test": test.name, "options": ",".join(words), "status": "ok", "size": size,
		"iterations": iterations}
	if "device" in facts:
		found |= {"device": facts["device"], "transport": _transport(facts)}
	path_mtu = facts.get("mtu", "").removesuffix("[B]")
	if path_mtu.isdigit():
		found["path_mtu_bytes"] = int(path_mtu)
	both = test.both and not figures.side
	if test.is_latency:
		for name, column in COLUMNS.items():
			if column.field and name in figures.cells:
				found[column.field] = round(figures.number(name) * 1000)
		each = figures.number("mean") * test.operation.ways / 1e6
		rate = figures.number("tps") or (1 / each if each else 0)
	else:
		bandwidth = figures.number("average") * figures.unit
		rate = _rate(figures, bandwidth / size)
		found["total_bytes_per_s" if both else "bytes_per_s"] = round(bandwidth)
		# In so short a time as elapsed_ns it loses digits.
		found["messages_per_s"] = rate
		rate /= 2 if both else 1
	found["elapsed_ns"] = round(iterations / rate * 1e9) if rate else 0
	if figures.is_server and not test.answered:
		told = ("iterations", "elapsed_ns", "bytes_per_s")
		found |= {f"peer_{name}": found[name] for name in told if name in found}
		found |= {"iterations": 0, "elapsed_ns": 0, "bytes_per_s": 0}
	return typing.cast(Result, found)


def _rate(figures: Figures, rate: float) -> float:
	"""Operations per second of FIGURES, as the message rate has them, and within its last digit as
	RATE, those of the bandwidth."""
	if "rate" not in figures.cells:
		return rate
	printed = figures.number("rate") * 1e6
	return min(max(rate, printed - 0.49), printed + 0.49) if abs(rate - printed) < 1 else printed


def bandwidth_unit(average: str, rate: str, size: float) -> float | None:
	"""The bytes per second of the unit of AVERAGE, which does not say it, for operations of SIZE
	bytes: with one of them, it goes with the message rate RATE. None where it goes with both or
	none."""
	value, digits = float(average), len(average.partition(".")[2])
	# Of MiB there are two digits behind the point, of Gb six where they are few.
	halves = {GBIT: 5e-7 if digits > 2 or value < 0.1 else 0.005}
	if digits <= 2:
		halves[MIB] = 0.005
	fits = [unit for unit, half in halves.items()
		if abs(value * unit - float(rate) * 1e6 * size) <= 1.01 * (half * unit + 0.5 * size)]
	if len(fits) == 2 and digits == 2 and value < 0.1:
		return MIB
	return fits[0] if len(fits) == 1 else None


def _transport(facts: dict[str, str]) -> str:
	if facts.get("transport type") == "IW":
		return "iWARP"
	return {"Ethernet": "RoCE", "IB": "InfiniBand"}.get(facts.get("link type", ""), "unknown")
