#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print a fuzzer's dictionary of what commands are made of.

	dictionary.py TABLES

TABLES is the file of the tables of tests and options.
"""

import json
import sys

# What separates, and begins of values with a grammar of their own.
OTHERS = ("=", ",", "+", "/", "%eth0", "0x", "::", "ok", "/dev/sda", "server:", "stale_rkey")


def words(options):
	"""The names of OPTIONS, and what their values are made of."""
	for option in options:
		yield option["name"]
		for key in ("aliases", "words", "suffixes"):
			yield from option.get(key, ())
		yield option.get("example", option["name"])


with open(sys.argv[1], encoding="utf-8") as file:
	tables = json.load(file)
for word in dict.fromkeys((*words(tables["options"]), *OTHERS)):
	print(f'"{word}"')
