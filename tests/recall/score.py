# SPDX-License-Identifier: GPL-2.0
"""Usage: score.py LIST OUTCOMES

Print what came of each defect, from what make.py and inside.py have said, and the score."""

import collections
import json
import re
import sys

from defect import KINDS
from table import TABLE


def main() -> None:
	"""Do what the usage says."""
	with open(sys.argv[1], encoding="utf-8") as file:
		listed = [line.split(None, 2) for line in file]
	with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
		outcomes = [line.rstrip("\n").split(" ", 2) for line in file]
	with open("scripts/krping_front/options.json", encoding="ascii") as file:
		families = {case["name"]: case["family"] for case in json.load(file)["cases"]}
	known = {defect.name: defect for defect in TABLE}
	score: collections.Counter[tuple[tuple[str, bool], str]] = collections.Counter()
	alarms = plain = untried = 0
	for module, verdict, *rest in outcomes:
		text = rest[0] if rest else ""
		defect = known.get(module.rpartition("-")[0])
		if not defect:
			plain += 1
			alarms += verdict not in ("silent", "unfinished")
			untried += verdict == "unfinished"
			print(f"{module} as it is: {verdict} {text}".rstrip())
			continue
		cases = text.partition(" ")[0] if verdict in ("noticed", "hung", "crashed") else ""
		noticed = bool(cases)
		names = [f"{name} {families.get(name, '')}" for name in cases.split(",") if name]
		if cases == "run":
			names = [text]
		named = any(re.search(defect.says, name) for name in names)
		untried += verdict == "broken"
		group = defect.kind, bool(defect.mended)
		score[group, "all"] += 1
		score[group, "noticed"] += noticed
		score[group, "named"] += named
		family = "" if named or not noticed else f" (not its family, {defect.says})"
		print(f"{defect.name}: {verdict} {text}{family}".rstrip())
	for _, name, why in (words for words in listed if words[0] == "-"):
		print(f"{name}: not here: {why.strip()}")
	print()
	for kind, mended in sorted({group for group, _ in score}):
		group = kind, mended
		print(f"{'those of Linux' if mended else 'made up':14} {kind} ({KINDS[kind]}): "
		      f"{score[group, 'noticed']} of {score[group, 'all']} noticed, "
		      f"{score[group, 'named']} by their family")
	print(f"{alarms} false alarms in {plain} runs of drivers as they are")
	found = sum(count for (_, what), count in score.items() if what == "noticed")
	print(f"# seed=1 noticed={found} tried={len(outcomes) - plain} failures={alarms + untried}")
	sys.exit(bool(alarms or untried))


main()
