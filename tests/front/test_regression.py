# SPDX-License-Identifier: GPL-2.0
"""krping report --fail-above: what is worse, by how much, and what may be chance; --gbits and peaks."""

import itertools
import random

import canned
import front
from front import krping, write
from krping_front import significance
from ktap import Suite

suite = Suite()


def saved(path, *samples, test="wlat", size=64, **changes):
	"""A file of a repetition for each of SAMPLES, its median latency in ns or its bandwidth."""
	found = []
	for number, value in enumerate(samples):
		fields = {"elapsed_ns": 10**9 * 1000 // value} if test == "bw" else \
			canned.latency([value] * 9)
		found.append(canned.result(test, number=10 * number, tag=f"{path}{number}", size=size,
					   **fields, **changes))
	return write(path, canned.json_lines(found))


def judged(*limits, status=0):
	"""What krping report says of the files a and b with LIMITS, one space between words."""
	words = [word for limit in limits for word in ("--fail-above", limit)]
	found, out, err = krping("report", "a", "b", *words)
	assert found == status, (found, out, err)
	text = (out if status in (0, 3) else err).splitlines()
	place = next((number for number, line in enumerate(text) if " worse by " in line), 0)
	return [" ".join(line.split()) for line in text[place:]]


def brute(first, second):
	"""The probability by dealing out all values in every way."""
	values = [*first, *second]

	def statistic(chosen):
		others = [each for place, each in enumerate(values) if place not in chosen]
		return sum((values[place] > other) + (values[place] == other) / 2
			   for place in chosen for other in others)

	ways = [statistic(chosen) for chosen in itertools.combinations(range(len(values)), len(second))]
	observed = statistic(tuple(range(len(first), len(values))))
	return sum(each >= observed - 1e-9 for each in ways) / len(ways)


@suite.test("the exact test is what counting all ways gives, with ties and without")
def exact():
	rng = random.Random(5)
	for _ in range(60):
		first = [rng.randrange(6) for _ in range(rng.randrange(1, 6))]
		second = [rng.randrange(6) for _ in range(rng.randrange(1, 6))]
		assert abs(significance.p_greater(first, second) - brute(first, second)) < 1e-12
	assert significance.p_greater([1, 2, 3], [4, 5, 6]) == 1 / 20
	assert significance.p_greater([4, 5, 6], [1, 2, 3]) == 1
	assert significance.p_greater([1] * 9, [1] * 9) == 1


@suite.test("with many values the normal distribution is close to the exact one")
def normal():
	rng = random.Random(6)
	first = [rng.randrange(100) for _ in range(25)]
	for shift in (-10, 0, 10, 20, 40):
		second = [rng.randrange(100) + shift for _ in range(25)]
		near = significance.p_greater(first, second)
		with front.patched(significance, EXACT=0):
			assert abs(significance.p_greater(first, second) - near) < 0.005, shift
	with front.patched(significance, EXACT=0):
		assert significance.p_greater([1] * 9, [1] * 9) == 1


@suite.test("many comparisons: how many repetitions they take, and what Holm keeps")
def correction():
	assert [significance.needed(tests) for tests in (1, 2, 20, 100)] == [3, 4, 6, 7]
	assert significance.holm([0.01, 0.04, 0.03]) == [True, False, False]
	assert significance.holm([0.01, 0.02, 0.04]) == [True, True, True]
	assert significance.holm([0.06]) == [False] and significance.holm([]) == []


@suite.test("a latency that is worse by more than the limit: status 3, and by how much")
def worse():
	with front.directory():
		saved("a", 1000, 1010, 990, 1020)
		saved("b", 1200, 1190, 1210, 1205)
		lines = judged("p99=10%", status=3)
		assert lines == [
			"# p99=10%: 1 of 1 figures is worse by more; Mann-Whitney U, one-sided, at 5% "
			"for all of them (Holm)", "figure test #bytes A B diff p",
			"p99 wlat 64 1.00 1.20 +19.6% 0.014"], lines
		# Within the limit, and better.
		assert len(judged("p99=20%")) == 1
		assert judged("p99=20", "p50=10", status=3)[2].startswith("p50 wlat 64"), "one of two"
		saved("b", 800, 790, 810, 805)
		assert len(judged("p99=10%")) == 1


@suite.test("what may be chance is said, and is no failure")
def chance():
	with front.directory():
		saved("a", 1000, 1500, 900, 1600)
		saved("b", 1700, 950, 1650, 1450)
		lines = judged("p99=10%")
		assert lines[0].startswith("# p99=10%: 0 of 1 figures are worse"), lines
		assert lines[2].startswith("p99 wlat 64 1.25 1.55 +24.0% ") \
			and lines[2].endswith("may be chance"), lines


@suite.test("a bandwidth and a rate are worse where they are lower")
def bandwidth():
	with front.directory():
		saved("a", 1000, 1010, 990, test="bw")
		saved("b", 900, 890, 880, test="bw")
		assert judged("bw=5%", status=3)[2].split()[:3] == ["bw", "bw", "64"]
		assert judged("rate=50%")[0].startswith("# rate=50%: 0 of 1")
		saved("a", 900, 890, 880, test="bw")
		saved("b", 1000, 1010, 990, test="bw")
		assert len(judged("bw=5%")) == 1


@suite.test("too few repetitions, and how many it takes")
def too_few():
	with front.directory():
		saved("a", 1000)
		saved("b", 5000, 5010)
		lines = judged("p99=10%", status=2)
		assert lines == [
			"krping: --fail-above: wlat of 64 bytes was measured 1 and 2 times; to tell 1 "
			"figure from chance takes 3 of each (krping sweep --repeat 3), or fewer figures "
			"(--test, --size)"], lines
		# Two figures of three repetitions each: either could be chance.
		saved("a", 1000, 1010, 990)
		saved("b", 1200, 1190, 1210)
		lines = judged("p99=1", "p50=1", status=2)
		assert "to tell 2 figures from chance takes 4 of each" in lines[0], lines


@suite.test("limits, files and figures that are none")
def refused():
	with front.directory():
		saved("a", 1000, 1010, 990)
		saved("b", 900, 890, 880, test="bw")
		for words, status, word in (
				(["a", "b", "--fail-above", "p98=5%"], 2, "'p98=5%' is no limit such as"),
				(["a", "b", "--fail-above", "p99=-5%"], 2, "is no limit such as"),
				(["a", "b", "--fail-above", "p99"], 2, "is no limit such as"),
				(["a", "--fail-above", "p99=5%"], 2, "--fail-above compares two files"),
				(["a", "b", "--fail-above", "p99=5%"], 1, "both files have none of p99")):
			found, out, err = krping("report", *words)
			assert (found, out) == (status, "") and word in err, (words, found, err)


@suite.test("--gbits: bandwidths in Gbit/s, in tables and comparisons")
def gbits():
	with front.directory():
		path = write("a", canned.json_lines([canned.result("bw", size=125, iterations=10**6)]))
		for words in ([path], [path, path]):
			_, out, _ = krping("report", *words, "--gbits")
			assert "BW average[Gb/sec]" in out and " 1.00 " in out, out
			assert "MiB" not in out, out


@suite.test("BW peak: the most of a whole interval, of one thread and one direction")
def peak():
	# 64 bytes each; the last interval is short.
	moments = [(at, None) for at in (10, 20, 100_000_010, 100_000_020, 100_000_030, 200_000_000)]
	series = canned.series(moments)
	large = [[0, 2, 5 << 20], [100_000_000, 3, 7 << 20], [200_000_000, 1, 9 << 20]]
	run = {"iterations": 6, "elapsed_ns": 200_000_000, "series": series}
	with front.directory():
		for more, heading, value in (
				({}, "BW peak[MiB/sec]", f"{3 * 64 * 10 / 2**20:.2f}"),
				({"size": 1 << 20, "series": series | {"intervals": large}},
				 "BW peak[MiB/sec]", "70.00")):
			write("a", canned.json_lines([canned.result("bw", **run | more)]))
			_, out, _ = krping("report", "a")
			lines = out.splitlines()
			assert heading in lines[1] and lines[2].split()[2] == value, out
		for changes in ({"total_bytes_per_s": 5 << 20}, {"series": None},
				{"series": series | {"ended_ns": 99}}):
			write("a", canned.json_lines([canned.result("bw", **run | changes)]))
			assert "BW peak" not in krping("report", "a")[1], changes
		two = [canned.result("bw", thread=thread, **run) for thread in (1, 2)]
		write("a", canned.json_lines(two))
		assert "BW peak" not in krping("report", "a")[1]


suite.main()
