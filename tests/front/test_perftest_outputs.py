# SPDX-License-Identifier: GPL-2.0
"""perftest's own outputs, of perftest/: their figures, and what comes of them cut, put together and in
another order: the same figures, or a refusal."""

import collections
import os
import random
import re
import typing

import front
from front import krping, write
from krping_front import results, tables
from krping_front.errors import Quit
from ktap import Suite

suite = Suite()

PLACE = os.path.join(front.HERE, "perftest")
UNITS = {"MiB": 1 << 20, "Gb": 1e9 / 8}
LATENCIES = ("min_ns", "max_ns", "p50_ns", "mean_ns", "stddev_ns", "p99_ns", "p99_9_ns")
SEED = 7
ROUNDS = 1200


class Fact(typing.NamedTuple):
	"""A line of figures.tsv, as a result has it."""

	test: str
	options: str
	size: int
	iterations: int
	figures: tuple


def mib(bytes_per_s):
	"""BYTES_PER_S as precise as perftest has them."""
	return round(bytes_per_s / (1 << 20), 2)


def figure(found, name):
	"""The figure NAME of the result FOUND; a server has those that its client has told it, too."""
	return found[name] if found["iterations"] else found[f"peer_{name}"]


def fact_of(found):
	"""What the result FOUND says."""
	if "mean_ns" in found:
		figures = tuple(found.get(name) for name in LATENCIES)
	else:
		figures = (mib(found["total_bytes_per_s"] if "total_bytes_per_s" in found
			       else figure(found, "bytes_per_s")),)
	return Fact(found["test"], found["options"], found["size"], figure(found, "iterations"), figures)


def expected(test, options, size, iterations, what):
	"""The Fact of a line of figures.tsv."""
	kind, *numbers = what.split()
	def ns(text):
		return None if "nan" in text else round(float(text) * 1000)
	if kind == "bw":
		figures = (mib(float(numbers[0]) * UNITS[numbers[1]]),)
	elif kind == "dur":
		figures = tuple(ns(numbers[0]) if name == "mean_ns" else None for name in LATENCIES)
	else:
		figures = tuple(map(ns, numbers))
	return Fact(test, options, int(size), int(iterations), figures)


class Output:
	"""One of the outputs."""

	def __init__(self, name):
		self.name = name
		with open(os.path.join(PLACE, name), encoding="utf-8", newline="") as file:
			self.text = file.read()
		self.facts = []
		# The message rates, in millions per second.
		self.rates = []
		self.says = self.refused = None

	@property
	def is_json(self):
		return self.name.endswith(".json")

	def ends(self):
		"""Where in its text each of its facts ends, with where it begins."""
		if self.is_json:
			return [(self.text.index("{"), self.text.rindex("}") + 1)]
		return [(match.start(), match.end()) for match in
			re.finditer(r"^ \d+ +\d+ +[-.\dn].*?(?=\s*(?:Error.*)?$)", self.text, re.MULTILINE)]


def outputs():
	"""All of them, by name."""
	found = {}
	with open(os.path.join(PLACE, "figures.tsv"), encoding="utf-8") as file:
		for line in file:
			if line.startswith("#"):
				continue
			name, *cells = line.rstrip("\n").split("\t")
			output = found.setdefault(name, Output(name))
			if cells[0] in ("says", "refused"):
				setattr(output, cells[0], cells[1])
			else:
				output.facts.append(expected(*cells))
				if cells[4].startswith("bw"):
					output.rates.append(cells[4].split()[-1])
	return found


OUTPUTS = outputs()
# Those of which all is figures.
WHOLE = [output for output in OUTPUTS.values() if not output.says and not output.refused]


def read(text):
	"""The results of TEXT, and what is said of it; the refusal in place of both."""
	try:
		loaded = results.parse(text, "x")
	except Quit as refusal:
		return None, str(refusal)
	return collections.Counter(map(fact_of, loaded.results)), [*loaded.complaints, *loaded.remarks]


