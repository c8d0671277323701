# SPDX-License-Identifier: GPL-2.0
"""A row of figures: of one result, or of all results of one command together."""

import dataclasses

from . import stats
from .command import variant
from .kinds import SIZED, Kind

# The percentiles of a result, and how many of 100,000 each is of.
PERCENTILES = {"p50_ns": 50_000, "p90_ns": 90_000, "p99_ns": 99_000, "p99_9_ns": 99_900,
	       "p99_99_ns": 99_990}
LATENCIES = ("min_ns", "max_ns", "mean_ns", "stddev_ns", *PERCENTILES)
MIB = 1 << 20


@dataclasses.dataclass
class Row:
	"""Figures of one test with one size. What is None is not known."""

	kind: Kind
	role: str
	size: int
	# What tells this row from others of its table.
	name: str
	note: str
	# The device and the options that the figures depend on.
	device: str
	variant: str
	duplex: bool
	tag: str
	iterations: int
	elapsed_ns: int
	# Bytes and operations per second, of both directions where both count.
	bytes_per_s: float | None
	rate: float | None
	# The names of LATENCIES and their ns, as far as known.
	latency: dict
	histogram: list | None

	@property
	def has_figures(self):
		"""Whether anything was measured."""
		return self.iterations > 0

	@property
	def mib_per_s(self):
		"""The bandwidth as perftest prints it, in MiB/s."""
		return None if self.bytes_per_s is None else self.bytes_per_s / MIB

	@property
	def mpps(self):
		"""The message rate as perftest prints it, in millions per second."""
		return None if self.rate is None else self.rate / 1e6

	def microseconds(self, name):
		"""The latency NAME in usec."""
		return self.latency[name] / 1000 if name in self.latency else None


def _per_second(amount, ns):
	return amount * 1e9 / ns if ns else None


def of(result):
	"""The Row of a result."""
	kind = SIZED[result["test"]]
	iterations, elapsed = result["iterations"], result["elapsed_ns"]
	notes = []
	if result["status"] == "failed":
		notes.append(result.get("errno", "failed"))
	if result.get("partial"):
		notes.append("partial")
	latency = {name: result[name] for name in LATENCIES if name in result}
	prefix = ""
	if iterations == 0 and result.get("peer_iterations", 0) > 0:
		# This side only served.
		prefix = "peer_"
		iterations, elapsed = result["peer_iterations"], result.get("peer_elapsed_ns", 0)
		notes.append("as the peer says")
	rate = _per_second(iterations, elapsed)
	bandwidth = result.get(f"{prefix}bytes_per_s", rate and rate * result["size"])
	# Both sides', if both moved data.
	total = result.get("total_bytes_per_s")
	if total is not None:
		rate = total / result["size"] if result["size"] else rate
		bandwidth = total
	if kind.measure != "bandwidth":
		bandwidth = None
	if kind.measure == "latency" and not latency and prefix:
		latency = {"mean_ns": elapsed // iterations}
	return Row(kind=kind, role=result["role"], size=result["size"],
		   name=f"{result['role']} {result['thread']}", note=", ".join(notes),
		   device=device(result), variant=variant(result["options"]),
		   duplex=total is not None, tag=result["tag"],
		   iterations=iterations, elapsed_ns=elapsed, bytes_per_s=bandwidth, rate=rate,
		   latency=latency, histogram=result.get("histogram_ns"))


def device(result):
	"""The device of RESULT with its transport, "" where there is none."""
	if "device" not in result:
		return ""
	transport = result.get("transport")
	return result["device"] + (f" ({transport})" if transport else "")


def together(rows):
	"""One Row of all ROWS, which ran at the same time: rates are added up, and latencies
	are those of all operations."""
	if len(rows) == 1:
		return rows[0]
	first = rows[0]
	measured = [row for row in rows if row.has_figures]
	notes = list(dict.fromkeys(row.note for row in rows if row.note))
	return dataclasses.replace(
		first, name=f"all {len(rows)}", note="; ".join(notes), histogram=_merged(measured),
		duplex=any(row.duplex for row in rows),
		iterations=sum(row.iterations for row in rows),
		elapsed_ns=max(row.elapsed_ns for row in rows),
		bytes_per_s=_sum(row.bytes_per_s for row in measured),
		rate=_sum(row.rate for row in measured), latency=_latency(measured))


def _sum(values):
	known = [value for value in values if value is not None]
	return sum(known) if known else None


def _merged(rows):
	if not rows or any(row.histogram is None for row in rows):
		return None
	return stats.merge(row.histogram for row in rows)


def _latency(rows):
	"""The latencies of all ROWS, as far as all of them have them."""
	def have(*names):
		return rows and all(name in row.latency for row in rows for name in names)

	found = {}
	for name, choose in (("min_ns", min), ("max_ns", max)):
		if have(name):
			found[name] = choose(row.latency[name] for row in rows)
	if have("mean_ns"):
		parts = [(row.iterations, row.latency["mean_ns"], row.latency.get("stddev_ns", 0))
			 for row in rows]
		mean, deviation = stats.mean_and_deviation(parts)
		found["mean_ns"] = mean
		if have("stddev_ns"):
			found["stddev_ns"] = deviation
	histogram = _merged(rows)
	if histogram and "max_ns" in found:
		found |= {name: stats.percentile(histogram, share, found["max_ns"])
			  for name, share in PERCENTILES.items()}
	return found


def by_command(results):
	"""A Row for each command of RESULTS, in their order, but for disks and taps, which
	have none. A server's results are not put together: its clients may have come one
	after the other."""
	groups = {}
	for number, result in enumerate(results):
		if result["test"] not in SIZED:
			continue
		key = (result["id"], result["test"], result["size"], result["options"])
		if result["role"] == "server":
			key = number
		groups.setdefault(key, []).append(of(result))
	return [together(rows) for rows in groups.values()]
