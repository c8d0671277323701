# SPDX-License-Identifier: GPL-2.0
"""Results: which are understood, what is refused and how, and what is worked out of
several."""

import json

import front
import canned
from krping_front import results, rows, stats
from krping_front.errors import Quit
from ktap import Suite

suite = Suite()


def refuses(text, *words):
	"""TEXT is refused, and the message has WORDS."""
	try:
		found = results.parse(text, "f.json")
	except Quit as quit:
		for word in words:
			assert word in str(quit), (word, str(quit))
		assert quit.status == 2, quit.status
		return
	raise AssertionError(f"taken: {found}")


def sweep(**changes):
	"""The text of a sweep's file."""
	whole = {"krping_sweep": 1, "started": "2026-01-01T00:00:00+00:00", "host": "h",
		 "kernel": "7.2", "role": "client", "addr": "192.0.2.1", "options": "",
		 "results": [canned.result()], "stopped": []} | changes
	return json.dumps({name: value for name, value in whole.items() if value is not None})


@suite.test("results one a line, an array, a single one, and a sweep")
def forms():
	one, two = canned.result(), canned.result("bw", number=9)
	for text, expected in (
			("", []), ("\n\n", []), ("[]", []),
			(canned.json_lines([one, two]), [one, two]),
			("\n" + canned.json_lines([one]) + "\n" + canned.json_lines([two]),
			 [one, two]),
			(json.dumps([one, two]), [one, two]),
			(json.dumps(one, indent=2), [one]),
			(sweep(results=[one, two]), [one, two]),
			(json.dumps(json.loads(sweep()), indent=2), [one])):
		assert results.parse(text, "f").results == expected, text


@suite.test("what a sweep writes is read again")
def round_trip():
	whole = json.loads(sweep(results=[canned.result(), canned.result("bw")],
				 stopped=[{"test": "bw", "size": 8,
					   "reason": "b\u00e9cause \"x\""}]))
	text = results.sweep_text(whole)
	assert json.loads(text) == whole, text
	loaded = results.parse(text, "f")
	assert (loaded.results, loaded.stopped) == (whole["results"], whole["stopped"])
	assert json.loads(results.sweep_text(whole | {"results": []}))["results"] == []


@suite.test("fields of a result that are not known are left alone")
def new_fields():
	found = canned.result(colour="red", numbers=[1, 2])
	assert results.parse(canned.json_lines([found]), "f").results == [found]


@suite.test("malformed JSON is refused, with the line")
def malformed():
	good = canned.json_lines([canned.result()])
	refuses(good + "{\n", "f.json:2", "not JSON")
	refuses(good + good[:100] + "\n" + good, "f.json:2", "not JSON")
	refuses("hello\n", "f.json:1", "not JSON")
	refuses("[" * 100_000, "f.json", "not JSON")
	refuses(good.strip() + "," + good, "f.json:1", "not JSON")


@suite.test("what is no result is refused")
def no_result():
	for text in ("1", "null", '"x"', "[1]", "{}", '{"a": 1}', "[[]]"):
		refuses(text, "not a result of krping")
	for schema in (0, 2, "1", None, True, 1.5):
		found = canned.result() | {"schema": schema}
		refuses(canned.json_lines([found]), "schema", repr(schema))


@suite.test("fields that are missing, of another type, or negative are refused by name")
def wrong_fields():
	for name in results.REQUIRED:
		found = canned.result()
		del found[name]
		refuses(canned.json_lines([found]), f"no {name}")
	for name, value in (("id", "7"), ("tag", 5), ("size", 64.5), ("iterations", True),
			    ("elapsed_ns", [1]), ("device", 3), ("p50_ns", "fast"),
			    ("bytes_per_s", None), ("partial", 1), ("reason", {})):
		found = canned.result() | {name: value}
		refuses(canned.json_lines([found]), f"{name} is {value!r}")
	for name in ("iterations", "elapsed_ns", "p99_ns"):
		refuses(canned.json_lines([canned.result() | {name: -1}]), f"{name} is -1")