@suite.test("each output has a line in the table, and each line an output")
def complete():
	there = {os.path.relpath(os.path.join(path, name), PLACE)
		 for path, _, names in os.walk(PLACE) for name in names} - {"figures.tsv"}
	assert there == OUTPUTS.keys(), there ^ OUTPUTS.keys()
	names = {fact.test for output in WHOLE for fact in output.facts}
	assert names == set(tables.names("latency", "bandwidth")), names


@suite.test("the figures of each output, and what is said of those that have others")
def figures():
	for output in OUTPUTS.values():
		found, said = read(output.text)
		if output.refused:
			assert found is None and output.refused in said, (output.name, said)
			assert said.startswith(("x:", "x ")), (output.name, said)
			continue
		assert found == collections.Counter(output.facts), (output.name, found, output.facts, said)
		assert bool(said) == bool(output.says) and (output.says or "") in "".join(said), \
			(output.name, said)


@suite.test("report prints the columns of each output as perftest has them")
def printed():
	with front.directory():
		for output in WHOLE:
			status, out, err = krping("report", write("x", output.text), *(
				["--gbits"] if "gbits" in output.name else []))
			assert (status, err) == (0, ""), (output.name, err)
			rows = [line.split() for line in out.splitlines()
				if line[:1] == " " and "#" not in line]
			assert len(rows) == len(output.facts), (output.name, out)
			for row, rate in zip(rows, output.rates):
				assert row[3] == rate, (output.name, rate, out)


@suite.test("what is no figure is said, and the status is not 0 where a line or a run is none")
def said():
	with front.directory():
		for output in OUTPUTS.values():
			if output.says or output.refused:
				status, out, err = krping("report", write("x", output.text))
				# A deviation that perftest could not tell is but a cell.
				expected_status = (2, False) if output.refused else (
					int("t_stdev" not in output.says), True)
				assert (status, bool(out)) == expected_status, (output.name, status, out)
				assert (output.says or output.refused) in err, (output.name, err)
				assert ("FILE may be" in err) == bool(output.refused), (output.name, err)


@suite.test("the text of a run and its JSON are the same to report")
def text_and_json():
	for output in WHOLE:
		text = OUTPUTS.get(output.name.replace(".json", ".txt"))
		if output.is_json and text:
			assert read(output.text) == read(text.text), output.name


@suite.test("local and remote results are no repetitions of those of both directions")
def both():
	with front.directory():
		text = OUTPUTS["13/sbw-b-both.txt"].text
		write("both", text)
		write("combined", text[:text.index("\n Local")])
		status, out, err = krping("report", "combined", "both")
	assert (status, err) == (0, "") and "#runs" not in out, (out, err)
	lines = [line.split()[1:5] for line in out.splitlines() if line.startswith("    4096")]
	options = "perftest,qps=1,txdepth=100,duplex"
	assert lines == [[options, "9.22", "9.22", "+0.0%"], [f"{options},local", "-", "4.59", "-"],
			 [f"{options},remote", "-", "4.63", "-"]], out


# Cut, put together, in another order

class Piece(typing.NamedTuple):
	"""A part of an output."""

	text: str
	# What it has whole, and what can be read of it.
	whole: list
	some: list


def part(output, begin, end):
	"""The Piece of OUTPUT from BEGIN to END."""
	inside = [fact for fact, (first, last) in zip(output.facts, output.ends())
		  if begin <= first and last <= end]
	return Piece(output.text[begin:end], inside, output.facts)


def check(text, pieces, seed):
	"""TEXT, of PIECES, is read right, or refused, or what it lacks is said."""
	found, said = read(text)
	if found is None:
		assert re.match(r"x[: ]", said), (seed, said, text)
		return "refused"
	some = collections.Counter(fact for piece in pieces for fact in piece.some)
	whole = collections.Counter(fact for piece in pieces for fact in piece.whole)
	assert found <= some, (seed, found - some, text)
	if not said:
		assert found == whole, (seed, found, whole, text)
	return "said" if said else "read"


