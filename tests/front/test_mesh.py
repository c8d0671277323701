# SPDX-License-Identifier: GPL-2.0
"""krping mesh with hosts that are played: rounds, failures, limits and files."""

import contextlib
import importlib.util
import json
import math
import os
import signal
import time

import front
from front import krping, patched
from krping_front.mesh import clock, command, controller, document, html, wire
from ktap import Skip, Suite
from mesh_hosts import SECOND, play

suite = Suite(limit=60)

ONE = ("--test", "wlat", "--sizes", "64")


def loaded(path="x"):
	"""The document in the file PATH."""
	with open(path, encoding="utf-8") as file:
		return json.load(file)


def short(**seconds):
	"""Have hosts have so many SECONDS only."""
	made = controller.Deadlines
	return patched(controller, Deadlines=lambda **given: made(**given | seconds))


@suite.test("each host meets each other in both directions, in rounds")
def pairwise():
	with front.directory():
		hosts, out, err = play("--json", "x", *ONE)
		found = loaded()
	assert not err and "56 runs of 8 of 8 hosts; 0 failed" in out, (out, err)
	assert hosts.stopped and hosts.of("end")
	rounds = hosts.of("round")
	assert [message["n"] for message in rounds] == list(range(14))
	assert all(len(message["spec"]) == 4 for message in rounds)
	assert rounds[0]["client"] == "wlat,size=64,count=1000" and rounds[0]["server"] == "persist"
	# All get the same lines, and find their numbers by what they call themselves.
	plan_, = hosts.of("plan")
	assert plan_["ids"] == {f"id-h{number}": number for number in range(8)}, plan_
	assert plan_["addresses"][3] == ["10.0.0.3"], plan_
	starts = [message["start"] for message in hosts.of("go")]
	assert starts == sorted(starts) and abs(starts[-1] - time.time_ns()) < 60 * SECOND
	matrix, = found["matrices"]
	for client, line in enumerate(matrix["figures"]["p50_ns"]):
		for server, cell in enumerate(line):
			assert (cell is None) == (client == server)
	assert found["status"] == 0 and not found["outliers"] and not found["failures"]
	assert not os.path.exists("x.part")


@suite.test("256 hosts: all 32,640 pairs, in one thread", limit=120)
def all_of_many():
	with front.directory():
		hosts, out, _ = play("--json", "x", "--html", "y", "--directions", "one", *ONE,
				     hosts="h[0-255]", slow={"h70": 3})
		found = loaded()
		size = os.path.getsize("y")
	# The host that stands out is run again with some others, four for each of its sides.
	assert hosts.runs == 32_640 + 8 * 128 and len(hosts.of("round")) == 255 + 8, hosts.runs
	assert found["runs"] == {"all": 32_640, "failed": 0}
	assert {(each["kind"], each["client"]) for each in found["outliers"]} == {("host", "h70")}
	assert "host h70" in out and size > 1 << 16


@suite.test("what a mesh of 1,024 hosts costs to lead is small", limit=120)
def sampled():
	with front.directory():
		hosts, _, _ = play("--rounds", "16", *ONE, hosts="h[0-1023]")
	assert len(hosts.of("round")) == 16 and hosts.runs == 16 * 512, hosts.runs
	assert max(map(len, hosts.sent)) < 64 << 10, "a line to all hosts is long"


@suite.test("patterns, tests, sizes, rails, repeats and options")
def asked():
	with front.directory():
		hosts, _, _ = play("--pattern", "storm", *ONE)
		message, = hosts.of("round")
		assert message["spec"] == "all" and hosts.runs == 56
		hosts, _, _ = play("--pattern", "incast:h3", "--test", "wlat,alat,bw", "--sizes", "64,4K",
				   "--duration", "2", "--concurrency", "4", "--option", "poll",
				   "--server-option", "poll", "--json", "x", "--repeat", "3",
				   "--rail", "mlx5_1", "--rail", "10.0.0.0/16")
		rounds = hosts.of("round")
		assert len(rounds) == 3 * 5 * 2 and {len(each["spec"]) for each in rounds} == {7}
		assert rounds[0]["client"] == "wlat,size=64,duration=2,threads=4,poll", rounds[0]
		assert rounds[4]["client"] == "alat,duration=2,threads=4,poll", rounds[4]
		assert rounds[0]["server"] == "persist,poll" and rounds[0]["seconds"] == 62
		assert [each["rail"] for each in rounds[:4]] == [0, 1, 0, 1]
		assert hosts.of("plan")[0]["addresses"][2] == ["10.1.0.2", "10.0.0.2"]
		found = loaded()
		assert [(each["test"], each["size"], each["rail"]) for each in found["matrices"]][:3] == [
			("wlat", 64, "mlx5_1"), ("wlat", 64, "10.0.0.0/16"), ("wlat", 4096, "mlx5_1")]
		series = found["matrices"][0]["series"]
		assert len(series) == 7 and all(
			len(each["figures"]["p50_ns"]) == 3 for each in series), series