@suite.test("tests, roles and states that are not known are refused")
def unknown_kinds():
	for name, value in (("test", "warp"), ("role", "loopback"), ("status", "fine")):
		refuses(canned.json_lines([canned.result() | {name: value}]),
			f"{name} is '{value}'")


@suite.test("a histogram that is none is refused")
def histograms():
	extremes = {"min_ns": 1, "max_ns": 9}
	for buckets in ([], 5, "x", [[1, 2]], [[1, 2, 3, 4]], [[2, 1, 3]], [[1, 2, 0]],
			[[1, 2, -1]], [[1, 2, 1.5]], [[5, 6, 1], [1, 2, 1]], [[1, 3, 1], [3, 4, 1]],
			[[1, 2, True]], [None]):
		refuses(canned.json_lines([canned.result() | extremes | {"histogram_ns": buckets}]),
			"histogram_ns")
	refuses(canned.json_lines([canned.result() | {"histogram_ns": [[1, 2, 1]]}]),
		"histogram_ns")


@suite.test("a sweep with unknown or missing fields, or of another version, is refused")
def wrong_sweeps():
	refuses(sweep(krping_sweep=2), "version 2")
	refuses(sweep(krping_sweep=True), "version True")
	refuses(sweep(colour="red"), "no field 'colour'")
	for name in results.SWEEP_FIELDS:
		if name != "krping_sweep":
			refuses(sweep(**{name: None}), f"no {name}")
	refuses(sweep(results={}), "results is {}")
	refuses(sweep(results=[{"a": 1}]), "result 1", "not a result")
	refuses(sweep(stopped=[1]), "stopped 1")
	refuses(sweep(stopped=[{"test": "bw"}]), "stopped 1", "no size")


@suite.test("files that cannot be read, or are no text, are named")
def files():
	with front.directory():
		for path, word in (("absent.json", "No such file"), (".", "Is a directory")):
			status, _, err = front.krping("report", path)
			assert status == 2 and path in err and word in err, err
		with open("binary", "wb") as file:
			file.write(b"\xff\xfe\x00")
		status, _, err = front.krping("report", "binary")
		assert status == 2 and err == "krping: binary: not text\n", err


# Figures

def values_of(seed, count=5000):
	return canned.times(count, 1000 + 100 * seed, seed)