def cut(source, output):
	"""OUTPUT without its end."""
	return part(output, 0, source.randrange(len(output.text) + 1))


def rest(source, output):
	"""OUTPUT without its beginning, and perhaps without its end."""
	begin, end = sorted(source.randrange(len(output.text) + 1) for _ in range(2))
	return part(output, begin, source.choice((end, len(output.text))))


@suite.test("cut at any byte, and put together, outputs have the same figures, or are refused")
def put_together():
	source = random.Random(SEED)
	ends = collections.Counter()
	short = [output for output in WHOLE if len(output.text) < 3000]
	for number in range(ROUNDS):
		# Of a server that was cut there may be nothing but that it waits, as it does before others.
		chosen = source.sample(short, source.randint(1, 3))
		chosen.sort(key=lambda each: "server" in each.name)
		pieces = []
		for output in chosen:
			# What is left of an output behind another one that was cut in the middle may go on
			# with it: nobody can tell.
			all_there = not pieces or pieces[-1].whole == pieces[-1].some
			choices = [cut, cut, None]
			choices += [rest] if all_there and "server" not in output.name else []
			how = source.choice(choices)
			pieces.append(how(source, output) if how else part(output, 0, len(output.text)))
			if how is cut and source.randrange(2):
				# Where the figures are.
				begin, end = source.choice(output.ends())
				end = min(end + 99, len(output.text))
				pieces[-1] = part(output, 0, source.randint(begin, end))
		text = "".join(piece.text for piece in pieces)
		ends[check(text, pieces, (number, [output.name for output in chosen]))] += 1
	assert min(ends[end] for end in ("refused", "said", "read")) > ROUNDS / 200, ends


@suite.test("each cut of a table's last line and of JSON has the same figures, or is refused")
def every_cut():
	for name in ("13/wlat.txt", "13/bw.txt", "13/bw-gbits.txt", "13/sbw-b-both.txt", "13/wlat-D.txt",
		     "12/casbw.json", "13/wlat.json"):
		output = OUTPUTS[name]
		for end in range(max(0, len(output.text) - 300), len(output.text)):
			check(output.text[:end], [part(output, 0, end)], (name, end))


@suite.test("with lines in another order, an output has the same figures, or is refused")
def other_order():
	source = random.Random(SEED)
	ends = collections.Counter()
	for number in range(ROUNDS):
		output = source.choice([output for output in WHOLE if len(output.text) < 3000])
		lines = output.text.splitlines(keepends=True)
		first, second = (source.randrange(len(lines)) for _ in range(2))
		rows = {output.text.count("\n", 0, begin) for begin, _ in output.ends()}
		if {first, second} <= rows and "both" in output.name:
			# Which of two directions is which, only their places say.
			continue
		match source.randrange(3):
			case 0:
				lines[first], lines[second] = lines[second], lines[first]
			case 1:
				lines.insert(second, lines.pop(first))
			case 2:
				source.shuffle(lines)
		piece = Piece("", output.facts, output.facts)
		ends[check("".join(lines), [piece], (number, output.name, first, second))] += 1
	assert ends["refused"] > ends["read"] > ROUNDS / 50, ends


@suite.test("one after the other, all outputs of a kind are read, in any order")
def concatenated():
	source = random.Random(SEED)
	for is_json in (False, True):
		chosen = [output for output in WHOLE if output.is_json == is_json]
		source.shuffle(chosen)
		for joint in ("", "\n") if not is_json else ("", "\n", "\n\n"):
			found, said = read(joint.join(output.text for output in chosen))
			assert found == collections.Counter(
				fact for output in chosen for fact in output.facts), (found, said)
			assert said == [], said


suite.main()