@suite.test("hosts that fail are rows with reasons, and the others' results stand")
def failing():
	faults = {"h1": {"unreachable": 0}, "h2": {"lacks": ["/proc/krping is not there"]},
		  "h3": {"silent": 0}, "h4": {"hangs": 3}, "h5": {"dies": 4}, "h6": {"raves": 5},
		  "h7": {"schema": 99}, "h8": {"rails": []}, "h9": {"mute": 6}}
	start = time.monotonic()
	with front.directory(), short(connect=.5, answer=.3, listen=.2):
		_, out, _ = play("--json", "x", "--timeout", "0.3", *ONE, hosts="h[0-15]", faults=faults,
				 status=1)
		found = loaded()
	assert time.monotonic() - start < 10
	reasons = {host["name"]: host["reason"] for host in found["hosts"]}
	for name, word in (("h1", "No route to host"), ("h2", "/proc/krping is not there"),
			   ("h3", "not say that it is ready within 0.5 s"),
			   ("h4", "did not answer in round"), ("h5", "Connection to host closed"),
			   ("h6", "what makes no sense"), ("h7", "version 99"),
			   ("h8", "no RDMA device with an address"),
			   ("h9", "what came of round")):
		assert word in reasons[name], (name, reasons[name])
		assert f"{name}: " in out and word in out, out
	assert [name for name, reason in reasons.items() if reason is None] == [
		"h0", *(f"h{number}" for number in range(10, 16))], reasons
	assert {host["failed_in_round"] for host in found["hosts"][1:4]} == {None}
	assert found["hosts"][4]["failed_in_round"] >= 3
	# All pairs of the others were run.
	matrix, = found["matrices"]
	healthy = [0, *range(10, 16)]
	for client in healthy:
		for server in healthy:
			assert client == server or matrix["figures"]["p50_ns"][client][server]
	accused = {each["client"] or each["server"] for each in found["outliers"]
		   if each["figure"] == "errors"}
	assert accused >= {"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"}, accused


@suite.test("a link that is lost, and a server that cannot listen, are failures of their runs")
def runs_fail():
	with front.directory():
		_, out, _ = play("--json", "x", *ONE, status=1,
				 faults={"h2": {"link": 5}, "h6": {"port": 0}})
		found = loaded()
	assert all(host["ok"] for host in found["hosts"]), found["hosts"]
	reasons = {(each["errno"], each["reason"]) for each in found["failures"]}
	assert reasons == {("ETIMEDOUT", "nothing happened for 10000 ms"),
			   ("ECONNREFUSED",
			    "h6: the server ended: EADDRINUSE: the port is in use")}, reasons
	port = [each for each in found["failures"] if each["errno"] == "ECONNREFUSED"]
	assert {each["server"] for each in port} == {"h6"} and len(port) == 7, port
	assert "server" in {each["kind"] for each in found["outliers"]}
	assert "the port is in use" in out and "!" in out


@suite.test("what a run measured until it failed is in no matrix, and beyond no limit")
def half():
	with front.directory():
		play("--json", "x", "--max-p99", "80us", *ONE, status=1, slow={"h2": 10},
		     lossy={"h2": 9}, faults={"h2": {"half": 0}}, hosts="h[0-3]")
		found = loaded()
	matrix, = found["matrices"]
	for figure, lines in matrix["figures"].items():
		assert lines[2] == [None] * 4 and None not in lines[1][2:], (figure, lines)
	assert matrix["runs"][2] == matrix["errors"][2] == [1, 1, 0, 1], matrix
	# As a server it is slow, and that is measured.
	assert {(each["client"], each["server"]) for each in found["misses"]} == {
		(f"h{client}", "h2") for client in (0, 1, 3)}, found["misses"]


