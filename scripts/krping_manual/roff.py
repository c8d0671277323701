# SPDX-License-Identifier: GPL-2.0
"""Text for man: what has a meaning of its own there is escaped."""

import re


def text(words: str) -> str:
	"""WORDS as they are."""
	escaped = words.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
	# A line that begins so would be a request.
	return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def bold(words: str) -> str:
	"""WORDS in bold."""
	return f"\\fB{text(words)}\\fR"


def italic(words: str) -> str:
	"""WORDS in italics."""
	return f"\\fI{text(words)}\\fR"


def paragraphs(words: str) -> list[str]:
	"""The lines of WORDS, whose paragraphs have an empty line between them."""
	found = []
	for number, each in enumerate(words.strip().split("\n\n")):
		found += [".PP"] * (number > 0) + [text(" ".join(each.split()))]
	return found


def example(words: str) -> list[str]:
	"""The lines of WORDS, laid out as they are."""
	return [".EX", *[text(line) for line in words.strip("\n").split("\n")], ".EE"]


def item(term: str, *words: str) -> list[str]:
	"""TERM, which is escaped already, and what WORDS, one a line, say of it."""
	return [".TP", term, *[text(each) for each in words if each]]


def page(name: str, section: int, version: str, body: list[str]) -> str:
	"""The page NAME with BODY."""
	head = f'.TH {name.upper()} {section} "" "krping {version}" "krping"'
	lines = [f'.\\" Made by scripts/manual from the tables of krping {version}.', head, *body]
	return "\n".join(lines) + "\n"
