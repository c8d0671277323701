# SPDX-License-Identifier: GPL-2.0
"""Results as the module would have them, made up: the same each time."""

import json
import random

from krping_front.kinds import KINDS
from krping_front.rows import PERCENTILES

PRECISION = 6


def bounds(ns):
	"""The histogram's bucket that takes NS."""
	shift = max(0, ns.bit_length() - PRECISION - 1)
	return (ns >> shift << shift), (ns >> shift << shift) | ((1 << shift) - 1)


def latency(values):
	"""The latency fields of VALUES, in ns."""
	counts = {}
	for ns in values:
		counts[bounds(ns)] = counts.get(bounds(ns), 0) + 1
	buckets = [[*ends, counts[ends]] for ends in sorted(counts)]
	mean = sum(values) / len(values)
	found = {"min_ns": min(values), "mean_ns": int(mean),
		 "stddev_ns": int((sum((ns - mean) ** 2 for ns in values) / len(values)) ** .5)}
	for name, share in PERCENTILES.items():
		rank = max(1, -(-len(values) * share // 100_000))
		below = 0
		for _, high, count in buckets:
			below += count
			if below >= rank:
				found[name] = min(high, max(values))
				break
	return found | {"max_ns": max(values), "histogram_ns": buckets}


def result(test="wlat", role="client", number=7, **changes):
	"""A successful result, with CHANGES of its fields; None takes one away."""
	option = KINDS[test].option
	size = changes.get("size", 64)
	count = changes.get("iterations", 1000)
	tag = changes.get("tag", "t")
	words = ["client,addr=192.0.2.1", f"count={count}", f"size={size}"]
	words += [option] if option else []
	words += [f"tag={tag}"] if tag else []
	elapsed = changes.get("elapsed_ns", 1_000_000_000)
	found = {
		"schema": 1, "version": "0.1.0", "id": number, "thread": number + 1, "tag": tag,
		"role": role,
		"test": test, "device": "mlx5_0", "transport": "RoCE", "peer": "192.0.2.1",
		"peer_port": 9999, "peer_kind": "krping", "options": ",".join(words),
		"status": "ok", "size": size, "iterations": count, "elapsed_ns": elapsed,
		"iterations_per_s": count * 10**9 // elapsed if elapsed else 0,
		"send_bytes": 0, "send_msgs": 0, "recv_bytes": 0, "recv_msgs": 0,
		"write_bytes": 0, "write_msgs": 0, "read_bytes": 0, "read_msgs": 0,
	}
	if KINDS[test].measure == "bandwidth":
		found["bytes"] = count * size
		found["bytes_per_s"] = count * size * 10**9 // elapsed if elapsed else 0
	return {name: value for name, value in (found | changes).items() if value is not None}


def series(operations, interval_ns=100_000_000):
	"""The series of OPERATIONS, each a moment and a latency in ns, or None for the latency."""
	timed = operations[0][1] is not None
	ended = operations[-1][0]
	rows = []
	for number in range(ended // interval_ns + 1):
		inside = [ns for at, ns in operations if at // interval_ns == number]
		row = [number * interval_ns, len(inside), 64 * len(inside)]
		if timed:
			inside.sort()
			row += [inside[len(inside) // 2], inside[-1], inside[-1]] if inside else [0] * 3
		rows.append(row)
	columns = ["start_ns", "operations", "bytes", "p50_ns", "p99_ns", "max_ns"]
	found = {"interval_ns": interval_ns, "began_unix_ns": 1_800_000_000 * 10**9,
		 "ended_ns": ended, "dropped": 0, "columns": columns[:6 if timed else 3],
		 "intervals": rows}
	if timed:
		found["worst"] = sorted(operations, key=lambda pair: -pair[1])[:10]
	return found


def failed(name="ECONNREFUSED", errno=111, reason="the connection was rejected", **changes):
	"""A result that failed before anything was done."""
	return result(status="failed", errno=name, errno_number=errno, reason=reason,
		      **{"iterations": 0, "elapsed_ns": 0} | changes)


def stage(typical):
	"""The latencies of one stage of a disk's requests, around TYPICAL ns."""
	return {"count": 1000, "min": typical // 2, "mean": typical, "p50": typical,
		"p90": 2 * typical, "p99": 3 * typical, "p99_9": 4 * typical, "max": 5 * typical}


def disk(number=7, test="blk", **changes):
	"""The result of a disk or, as TEST says, a tap, with CHANGES of its fields; None
	takes one away."""
	option = "tap=sda" if test == "tap" else "blk"
	found = {
		"options": f"client,addr=192.0.2.1,{option},tag=t", "size": 64, "iterations": 0,
		"elapsed_ns": 0, "size_bytes": 64 << 20, "requests": 1000, "read_requests": 600,
		"write_requests": 390, "other_requests": 10, "disk_read_bytes": 600 << 12,
		"disk_write_bytes": 390 << 12, "errors": 0, "reconnects": 2, "dropped": 5,
		"total_ns": stage(150_000),
	}
	if test == "blk":
		found |= {"disk": "krping0", "disk_id": 0, "state": "closed",
			  "queued_ns": stage(2000), "wire_ns": stage(148_000)}
	return result(test, number=number, **found | changes)


def caps(number=7, **changes):
	"""The result of caps on a device that makes less than it says, with CHANGES of its
	fields; None takes one away."""
	def item(name, asked, made, **more):
		return {"item": name, "status": "ok", "asked": asked, "made": made} | more

	none = {"supported": False, "reason": "read_inv: only iWARP devices have it"}
	found = {
		"device": {"firmware": "20.1.2", "node_guid": "0123:4567:89ab:cdef",
			   "vendor_id": 0x2c9, "vendor_part_id": 4121, "hw_ver": 0, "ports": 1},
		"port": {"number": 1, "state": "ACTIVE", "link_layer": "Ethernet",
			 "max_mtu_bytes": 4096, "active_mtu_bytes": 1024,
			 "max_message_bytes": 1 << 30, "rate_mbit_per_s": 100_000},
		"connection_management": "answers",
		"claims": {"max_qp": 131072, "max_qp_wr": 32768,
			   "max_mr_size_bytes": (1 << 64) - 1, "device_cap_flags": "0x21361c36",
			   "atomics": "hca", "features": ["mem_mgt_extensions", "send_with_inv"]},
		"preflight": [item("pd", 1, 1),
			      item("most_send_requests", 32770, 16384, status="less",
				   errno="ENOMEM", errno_number=12)],
		"limits": {"size_dma_bytes": 4 << 20, "size_reg_bytes": 4 << 20, "txdepth": 16382,
			   "qps": 256, "sge": 16, "sge_read": 16, "inline_bytes": 828,
			   "depth": 1024, "server_inv": {"supported": True}, "read_inv": none,
			   "imm": {"supported": True}, "fetch_add": {"supported": True},
			   "compare_swap": {"supported": True}, "mtu": {"supported": True},
			   "blk": {"supported": True}},
	}
	values = {"size": 0, "iterations": 0, "elapsed_ns": 0, "peer": None, "peer_port": None,
		  "peer_kind": None, "options": "caps,addr=192.0.2.1,tag=t", "caps": found}
	return result("caps", number=number, **values | changes)


# One of each outcome.
CASES = (
	{"name": "stale_rkey", "outcome": "pass", "expected": "remote access error",
	 "seen": "remote access error (10)"},
	{"name": "rnr", "outcome": "fail", "expected": "RNR # retries", "seen": "nothing\nat all",
	 "reason": "how the request ended"},
	{"name": "read_inv", "outcome": "skip", "reason": "the device has none"},
)


def conformance(found=CASES, number=7, **changes):
	"""The result of neg with the cases FOUND, with CHANGES of its fields."""
	failed = sum(case["outcome"] == "fail" for case in found)
	values = {"size": 0, "iterations": 0, "elapsed_ns": 0, "peer": None, "peer_port": None,
		  "peer_kind": None, "options": "neg=all,addr=192.0.2.1,tag=t",
		  "role": "loopback", "cases": [dict(case) for case in found]}
	if failed:
		values |= {"status": "failed", "errno": "EBADE", "errno_number": 52,
			   "reason": f"{failed} of {len(found)} cases failed"}
	return result("neg", number=number, **values | changes)


def times(count, typical, seed=1):
	"""COUNT latencies around TYPICAL ns, with a tail."""
	rng = random.Random(seed)
	return [int(typical * (1 + rng.expovariate(8))
		    * (rng.uniform(3, 9) if rng.random() < .002 else 1)) for _ in range(count)]


def sizes(last=1 << 22):
	"""2, 4, ... LAST."""
	return [1 << shift for shift in range(1, last.bit_length())]


def by_size(test, first=1, speed=10.0, options="", **changes):
	"""The results of a sweep of TEST, at SPEED bytes per ns at most."""
	found = []
	for place, size in enumerate(sizes()):
		each = {"number": first + 10 * place, "size": size} | changes
		base = 900 + size / speed
		if KINDS[test].measure == "bandwidth":
			each |= {"iterations": 5000,
				 "elapsed_ns": int(5000 * max(150, size / speed))}
		else:
			values = times(2000, base, seed=size)
			each |= {"iterations": len(values), "elapsed_ns": sum(values),
				 **latency(values)}
		made = result(test, **each)
		if options:
			made["options"] = made["options"].replace(",tag=", f",{options},tag=")
		found.append(made)
	return found


def json_lines(found):
	"""FOUND as debugfs has it."""
	return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in found)
