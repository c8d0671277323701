# SPDX-License-Identifier: GPL-2.0
"""krping plot: pictures that can be read, with the right things in them. Where there is
no matplotlib, only that this is said."""

import importlib.util
import math
import os
import struct
import sys
import xml.etree.ElementTree
import zlib

import canned
import front
from front import krping, write
from krping_front import plot
from krping_front.kinds import KINDS
from ktap import Skip, Suite

suite = Suite(limit=300)


def drawn(*arguments, status=0):
	"""Run krping plot with ARGUMENTS, which ends with STATUS: what it says."""
	if importlib.util.find_spec("matplotlib") is None:
		raise Skip("matplotlib is not installed")
	found, out, err = krping("plot", *arguments)
	assert (found, out) == (status, ""), (found, out, err)
	return err


def texts(path):
	"""The texts of an SVG picture, which must be one."""
	root = xml.etree.ElementTree.parse(path).getroot()
	assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
	found = ["".join(each.itertext()).strip()
		 for each in root.iter("{http://www.w3.org/2000/svg}text")]
	paths = list(root.iter("{http://www.w3.org/2000/svg}path"))
	assert len(paths) > 5, "an empty picture"
	return found


def check_png(path):
	"""PATH is a PNG picture of a sensible size, whole, with more than one colour."""
	with open(path, "rb") as file:
		data = file.read()
	assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
	place, chunks = 8, []
	while place < len(data):
		length, kind = struct.unpack_from(">I4s", data, place)
		body = data[place + 8:place + 8 + length]
		crc, = struct.unpack_from(">I", data, place + 8 + length)
		assert crc == zlib.crc32(kind + body), kind
		chunks.append((kind, body))
		place += 12 + length
	assert chunks[0][0] == b"IHDR" and chunks[-1][0] == b"IEND", chunks
	width, height = struct.unpack_from(">II", chunks[0][1])
	assert 600 <= width <= 4000 and 400 <= height <= 4000, (width, height)
	pixels = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
	assert len(set(pixels)) > 10


def saved(path, *found):
	"""A file of the results FOUND."""
	return write(path, canned.json_lines(found))


def runs(count=20000, **changes):
	"""A result with COUNT latencies."""
	values = canned.times(count, 2000)
	return canned.result(iterations=count, elapsed_ns=sum(values), **canned.latency(values),
			     **changes)


@suite.test("each kind, as SVG, PNG and PDF")
def formats():
	with front.directory():
		path = saved("a.json", *canned.by_size("wlat"), *canned.by_size("bw", first=900))
		for kind, more in (("cdf", ["--size", "64,64K"]), ("percentiles", []),
				   ("bandwidth", [])):
			for extension in plot.FORMATS:
				name = f"{kind}{extension}"
				assert drawn(path, "--kind", kind, "-o", name, *more) == ""
				if extension == ".svg":
					texts(name)
				elif extension == ".png":
					check_png(name)
				else:
					with open(name, "rb") as file:
						assert file.read(5) == b"%PDF-"


@suite.test("the same results give the same file")
def repeatable():
	with front.directory():
		path = saved("a.json", *canned.by_size("bw"))
		for name in ("one.svg", "two.svg"):
			drawn(path, "--kind", "bandwidth", "-o", name)
		with open("one.svg", "rb") as one, open("two.svg", "rb") as two:
			assert one.read() == two.read()


@suite.test("axes have units, and curves the names of what tells them apart")
def labels_drawn():
	with front.directory():
		first = saved("monday.json", *canned.by_size("wlat"),
			      *canned.by_size("bw", first=900))
		second = saved("friday.json", *canned.by_size("wlat"),
			       *canned.by_size("bw", first=900))
		for kind, expected in (
				("cdf",
				 ("latency [usec]; the dots are the longest", "99.9%", "monday",
				  "friday",
				  "wlat: RDMA WRITE latency, half the round trip, 4 KiB")),
				("percentiles",
				 ("latency [usec]", "size [bytes]", "monday", "50%", "99%",
				  "99.9%", "32K", "wlat: RDMA WRITE latency, half the round trip")),
				("bandwidth", ("bandwidth [MiB/s]", "bandwidth [Gbit/s]", "friday",
					       "message rate [Mpps]", "size [bytes]",
					       "bw: RDMA WRITE bandwidth"))):
			more = ["--size", "4K"] if kind == "cdf" else []
			drawn(first, second, "--kind", kind, "-o", "x.svg", "--title", "Our lab",
			      *more)
			found = texts("x.svg")
			for text in expected + ("Our lab",):
				assert text in found, (kind, text, found)


