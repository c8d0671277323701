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
from krping_front import curves, picture, plot
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


@suite.test("what perftest measured is drawn, and what of its output is no figure is said")
def of_perftest():
	with open(f"{front.HERE}/perftest/13/wlat-a.txt", encoding="utf-8") as file:
		text = file.read()
	with front.directory():
		said = drawn(write("a", text), "--kind", "percentiles", "-o", "a.svg")
		texts("a.svg")
	assert said.count("t_stdev is -nan, and left out") == 2, said


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


def bands(axes):
	"""The lowest and the highest value of each band in AXES."""
	return [(min(found), max(found)) for found in (
		[y for path in band.get_paths() for _, y in path.vertices if not math.isnan(y)]
		for band in axes.collections)]


@suite.test("repetitions are drawn as their median, in a band from the least to the most")
def repeated():
	with front.directory():
		found = [run for first, speed in ((1, 1), (900, 3), (1800, 10))
			 for run in canned.by_size("bw", first=first, speed=speed)]
		figure, err = figure_of(saved("a.json", *found), "--kind", "bandwidth")
		assert err == "", err
		line, = figure.axes[0].get_lines()
		last = line.get_ydata()[-1]
		assert abs(last - 3e9 / 2**20) < 1, last
		(least, most), = bands(figure.axes[0])
		assert least < last < most and most > 3 * last, (least, last, most)
		legend = figure.axes[1].get_legend().get_texts()
		assert [text.get_text() for text in legend] == [
			"least to most of 3 repetitions; curves: median"], legend
		# Of one run each there is none.
		figure, _ = figure_of(saved("b.json", *canned.by_size("bw")), "--kind", "bandwidth")
		assert not bands(figure.axes[0]) and figure.axes[1].get_legend() is None
		found = [run for first in (1, 900) for run in canned.by_size("wlat", first=first)]
		figure, _ = figure_of(saved("c.json", *found), "--kind", "percentiles")
		assert len(bands(figure.axes[0])) == 3


@suite.test("a distribution of repetitions is of all their iterations")
def pooled():
	with front.directory():
		short, long = ([typical] * 100 for typical in (1000, 8000))
		found = [canned.result(iterations=100, elapsed_ns=10**6, number=number, tag=tag,
				       **canned.latency(values))
			 for number, (values, tag) in enumerate((
				 (short, "krping.1.a"), (long, "krping.1.b"), (long, "mine")))]
		figure, _ = figure_of(saved("a.json", *found), "--kind", "cdf")
		curves_drawn = [line for line in figure.axes[0].get_lines()
				if not line.get_label().startswith("_")]
		assert [line.get_label() for line in curves_drawn] == ["no tag", "tag=mine"], curves_drawn
		# Half of all take at most the shorter time.
		points = dict(zip(*curves_drawn[0].get_data()))
		assert any(abs(share - 0.5) < 1e-9 for share in points.values()), points
		assert max(points) == 8, points


WHERE = {"driver": "mlx5_ib", "path_mtu_bytes": 4096, "ended_unix_ns": 1_800_000_000 * 10**9,
	 "provenance": {"host": "lab7", "kernel": "7.2.12", "machine": "x86_64", "cpus": 64,
			"cpu_model": "Fast One", "front": "0.1.0", "firmware": "20.1.2",
			"rate_mbit_per_s": 100_000, "numa_node": 1}}


@suite.test("below the picture stands where the results come from")
def footer():
	with front.directory():
		path = saved("a.json", *canned.by_size("bw", **WHERE))
		figure, _ = figure_of(path, "--kind", "bandwidth")
		lines = figure._supxlabel.get_text().split("\n")
		assert " ".join(lines) == (
			"lab7, Linux 7.2.12, krping 0.1.0, mlx5_0 (RoCE), mlx5_ib, firmware 20.1.2, "
			"link 100 Gbit/s, path MTU 4096, NUMA node 1, 64 x Fast One 2027-01-15"), lines
		assert max(map(len, lines)) <= picture.WIDTH, lines
		box = figure._supxlabel.get_window_extent()
		for axes in figure.axes:
			assert box.y1 <= axes.get_tightbbox().y0 + 1, (box, axes.get_tightbbox())
		assert figure.bbox.containsy(box.y0) and figure.bbox.containsx(box.x1), box
		# Files that differ have a line each.
		other = saved("b.json", *canned.by_size("bw", **WHERE | {"path_mtu_bytes": 1024}))
		figure, _ = figure_of(path, other, "--kind", "bandwidth")
		text = figure._supxlabel.get_text()
		assert text.startswith("a: lab7") and "\nb: lab7" in text and "MTU 1024" in text, text
		figure, _ = figure_of(path, "--kind", "bandwidth", "--no-provenance")
		assert figure._supxlabel is None


@suite.test("a line at the link's rate, where curves come near it")
def link():
	def lines(figure):
		return [line for line in figure.axes[0].get_lines() if "link rate" in str(line.get_label())]

	with front.directory():
		# 10 and 2 bytes per ns, of 12.5.
		near = saved("a.json", *canned.by_size("bw", **WHERE))
		figure, _ = figure_of(near, "--kind", "bandwidth")
		line, = lines(figure)
		assert abs(line.get_ydata()[0] - 12.5e9 / 2**20) < 1, line.get_ydata()
		assert line.get_label() == "link rate, 100 Gbit/s"
		assert figure.axes[0].get_ylim()[1] > line.get_ydata()[0]
		figure, _ = figure_of(saved("b.json", *canned.by_size("bw", speed=2, **WHERE)),
				      "--kind", "bandwidth")
		assert not lines(figure)


