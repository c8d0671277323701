# SPDX-License-Identifier: GPL-2.0
"""What perftest's programs print and write, as results: ib_write_lat, ib_read_bw and the like, of
4.x (2021) to 26.x, in all modes. What is not understood is refused.

	tests		their names
	columns		those of their tables
	facts		what their output says of a run
	messages	sentences among it
	lines		what a line of their text is
	text		outputs, as text
	documents	their JSON, of --out_json
	figures		a line of figures, and the result that it is
"""

import re
from typing import NamedTuple

from krping_front.errors import Quit
from krping_front.result import Result

from . import documents, figures, lines, messages
from .figures import Figures
from .lines import Kind
from .text import Reader

# Lines of perftest's text that nothing else has.
OWN = {Kind.TITLE, Kind.HEADING, Kind.ADDRESS, Kind.WAITING}
# Lines that say nothing of a run.
ASIDE = {Kind.BLANK, Kind.RULE, Kind.REMARK}
# Control characters, which a terminal shows and no program prints to a file.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# All that --output prints.
ALONE = re.compile(r"\s*\d+\.\d{6}\s*")


class Outputs(NamedTuple):
	"""What is in text of perftest's."""

	results: list[Result]
	# What of it is no result.
	complaints: list[str]
	# What the results lack.
	remarks: list[str]


def read(text: str, name: str) -> Outputs | None:
	"""The Outputs of TEXT, which messages call NAME; None where it is not perftest's."""
	if text.lstrip().startswith(("{", "[")):
		if not documents.BEGIN.match(text):
			return None
		return _results(documents.read(text, name), [], name)
	text = text.replace("\r\n", "\n")
	if not _is_own(text, name):
		return None
	if control := CONTROL.search(text):
		line = text.count("\n", 0, control.start()) + 1
		raise Quit(f"{name}:{line}: {control[0]!r} is of a terminal's record, which has perftest's "
			   "output as a screen shows it: redirect the output to FILE")
	reader = Reader(name)
	reader.read(text)
	return _results(reader.found, reader.complaints, name)


def _is_own(text: str, name: str) -> bool:
	"""Whether TEXT is perftest's output; raises Quit where it is, and has nothing to be read."""
	whose = {line: {each.kind for each in lines.of(0, line)} for line in text.split("\n")}
	said = [line for line, kinds in whose.items() if kinds - ASIDE]
	if said and all(map(ALONE.fullmatch, said)):
		raise Quit(f"{name}: numbers alone, as perftest prints with --output; without that there "
			   "are sizes and units")
	if messages.USAGE.search(text):
		raise Quit(f"{name}: perftest's usage, which it prints for options that it refuses")
	kinds = {kind for each in whose.values() for kind in each}
	return bool(kinds & OWN) or (kinds <= ASIDE | {Kind.FAILURE}
				     and any(messages.is_own(line.strip()) for line in whose))


def _results(found: list[Figures], complaints: list[str], name: str) -> Outputs:
	"""The Outputs of FOUND, with COMPLAINTS."""
	whole, said, remarks = [], list(complaints), []
	for each in found:
		trouble = each.trouble
		if trouble:
			said.append(f"{each.where}: {each.test.title}: {trouble}, which is no figure")
			continue
		whole.append(each)
		if left_out := each.drop_deviation():
			remarks.append(f"{each.where}: {each.test.title}: {left_out}")
	if not whole:
		raise Quit(f"{name}: perftest's output has no line of figures: " + "; ".join(said))
	results = [figures.result(each, number) for number, each in enumerate(whole, 1)]
	return Outputs(results, said, remarks)