@suite.test("rails: a client that leaves by another device fails, and by another of the same rail does not")
def strays():
	bad = {"faults": {"h3": {"strays": 0}}, "hosts": "h[0-3]"}
	with front.directory():
		play("--json", "x", *ONE, "--rail", "mlx5_0", "--rail", "mlx5_1", status=1, **bad)
		found = loaded()
		assert {(each["client"], each["rail"], each["errno"]) for each in found["failures"]} == {
			("h3", "mlx5_1", "ENODATA")} and found["runs"]["failed"] == 3, found["failures"]
		assert {each["reason"] for each in found["failures"]} == {
			"it succeeded, but left h3 by mlx5_0, which is not of rail mlx5_1: routes of h3 "
			"lead there"}, found["failures"]
		assert found["matrices"][1]["figures"]["p50_ns"][3] == [None] * 4
		play("--json", "x", *ONE, "--rail", "mlx5_[01]", **bad)
		play("--json", "x", *ONE, "--rail", "10.0.0.0/8", **bad)


@suite.test("numbers that are none, or too large, fail the host that says them, and nobody else")
def numbers():
	now = {"now": time.time_ns(), "mono": time.monotonic_ns()}
	for says in ({"took": math.inf}, {"took": math.nan}, {"took": 10 ** 400}, {"took": 1.5},
		     now | {"took": 1, "mono": math.inf}, now | {"took": 1, "now": -math.inf},
		     now | {"took": 1, "now": 10 ** 40}, now | {"took": 1, "mono": -10 ** 400},
		     {"say": "result", "runs": [], "late": 10 ** 400},
		     {"say": "result", "runs": [], "late": math.inf},
		     {"say": "result", "runs": [{"peer": math.inf}]},
		     {"say": "result", "runs": [{"peer": 1, "figures": {"p50_ns": 10 ** 400}}]}):
		with front.directory():
			_, out, _ = play("--json", "x", "--confirm", "0", *ONE, status=1, hosts="h[0-3]",
					 faults={"h2": {"raves": 2, "says": says}})
			found = loaded()
		assert [host["ok"] for host in found["hosts"]] == [True, True, False, True], (says, out)
		assert "what makes no sense" in found["hosts"][2]["reason"], found["hosts"][2]
		assert found["runs"]["all"] == 12, found["runs"]


@suite.test("a host whose server cannot listen is a client as any other")
def no_server():
	for words in (("--pattern", "ring"), ("--directions", "both"), ("--pattern", "storm")):
		with front.directory():
			_, out, _ = play("--json", "x", "--confirm", "0", *words, *ONE, status=1,
					 faults={"h6": {"port": 0}})
			found = loaded()
		assert {(each["errno"], each["server"]) for each in found["failures"]} == {
			("ECONNREFUSED", "h6")}, (words, found["failures"])
		runs, = [each["figures"]["p50_ns"][6] for each in found["matrices"]]
		assert runs[7] and (words[1] == "ring" or None not in runs[:6]), (words, runs)
		accused = {each["kind"] for each in found["outliers"] if each["figure"] == "errors"}
		assert "host" not in accused, (words, out)


@suite.test("a host that lacks a rail is blamed for no run on another one")
def rail_blamed():
	with front.directory():
		play("--json", "x", "--confirm", "0", "--pattern", "ring", "--rail", "mlx5_0", "--rail",
		     "mlx5_1", *ONE, status=1, faults={"h3": {"quiet": 0, "rails": [
			     {"device": "mlx5_0", "netdev": "eth0", "address": "10.0.0.3", "prefix": 16}]}})
		found = loaded()
	reasons = {(each["rail"], each["client"]): each["reason"] for each in found["failures"]}
	assert reasons == {("mlx5_0", "h3"): "h3 said nothing of it",
			   ("mlx5_1", "h2"): "h3 has no address on rail mlx5_1",
			   ("mlx5_1", "h3"): "h3 has no address on rail mlx5_1"}, reasons


@suite.test("hosts that have failed are told to start nothing, though they may hear of rounds")
def absent():
	with front.directory(), short(answer=.3, listen=.2):
		hosts, _, _ = play("--timeout", "0.3", *ONE, status=1,
				   faults={"h1": {"unreachable": 0}, "h6": {"raves": 5}})
	rounds = hosts.of("round")
	assert rounds[0]["absent"] == [1] and rounds[-1]["absent"] == [1, 6], rounds
	assert hosts.of("go")[0]["absent"] == [1] and not hosts.of("go")[0]["skip"]


@suite.test("clocks: offsets are found, a jump is told and followed")
def clocks():
	offsets = {"h1": 5 * SECOND, "h2": -3600 * SECOND}
	with front.directory():
		hosts, out, _ = play("--json", "x", *ONE, offsets=offsets, faults={"h5": {"jumps": 6}})
		found = loaded()
	for number, host in enumerate(found["hosts"]):
		expected = offsets.get(host["name"], 0) + (3 * SECOND if number == 5 else 0)
		assert abs(host["clock_offset_ns"] - expected) < SECOND // 2, host
	jump, = found["hosts"][5]["clock_jumps"]
	assert jump["round"] >= 6 and abs(jump["ns"] - 3 * SECOND) < SECOND // 2, jump
	assert "h5: its clock was set by +3 s in round" in out, out
	changed, = hosts.of("offsets")
	assert abs(changed["offsets"][5] - 3 * SECOND) < SECOND // 2


