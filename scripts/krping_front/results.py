# SPDX-License-Identifier: GPL-2.0
"""Results: JSON objects, as debugfs has them one a line, and as sweeps keep them."""

import contextlib
import json
import os
import re
import sys
import typing
from collections.abc import Iterable, Sequence

from . import paths, shape
from .command import split
from .errors import Quit
from .kinds import KINDS
from .result import SCHEMA, SWEEP, Result, Stopped, Sweep

# How many results the module keeps.
KEPT = 256
# Behind a refusal, as in docs/front.md.
FILE_MAY_BE = ("FILE may be results of krping as JSON (of run, sweep and test with --json, or of debugfs), "
	       "or what perftest's ib_*_lat and ib_*_bw print or write with --out_json, of one run or of "
	       "several, without -C and --output")
# Tags that JSON has as they are.
PLAIN = re.compile(r"[0-9A-Za-z._-]+")


class NoResults(Quit):
	"""Text that is none of results."""


class Loaded(typing.NamedTuple):
	"""What one file had."""

	name: str
	results: list[Result]
	stopped: Sequence[Stopped] = ()
	# The sweep that it is of.
	sweep: Sweep | None = None
	# What of the file is no result: runs of perftest's that failed, or whose figures are none.
	complaints: Sequence[str] = ()
	# What its results lack.
	remarks: Sequence[str] = ()

	@property
	def shown(self) -> list[Result]:
		"""The results but those of servers of loopbacks."""
		return [found for found in self.results if not is_answer(found)]

	@property
	def axes(self) -> tuple[str, ...]:
		"""The options that a sweep went along, but those that every table has."""
		names = self.sweep.get("axes", {}) if self.sweep else {}
		return tuple(name for name in names if name not in ("size", "rate"))

	@property
	def repeated(self) -> bool:
		"""Whether a sweep measured each point several times."""
		return self.sweep is not None and self.sweep.get("repeat", 1) > 1


def check(found: typing.Any, where: str) -> Result:
	"""FOUND, which came from WHERE, is a result that is understood."""
	if not isinstance(found, dict) or "schema" not in found:
		raise NoResults(f"{where}: not a result of krping")
	_check_version(found["schema"], SCHEMA, f"{where}: schema")
	shape.check(found, Result, where)
	if found["test"] not in KINDS:
		raise Quit(f"{where}: test is {found['test']!r}, which is none of "
			   + ", ".join(KINDS))
	if "histogram_ns" in found:
		_check_histogram(found, where)
	return typing.cast(Result, found)


def _check_version(found: typing.Any, known: int, what: str) -> None:
	if found != known or isinstance(found, bool):
		raise Quit(f"{what} {found!r}, and this program knows {known}")


def _check_histogram(found: dict[str, typing.Any], where: str) -> None:
	last = -1
	for low, high, count in found["histogram_ns"]:
		if not last < low <= high or not count:
			break
		last = high
	else:
		if last >= 0 and "min_ns" in found and "max_ns" in found:
			return
	raise Quit(f"{where}: histogram_ns does not ascend, or has nothing, or no min_ns and max_ns")


def _parse(text: str, where: str) -> typing.Any:
	"""The JSON value TEXT."""
	try:
		return json.loads(text)
	except (ValueError, RecursionError) as error:
		detail = error.msg if isinstance(error, json.JSONDecodeError) else "too deep"
		raise NoResults(f"{where}: not JSON: {detail}") from None


def _values(text: str, name: str) -> list[tuple[str, typing.Any]]:
	"""The JSON values of TEXT, each with where it is: of the whole, or else of its lines."""
	try:
		whole = json.loads(text)
	except (ValueError, RecursionError):
		return [(f"{name}:{number}", _parse(line, f"{name}:{number}"))
			for number, line in enumerate(text.split("\n"), 1) if line.strip()]
	each = whole if isinstance(whole, list) else [whole]
	return [(f"{name}: result {number}", found) for number, found in enumerate(each, 1)]


def parse(text: str, name: str) -> Loaded:
	"""The Loaded of TEXT: results one a line, an array or a single one of them, a sweep, or what
	perftest printed. NAME is what messages call it."""
	if not text.lstrip().startswith(("{", "[")) or "test_info" in text:
		from . import perftest  # noqa: PLC0415
		try:
			outputs = perftest.read(text, name)
		except Quit as refusal:
			raise NoResults(str(refusal)) from None
		if outputs is not None:
			found = [check(each, f"{name}: result {each['id']}") for each in outputs.results]
			return Loaded(name, found, complaints=outputs.complaints, remarks=outputs.remarks)
	values = _values(text, name)
	if len(values) == 1 and isinstance(values[0][1], dict):
		whole = values[0][1]
		if "krping_sweep" in whole:
			return _sweep(whole, name)
	return Loaded(name, [check(found, where) for where, found in values])


def _sweep(whole: dict[str, typing.Any], name: str) -> Loaded:
	_check_version(whole["krping_sweep"], SWEEP, f"{name}: a sweep of version")
	shape.check(whole, Sweep, name)
	return Loaded(name, [check(found, f"{name}: result {number}")
			     for number, found in enumerate(whole["results"], 1)],
		      whole["stopped"], typing.cast(Sweep, whole))


