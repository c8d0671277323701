# SPDX-License-Identifier: GPL-2.0
"""krping sweep: axes, repetitions with medians, and going on with a sweep that ended early."""

import csv
import errno
import json
import os
import signal

import canned
import front
from front import Module, krping, write
from krping_front import points, repeats, rows
from ktap import Suite

suite = Suite(limit=60)

ADDR = ("sweep", "192.0.2.1", "--quiet")


def sweep(answer, *words, status=0):
	"""Run krping sweep WORDS: the commands without tags, stdout and stderr."""
	with Module(answer) as module:
		found, out, err = krping(*ADDR, *words)
	assert found == status, (found, out, err)
	return [text.text.split(",tag=")[0] for text in module.commands], out, err


def steady(module, text):
	"""A device that does 1000 operations per second for each queue pair."""
	module.result(text, iterations=1000, elapsed_ns=10**9 // text.value("qps", 1))
	return 0


class Slower:
	"""A device of which each run takes a tenth of a second longer than the one before."""

	def __init__(self):
		self.runs = 0

	def __call__(self, module, text):
		self.runs += 1
		module.result(text, iterations=1000, elapsed_ns=10**9 + 10**8 * self.runs,
			      **canned.latency([1000 * self.runs] * 10))
		return 0


@suite.test("axes: numbers double or are listed, words are listed, flags are given or not")
def axes():
	for text, expected in (
			("qps=1..8", ("1", "2", "4", "8")), ("txdepth=3,1..2", ("1", "2", "3")),
			("mem_mode=reg,dma", ("reg", "dma")), ("poll", ("no", "yes")),
			("poll=yes", ("yes",)), ("validate=no,full", ("no", "full")),
			("size=1K,64", ("64", "1024")), ("rate=5", ("5",)), ("offset=0,512", ("0", "512")),
			("sbuf=128K", ("131072",)), ("cpu=0-3,6", ("0-3", "6"))):
		assert points.axis(text) == (text.partition("=")[0], expected), points.axis(text)


@suite.test("all combinations, with a column for each axis")
def combinations():
	with front.directory():
		commands, out, _ = sweep(steady, "--test", "bw", "--sizes", "64,128", "--axis", "qps=1,2",
					 "--axis", "poll", "--csv", "x")
		found = list(csv.DictReader(open("x", encoding="utf-8")))
	assert commands == [
		f"client,addr=192.0.2.1,bw,size={size},count=5000,qps={qps}{poll}"
		for qps in (1, 2) for poll in ("", ",poll") for size in (64, 128)], commands
	lines = [line.split() for line in out.splitlines()]
	# One table, whose title has nothing that differs.
	assert out.count("# ") == 1 and out.splitlines()[0].endswith("client on mlx5_0 (RoCE)"), out
	assert lines[1][:4] == ["#bytes", "qps", "poll", "#iterations"], lines
	assert [line[:3] for line in lines[2:]] == [
		[size, qps, poll] for qps in "12" for poll in ("no", "yes") for size in ("64", "128")], out
	assert [(each["qps"], each["poll"], each["bytes"]) for each in found][-1] == ("2", "yes", "128")


@suite.test("axes that are none are refused by name")
def refused():
	for words, word in (
			(["--axis", "colour=red"], "there is no option 'colour'"),
			(["--axis", "tag=a,b"], "'tag' is no axis"), (["--axis", "qps"], "has no values"),
			(["--axis", "qps=0"], "'0' is no number from 1 to 256"),
			(["--axis", "mem_mode=dma,fast"], "'fast' is none of dma, reg, fastreg"),
			(["--axis", "poll=on"], "'on' of poll is none of no, yes"),
			(["--axis", "cpu=1,,2"], "has an empty value"),
			(["--axis", "qps=1", "--axis", "qps=2"], "--axis qps: it is given twice"),
			(["--axis", "qps=1", "--option", "qps=2"], "--option qps are both given"),
			(["--axis", "postlist=1,2", "--test", "bw,wlat"], "it does not go with wlat"),
			(["--axis", "size=64", "--sizes", "64"], "--axis size and --sizes are both"),
			(["--axis", "rate=5", "--rates", "5"], "--axis rate and --rates are both"),
			(["--axis", "size=64", "--axis", "size=4"], "--axis size: it is given twice"),
			(["--repeat", "0"], "'0' is no whole number"),
			(["--resume"], "--resume needs --json FILE"),
			(["--resume", "--json", "-"], "--resume needs --json FILE")):
		with front.directory():
			commands, out, err = sweep(steady, *words, status=2)
		assert word in err and not out and not commands, (words, err)


@suite.test("sizes and rates are axes like others")
def same():
	with front.directory():
		first, _, _ = sweep(steady, "--test", "rlat", "--sizes", "2..8", "--rates", "5,6")
		second, _, _ = sweep(steady, "--test", "rlat", "--axis", "size=2..8", "--axis", "rate=5,6")
	assert first == second and len(first) == 6, (first, second)


@suite.test("a size that the device does not take ends the sizes of its combination only")
def limit():
	def answer(module, text):
		if text.value("size", 0) > 64 * text.value("qps", 1):
			return module.fail(text, errno.ERANGE, "the size is above 64 bytes, the most")
		return steady(module, text)

	words = ("--test", "bw", "--sizes", "64..512", "--axis", "qps=1,2", "--json", "x", "--repeat", "2")
	with front.directory():
		commands, out, err = sweep(answer, *words)
		found = json.load(open("x", encoding="utf-8"))
		assert err == "", err
		# The second round does not try again.
		assert [text.split(",")[3] for text in commands] == [
			f"size={size}" for size in (64, 128, 64, 128, 256, 64, 64, 128)], commands
		assert [(end["size"], end["settings"]) for end in found["stopped"]] == [
			(128, {"qps": "1"}), (256, {"qps": "2"})], found["stopped"]
		assert "# ended before 256 bytes, qps=2: the size is above" in out, out
		status, out, _ = krping("report", "x")
	assert status == 0 and "bw ended before 256 bytes with qps=2: the size" in out, out


@suite.test("repetitions run in rounds, and are one row of medians with what they were between")
def repeated():
	with front.directory():
		commands, out, _ = sweep(Slower(), "--test", "wlat", "--sizes", "64,128", "--repeat", "3",
					 "--json", "x", "--csv", "y")
		whole = json.load(open("x", encoding="utf-8"))
		found = list(csv.DictReader(open("y", encoding="utf-8")))
		status, again, _ = krping("report", "x")
	assert [text.split(",")[3] for text in commands] == ["size=64", "size=128"] * 3, commands
	lines = [" ".join(line.split()) for line in out.splitlines()]
	assert lines[1].startswith("#bytes #runs t_typical[usec] min..max t_avg[usec] min..max 99%"), out
	# Runs 1, 3, 5 and 2, 4, 6.
	assert lines[2].startswith("64 3 3.00 1.00..5.00 3.00 1.00..5.00"), out
	assert lines[3].startswith("128 3 4.00 2.00..6.00"), out
	assert status == 0 and again.split() == out.split(), again
	assert [(each["runs"], each["t_typical_usec"], each["t_typical_usec_min"],
		 each["t_typical_usec_max"], each["iterations"]) for each in found] == [
		("3", "3.000", "1.000", "5.000", "3000"), ("3", "4.000", "2.000", "6.000", "3000")], found
	assert len(whole["results"]) == 6 and whole["repeat"] == 3, whole
	first = whole["summary"][0]
	assert (first["test"], first["size"], first["runs"]) == ("wlat", 64, 3), first
	assert first["figures"]["p50_ns"] == {"median": 3000, "min": 1000, "max": 5000}, first
	assert 1000 / 1.5 < first["figures"]["rate"]["median"] < 1000 / 1.2, first


@suite.test("the median of an even number, and of what not all repetitions have")
def medians():
	def row(mean, **changes):
		return rows.of(canned.result(mean_ns=mean, **changes))

	found = repeats.together([row(10), row(40), row(20), row(30)])
	assert (found.latency, found.sample("mean_ns")) == ({"mean_ns": 25}, [10, 40, 20, 30]), found
	found = repeats.together([row(10, max_ns=50), row(30)])
	assert found.latency == {"mean_ns": 20}, found
	# One that did not come to its end counts only alone.
	partial = {"status": "failed", "errno": "EIO", "errno_number": 5, "reason": "so", "partial": True}
	found = repeats.together([row(10, **partial), row(30)])
	assert (found.latency, found.runs) == ({"mean_ns": 30}, 1), found
	assert repeats.together([row(10, **partial)]).note == "EIO, partial"
	# What differs in its options is no repetition.
	different = [row(1), row(2, options="client,wlat,poll"), row(3, size=9), row(4, tag="other")]
	assert [len(group) for group in repeats.groups(different)] == [2, 1, 1]


@suite.test("comparing repetitions: medians, and how many there were")
def compared():
	with front.directory():
		sweep(Slower(), "--test", "wlat", "--sizes", "64", "--repeat", "3", "--json", "x",
		      "--axis", "mem_mode=dma,reg")
		sweep(Slower(), "--test", "wlat", "--sizes", "64", "--repeat", "2", "--json", "y",
		      "--axis", "mem_mode=reg,dma")
		_, out, _ = krping("report", "x", "y")
	lines = [" ".join(line.split()) for line in out.splitlines()]
	place = next(number for number, line in enumerate(lines) if line.startswith("#bytes"))
	assert lines[place].startswith("#bytes mem_mode #runs A B diff"), out
	# Those with the same option, though in another order.
	assert lines[place + 1].startswith("64 dma 3/2 3.00 3.00 +0.0%"), out
	assert lines[place + 2].startswith("64 reg 3/2 4.00 2.00 -50.0%"), out


class Interrupted(Slower):
	"""A device whose run number LAST is interrupted."""

	def __init__(self, last):
		super().__init__()
		self.last = last

	def __call__(self, module, text):
		if self.runs == self.last:
			os.kill(os.getpid(), signal.SIGINT)
			return module.fail(text, errno.EINTR, "interrupted by a signal")
		return super().__call__(module, text)


WORDS = ("--test", "wlat,bw", "--sizes", "64,128", "--repeat", "2", "--json", "x")


@suite.test("--resume measures only what was not measured")
def resumed():
	with front.directory():
		first, out, _ = sweep(Interrupted(3), *WORDS, status=130)
		assert len(first) == 4 and len(out.splitlines()) == 4, (first, out)
		began = json.load(open("x", encoding="utf-8"))
		assert [run["repetition"] for run in began["runs"]] == [1, 1, 2], began["runs"]
		second, out, _ = sweep(Slower(), *WORDS, "--resume")
		assert second == first[3:] + [text for text in second if ",bw," in text], second
		assert len(second) == 5, second
		whole = json.load(open("x", encoding="utf-8"))
		assert whole["started"] == began["started"] and not whole["stopped"], whole
		assert [each["status"] for each in whole["results"]] == ["ok"] * 8, whole["results"]
		# The rows of the first part are there as well.
		assert [line.split()[:2] for line in out.splitlines() if line.strip()[:1].isdigit()] == [
			["64", "2"], ["128", "2"]] * 2, out
		# Nothing is left to do; more repetitions are.
		third, again, _ = sweep(Slower(), *WORDS, "--resume")
		assert not third and again == out, (third, again)
		fourth, _, _ = sweep(Slower(), *WORDS, "--repeat", "3", "--resume")
		assert len(fourth) == 4, fourth


@suite.test("a limit that was missed before is missed after --resume, and not measured again")
def resumed_missed():
	def answer(module, text):
		return module.fail(text, errno.ERANGE, "the 99th percentile is above", iterations=100,
				   elapsed_ns=5, **canned.latency([5, 6]))

	words = ("--test", "wlat", "--sizes", "64", "--option", "max_p99=1ns", "--json", "x")
	with front.directory():
		sweep(answer, *words, status=3)
		commands, out, _ = sweep(answer, *words, "--resume", status=3)
	assert not commands and "ERANGE" in out, (commands, out)


@suite.test("--resume begins where there is no file, and refuses one of another sweep")
def resumed_other():
	with front.directory():
		commands, _, _ = sweep(steady, *WORDS, "--resume")
		assert len(commands) == 8
		for words, word in ((["--option", "poll"], "another options: '', and not 'poll'"),
				    (["--loopback"], "another role: 'client', and not 'loopback'")):
			commands, out, err = sweep(steady, *WORDS, "--resume", *words, status=2)
			assert word in err and not commands and not out, (err, commands)
		write("x", canned.json_lines([canned.result()]))
		_, _, err = sweep(steady, *WORDS, "--resume", status=2)
		assert "x: --resume: it is no sweep" in err, err
		# Another one begins anew without it.
		commands, _, _ = sweep(steady, *WORDS)
		assert len(commands) == 8


@suite.test("the file is written while the sweep runs, and is never a part of itself")
def checkpoints():
	seen = []

	def answer(module, text):
		with open("x", encoding="utf-8") as file:
			seen.append(file.read())
		return steady(module, text)

	from krping_front import sweep_file  # noqa: PLC0415
	with front.directory() as path:
		os.symlink("real", "x")
		with front.patched(sweep_file, SAVED=0):
			sweep(answer, *WORDS)
		assert os.path.islink("x") and os.path.isfile("real"), os.listdir(path)
		assert not os.path.exists("real.new")
	assert seen[0] == "" and [len(json.loads(text)["runs"]) for text in seen[1:]] == list(range(1, 8))


suite.main()