@suite.test("clocks: the controller's own may be set")
def own_clock():
	class Set:
		"""The time of this host, whose clock is set by an hour in round 4."""

		monotonic, monotonic_ns = time.monotonic, time.monotonic_ns
		by = 0

		@classmethod
		def time_ns(cls):
			"""What the clock says."""
			return time.time_ns() + cls.by

	def set_clock(number):
		if number == 4:
			Set.by = 3600 * SECOND

	with front.directory(), patched(clock, time=Set), patched(controller, time=Set):
		hosts, out, _ = play("--json", "x", *ONE, at_round=set_clock)
	assert "was set by" not in out, out
	starts = [message["start"] for message in map(json.loads, hosts.sent) if "start" in message]
	assert len(starts) == 14 and starts == sorted(starts), starts
	assert starts[-1] - starts[0] < 600 * SECOND, starts


@suite.test("clocks: they are asked again between rounds, and no jump counts twice")
def clocks_again():
	with front.directory(), patched(controller, CLOCKS=0):
		hosts, out, _ = play("--json", "x", *ONE, faults={"h2": {"drifts": 6}, "h5": {"jumps": 6}})
		found = loaded()
	assert len(hosts.of("clock")) == controller.PROBES * 15, len(hosts.of("clock"))
	offsets = [round(host["clock_offset_ns"] / SECOND) for host in found["hosts"]]
	assert offsets == [0, 0, 3, 0, 0, 3, 0, 0], offsets
	assert [len(host["clock_jumps"]) for host in found["hosts"]] == [0, 0, 0, 0, 0, 1, 0, 0], out
	assert [round(each / SECOND) for each in hosts.of("offsets")[-1]["offsets"]] == offsets


@suite.test("hosts hear that the controller is there, also where it waits for nothing but them")
def alive():
	with front.directory(), patched(wire, ALIVE=0.01), short(connect=.3):
		hosts, _, _ = play(*ONE, faults={"h2": {"silent": 0}}, status=1)
	dos = [json.loads(line)["do"] for line in hosts.sent]
	assert dos[0] == "alive" and dos[-1] == "end", dos
	assert 0 < wire.ALIVE < wire.SILENCE / 4


@suite.test("limits and outliers, and their exit status")
def limits():
	with front.directory():
		_, out, _ = play("--max-p99", "80us", "--json", "x", *ONE, slow={("h1", "h2"): 4}, status=3)
		found = loaded()
		miss, = found["misses"]
		assert (miss["client"], miss["server"], miss["limit"]) == ("h1", "h2", 80_000), miss
		assert "h1 -> h2: p99 is" in out and "and the limit 80 us" in out, out
		play("--max-p99", "1ms", *ONE)
		_, out, _ = play("--min-bw", "5G", "--test", "bw", "--sizes", "64K", slow={"h4": 3},
				 status=3)
		assert "14 beyond limits" in out and "host h4: bandwidth is" in out, out
		play(*ONE, slow={"h4": 5})
		_, out, _ = play("--fail-on-outliers", *ONE, slow={"h4": 5}, status=3)
		assert "host h4: p50 is" in out, out


