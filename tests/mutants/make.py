# SPDX-License-Identifier: GPL-2.0
"""Usage: make.py copy DIR <NAMES | make.py plan [NAME]... <HEADS | make.py check

copy: copy the files of NAMES, which end with NUL, from the current directory to DIR, and build all
mutants of the table into the sources there. A mutant is off unless its number is chosen: by a write
of mutant=NUMBER to /proc/krping, or in the host tests by the variable MUTANT.

plan: print the number, the options of the guest ("host" for none), the test that is to notice it
and the name of each mutant, or of those whose name contains one of NAMEs, with tabs. HEADS are what
tests/heads.awk prints.

check: tell whether the sources in the current directory have what each mutant takes away, and the
test that is to notice it.
"""

import ast
import glob
import os
import re
import sys

from table import TABLE, Mutant

CHOSEN = """\
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

static CHOSEN: AtomicU32 = AtomicU32::new(0);

pub(crate) fn is(number: u32) -> bool {
	CHOSEN.load(Relaxed) == number
}

pub(crate) fn choose(command: &[u8]) -> bool {
	let text = core::str::from_utf8(command).unwrap_or_default();
	let number = text.trim_end().strip_prefix("mutant=").and_then(|number| number.parse().ok());
	number.inspect(|&number| CHOSEN.store(number, Relaxed)).is_some()
}
"""
ON_THE_HOST = """\
#[cfg(test)]
pub(crate) fn is(number: u32) -> bool {
	std::env::var("MUTANT").is_ok_and(|text| text == std::format!("{number}"))
}

#[cfg(not(test))]
pub(crate) fn is(_: u32) -> bool {
	false
}
"""
ALLOWED = "#![allow(warnings, clippy::all)]\n"
# What a copy has beside the mutants: file, what stands there, and what is put in front of it.
BESIDE = (
	("rust/krping.rs", "use kernel::{", ALLOWED),
	("rust/krping.rs", "mod bindings;", "mod mutant;\n"),
	("rust/proc_iface.rs", "let waiting = match",
	 "if crate::mutant::choose(&bytes) { return Ok(len); }\n"),
	("samples/rdma_echo.rs", "#![allow(dead_code", ALLOWED),
	("samples/rdma_echo.rs", '#[path = "../rust/bindings/mod.rs"]',
	 '#[path = "../rust/mutant.rs"]\nmod mutant;\n'),
	("tests/probes/rdma_probes.rs", "#![allow(dead_code", ALLOWED),
	("tests/probes/rdma_probes.rs", '#[path = "../../rust/bindings/mod.rs"]',
	 '#[path = "../../rust/mutant.rs"]\nmod mutant;\n'),
	("tests/probes/rdma_probes.rs", "let name = core::str::from_utf8(name)",
	 "if crate::mutant::choose(name) { return Ok(len); }\n"),
	("tests/host/src/lib.rs", '#[path = "../../../rust/logic/mod.rs"]',
	 "mod mutant;\n"),
)
TOUCHED = {row.file for row in TABLE} | {path for path, _, _ in BESIDE}


def place(path: str, text: str, passage: str) -> tuple[int, int]:
	"""Where PASSAGE is in the TEXT of the file PATH, whatever is blank between its words."""
	pattern = r"\s+".join(re.escape(word) for word in passage.split())
	found = [match.span() for match in re.finditer(pattern, text)]
	if len(found) != 1:
		sys.exit(f"{path} has this {len(found)} times, not once: {passage}")
	return found[0]


def switched(number: int, row: Mutant, original: str) -> str:
	"""ORIGINAL, or what ROW has instead of it where its NUMBER is chosen."""
	is_on = f"crate::mutant::is({number})"
	# A statement, or an expression, which may stand within one.
	if original.endswith((";", "}")):
		return f"if {is_on} {{ {row.instead} }} else {{ {original} }}"
	return f"(if {is_on} {{ {row.instead} }} else {{ {original} }})"


def mutated(path: str, text: str) -> str:
	"""The TEXT of the file PATH with its mutants, and what they need."""
	changes = [(*place(path, text, row.passage), number, row)
		   for number, row in enumerate(TABLE, 1) if row.file == path]
	for start, end, number, row in sorted(changes, reverse=True):
		text = text[:start] + switched(number, row, text[start:end]) + text[end:]
	for where, before, added in BESIDE:
		if where == path:
			start, _ = place(path, text, before)
			text = text[:start] + added + text[start:]
	return text