def scaled(qps, test="bw", **changes):
	"""A run with QPS queue pairs, up to four of which help."""
	values = [2000 * max(1, qps // 4)] * 50
	more = canned.latency(values) if test == "rlat" else {}
	fields = {"iterations": 1000, "size": 4096, "elapsed_ns": 10**9 // min(qps, 4), "number": 10 * qps,
		  "options": f"client,{test},{f'qps={qps},' * (qps > 1)}tag=t"}
	return canned.result(test, **fields | more | changes)


@suite.test("scaling: rates by an option, its default included, and a line in proportion")
def scaling():
	with front.directory():
		path = saved("a.json", *[scaled(qps) for qps in (8, 1, 4, 2)])
		figure, _ = figure_of(path, "--kind", "scaling")
		curve, proportional = figure.axes[0].get_lines()
		assert list(curve.get_xdata()) == [1, 2, 4, 8], curve.get_xdata()
		rates = [round(value / curve.get_ydata()[0], 2) for value in curve.get_ydata()]
		assert rates == [1, 2, 4, 4], rates
		xs, ys = proportional.get_data()
		assert abs(ys[1] / ys[0] - xs[1] / xs[0]) < 1e-9 and xs[0] == 1, (xs, ys)
		assert figure.axes[0].get_ylabel() == "bandwidth [MiB/s]"
		drawn(path, "--kind", "scaling", "-o", "x.svg")
		for text in ("qps", "in proportion to qps", "8"):
			assert text in texts("x.svg"), texts("x.svg")
		# Latencies stand below, and tests without bandwidths have rates.
		figure, _ = figure_of(saved("b.json", *[scaled(qps, "rlat") for qps in (1, 2, 4, 8)]),
				      "--kind", "scaling")
		above, below = figure.axes[:2]
		assert above.get_ylabel() == "rate [thousands per second]"
		assert list(below.get_lines()[0].get_ydata()) == [2, 2, 2, 4], below.get_lines()
		for words, word in (([path, "--x", "threads"], "several values of threads="),
				    ([saved("c.json", scaled(1))], "several values of qps=")):
			err = drawn(*words, "--kind", "scaling", "-o", "y.svg", status=1)
			assert word in err, err


@suite.test("A and B: both by size, and the difference in percent with its band")
def ab():
	with front.directory():
		first = saved("a.json", *canned.by_size("bw", speed=4),
			      *canned.by_size("bw", first=900, speed=6),
			      *canned.by_size("bw", first=1800, speed=5))
		second = saved("b.json", *[run for run in canned.by_size("bw", speed=10)
					   if run["size"] != 64])
		figure, _ = figure_of(first, second, "--kind", "ab")
		above, below = figure.axes[:2]
		assert [len(line.get_xdata()) for line in above.get_lines()] == [22, 22]
		difference = below.get_lines()[0].get_ydata()
		assert abs(difference[-1] - 100) < 0.1 and abs(difference[0]) < 0.1, difference
		assert math.isnan(difference[5]) and below.get_ylabel() == "b from a [%]"
		(least, most), = bands(below)
		# From 10/6 to 10/4 of it.
		assert abs(most - 150) < 0.2 and abs(least) < 0.1, (least, most)
		latency = saved("c.json", *canned.by_size("wlat"))
		other = saved("d.json", *canned.by_size("wlat"), canned.result("bw"))
		figure, _ = figure_of(latency, other, "--kind", "ab", "--test", "wlat")
		assert len(figure.axes[0].get_lines()) == 4
		for words, word in (
				([first], "takes two files"),
				([latency, other], "choose with --test one of wlat, bw"),
				([latency, saved("e.json", *canned.by_size("wlat"),
						 *canned.by_size("wlat", options="poll"))],
				 "e has 2 curves of wlat")):
			err = drawn(*words, "--kind", "ab", "-o", "x.svg", status=2)
			assert word in err, err


@suite.test("disks: percentiles of requests in total and by stage, of several and of a tap")
def disks():
	with front.directory():
		path = saved("a.json", canned.disk(1), canned.disk(9, "tap"), canned.result("bw"))
		figure, _ = figure_of(path, "--kind", "disk")
		axes, = figure.axes
		assert [label.get_text() for label in axes.get_yticklabels()] == ["queued", "wire", "total"]
		ends = [list(line.get_xdata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
		# From half to five times the typical one, in microseconds.
		assert ends == [[1, 10], [74, 740], [75, 750], [75, 750]], ends
		drawn(path, "--kind", "disk", "-o", "x.svg")
		for text in ("blk", "tap", "50%", "longest", "queued"):
			assert text in texts("x.svg"), texts("x.svg")
		err = drawn(saved("b.json", canned.result("bw")), "--kind", "disk", "-o", "x.svg", status=1)
		assert "none of these results has requests of a disk or a tap" in err, err


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
			words = [path, saved("other", canned.result("bw"))] if kind == "ab" else [path]
			words += ["--test", "bw"] if kind == "ab" else []
			if kind == "scaling":
				words = [saved("two", *(scaled(qps, elapsed_ns=1) for qps in (1, 2)))]
			if kind == "disk":
				words = [saved("disk", canned.disk(total_ns=canned.stage(0)))]
			drawn(*words, "--kind", kind, "-o", "x.svg")
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
		assert curves.labels(traits) == expected, (traits, curves.labels(traits))


suite.main()