@suite.test("who stands out is run again: who does not stand out again is not accused")
def again():
	bad = {"h4": 5, ("h1", "h2"): 20}
	with front.directory():
		hosts, out, _ = play("--json", "x", *ONE, slow=bad, passing={
			"h6": (4, 14), ("h0", "h3"): (20, 14)})
		found = loaded()
	who = {(each["kind"], each["client"], each["server"]) for each in found["outliers"]}
	assert who == {("host", "h4", "h4"), ("pair", "h1", "h2")}, who
	assert all(each["again"]["factor"] > 3 for each in found["outliers"]), found["outliers"]
	who = {(each["kind"], each["client"], each["server"]) for each in found["dismissed"]}
	assert who == {("host", "h6", "h6"), ("pair", "h0", "h3")}, who
	assert all(each["again"]["factor"] < 1.5 for each in found["dismissed"]), found["dismissed"]
	assert "# stood out once, and not when they were run again" in out, out
	# The matrix is what was measured the first time, and the document has both.
	matrix, = found["matrices"]
	assert matrix["runs"][1][2] == 1 and found["runs"]["all"] == 56 == found["rounds"]["planned"] * 4
	pair, = (each for each in matrix["again"] if (each["client"], each["server"]) == (1, 2))
	assert pair["runs"] == len(pair["figures"]["p50_ns"]) == 3, pair
	assert min(pair["figures"]["p50_ns"]) > 200_000
	# The rounds are the same ones, with all of their pairs.
	rounds = hosts.of("round")
	first = {json.dumps(each["spec"]) for each in rounds[:14]}
	assert len(rounds) > 14 and {json.dumps(each["spec"]) for each in rounds[14:]} <= first
	assert [each["n"] for each in rounds] == list(range(len(rounds)))
	# A pair is accused only if it is slow each time.
	with front.directory():
		hosts, _, _ = play("--json", "x", *ONE, passing={("h0", "h3"): (20, 16)})
		found = loaded()
		pair, = (each for each in found["matrices"][0]["again"]
			 if (each["client"], each["server"]) == (0, 3))
		slow = [value > 100_000 for value in pair["figures"]["p50_ns"]]
		assert slow == [True, True, False], pair
		assert not found["outliers"], found["outliers"]
		assert {each["figure"] for each in found["dismissed"]} == {"p50_ns", "p99_ns"}
	# Where they are not run again, all are accused; where nobody is, nothing is run again.
	with front.directory():
		play("--json", "x", "--confirm", "0", *ONE, slow=bad, passing={"h6": (4, 14)})
		found = loaded()
		assert {each["client"] for each in found["outliers"]} == {"h4", "h1", "h6"}
		assert not found["dismissed"] and not any(each["again"] for each in found["outliers"])
		hosts, _, _ = play("--json", "x", *ONE)
		assert len(hosts.of("round")) == 14 and not loaded()["matrices"][0]["again"]
		# A pattern with one round runs all of that again.
		hosts, _, _ = play("--json", "x", "--pattern", "storm", *ONE, slow={"h4": 5})
		assert [each["spec"] for each in hosts.of("round")] == ["all"] * 2


@suite.test("runs that fail when they are run again are failures: listed, and in the exit status")
def again_fails():
	with front.directory():
		_, out, _ = play("--json", "x", *ONE, slow={("h1", "h2"): 20},
				 faults={("h1", "h2"): {"link": 14}}, status=1)
		found = loaded()
		assert found["runs"] == {"all": 56, "failed": 0}, found["runs"]
		assert found["again"]["failed"] == 3, found["again"]
		failed = [(each["client"], each["server"], each["repeat"], each["again"], each["errno"])
			  for each in found["failures"]]
		assert failed == [("h1", "h2", repeat, True, "ETIMEDOUT") for repeat in range(3)], failed
		# Nothing says that it is better now, so it is accused as it was.
		assert {(each["kind"], each["client"], each["server"]) for each in found["outliers"]} \
			== {("pair", "h1", "h2")} and not found["dismissed"], found["outliers"]
		assert "p50 is" in out and "; when run again, 3 of 3 failed)" in out, out
		assert "64 bytes, rail 10.0.0.0/16, when run again: ETIMEDOUT: nothing happened" in out, out
		assert "0 failed, 3 failed when run again, 0 beyond limits" in out, out
		pair, = (each for each in found["matrices"][0]["again"]
			 if (each["client"], each["server"]) == (1, 2))
		assert (pair["runs"], pair["errors"], pair["figures"]["p50_ns"]) == (3, 3, []), pair
		# One of a host's runs may fail; who was a failure before is none once more.
		_, out, _ = play("--json", "x", *ONE, slow={"h4": 5, ("h1", "h2"): 20}, status=1,
				 faults={("h1", "h2"): {"link": 14}, "h6": {"unreachable": 0}})
		found = loaded()
		assert found["again"]["failed"] == 3 < found["again"]["runs"], found["again"]
		assert {(each["client"], each["server"]) for each in found["failures"] if each["again"]} \
			== {("h1", "h2")}, found["failures"]


