# SPDX-License-Identifier: GPL-2.0
"""Results: which are understood, what is refused and how, and what is worked out of
several."""

import json

import canned
import front
from krping_front import results, rows, stats
from krping_front.errors import Quit
from krping_front.result import Result, Sweep
from ktap import Suite

suite = Suite()


def refuses(text, *words):
	"""TEXT is refused, and the message has WORDS."""
	try:
		found = results.parse(text, "f.json")
	except Quit as ended:
		for word in words:
			assert word in str(ended), (word, str(ended))
		assert ended.status == 2, ended.status
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


@suite.test("a field that is missing, of another type, negative or unknown is named")
def wrong_fields():
	for name in Result.__required_keys__ - {"schema"}:
		found = canned.result()
		del found[name]
		refuses(canned.json_lines([found]), f"there is no {name}")
	caps = canned.caps()["caps"]
	for name, value, words in (
			("id", "7", "id is '7', which is no whole number"),
			("tag", 5, "tag is 5, which is no text"), ("size", 64.5, "size is 64.5"),
			("iterations", True, "iterations is True"), ("elapsed_ns", [1], "is [1]"),
			("bytes_per_s", None, "bytes_per_s is None"), ("reason", {}, "reason is {}"),
			("partial", 1, "partial is 1, which is no flag"),
			("iterations", -1, "iterations is -1, which is negative"),
			("p99_ns", -1, "p99_ns is -1"), ("requests", -1, "requests is -1"),
			("test", "warp", "test is 'warp', which is none of pingpong, "),
			("role", "peer", "role is 'peer', which is none of client, server"),
			("status", "fine", "status is 'fine', which is none of ok, failed"),
			("total_ns", [1], "total_ns is [1], which is no object"),
			("wire_ns", {"count": 1}, "no wire_ns.min"),
			("queued_ns", canned.stage(9) | {"p99": -1}, "queued_ns.p99 is -1"),
			("caps", [], "caps is [], which is no object"),
			("caps", caps | {"port": []}, "caps.port is []"),
			("caps", {"device": {}}, "no caps.port"),
			("caps", caps | {"preflight": [1]}, "caps.preflight[0] is 1"),
			("caps", caps | {"limits": {"imm": True}}, "caps.limits.imm is True"),
			("cases", {}, "cases is {}, which is no array"),
			("cases", [5], "cases[0] is 5, which is no object"),
			("cases", [{"name": "a", "outcome": "pass", "seen": 1}], "cases[0].seen is 1"),
			("cases", [{"outcome": "pass"}], "no cases[0].name"),
			("cases", [{"name": "a", "outcome": "?"}], "cases[0].outcome is '?'"),
			("histogram_ns", 5, "histogram_ns is 5"),
			("histogram_ns", [None], "histogram_ns[0] is None"),
			("histogram_ns", [[1, 2]], "histogram_ns[0] is [1, 2], which are not 3"),
			("histogram_ns", [[1, 2, 1.5]], "histogram_ns[0][2] is 1.5"),
			("histogram_ns", [[1, 2, -1]], "histogram_ns[0][2] is -1")):
		refuses(canned.json_lines([canned.result() | {name: value}]), "f.json: ", words)


@suite.test("a histogram without an order, without anything or without its ends is refused")
def histograms():
	ends = {"min_ns": 1, "max_ns": 9}
	for buckets in ([], [[2, 1, 3]], [[1, 2, 0]], [[5, 6, 1], [1, 2, 1]], [[1, 3, 1], [3, 4, 1]]):
		refuses(canned.json_lines([canned.result(histogram_ns=buckets, **ends)]), "histogram_ns")
	refuses(canned.json_lines([canned.result(histogram_ns=[[1, 2, 1]])]), "histogram_ns")


@suite.test("a sweep with missing fields, or of another version, is refused")
def wrong_sweeps():
	refuses(sweep(krping_sweep=2), "version 2")
	refuses(sweep(krping_sweep=True), "version True")
	for name in Sweep.__required_keys__ - {"krping_sweep"}:
		refuses(sweep(**{name: None}), f"no {name}")
	refuses(sweep(results={}), "results is {}")
	refuses(sweep(results=[{"a": 1}]), "result 1", "not a result")
	refuses(sweep(stopped=[1]), "stopped[0]")
	refuses(sweep(stopped=[{"test": "bw"}]), "no stopped[0].size")


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


suite.main()
