# SPDX-License-Identifier: GPL-2.0
"""Which options of commands may stand beside each other, for completion."""

from typing import NamedTuple

from krping_front.option_help import Option

from .facts import Facts


class Beside(NamedTuple):
	"""What shells go by, each by the names of options."""

	# Sets of " ROLE:TEST ", and the place of the set of roles and tests that each option goes with.
	sets: list[str]
	places: dict[str, int]
	# The test that an option asks for.
	tests: dict[str, str]
	# What an option takes for itself, with spaces between: its group, and those that it excludes.
	taken: dict[str, str]

	@classmethod
	def of(cls, facts: Facts) -> "Beside":
		"""That of the options of FACTS."""
		sets: list[str] = []
		places = {}
		for option in facts.options:
			text = "".join(f" {role}:{test} " for role, tests in option["goes"].items()
				       for test in tests)
			if text not in sets:
				sets.append(text)
			places[option["name"]] = sets.index(text)
		tests = {option["name"]: option["test"] for option in facts.options if "test" in option}
		excludes = {option["name"]: option.get("excludes", "") for option in facts.options}
		taken = {}
		for name, option in zip(excludes, facts.options, strict=True):
			others = [each for each, other in excludes.items() if other == name]
			taken[name] = " ".join(filter(None, [_group(option), excludes[name], *others]))
		return cls(sets, places, tests, {name: text for name, text in taken.items() if text})


def _group(option: Option) -> str:
	"""The group of OPTION, of which a command has one; with a sign that no option has."""
	group = "role" if "role" in option else option.get("group", "")
	return f"@{group}" if group else ""
