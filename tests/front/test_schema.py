# SPDX-License-Identifier: GPL-2.0
"""The JSON Schema of results: recorded results conform to it, others do not, and the docs have
each of its fields."""

import json
import os
import re

import canned
import front
import schema
from krping_front import results
from krping_front.result import Result
from ktap import Suite

suite = Suite()

# Lines of debugfs, of each test and of some failures: see test_schema.py of tests/qemu.
RECORDED = os.path.join(front.HERE, "recorded.jsonl")


def recorded():
	"""The recorded results."""
	with open(RECORDED, encoding="utf-8") as file:
		return [json.loads(line) for line in file]


@suite.test("recorded results of every test conform, and are understood")
def conform():
	found = recorded()
	for each in found:
		schema.check(each)
		results.check(each, RECORDED)
	assert {each["status"] for each in found} == {"ok", "failed"}
	members = set().union(*found)
	assert set(schema.load()["properties"]) == members, set(schema.load()["properties"]) ^ members


@suite.test("results that the tests make up conform")
def made_up():
	for each in (canned.result(), canned.result("bw"), canned.failed(), canned.disk(), canned.caps(),
		     canned.result(**canned.latency([5, 7, 900])),
		     canned.result(series=canned.series([(10, 5), (200_000_000, 9)]))):
		# They are shorter than the module's.
		wrong = [line for line in schema.errors(json.loads(json.dumps(each)))
			 if "is a dependency of" not in line]
		assert not wrong, (each, wrong)


@suite.test("a field that is missing, of another type or of no known value is refused")
def refused():
	good = next(each for each in recorded() if each["test"] == "wlat" and each["role"] == "client")
	assert not schema.errors(good)
	for name in schema.load()["required"]:
		less = {key: value for key, value in good.items() if key != name}
		assert schema.errors(less), f"valid without {name}"
	for change in ({"schema": 2}, {"version": "1"}, {"id": 0}, {"id": "7"}, {"role": "peer"},
		       {"status": "fine"}, {"status": "failed"}, {"errno": "EIO"}, {"size": -1},
		       {"elapsed_ns": 1.5}, {"peer_port": 65536}, {"poll": 1}, {"histogram_ns": []},
		       {"histogram_ns": [[1, 2]]}, {"hw_counters": {}}, {"usage": {}}):
		assert schema.errors(good | change), f"valid with {change}"
	assert schema.errors(good | {"colour": 1}) and not schema.errors(good | {"colour": 1}, strict=False)


@suite.test("the fields that the front goes by, and those of docs/reference.md, are in the schema")
def fields():
	properties = schema.load()["properties"]
	assert set(Result.__annotations__) <= set(properties)
	with open(os.path.join(front.TOP, "docs", "reference.md"), encoding="utf-8") as file:
		page = file.read()
	names = set(properties)
	for node in walk(schema.load()):
		names |= set(node.get("properties", {}))
	named = set(re.findall(r"`(?:[a-z]+\.)?([a-z0-9_]+)`", page))
	assert names <= named, names - named


def walk(node):
	"""All schemas within NODE that are objects."""
	if isinstance(node, dict):
		if isinstance(node.get("properties"), dict):
			yield node
		for each in node.values():
			yield from walk(each)
	elif isinstance(node, list):
		for each in node:
			yield from walk(each)


suite.main()
