# SPDX-License-Identifier: GPL-2.0
"""Usage: beside.py LIST OUTCOMES

Print a table of which testers notice which defects, from what make.py and inside.py have said, how many
each notices, and how they do on drivers as they are.

krping notices what it says it does. Another tester notices a defect where a test fails, or is late, that
passes each time on the driver as it is. A guest that hangs or crashes before that is no notice, unless
krping's log names the case."""

import collections
import sys

from defect import KINDS
from table import TABLE

TESTERS = ("krping", "pyverbs", "rping", "pingpong", "perftest")


class Runs:
	"""What testers have said of modules, each by the pair of them."""
	def __init__(self, lines: list[str]) -> None:
		# Tests that have passed in some run, and those that have failed in some.
		self.passed = collections.defaultdict(set)
		self.failed = collections.defaultdict(dict)
		# How the last run ended.
		self.ends = {}
		for line in lines:
			label, word, text = (*line.rstrip("\n").split(" ", 2), "")[:3]
			module, _, tester = label.partition("/")
			run = module, tester or "krping"
			names = text.partition(" ")[0]
			if word == "pass":
				self.passed[run].add(names)
			elif word in ("fail", "late"):
				self.failed[run][names] = text
			else:
				self.ends[run] = word
				if not tester and word in ("noticed", "hung", "crashed"):
					cases = filter(None, names.split(","))
					self.failed[run].update(dict.fromkeys(cases))

	def noticed(self, module: str, driver: str, tester: str) -> list[str]:
		"""The tests by which TESTER notices that MODULE is not DRIVER as it is."""
		if tester == "krping":
			return list(self.failed[module, tester])
		sound = self.passed[driver, tester] - self.failed[driver, tester].keys()
		return [name for name in self.failed[module, tester] if name in sound]

	def cell(self, module: str, driver: str, tester: str) -> str:
		"""What the table has of that."""
		names = self.noticed(module, driver, tester)
		if names:
			return names[0] + (f" +{len(names) - 1}" if names[1:] else "")
		end = self.ends.get((module, tester), "not run")
		return "" if end in ("told", "silent") else end

	def plain(self, driver: str, tester: str) -> str:
		"""How TESTER does on DRIVER as it is."""
		run = driver, tester
		both = sorted(self.passed[run] & self.failed[run].keys())
		text = f"{len(self.passed[run]) - len(both)} tests pass each time"
		if tester == "krping":
			text = f"{self.ends.get(run, 'not run')} the last time"
			both = list(self.failed[run])
		return text + (f", false alarms: {', '.join(both)}" if both else "")


def row(*cells: object) -> None:
	"""Print a line of a table."""
	print("|", " | ".join(map(str, cells)), "|")


def main() -> None:
	"""Do what the usage says."""
	with open(sys.argv[1], encoding="utf-8") as file:
		drivers = dict(line.split()[:2] for line in file if not line.startswith("-"))
	with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
		runs = Runs(file.readlines())
	known = {defect.name: defect for defect in TABLE}
	counts = collections.Counter()
	row("defect", "kind", *TESTERS)
	row(*["---"] * (len(TESTERS) + 2))
	for module, driver in drivers.items():
		defect = known.get(module.rpartition("-")[0])
		if not defect:
			continue
		group = "Linux had" if defect.mended else "made up", defect.kind
		counts[group, "all"] += 1
		for tester in TESTERS:
			counts[group, tester] += bool(runs.noticed(module, driver, tester))
		row(defect.name, defect.kind, *(runs.cell(module, driver, tester) for tester in TESTERS))
	print()
	row("class", "of", *TESTERS)
	row(*["---"] * (len(TESTERS) + 2))
	for group in sorted({group for group, _ in counts}):
		origin, kind = group
		row(f"{origin}, {kind} ({KINDS[kind]})",
		    *(counts[group, what] for what in ("all", *TESTERS)))
	print()
	for driver in dict.fromkeys(drivers.values()):
		for tester in TESTERS:
			print(f"{driver} as it is, {tester}: {runs.plain(driver, tester)}")


main()
