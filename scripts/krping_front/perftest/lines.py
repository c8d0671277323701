# SPDX-License-Identifier: GPL-2.0
"""What a line of perftest's text is."""

import enum
import re
from typing import Any, NamedTuple

from . import facts, messages, tests
from .columns import HEADING, heading


class Kind(enum.Enum):
	"""What a line is."""

	BLANK = enum.auto()
	RULE = enum.auto()
	# Value: tests.Test, or what it measures that nothing here does.
	TITLE = enum.auto()
	# A server waits, whose output is to come, or has begun.
	WAITING = enum.auto()
	LISTENING = enum.auto()
	# Value: a dict.
	FACTS = enum.auto()
	REMARK = enum.auto()
	ADDRESS = enum.auto()
	# Value: columns.Heading, or what of it is not known.
	HEADING = enum.auto()
	# Value: words.
	ROW = enum.auto()
	# Value: "local" or "remote".
	SIDE = enum.auto()
	# Value: the unit of a list of all latencies.
	LIST = enum.auto()
	SAMPLE = enum.auto()
	FAILURE = enum.auto()
	UNKNOWN = enum.auto()


class Line(NamedTuple):
	"""A line."""

	number: int
	text: str
	kind: Kind
	value: Any = None


RULE = re.compile(r"-{60,}")
WAITING = re.compile(r"\* Waiting for client to connect\.\.\. \*|\*{20,}")
# The same with -R, below the head.
LISTENING = re.compile(r"Waiting for client rdma_cm QP to connect")
SIDE = re.compile(r"(Local|Remote) results:")
LIST = re.compile(r"#, (usec|cycles)")
SAMPLE = re.compile(r"\d+, [\d.]+(?:e[+-]\d+)?")
ADDRESS = re.compile(
	r"(?:local|remote) address: LID \S+ QPN \S+ PSN \S+(?: OUT \S+)?(?: RKey \S+ VAddr \S+)?"
	r"(?: SRQn \S+)?"
	r"|M?GID: [0-9a-f]{2,3}(?::[0-9a-f]{2,3}){15}")
EVENTS = re.compile(r"Test with events\. Using \S+_comp\d+")
# The program's stdout and stderr in one file meet behind a number that is whole.
JOINT = re.compile(r"([ \t\d.]+\.\d\d(?:\d{4})?)([A-Za-z ].*)")


def of(number: int, text: str) -> list[Line]:
	"""What the line TEXT is, which is that of NUMBER, or what the two are that meet in it."""
	if match := JOINT.fullmatch(text):
		behind = Line(number, match[2], *_kind(match[2].strip(), match[2]))
		if behind.kind in (Kind.FAILURE, Kind.REMARK):
			return [*of(number, match[1]), behind]
	return [Line(number, text, *_kind(text.strip(), text))]


def _kind(text: str, line: str) -> tuple[Kind, Any]:
	"""The kind of LINE, which without spaces around it is TEXT, and the value that goes with it."""
	if not text:
		return Kind.BLANK, None
	if RULE.fullmatch(text):
		return Kind.RULE, None
	test = tests.named(text)
	if test is not None:
		return Kind.TITLE, test
	if WAITING.fullmatch(text):
		return Kind.WAITING, None
	if LISTENING.fullmatch(text):
		return Kind.LISTENING, None
	if EVENTS.fullmatch(text):
		return Kind.FACTS, {"events": "ON"}
	if match := SIDE.fullmatch(text):
		return Kind.SIDE, match[1].lower()
	if match := LIST.fullmatch(text):
		return Kind.LIST, match[1]
	if SAMPLE.fullmatch(text):
		return Kind.SAMPLE, None
	if ADDRESS.fullmatch(text):
		return Kind.ADDRESS, None
	if messages.is_remark(text):
		return Kind.REMARK, None
	if messages.is_failure(text):
		return Kind.FAILURE, None
	if text.startswith(("#bytes", "#flows")) or (HEADING.match(text) and "[" in text):
		return Kind.HEADING, heading(line)
	if text[0].isdigit():
		return Kind.ROW, text.split()
	found = facts.of_line(line)
	if found and facts.NAMES.issuperset(found):
		return Kind.FACTS, found
	return Kind.UNKNOWN, None
