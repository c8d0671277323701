# SPDX-License-Identifier: GPL-2.0
"""The JSON Schema of results, and what does not conform to it.

	schema.check(found)	# a result, which must have no field that the schema lacks
"""

import functools
import importlib.util
import json
import os

from ktap import Skip

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PATH = os.path.join(TOP, "docs", "krping-result.schema.json")


def load():
	"""The schema."""
	with open(PATH, encoding="utf-8") as file:
		return json.load(file)


def closed(node):
	"""NODE of a schema, whose objects have no fields but those that it names. Later versions may
	have more of them; this one has them all in its schema."""
	if isinstance(node, list):
		return [closed(each) for each in node]
	if not isinstance(node, dict):
		return node
	found = {key: closed(value) for key, value in node.items()}
	if node.get("type") == "object" and isinstance(node.get("properties"), dict):
		found["additionalProperties"] = False
	return found


@functools.cache
def validator(strict=True):
	"""What validates results, and where it is STRICT refuses fields that are not known."""
	if importlib.util.find_spec("jsonschema") is None:
		raise Skip("python3-jsonschema is not installed")
	import jsonschema  # noqa: PLC0415
	jsonschema.Draft7Validator.check_schema(load())
	return jsonschema.Draft7Validator(closed(load()) if strict else load())


def errors(found, strict=True):
	"""What is wrong with the result FOUND: a line for each."""
	return [f"{'.'.join(map(str, error.absolute_path)) or 'the whole'}: {error.message}"
		for error in validator(strict).iter_errors(found)]


def check(found):
	"""The result FOUND conforms."""
	wrong = errors(found)
	assert not wrong, (found.get("options"), wrong)
