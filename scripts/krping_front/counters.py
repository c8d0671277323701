# SPDX-License-Identifier: GPL-2.0
"""Counters that moved during runs, and what the runs used of the CPUs."""

from collections.abc import Iterable

from .result import Result

# By their path in a result.
Counters = dict[str, int]

# Counters of a thread alone; the others are of a whole host, device or port.
OWN = ("usage.cpu_ns", "usage.voluntary_switches", "usage.involuntary_switches")
USAGE = (*OWN, "usage.softirq_ns")


def of(result: Result) -> Counters:
	"""Those of RESULT."""
	groups = {"usage": result.get("usage", {}), "hw_counters": result.get("hw_counters", {}),
		  "port_counters": result.get("port_counters", {})}
	found = {f"{group}.{name}": value for group, counters in groups.items()
		 for name, value in counters.items()}
	return {path: value for path, value in found.items()
		if path in USAGE or not path.startswith("usage.")}


def together(threads: Iterable[Counters]) -> Counters:
	"""Those of THREADS that ran at the same time: what each had alone is added up."""
	found: Counters = {}
	for counters in threads:
		for path, value in counters.items():
			before = found.get(path, 0)
			found[path] = before + value if path in OWN else max(before, value)
	return found


def total(runs: Iterable[Counters]) -> Counters:
	"""Those of RUNS, one after the other."""
	found: Counters = {}
	for counters in runs:
		for path, value in counters.items():
			found[path] = found.get(path, 0) + value
	return found