@suite.test("who loses packets is named by retransmits, a host as a host and a pair as a pair")
def losses():
	both = ("--test", "wlat,bw", "--sizes", "64", "--json", "x")
	with front.directory():
		_, out, _ = play(*both)
		found = loaded()
		assert not found["outliers"] and "  retransmits: none" in out, out
		assert set(found["matrices"][1]["figures"]) == {"bytes_per_s", "retransmits"}
		for lossy in ({"h4": 3}, {("h1", "h6"): 3}):
			_, out, _ = play(*both, "--fail-on-outliers", lossy=lossy, status=3)
			found = loaded()
			bad, = lossy
			named = [each for each in found["outliers"] if each["figure"] == "retransmits"]
			assert named == found["outliers"] and named, found["outliers"]
			if bad == "h4":
				assert {each["kind"] for each in named} <= {"host", "client"}, named
				assert {each["client"] for each in named} == {"h4"}, named
			else:
				assert {each["kind"] for each in named} == {"pair"}, named
				assert {frozenset((each["client"], each["server"])) for each in named} \
					== {frozenset(bad)}, named
			assert all(each["factor"] >= 1 and each["again"] for each in named), named
			assert "retransmits in a run" in out and "retransmits: least 0" in out, out
		# A storm's devices count for all of their pairs, so no pair is told from its hosts.
		_, out, _ = play(*both, "--pattern", "storm", lossy={("h1", "h6"): 5})
		assert not loaded()["outliers"], out
	# Of several runs they are added up, and of many hosts the means are shown.
	with front.directory():
		play(*ONE, "--json", "x", "--repeat", "3", "--confirm", "0", lossy={("h1", "h6"): 9})
		matrix, = loaded()["matrices"]
		runs, = [each["figures"]["retransmits"] for each in matrix["series"]
			 if (each["client"], each["server"]) == (1, 6)]
		assert len(runs) == 3 and matrix["figures"]["retransmits"][1][6] == sum(runs) > 30, runs
		_, out, _ = play(*ONE, "--json", "x", hosts="h[0-15]", lossy={"h4": 5})
		assert "the worst hosts, by mean" in out and "host h4" in out, out


@suite.test("Ctrl-C ends all hosts, and --resume goes on")
def resume():
	def interrupt(number):
		if number == 5:
			os.kill(os.getpid(), signal.SIGINT)

	with front.directory():
		hosts, _, err = play("--json", "x", *ONE, at_round=interrupt, status=130)
		assert hosts.stopped and hosts.of("end") and "--resume goes on with it" in err, err
		assert loaded()["interrupted"] and 16 <= loaded()["runs"]["all"] < 40
		# Without --resume nothing is lost by accident, and another mesh is another one.
		asked, _, err = play("--json", "x", *ONE, status=2)
		assert "x.part is of a mesh that did not come to its end" in err, err
		# No host was asked.
		assert asked is None
		_, _, err = play("--json", "x", "--resume", *ONE, "--count", "7", status=2)
		assert "with another count" in err, err
		# A line that was cut off is run again.
		with open("x.part", "a", encoding="utf-8") as file:
			file.write('["wlat",64,"10.0.0')
		before = hosts.runs
		began = loaded()["started"]
		with patched(command, _now=lambda: "2100-01-01T00:00:00+00:00"):
			hosts, _, _ = play("--json", "x", "--resume", *ONE)
		found = loaded()
		assert (found["started"], found["ended"]) == (began, "2100-01-01T00:00:00+00:00"), found
		assert not found["interrupted"] and found["runs"] == {"all": 56, "failed": 0}, found["runs"]
		assert 0 < hosts.runs < 56 and before + hosts.runs >= 56, (before, hosts.runs)
		assert not os.path.exists("x.part")


@suite.test("--resume begins when the first one did, and only on the same kernels and modules")
def resume_start():
	def interrupt(number):
		if number == 5:
			os.kill(os.getpid(), signal.SIGINT)

	with front.directory():
		play("--json", "x", *ONE, at_round=interrupt, faults={"h7": {"unreachable": 0}}, status=130)
		with open("x.part", encoding="utf-8") as file:
			text = file.read()
		assert text.count(loaded()["started"]) == 1, text
		front.write("x.part", text.replace(loaded()["started"], "2026-01-02T03:04:05+00:00"))
		_, _, err = play("--json", "x", "--resume", *ONE, status=2,
				 faults={"h3": {"kernel": "7.3.0"}})
		assert "h3 had kernel 7.2.0 and module 1.0 then, and has kernel 7.3.0" in err, err
		# A host that was not there may have another one, and is known from then on.
		more = {"h7": {"kernel": "7.3.0"}}
		play("--json", "x", "--resume", *ONE, at_round=interrupt, faults=more, status=130)
		assert loaded()["started"] == "2026-01-02T03:04:05+00:00", loaded()["started"]
		_, _, err = play("--json", "x", "--resume", *ONE, status=2)
		assert "h7 had kernel 7.3.0" in err, err
		play("--json", "x", "--resume", *ONE, faults=more)
		found = loaded()
		assert found["started"] == "2026-01-02T03:04:05+00:00" and found["runs"]["all"] == 56
		assert found["ended"] > found["started"], found["ended"]
		# One of before that was noted.
		lines = [line for line in text.split("\n") if '"started"' not in line]
		front.write("x.part", "\n".join(lines))
		play("--json", "x", "--resume", *ONE)


