# SPDX-License-Identifier: GPL-2.0
"""Values that came from JSON: whether they are what type hints say."""

import functools
import typing

from .errors import Quit

WORDS: dict[type, str] = {int: "whole number", str: "text", bool: "flag", list: "array",
			  dict: "object"}
_fields = functools.cache(typing.get_type_hints)


def check(value: typing.Any, kind: typing.Any, where: str, name: str = "") -> None:
	"""VALUE, the field NAME of what came from WHERE, is of KIND: one of WORDS, a Literal, a
	TypedDict, a dict by texts, or a list or tuple of such. Else the program ends, and names the field.
	Numbers are never negative, and fields that a TypedDict does not have are left alone."""
	if kind is typing.Any:
		return
	origin, kinds = typing.get_origin(kind) or kind, typing.get_args(kind)
	if origin is typing.Literal:
		if value not in kinds:
			raise Quit(f"{where}: {name} is {value!r}, which is none of "
				   + ", ".join(kinds))
		return
	basic = dict if typing.is_typeddict(kind) else list if origin is tuple else origin
	if not isinstance(value, basic) or (isinstance(value, bool) and basic is not bool):
		raise Quit(f"{where}: {name} is {value!r}, which is no {WORDS[basic]}")
	if basic is int and value < 0:
		raise Quit(f"{where}: {name} is {value}, which is negative")
	if origin is tuple and len(value) != len(kinds):
		raise Quit(f"{where}: {name} is {value!r}, which are not {len(kinds)}")
	if typing.is_typeddict(kind):
		for field, inner in _fields(kind).items():
			path = f"{name}.{field}".lstrip(".")
			if field in value:
				check(value[field], inner, where, path)
			elif field in kind.__required_keys__:
				raise Quit(f"{where}: there is no {path}")
	elif basic is dict and kinds:
		for field, each in value.items():
			check(each, kinds[1], where, f"{name}.{field}")
	elif basic is list:
		for place, each in enumerate(value):
			check(each, kinds[place if origin is tuple else 0], where,
			      f"{name}[{place}]")