def figure_of(*arguments):
	"""The picture that krping plot ARGUMENTS draws, as matplotlib's figure, and what it says."""
	if importlib.util.find_spec("matplotlib") is None:
		raise Skip("matplotlib is not installed")
	figures = []
	pyplot = plot._matplotlib()
	with front.patched(pyplot, close=figures.append):
		err = drawn(*arguments, "-o", "x.png")
	figures[0].canvas.draw()
	return figures[0], err


@suite.test("no legend lies over a curve, and all of it is in the picture")
def legends():
	with front.directory():
		one = saved("monday.json", *canned.by_size("wlat"), *canned.by_size("bw", first=900))
		two = saved("friday.json", *canned.by_size("wlat"), *canned.by_size("bw", first=900))
		several = [saved(f"{number}.json", *canned.by_size("bw")) for number in range(8)]
		for words in ([one, "--kind", "percentiles"], [one, two, "--kind", "percentiles"],
			      [one, "--kind", "cdf", "--size", "2,64K"],
			      [one, two, "--kind", "bandwidth"],
			      [*several, "--kind", "bandwidth"]):
			figure, _ = figure_of(*words)
			found = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
			assert len(found) == 1, words
			box = found[0].get_window_extent()
			for axes in figure.axes:
				assert not box.overlaps(axes.get_window_extent()), words
			assert figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1), words
			assert figure.bbox.containsy(box.y0) and figure.bbox.containsy(box.y1), words


@suite.test("a size that is missing in a series, or failed, is a gap in its curve")
def gaps():
	def holes(figure):
		return [[size for size, value in zip(*line.get_data()) if math.isnan(value)]
			for line in figure.axes[0].get_lines()]

	sizes = canned.sizes()
	with front.directory():
		whole = saved("whole", *canned.by_size("bw"))
		part = saved("part", *[found for found in canned.by_size("bw")
				       if found["size"] not in (64, 128)])
		figure, _ = figure_of(whole, part, "--kind", "bandwidth")
		assert holes(figure) == [[], [64, 128]], holes(figure)
		assert list(figure.axes[0].get_lines()[1].get_xdata()) == sizes
		failed = [canned.failed(test="wlat", size=64, number=5000) if found["size"] == 64
			  else found for found in canned.by_size("wlat")]
		figure, _ = figure_of(saved("failed", *failed), "--kind", "percentiles")
		assert holes(figure)[:3] == [[64]] * 3, holes(figure)
		# Other tests of the same file have nothing to do with it.
		figure, _ = figure_of(saved("both", *canned.by_size("bw"), runs(100, size=65)),
				      "--kind", "bandwidth")
		assert holes(figure) == [[]], holes(figure)


def open_loop(rate, **changes):
	"""A run of an open loop at RATE."""
	values = canned.times(500, 2000 + rate)
	return canned.result("rlat", iterations=rate, elapsed_ns=10**9, **canned.latency(values),
			     options=f"client,addr=192.0.2.1,rlat,rate={rate},duration=1",
			     open_loop={"rate": rate, "late": 0, "unposted": 0}, **changes)


@suite.test("latency by load: a curve of three percentiles, by the rate that was done")
def load():
	with front.directory():
		path = saved("a.json", *[open_loop(rate, number=rate)
					 for rate in (4000, 1000, 2000)], runs(100))
		figure, err = figure_of(path, "--kind", "load")
		assert err == "", err
		axes, = figure.axes
		lines = [line for line in axes.get_lines() if len(line.get_xdata())]
		assert [list(line.get_xdata()) for line in lines] == [[1000, 2000, 4000]] * 3, lines
		assert [line.get_ydata()[0] <= line.get_ydata()[-1] for line in lines] == [True] * 3
		drawn(path, "--kind", "load", "-o", "x.svg")
		for text in ("operations done [per second]", "latency [usec]", "50%", "99.9%", "2000"):
			assert text in texts("x.svg"), (text, texts("x.svg"))
		err = drawn(saved("b.json", runs(100)), "--kind", "load", "-o", "x.svg", status=1)
		assert "none of these results has an open loop; give the run rate=" in err, err