@suite.test("a journal that somebody has removed is missed by nobody")
def journal_removed():
	def remove(number):
		if number == 5:
			os.unlink("x.part")

	with front.directory():
		_, out, err = play("--json", "x", *ONE, at_round=remove)
		assert not err and "56 runs of 8 of 8 hosts" in out, (out, err)


@suite.test("a disk that is full costs the journal and the files, not the results")
def full():
	if not os.path.exists("/dev/full"):
		raise Skip("there is no /dev/full")

	def fill(number):
		"""From round 3 on nothing more can be written to the journal."""
		if number != 3:
			return
		full_disk = os.open("/dev/full", os.O_WRONLY)
		for fd in os.listdir("/proc/self/fd"):
			with contextlib.suppress(OSError):
				if os.readlink(f"/proc/self/fd/{fd}").endswith("/x.part"):
					os.dup2(full_disk, int(fd))
		os.close(full_disk)

	with front.directory():
		_, out, err = play("--json", "x", *ONE, at_round=fill)
		assert "x.part: No space left on device; the mesh goes on" in err, err
		assert "56 runs of 8 of 8 hosts" in out and loaded()["runs"]["all"] == 56
	# What a file has no room for stays in the journal.
	with front.directory():
		_, out, err = play("--json", "x", "--html", "/dev/full", *ONE, status=2)
		assert "/dev/full: No space left" in err and "56 runs of 8" in out, (out, err)
		hosts, out, _ = play("--json", "x", "--html", "y", "--resume", *ONE)
		assert hosts.runs == 0 and loaded()["runs"]["all"] == 56 and os.path.getsize("y")
		assert not os.path.exists("x.part")


@suite.test("--check says what hosts have and lack, and runs nothing")
def check():
	lack = "/proc/krping is not there, so the module is not loaded"
	with front.directory():
		hosts, out, _ = play("--check", faults={"h2": {"lacks": [lack]}, "h3": {"lacks": [lack]},
						       "h5": {"unreachable": 0}}, status=1)
		assert f"h[2-3]: {lack}" in out and "h5: cannot be reached: ssh:" in out, out
		assert "mlx5_0 10.0.0.1/16" in out and not hosts.of("round"), out
		assert "5 of 8 hosts are ready" in out, out
		_, out, _ = play("--check", hosts="a")
		assert "1 of 1 hosts are ready" in out, out


@suite.test("nothing is run where fewer than two hosts are ready")
def nobody():
	with front.directory():
		_, _, err = play(*ONE, hosts="a,b", faults={"b": {"unreachable": 0}}, status=2)
		assert "b: cannot be reached" in err and "fewer than two hosts are ready" in err, err
		# Nor is anything left behind, and what was there stays.
		front.write("y", "before")
		os.symlink("nowhere", "z")
		for words in (("--json", "x", "--html", "y"), ("--json", "z"),
			      ("--json", "x", "--html", "/absent/y")):
			play(*ONE, *words, hosts="a,b", faults={"b": {"unreachable": 0}}, status=2)
			assert sorted(os.listdir()) == ["y", "z"], os.listdir()
		with open("y", encoding="utf-8") as file:
			assert file.read() == "before"


@suite.test("a document and a page take the place of those before at once, when they are whole")
def replaced():
	with front.directory(), contextlib.ExitStack() as stack:
		before = [stack.enter_context(open(front.write(name, "before"), encoding="utf-8"))
			  for name in ("x", "y")]
		play("--json", "x", "--html", "y", *ONE)
		assert [file.read() for file in before] == ["before"] * 2
		assert loaded()["runs"]["all"] == 56 and os.path.getsize("y") > 1000
		assert sorted(os.listdir()) == ["x", "y"], os.listdir()


