# SPDX-License-Identifier: GPL-2.0
"""Results: JSON objects, as debugfs has them one a line, and as sweeps keep them."""

import dataclasses
import json
import os
import sys

from . import cases, device, paths
from .command import split
from .errors import Quit
from .kinds import KINDS

# The version of a result that is understood, and that of a sweep's file.
SCHEMA = 1
SWEEP = 1
# How many results the module keeps.
KEPT = 256

# What each result has, and of which type.
REQUIRED = {"id": int, "thread": int, "tag": str, "role": str, "test": str, "options": str,
	    "status": str, "size": int, "iterations": int, "elapsed_ns": int}
# What some have.
NUMBERS = ("iterations_per_s", "errno_number", "min_ns", "max_ns", "mean_ns", "stddev_ns",
	   "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "bytes_per_s",
	   "total_bytes_per_s", "peer_iterations", "peer_elapsed_ns", "peer_bytes_per_s",
	   "disk_id", "size_bytes", "requests", "read_requests", "write_requests",
	   "other_requests", "disk_read_bytes", "disk_write_bytes", "errors", "reconnects",
	   "dropped")
TEXTS = ("device", "transport", "peer", "errno", "reason", "disk", "state")
FLAGS = ("partial",)
# Objects with the latencies of a disk's requests, of all or of a part of their way.
STAGES = ("queued_ns", "wire_ns", "total_ns")
STAGE_FIELDS = ("count", "min", "mean", "p50", "p90", "p99", "p99_9", "max")
VALUES = {"role": ("client", "server"), "status": ("ok", "failed"), "test": tuple(KINDS)}

# A sweep's file.
SWEEP_FIELDS = {"krping_sweep": int, "started": str, "host": str, "kernel": str, "role": str,
		"addr": str, "options": str, "results": list, "stopped": list}
STOPPED_FIELDS = {"test": str, "size": int, "reason": str}


@dataclasses.dataclass
class Loaded:
	"""What one file had."""

	name: str
	results: list
	# Where a sweep ended early: STOPPED_FIELDS.
	stopped: list = dataclasses.field(default_factory=list)


def _is(value, kind):
	"""Whether VALUE is of the JSON type KIND; true and false are no numbers."""
	return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def check(found, where):
	"""FOUND, which came from WHERE, is a result that is understood. Fields that are not
	known are left alone, as the module may have new ones."""
	if not isinstance(found, dict) or "schema" not in found:
		raise Quit(f"{where}: not a result of krping")
	if found["schema"] != SCHEMA or isinstance(found["schema"], bool):
		raise Quit(f"{where}: schema {found['schema']!r}, and this program knows {SCHEMA}")
	_check_types(found, REQUIRED, where)
	for kind, names in ((int, NUMBERS), (str, TEXTS), (bool, FLAGS)):
		_check_types(found, {name: kind for name in names if name in found}, where)
	# Conformance is both sides'.
	both = {"role": VALUES["role"] + ("loopback",)} if found["test"] == "neg" else {}
	for name, values in (VALUES | both).items():
		if found[name] not in values:
			raise Quit(f"{where}: {name} is {found[name]!r}, which is none of "
				   + ", ".join(values))
	_check_numbers(found, where)
	for name, trouble in (("caps", device.trouble), ("cases", cases.trouble)):
		if name in found and trouble(found[name]):
			raise Quit(f"{where}: {trouble(found[name])}")
	for name in STAGES:
		stage = found.get(name, {})
		if not isinstance(stage, dict) or not all(
				_is(stage.get(field), int) and stage[field] >= 0
				for field in (STAGE_FIELDS if stage else ())):
			raise Quit(f"{where}: {name} is no object of {', '.join(STAGE_FIELDS)}")
	return found


def _check_types(found, fields, where):
	for name, kind in fields.items():
		if name not in found:
			raise Quit(f"{where}: there is no {name}")
		if not _is(found[name], kind):
			raise Quit(f"{where}: {name} is {found[name]!r}, which is no "
				   + {int: "whole number", str: "text", bool: "flag",
				      list: "array"}[kind])


def _check_numbers(found, where):
	"""No number is negative, and the histogram is one."""
	for name in (*REQUIRED, *NUMBERS):
		if _is(found.get(name), int) and found[name] < 0:
			raise Quit(f"{where}: {name} is {found[name]}, which is negative")
	buckets = found.get("histogram_ns")
	if buckets is None:
		return
	last = -1
	try:
		for low, high, count in buckets:
			if not (all(_is(each, int) for each in (low, high, count))
				and last < low <= high and count > 0):
				raise ValueError
			last = high
		if not buckets or "min_ns" not in found or "max_ns" not in found:
			raise ValueError
	except (TypeError, ValueError):
		raise Quit(f"{where}: histogram_ns is not an ascending array of "
			   "[low, high, count], or without min_ns and max_ns") from None