def over_time(test="wlat", **changes):
	"""A run of ten seconds with a stall, and in the latency a spike."""
	timed = test == "wlat"
	moments = [at * 10_000_000 for at in range(1000) if not 400 <= at < 450]
	operations = [(at, (20_000 + at // 10**6 + 10**6 * (at == 7 * 10**9)) if timed else None)
		      for at in moments]
	return canned.result(test, iterations=len(operations), elapsed_ns=10**10,
			     series=canned.series(operations), **changes)


@suite.test("runs over time: the rate, the latency and the longest, with stalls")
def series():
	with front.directory():
		path = saved("a.json", over_time())
		drawn(path, "--kind", "series", "-o", "x.svg")
		found = texts("x.svg")
		for text in ("rate [thousands per second]", "latency [usec]", "longest",
			     "time since the measurement began [s]", "the ten longest"):
			assert text in found, (text, found)
		figure, _ = figure_of(path, "--kind", "series")
		above, below = figure.axes
		rate = above.get_lines()[0]
		stalled = [second for second, value in zip(*rate.get_data()) if value == 0]
		assert stalled == [4.0, 4.1, 4.2, 4.3, 4.4], stalled
		assert rate.get_ydata()[10] == 0.1, "100 operations per second"
		# No operation, no latency.
		assert all(math.isnan(value) for second, value in zip(*below.get_lines()[0].get_data())
			   if second in stalled)
		marks = below.get_lines()[3].get_data()
		assert (marks[0][0], marks[1][0]) == (7.0, 1027.0), marks
		# What has no latencies has one picture, and bandwidths are bandwidths.
		figure, _ = figure_of(saved("b.json", over_time("bw")), "--kind", "series")
		axes, = figure.axes
		assert axes.get_ylabel() == "bandwidth [MiB/s]", axes.get_ylabel()
		figure, _ = figure_of("a.json", "b.json", "--kind", "series")
		assert len(figure.axes[0].get_lines()) == 2 and figure.axes[1].get_legend()
		# Disks and taps too, by the bytes of their requests.
		disks = [canned.disk(number, disk=f"krping{number}", size=0, series=over_time()["series"])
			 for number in (1, 2)]
		watch = canned.disk(3, "tap", size=0, series=over_time()["series"])
		figure, _ = figure_of(saved("disks.json", *disks, watch, canned.disk(4)),
				      "--kind", "series")
		assert figure.axes[0].get_ylabel() == "bandwidth [MiB/s]"
		found = [line.get_label() for line in figure.axes[0].get_lines()]
		assert found == ["blk, krping1", "blk, krping2", "tap, sda"], found
		figure, _ = figure_of(saved("disk.json", disks[0]), "--kind", "series")
		assert figure.axes[0].get_title() == "blk: " + KINDS["blk"].title
		assert len(figure.axes) == 2 and len(figure.axes[1].get_lines()[3].get_xdata()) == 10
		err = drawn(saved("c.json", runs()), "--kind", "series", "-o", "x.svg", status=1)
		assert "none of these results has a series; give the run interval=" in err, err


@suite.test("a file that is given twice is refused, by whatever name")
def twice():
	with front.directory():
		path = saved("a.json", *canned.by_size("bw"))
		os.symlink(path, "link.json")
		for again in (path, f"./{path}", "link.json"):
			for kind in plot.KINDS:
				err = drawn(path, again, "--kind", kind, "-o", "x.svg", status=2)
				assert err == f"krping: {again} is given twice\n", err
		assert not os.path.exists("x.svg")


@suite.test("of several runs of one size the last is drawn, and that is said")
def repeated():
	with front.directory():
		slow, fast = (canned.by_size("bw", first=first, speed=speed)
			      for first, speed in ((1, 1), (900, 10)))
		figure, err = figure_of(saved("a.json", *slow, *fast), "--kind", "bandwidth")
		assert err.startswith(f"krping: {len(slow)} of the runs are not drawn: "), err
		line, = figure.axes[0].get_lines()
		assert line.get_ydata()[-1] > 5000, line.get_ydata()


@suite.test("as many nines as there are iterations for")
def nines():
	with front.directory():
		for count, there, not_there in ((20000, "99.99%", "99.999%"),
						(2000, "99.9%", "99.99%"),
						(50, "99%", "99.9%")):
			drawn(saved("a", runs(count)), "--kind", "cdf", "-o", "x.svg")
			found = texts("x.svg")
			assert there in found and not_there not in found, (count, found)


@suite.test("what cannot be drawn well is drawn somehow: one run, one size, one bucket")
def small():
	with front.directory():
		one = canned.result(iterations=3, elapsed_ns=30, **canned.latency([10, 10, 10]),
				    series=canned.series([(10, 10), (20, 10), (30, 10)]))
		path = saved("a", one, canned.result("bw"), open_loop(5))
		for kind in plot.KINDS:
			drawn(path, "--kind", kind, "-o", "x.svg")
			texts("x.svg")
		long = canned.result(iterations=3, elapsed_ns=1 << 42, min_ns=1, max_ns=1 << 41,
				     **dict.fromkeys(("p50_ns", "p99_ns", "p99_9_ns"), 1 << 41),
				     histogram_ns=[[1, 1, 2], [1 << 40, (1 << 64) - 1, 1]])
		drawn(saved("b", long), "--kind", "cdf", "-o", "x.svg")
		texts("x.svg")
		zero = canned.result(iterations=2, elapsed_ns=3, **canned.latency([0, 3]))
		drawn(saved("c", zero), "--kind", "cdf", "-o", "x.png")
		check_png("x.png")


@suite.test("eight curves at most, and what to do with more")
def many():
	with front.directory():
		path = saved("a", *[runs(100, size=size, number=size) for size in range(1, 10)])
		err = drawn(path, "--kind", "cdf", "-o", "x.svg", status=2)
		assert "9 curves are too many" in err and "--test, --size and --tag" in err, err
		assert not os.path.exists("x.svg")
		drawn(path, "--kind", "cdf", "-o", "x.svg", "--size", "1,2,3,4,5,6,7,8")
		found = texts("x.svg")
		assert all(f"{size} B" in found for size in range(1, 9)), found


@suite.test("kinds, names and files that are none are refused by name")
def refused():
	with front.directory():
		path = saved("a", runs())
		for words, status, word in (
				([path, "--kind", "pie", "-o", "x.svg"], 2, "'pie'"),
				([path, "-o", "x.svg"], 2, "--kind"),
				([path, "--kind", "cdf"], 2, "-o"),
				([path, "--kind", "cdf", "-o", "x.gif"], 2,
				 "x.gif: the name must end in"),
				([path, "--kind", "cdf", "-o", "svg"], 2,
				 "svg: the name must end in"),
				(["absent", "--kind", "cdf", "-o", "x.svg"], 2,
				 "absent: No such file"),
				([path, "--kind", "bandwidth", "-o", "x.svg"], 1,
				 "has a bandwidth"),
				([path, "--kind", "cdf", "--test", "rlat", "-o", "x.svg"], 1,
				 "no such results"),
				([saved("b", canned.result("bw")), "--kind", "cdf", "-o", "x.svg"],
				 1, "has a histogram"),
				(["b", "--kind", "percentiles", "-o", "x.svg"], 1,
				 "has percentiles")):
			found, out, err = krping("plot", *words)
			assert (found, out) == (status, "") and word in err, (words, found, err)
		err = drawn(path, "--kind", "cdf", "-o", "/absent/x.svg", status=2)
		assert err == "krping: /absent/x.svg: No such file or directory\n", err


@suite.test("without matplotlib: exit status 4, and what to install")
def missing():
	before = {name: module for name, module in sys.modules.items()
		  if name.partition(".")[0] == "matplotlib"}
	for name in before:
		del sys.modules[name]
	sys.modules["matplotlib"] = None
	try:
		with front.directory():
			path = saved("a", runs())
			status, out, err = krping("plot", path, "--kind", "cdf", "-o", "x.svg")
			assert not os.path.exists("x.svg")
	finally:
		del sys.modules["matplotlib"]
		sys.modules.update(before)
	assert (status, out) == (4, ""), (status, out)
	assert "matplotlib is needed" in err and "python3-matplotlib" in err, err


@suite.test("labels have what tells curves apart, and nothing twice")
def labels():
	for traits, expected in (
			([("wlat", "64 B", "poll")], ["wlat"]),
			([("wlat", "64 B", "a"), ("wlat", "4 KiB", "a")], ["64 B", "4 KiB"]),
			# The file says no more than the size.
			([("wlat", "64 B", "a"), ("wlat", "4 KiB", "b")], ["64 B", "4 KiB"]),
			([("wlat", "64 B", "a"), ("rlat", "64 B", "a"), ("wlat", "64 B", "b")],
			 ["wlat, a", "rlat, a", "wlat, b"])):
		assert plot.labels(traits) == expected, (traits, plot.labels(traits))


suite.main()