@suite.test("percentiles of a histogram are the module's own")
def percentiles():
	for values in ([5], [1, 2, 3], values_of(1), values_of(2, 17), [10**13] * 3 + [2]):
		found = canned.latency(values)
		for name, share in rows.PERCENTILES.items():
			worked = stats.percentile(found["histogram_ns"], share, found["max_ns"])
			assert worked == found[name], (name, worked, found[name])
			ordered = sorted(values)
			exact = ordered[max(1, -(-len(ordered) * share // 100_000)) - 1]
			assert exact <= worked <= exact * 65 / 64, (exact, worked)


@suite.test("merged histograms count everything once")
def merged():
	parts = [values_of(seed) for seed in range(4)]
	found = stats.merge(canned.latency(part)["histogram_ns"] for part in parts)
	whole = canned.latency([ns for part in parts for ns in part])
	assert [list(bucket) for bucket in found] == whole["histogram_ns"]
	assert stats.merge([]) == []


@suite.test("a cumulative distribution rises from 0 at the shortest to 1 at the longest")
def distribution():
	found = canned.latency(values_of(3))
	points = stats.distribution(found["histogram_ns"], found["min_ns"], found["max_ns"])
	assert points[0] == (found["min_ns"], 0.0) and points[-1] == (found["max_ns"], 1.0)
	assert points == sorted(points)
	for ns, share in points[1:]:
		exact = sum(value <= ns for value in values_of(3)) / 5000
		assert abs(exact - share) < 1e-9, (ns, share, exact)


@suite.test("the threads of a command together: rates added, latencies of all operations")
def together():
	parts = [values_of(seed, 1000 * seed) for seed in (1, 2, 3)]
	each = [canned.result(number=5, thread=6 + place, iterations=len(part),
			      elapsed_ns=sum(part), options="client,wlat,threads=3,tag=t",
			      **canned.latency(part)) for place, part in enumerate(parts)]
	row, = rows.by_command(each)
	whole = canned.latency([ns for part in parts for ns in part])
	assert row.name == "all 3" and row.iterations == 6000, row
	for name in rows.LATENCIES:
		# Made of numbers that were rounded down.
		assert abs(row.latency[name] - whole[name]) <= 2, (name, row.latency[name],
								   whole[name])
	rates = [len(part) * 1e9 / sum(part) for part in parts]
	assert abs(row.rate - sum(rates)) < 1e-3, (row.rate, rates)
	assert row.elapsed_ns == max(map(sum, parts))


@suite.test("bandwidths of threads are added up; those that did nothing are left out")
def bandwidths():
	each = [canned.result("bw", number=5, iterations=1000, size=4096, elapsed_ns=10**6,
			      options="client,bw,threads=3") for _ in range(2)]
	each.append(canned.failed("ECANCELED", 125, "ended", test="bw", number=5, size=4096,
				  options="client,bw,threads=3"))
	row, = rows.by_command(each)
	assert row.bytes_per_s == 2 * 4096 * 10**6, row
	assert row.mpps == 2 and row.note == "ECANCELED", row


@suite.test("a server's results stay apart: its clients may follow each other")
def servers():
	each = [canned.result("bw", "server", 5, options="server,persist") for _ in range(3)]
	assert len(rows.by_command(each)) == 3


@suite.test("a side that only served shows what its peer says")
def passive():
	row = rows.of(canned.result("bw", "server", iterations=0, elapsed_ns=0, size=1 << 20,
				    peer_iterations=500, peer_elapsed_ns=10**9,
				    peer_bytes_per_s=500 << 20))
	assert (row.iterations, row.mib_per_s, row.mpps) == (500, 500, 500 / 1e6), row
	assert row.note == "as the peer says", row
	row = rows.of(canned.result("rlat", "server", iterations=0, elapsed_ns=0,
				    peer_iterations=500, peer_elapsed_ns=10**6))
	assert row.microseconds("mean_ns") == 2 and row.microseconds("p50_ns") is None, row


@suite.test("duplex: both directions are added up")
def duplex():
	row = rows.of(canned.result("bw", size=1 << 20, iterations=1000, elapsed_ns=10**9,
				    total_bytes_per_s=1900 << 20))
	assert row.mib_per_s == 1900 and row.mpps == 1900 / 1e6 and row.duplex, row


@suite.test("without times and without percentiles, what is known is there")
def little():
	row = rows.of(canned.result(mean_ns=1500))
	assert row.microseconds("mean_ns") == 1.5 and row.microseconds("p50_ns") is None
	row = rows.of(canned.failed())
	assert not row.has_figures and row.rate is None and row.mib_per_s is None, row
	row = rows.of(canned.failed("EINTR", 4, "interrupted", partial=True, iterations=5,
				    elapsed_ns=1000))
	assert row.note == "EINTR, partial", row
	# A limit that was missed is no partial result.
	row = rows.of(canned.failed("ERANGE", 34, "above", iterations=5, elapsed_ns=1000))
	assert row.note == "ERANGE", row


@suite.test("figures of disks that make no sense are refused")
def disks():
	good = canned.disk()
	assert results.check(good, "x") is good
	for name, value in (("requests", -1), ("errors", "1"), ("disk", 5), ("total_ns", [1]),
			    ("wire_ns", {"count": 1}), ("queued_ns", canned.stage(9) | {"p99": -1})):
		try:
			results.check(good | {name: value}, "x")
		except Quit as quit:
			assert name in str(quit), quit
		else:
			raise AssertionError(f"{name} is taken: {value}")


suite.main()
