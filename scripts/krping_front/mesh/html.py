# SPDX-License-Identifier: GPL-2.0
"""A mesh as a page for a browser: one file that needs no network and no other file."""

import base64
import hashlib
import json
import os

from .document import Document

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
# One script: the later ones use what the earlier ones have.
SCRIPTS = ("figures.js", "map.js", "pair.js", "main.js")
# What ends a script, opens a comment, or is a line's end in JavaScript only. Names of hosts and
# sentences come from outside.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def _read(name: str) -> str:
	with open(os.path.join(HERE, name), encoding="utf-8") as file:
		return file.read()


def _source(text: str) -> str:
	"""The hash of TEXT, as a policy names what may be run."""
	digest = hashlib.sha256(text.encode()).digest()
	return f"'sha256-{base64.b64encode(digest).decode()}'"


def page(found: Document) -> str:
	"""The page of the document FOUND."""
	data = json.dumps(found, separators=(",", ":"), ensure_ascii=True)
	for char, escape in ESCAPES.items():
		data = data.replace(char, escape)
	style = _read("page.css")
	script = '"use strict";\n(() => {\n' + "".join(map(_read, SCRIPTS)) + "})();\n"
	policy = f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}"
	parts = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": data}
	whole = []
	# In one pass: what is put in is not looked at again.
	for place, piece in enumerate(_read("page.html").split("@@")):
		whole.append(parts[piece] if place % 2 else piece)
	return "".join(whole)