def write(path: str, data: bytes, mode: int) -> None:
	"""Write the file PATH, unless it has DATA already: cargo goes by time stamps."""
	try:
		with open(path, "rb") as file:
			if file.read() == data:
				return
	except FileNotFoundError:
		os.makedirs(os.path.dirname(path), exist_ok=True)
	with open(path, "wb") as file:
		file.write(data)
	os.chmod(path, mode)


def copy(target: str) -> None:
	"""Make the copy in the directory TARGET."""
	names = [name for name in sys.stdin.read().split("\0") if os.path.isfile(name)]
	missing = {row.file for row in TABLE} - set(names)
	if missing:
		sys.exit(f"no such files: {' '.join(sorted(missing))}")
	for name in names:
		with open(name, "rb") as file:
			data = file.read()
		if name in TOUCHED:
			data = mutated(name, data.decode()).encode()
		write(os.path.join(target, name), data, os.stat(name).st_mode)
	for name, text in (("rust/mutant.rs", CHOSEN), ("tests/host/src/mutant.rs", ON_THE_HOST)):
		write(os.path.join(target, name), text.encode(), 0o644)


def texts(path: str, deeper: bool = True) -> list[str]:
	"""Patterns of the texts in the Python program PATH that may name a test, and in those beside it
	that it imports."""
	with open(path, encoding="utf-8") as file:
		tree = ast.parse(file.read())
	found = []
	for node in ast.walk(tree):
		if isinstance(node, ast.Constant):
			found.append(re.escape(str(node.value)))
		elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.JoinedStr):
			if isinstance(node.func, ast.Attribute) and node.func.attr == "test":
				found.append("".join(re.escape(str(part.value))
						     if isinstance(part, ast.Constant) else ".*"
						     for part in node.args[0].values))
		elif isinstance(node, ast.Import) and deeper:
			beside = (f"{os.path.dirname(path)}/{known.name}.py" for known in node.names)
			for other in filter(os.path.exists, beside):
				found += texts(other, deeper=False)
	return found


def has_test(killer: str) -> bool:
	"""Whether there is the test KILLER. A name that a program puts together is to be whole."""
	test, _, words = killer.partition(": ")
	if test == "host":
		return bool(glob.glob(f"tests/host/src/{words.replace('::', '/')}*.rs"))
	return any(re.escape(words) in text or re.fullmatch(text, words)
		   for text in texts(f"tests/qemu/{test}.py"))


def check() -> None:
	"""Try all mutants on the sources, look for their tests, and keep nothing."""
	for path in sorted(TOUCHED):
		with open(path, encoding="utf-8") as file:
			mutated(path, file.read())
	missing = {row.killer for row in TABLE if not has_test(row.killer)}
	if missing:
		sys.exit(f"no such tests: {', '.join(sorted(missing))}")


def guests() -> dict[str, str]:
	"""The options of the guest that each file of tests/qemu asks for, from what tests/heads.awk
	prints."""
	found = {}
	for line in sys.stdin:
		path, options, clock, *_ = line.split("|")
		name = os.path.basename(path).removesuffix(".py")
		found[name] = f"--virtual {options}".strip() if clock == "virtual" else options
	return found


def plan(wanted: list[str]) -> None:
	"""Print what is to be done for the mutants that are WANTED, those of one guest together, and
	last those that take the machine's own time."""
	options_of = guests() | {"host": "host"}
	lines = []
	for number, row in enumerate(TABLE, 1):
		if wanted and not any(word in row.name for word in wanted):
			continue
		test = row.killer.partition(":")[0]
		options = options_of[test]
		lines.append((not options, options, test, number, row))
	for _, options, _, number, row in sorted(lines, key=lambda line: line[:4]):
		print(number, options or "-", row.killer, row.name, sep="\t")


if __name__ == "__main__":
	match sys.argv[1:]:
		case ["copy", target]:
			copy(target)
		case ["plan", *wanted]:
			plan(wanted)
		case ["check"]:
			check()
		case _:
			sys.exit(__doc__)