@suite.test("what makes no sense is refused by name, before any host is asked")
def refused():
	for words, word in (
			(("--hosts", "a"), "at least two hosts"), (("--hosts", "a,,b"), "--hosts 'a,,b'"),
			(("--pattern", "star"), "there are pairwise"),
			(("--html", "-"), "a page is for a file"),
			(("--pattern", "ring", "--rounds", "2"), "ring has only one"),
			(("--pattern", "ring", "--directions", "one"), "who is a client"),
			(("--resume",), "--resume needs --json"), (("--option", "size=5"), "'size=5'"),
			(("--option", "threads=5"), "see --concurrency"),
			(("--server-option", "detach"), "'detach': the mesh sets that itself"),
			(("--rail", "10.0.0.0/99"), "--rail '10.0.0.0/99'"),
			(("--rail", ""), "it is empty"),
			(("--max-p99", "fast"), "is no time such as"),
			(("--test", "bw,rbw", "--max-p99", "1s"), "measures p99; --test is bw, rbw"),
			(("--test", "wlat", "--min-bw", "1"), "measures bandwidth; --test is wlat"),
			(("--min-bw", "much"), "is no bandwidth"), (("--json", "/absent/x"), "/absent/x"),
			(("--launcher", "rsh"), "invalid choice")):
		with front.directory():
			status, out, err = krping("mesh", "--hosts", "a,b", *words)
		assert status == 2 and word in err and not out, (words, err)


@suite.test("more results than the module keeps are warned of")
def too_many():
	for words, most in (("--pattern outcast:h0 --concurrency 37", 259),
			    ("--pattern storm --concurrency 19", 266),
			    ("--directions both --concurrency 129", 258),
			    ("--pattern outcast:h0 --concurrency 36", 0),
			    ("--pattern incast:h0 --concurrency 200", 0), ("--concurrency 256", 0)):
		_, _, err = play(*words.split(), *ONE, "--confirm", "0")
		warning = f"leaves up to {most} results on a host, and a module keeps 256"
		assert warning in err if most else not err, err


@suite.test("the document is what its schema says")
def schema():
	if importlib.util.find_spec("jsonschema") is None:
		raise Skip("python3-jsonschema is not installed")
	import jsonschema  # noqa: PLC0415
	path = os.path.join(front.TOP, "docs", "krping-mesh.schema.json")
	with open(path, encoding="utf-8") as file:
		rules = json.load(file)
	jsonschema.Draft7Validator.check_schema(rules)
	with front.directory():
		play("--json", "x", "--repeat", "2", "--max-p99", "80us", "--test", "wlat,bw,fastreg",
		     faults={"h1": {"unreachable": 0}, "h5": {"jumps": 6}}, slow={"h4": 5}, status=1)
		found = loaded()
		jsonschema.validate(found, rules)
		assert found["misses"] and found["outliers"] and found["failures"]
		assert any(matrix["again"] for matrix in found["matrices"])
		play("--json", "x", hosts="h[0-3]", spread=1.2)
		noisy = loaded()
		jsonschema.validate(noisy, rules)
		assert noisy["unjudged"] and noisy["unjudged"][0]["noise"], noisy["unjudged"]
		for name in ("krping_mesh", "hosts", "matrices"):
			less = {key: value for key, value in found.items() if key != name}
			try:
				jsonschema.validate(less, rules)
			except jsonschema.ValidationError:
				continue
			raise AssertionError(f"a document without {name} is valid")


@suite.test("the page stands alone, and nothing from outside becomes markup or script")
def page():
	evil = "</script><script>alert(1)</script><!-- @@STYLE@@ \u2028 & é"
	with front.directory():
		play("--json", "x", "--html", "y", *ONE, faults={"h2": {"lacks": [evil]}}, status=1)
		with open("y", encoding="utf-8") as file:
			text = file.read()
		found = loaded()
	assert text.count("<script") == text.count("</script>") == 2, text[:500]
	assert "alert(1)</script>" not in text and "@@" not in text.replace("@@STYLE@@ ", "")
	for word in ("http://", "https://", "src=", "href=", "url(", "@import", "innerHTML"):
		found_at = text.replace("http://www.w3.org/2000/svg", "").find(word)
		assert found_at < 0, text[found_at - 40:found_at + 40]
	data = text.split('id="data">')[1].split("</script>")[0]
	assert json.loads(data) == found
	reason = json.loads(data)["hosts"][2]["reason"]
	assert reason.startswith("</script><script>alert(1)"), reason
	assert "default-src 'none'" in text and "'unsafe-inline'" not in text


@suite.test("the file of a document has a line for each row, and is JSON")
def lines():
	with front.directory():
		play("--json", "x", *ONE)
		with open("x", encoding="utf-8") as file:
			text = file.read()
		_, out, _ = play("--json", "-", *ONE)
	assert json.loads(text)["krping_mesh"] == document.VERSION
	assert len(text.splitlines()) < 100 and max(map(len, text.splitlines())) < 1000, text
	assert json.loads(out)["runs"]["all"] == 56
	assert html.page(json.loads(text)).startswith("<!DOCTYPE html>")


suite.main()
