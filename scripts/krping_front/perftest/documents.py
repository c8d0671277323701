# SPDX-License-Identifier: GPL-2.0
"""perftest's JSON, of --out_json: one object or several. Before 2024 it was none in truth: names and
words had no quotes, and a comma was behind the last."""

import re
from collections.abc import Iterator
from typing import NoReturn

from krping_front.errors import Quit

from . import facts, tests
from .columns import KEYS, NONE, TABLES
from .figures import Figures, bandwidth_unit

# The beginning of such an object.
BEGIN = re.compile(r'[\s\[,]*\{\s*"?(?:test_info"?\s*:|results"?\s*:\s*\{)')
TOKEN = re.compile(r'\s*(?:([{}\[\]:,])|"((?:[^"\\\n]|\\.)*)"|([^\s{}\[\]:,"][^{}\[\]:,"\n]*))')
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
# Results of --output, which say neither size nor iterations.
ALONE = ("bw_avg", "msgRate_avg", "avg_lat")

# Objects in objects.
DEPTH = 1

# An object's names and values; numbers are as they are written.
Members = dict[str, "Members | str"]


class Parser:
	"""Parses such JSON."""

	def __init__(self, text: str, name: str) -> None:
		"""NAME is what messages call TEXT."""
		self.text, self.name, self.place = text.rstrip(), name, 0

	def documents(self) -> Iterator[Members]:
		"""The objects, which may be in an array."""
		ends = 0
		while self.place < len(self.text):
			token, is_mark = self._token()
			if is_mark and token == "{":
				yield self._members(DEPTH)
			elif is_mark and token == "[":
				ends += 1
			elif is_mark and token == "]" and ends:
				ends -= 1
			elif not (is_mark and token == "," and ends):
				self._refuse()
		if ends:
			self._refuse()

	def _members(self, depth: int) -> Members:
		"""What is in an object, whose { has been read, and which has objects in it to DEPTH."""
		found: Members = {}
		while True:
			name, is_mark = self._token()
			if is_mark and name == "}":
				return found
			if is_mark or self._token() != (":", True) or name in found:
				self._refuse()
			found[name] = self._value(depth)
			mark = self._token()
			if mark == ("}", True):
				return found
			if mark != (",", True):
				self._refuse()

	def _value(self, depth: int) -> Members | str:
		"""The value that comes next, which has objects in it to DEPTH. perftest has no lists."""
		value, is_mark = self._token()
		if (value, is_mark) == ("[", True):
			while self._token() != ("]", True):
				pass
		elif is_mark and (value != "{" or not depth):
			self._refuse()
		return self._members(depth - 1) if (value, is_mark) == ("{", True) else value

	def _token(self) -> tuple[str, bool]:
		"""The next token, and whether it is a mark."""
		match = TOKEN.match(self.text, self.place)
		if match is None:
			self._refuse()
		self.place = match.end()
		if match[1]:
			return match[1], True
		return match[2] if match[2] is not None else match[3].strip(), False

	def _refuse(self) -> NoReturn:
		line = self.text.count("\n", 0, self.place) + 1
		raise Quit(f"{self.name}:{line}: perftest's JSON is cut off there, or is none")


def read(text: str, name: str) -> list[Figures]:
	"""The figures of TEXT, which messages call NAME."""
	found = list(Parser(text, name).documents())
	where = [f"{name}: result {number}" for number in range(1, len(found) + 1)] \
		if len(found) > 1 else [name]
	return [_figures(document, each) for document, each in zip(found, where)]


def _figures(document: Members, where: str) -> Figures:
	about, said = document.get("test_info"), document.get("results")
	if not isinstance(about, dict) or not isinstance(said, dict):
		raise Quit(f"{where}: perftest's test_info and results are not objects")
	if len(document) > 2:
		raise Quit(f"{where}: perftest's JSON has more than test_info and results")
	title = str(about.get("test"))
	test = tests.named(title)
	if test is None:
		raise Quit(f"{where}: perftest's test {title!r} is not known")
	if isinstance(test, str):
		raise Quit(f"{where}: perftest's {title} is of {test}, which krping has no test of")
	known = {facts.name(key): value for key, value in about.items() if key != "test"}
	for key in known.keys() - facts.NAMES:
		raise Quit(f"{where}: perftest's test_info has {key!r}, which is not known")
	cells = {}
	for key, value in said.items():
		if key in ALONE:
			raise Quit(f"{where}: perftest's {key} is alone, as --output has it; without that "
				   "there are sizes and iterations")
		if key not in KEYS or not isinstance(value, str):
			raise Quit(f"{where}: perftest's results have {key!r}, which is not known")
		if not NUMBER.fullmatch(value) and not NONE.fullmatch(value):
			raise Quit(f"{where}: perftest's {key} is {value!r}, and no number")
		cells[KEYS[key].name] = value
	if "size" not in cells:
		raise Quit(f"{where}: perftest's results have no MsgSize")
	figures = Figures(where, test, {key: str(value) for key, value in known.items()},
			  "connection type" in known and "tx depth" not in known, cells, 1)
	_check_columns(figures)
	if not test.is_latency and not figures.trouble:
		unit = bandwidth_unit(cells["average"], cells["rate"], figures.number("size"))
		if unit is None:
			raise Quit(f"{where}: {test.name}: BW_average does not say its unit, and "
				   f"{cells['average']} with a MsgRate of {cells['rate']} is neither in "
				   "MiB/sec nor in Gb/sec for sure; the text of the run says it")
		figures.unit = unit
	return figures


def _check_columns(figures: Figures) -> None:
	"""FIGURES has those of one of the tables of its test."""
	names = set(figures.cells) - {"cpu"}
	choices = TABLES["latency" if figures.test.is_latency else "bandwidth"]
	if not any(names == set(choice) for choice in choices):
		keys = ", ".join(key for key, column in KEYS.items() if column.name in names)
		raise Quit(f"{figures.where}: perftest's results of {figures.test.title} are not "
			   f"{keys} alone")