def _parse(text, where):
	"""The JSON value TEXT."""
	try:
		return json.loads(text)
	except (ValueError, RecursionError) as error:
		detail = error.msg if isinstance(error, json.JSONDecodeError) else "too deep"
		raise Quit(f"{where}: not JSON: {detail}") from None


def _values(text, name):
	"""The JSON values of TEXT: of the whole, or else of its lines. A list of (where,
	value)."""
	try:
		whole = json.loads(text)
	except (ValueError, RecursionError):
		return [(f"{name}:{number}", _parse(line, f"{name}:{number}"))
			for number, line in enumerate(text.split("\n"), 1) if line.strip()]
	each = whole if isinstance(whole, list) else [whole]
	return [(f"{name}: result {number}", found) for number, found in enumerate(each, 1)]


def parse(text, name):
	"""The Loaded of TEXT: results one a line, an array or a single one of them, or a
	sweep. NAME is what messages call it."""
	values = _values(text, name)
	if len(values) == 1 and isinstance(values[0][1], dict) and "krping_sweep" in values[0][1]:
		return _sweep(values[0][1], name)
	return Loaded(name, [check(found, where) for where, found in values])


def _sweep(whole, name):
	version = whole["krping_sweep"]
	if version != SWEEP or isinstance(version, bool):
		raise Quit(f"{name}: a sweep of version {version!r}, and this program knows "
			   f"{SWEEP}")
	_check_types(whole, SWEEP_FIELDS, name)
	for field in whole:
		if field not in SWEEP_FIELDS:
			raise Quit(f"{name}: a sweep has no field {field!r}")
	for number, each in enumerate(whole["stopped"], 1):
		where = f"{name}: stopped {number}"
		if not isinstance(each, dict):
			raise Quit(f"{where}: not an object")
		_check_types(each, STOPPED_FIELDS, where)
	return Loaded(name, [check(found, f"{name}: result {number}")
			     for number, found in enumerate(whole["results"], 1)],
		      whole["stopped"])


def load(path):
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


def _kept_values():
	try:
		with paths.open_debugfs(paths.RESULTS) as file:
			return _values(file.read(), paths.RESULTS)
	except OSError as error:
		raise paths.results_trouble(error) from None


def kept(tag=None):
	"""The Loaded of what the module keeps, only those of TAG if it is given: others may
	be of tests that this program does not know."""
	values = _kept_values()
	return Loaded(paths.RESULTS, [check(found, where) for where, found in values
				      if tag is None or _field(found, "tag") == tag])


def newest():
	"""The largest number of the commands and threads whose results the module keeps,
	which count together."""
	numbers = [_field(found, name) for _, found in _kept_values() for name in ("id", "thread")]
	return max((number for number in numbers if _is(number, int)), default=0)


def _field(found, name):
	return found.get(name) if isinstance(found, dict) else None


def is_answer(found):
	"""Whether the result FOUND is that of a loopback's server, whose client says the
	same and more."""
	return found["role"] == "server" and "loopback" in split(found["options"])


def failures(found):
	"""The errnos and sentences of the failed results of FOUND, each once, without those
	that only failed because another did."""
	failed = [each for each in found if each["status"] == "failed"]
	causes = [each for each in failed if each.get("errno") != "ECANCELED"] or failed
	texts = [f"{each.get('errno', 'failed')}: {each.get('reason', 'no reason')}"
		 for each in causes]
	return list(dict.fromkeys(texts))


def check_writable(path):
	"""PATH can be written to, so that nobody waits for results that cannot be kept."""
	if path == "-":
		return
	try:
		with open(path, "a", encoding="utf-8"):
			pass
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None


def save(path, text):
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


def sweep_text(sweep):
	"""The file of the dict SWEEP, with a line for each result."""
	def compact(value):
		return json.dumps(value, separators=(",", ":"))

	parts = []
	for name in SWEEP_FIELDS:
		if name in ("results", "stopped"):
			each = ",\n".join(f"  {compact(value)}" for value in sweep[name])
			parts.append(f'"{name}": [\n{each}\n]' if each else f'"{name}": []')
		else:
			parts.append(f'"{name}": {json.dumps(sweep[name])}')
	return "{\n" + ",\n".join(parts) + "\n}\n"


def host():
	"""The names of this machine and of its kernel."""
	names = os.uname()
	return names.nodename, names.release