def load(path: str) -> Loaded:
	"""The Loaded of the file PATH, or of stdin for "-"."""
	name = "stdin" if path == "-" else path
	try:
		if path == "-":
			data = sys.stdin.buffer.read()
		else:
			with open(path, "rb") as file:
				data = file.read()
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None
	try:
		return parse(data.decode(), name)
	except UnicodeDecodeError:
		raise Quit(f"{name}: not text") from None
	except NoResults as refusal:
		raise Quit(f"{refusal}\n{FILE_MAY_BE}") from None


def _kept_text() -> str:
	try:
		with paths.open_debugfs(paths.RESULTS) as file:
			return file.read()
	except OSError as error:
		raise paths.results_trouble(error) from None


def _kept_values(tags: Iterable[str] | None = None) -> list[tuple[str, typing.Any]]:
	"""The JSON values of what the module keeps. With TAGS those that may have one of them:
	most are others', and long."""
	text = _kept_text()
	if tags is not None and all(map(PLAIN.fullmatch, wanted := list(tags))):
		quoted = [f'"{tag}"' for tag in wanted]
		return [(f"{paths.RESULTS}:{number}", _parse(line, f"{paths.RESULTS}:{number}"))
			for number, line in enumerate(text.split("\n"), 1)
			if any(each in line for each in quoted)]
	return _values(text, paths.RESULTS)


def kept(tag: str | None = None) -> Loaded:
	"""The Loaded of what the module keeps, only those of TAG if it is given: others may
	be of tests that this program does not know."""
	values = _kept_values(None if tag is None else [tag])
	return Loaded(paths.RESULTS, [check(found, where) for where, found in values
				      if tag is None or _field(found, "tag") == tag])


def by_tag(tags: Iterable[str]) -> dict[str, list[Result]]:
	"""Of each of TAGS the results that the module keeps."""
	found: dict[str, list[Result]] = {tag: [] for tag in tags}
	for where, each in _kept_values(found):
		tag = _field(each, "tag")
		if isinstance(tag, str) and tag in found:
			found[tag].append(check(each, where))
	return found


def newest() -> int:
	"""The largest number of the commands and threads whose results the module keeps,
	which count together."""
	numbers = (_field(found, name) for _, found in _kept_values() for name in ("id", "thread"))
	return max((number for number in numbers if isinstance(number, int)), default=0)


def _field(found: typing.Any, name: str) -> typing.Any:
	return found.get(name) if isinstance(found, dict) else None


def is_answer(found: Result) -> bool:
	"""Whether the result FOUND is that of a loopback's server, whose client says the
	same and more."""
	return found["role"] == "server" and "loopback" in split(found["options"])


def failures(found: list[Result]) -> list[str]:
	"""The errnos and sentences of the failed results of FOUND, each once, without those
	that only failed because another did."""
	failed = [each for each in found if each["status"] == "failed"]
	causes = [each for each in failed if each.get("errno") != "ECANCELED"] or failed
	texts = [f"{each.get('errno', 'failed')}: {each.get('reason', 'no reason')}"
		 for each in causes]
	return list(dict.fromkeys(texts))


def check_writable(path: str, leave: bool = True) -> None:
	"""PATH can be written to, so that nobody waits for results that cannot be kept. Without LEAVE
	there is no file afterwards where there was none."""
	if path == "-":
		return
	there = os.path.exists(path)
	try:
		with open(path, "a", encoding="utf-8"):
			pass
		if not there and not leave:
			# A link that leads nowhere yet stays.
			os.unlink(os.path.realpath(path))
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None


def save(path: str, text: str) -> None:
	"""Write TEXT to PATH, or to stdout for "-"."""
	if path == "-":
		sys.stdout.write(text)
		sys.stdout.flush()
		return
	try:
		with open(path, "w", encoding="utf-8") as file:
			file.write(text)
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None


def replace(path: str, text: str) -> None:
	"""Have the file PATH hold TEXT, and at no time a part of it. What is no file, as stdout for
	"-", is written to."""
	if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
		save(path, text)
		return
	real = os.path.realpath(path)
	try:
		with open(f"{real}.new", "w", encoding="utf-8") as file:
			file.write(text)
		os.replace(f"{real}.new", real)
	except OSError:
		# The directory may be closed, or the disk be full: the file may have room.
		with contextlib.suppress(OSError):
			os.unlink(f"{real}.new")
		save(path, text)


def sweep_text(sweep: Sweep) -> str:
	"""The file of SWEEP, with a line for each result."""
	def text(value: typing.Any) -> str:
		if not isinstance(value, list) or not value:
			return json.dumps(value)
		return "[\n  " + ",\n  ".join(
			json.dumps(each, separators=(",", ":")) for each in value) + "\n]"

	return "{\n" + ",\n".join(f"{json.dumps(name)}: {text(value)}"
				  for name, value in sweep.items()) + "\n}\n"


def host() -> tuple[str, str]:
	"""The names of this machine and of its kernel."""
	names = os.uname()
	return names.nodename, names.release
