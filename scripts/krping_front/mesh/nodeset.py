# SPDX-License-Identifier: GPL-2.0
"""Node sets, as in "login,node[1-16,20]": names of hosts, expanded and folded.

Commas, ranges with zeros in front, and steps are understood. What is more than that, such as
groups, is for ClusterShell's parser, where it is installed. That one sorts names, so it gets no
more than it has to: the order of hosts is part of patterns, and of what --resume goes on with."""

import itertools
import re
from collections.abc import Iterable, Iterator

from krping_front.errors import Quit

try:
	from ClusterShell.NodeSet import NodeSet, NodeSetException
except ImportError:
	NodeSet = None

# More hosts than any matrix can show.
MOST = 4096
# Such a name is no option of ssh or srun, and no word of a shell.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Signs that only ClusterShell understands. Those of BETWEEN join sets of names, and it then chooses
# their order.
SIGNS = {"@": "a group", "!": "a difference", "&": "an intersection", "^": "a difference",
	 "*": "a wildcard", "?": "a wildcard"}
BETWEEN = "!&^"
RANGE = re.compile(r"([0-9]+)(?:-([0-9]+)(?:/([0-9]+))?)?")


def expand(text: str) -> list[str]:
	"""The names of the node set TEXT, in their order, each once."""
	whole = any(sign in text for sign in BETWEEN)
	names: list[str] = []
	for word in [text] if whole else _words(text):
		names += _cluster_shell(word, text) if any(sign in word for sign in SIGNS) \
			else _own(word, text)
	names = list(dict.fromkeys(names))
	for name in names:
		if not NAME.fullmatch(name):
			raise Quit(f"--hosts {text!r}: {name!r} is no name of a host")
	if len(names) > MOST:
		raise Quit(f"--hosts: these are {len(names)} hosts, and {MOST} are the most")
	if not names:
		raise Quit(f"--hosts {text!r}: there is no host in it")
	return names


def _cluster_shell(word: str, whole: str) -> list[str]:
	"""The names of WORD, a part of WHOLE that needs ClusterShell."""
	if NodeSet is None:
		sign, what = next(each for each in SIGNS.items() if each[0] in word)
		raise Quit(f"--hosts {whole!r}: {sign} is for {what}, which needs ClusterShell; "
			   "install python3-clustershell, or list the hosts")
	try:
		return [str(name) for name in NodeSet(word)]
	except NodeSetException as error:
		raise Quit(f"--hosts {whole!r}: {error}") from None


def _own(word: str, whole: str) -> list[str]:
	"""The names of WORD, a part of WHOLE."""
	names: list[str] = []
	pieces = re.split(r"(\[[^][]*\])", word)
	if any("[" in piece or "]" in piece for piece in pieces[::2]):
		raise Quit(f"--hosts {whole!r}: {word!r} has a bracket without its other half")
	parts = [[piece] if number % 2 == 0 else list(_range(piece[1:-1], whole))
		 for number, piece in enumerate(pieces)]
	for chosen in itertools.product(*parts):
		names.append("".join(chosen))
		if len(names) > MOST:
			raise Quit(f"--hosts {whole!r}: these are more than {MOST} hosts")
	return names


def _words(text: str) -> Iterator[str]:
	"""What stands between the commas of TEXT that are in no brackets."""
	for word in re.split(r",(?![^\[]*\])", text):
		if not word.strip():
			raise Quit(f"--hosts {text!r}: a name is empty")
		yield word.strip()


def _range(text: str, whole: str) -> Iterator[str]:
	"""The numbers of "1-16,20", as text."""
	for part in text.split(","):
		match = RANGE.fullmatch(part.strip())
		first, last, step = match.groups() if match else ("", None, None)
		last = first if last is None else last
		if not match or int(first) > int(last) or step == "0":
			raise Quit(f"--hosts {whole!r}: [{text}] is no range such as [1-16,20]")
		if int(last) - int(first) > MOST * int(step or 1):
			raise Quit(f"--hosts {whole!r}: [{text}] is more than {MOST} hosts")
		width = len(first) if first.startswith("0") else 0
		for number in range(int(first), int(last) + 1, int(step or 1)):
			yield f"{number:0{width}}"


def fold(names: Iterable[str]) -> str:
	"""NAMES in short: "node[1-16,20]"."""
	found: dict[tuple[str, str, int], list[int]] = {}
	plain: list[str] = []
	for name in names:
		match = re.fullmatch(r"(.*?)([0-9]+)([^0-9]*)", name)
		if not match:
			plain.append(name)
			continue
		head, digits, tail = match.groups()
		# The same text as a number of this width has.
		width = len(digits) if digits.startswith("0") else 0
		found.setdefault((head, tail, width), []).append(int(digits))
	for (head, tail, width), numbers in found.items():
		runs = _runs(sorted(set(numbers)), width)
		single = len(runs) == 1 and "-" not in runs[0]
		plain.append(f"{head}{runs[0]}{tail}" if single else f"{head}[{','.join(runs)}]{tail}")
	return ",".join(plain)


def _runs(numbers: list[int], width: int) -> list[str]:
	"""Ascending NUMBERS as ranges of text, with zeros in front up to WIDTH."""
	runs: list[list[int]] = []
	for number in numbers:
		if runs and number == runs[-1][1] + 1:
			runs[-1][1] = number
		else:
			runs.append([number, number])
	return [f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}"
		for low, high in runs]
