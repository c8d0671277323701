# SPDX-License-Identifier: GPL-2.0
"""krping test: the set, what is run, what is judged of results, KTAP and JUnit."""

import errno
import json
import re
from xml.etree import ElementTree

import canned
import front
from acceptance import ADDR, PASSED, accept, device, name_of, nested, of_junit, refuses, run
from front import Module, krping
from krping_front import tables
from krping_front.acceptance import cases, limits
from krping_front.command import Command
from krping_front.kinds import KINDS
from ktap import Suite

suite = Suite(limit=60)


# The set

@suite.test("the table: names that CI systems take, commands that the module takes")
def table():
	paths = [case.path for case in cases.CASES]
	assert len(set(paths)) == len(paths) and cases.GROUPS == (
		"caps", "conform", "pingpong", "microbench", "load"), paths
	for case in cases.CASES:
		assert re.fullmatch(r"[a-z]+(\.[a-z0-9_]+)?", case.path), case
		assert case.look or case.checks or not case.name, case
		for option in case.options.split(","):
			name, _, value = option.partition("=")
			row = tables.option(name)
			assert not value or value in row.get("words", [value]), (case, option)
			kind = Command(case.options).kind.name
			goes = row["goes"].get("client" if case.look else "loopback", ())
			assert kind in goes, (case, option)


@suite.test("the table: all modes of the ping/pong, and all microbenchmarks")
def whole():
	modes = ",".join(case.options for case in cases.CASES if case.group == "pingpong").split(",")
	for option in ("mem_mode=dma", "mem_mode=reg", "server_inv", "read_inv", "local_dma_lkey", "poll",
		       "cq=pool"):
		assert option in modes, option
	assert {case.name for case in cases.CASES if case.group == "microbench"} == set(
		tables.names("latency", "bandwidth", "rw", "fastreg"))
	assert set(tables.option("mem_mode")["words"]) == {"dma", "reg", "fastreg"}


@suite.test("--list has all cases or those of --only, with their commands, and needs no module")
def listed():
	with front.directory(), front.patched(front.paths, PROC="nothing"):
		status, out, err = krping("test", "--list")
		assert (status, err) == (0, ""), err
		assert [line.split() for line in out.splitlines()] == [
			[case.path, case.options] for case in cases.CASES], out
		status, out, _ = krping("test", "--list", "--only", "microbench.bw,caps")
		assert [line.split()[0] for line in out.splitlines()] == [
			"caps.device", "caps.port", "caps.management", "caps.objects", "caps.limits",
			"microbench.bw"], out


# What is printed and written

EXPECTED = {case.name: "pass" for case in cases.CASES if case.group in ("pingpong", "microbench", "load")}


@suite.test("all is well: KTAP of the groups, with a skip for what the device cannot do; 0")
def well():
	module, lines, err, junit = accept(device())
	found = nested(lines)
	assert err == "", err
	assert {name: group.pop("") for name, group in found.items()} == dict.fromkeys(cases.GROUPS, "pass")
	assert found["caps"] == dict.fromkeys(
		("device", "port", "management", "objects", "limits"), "pass"), found
	assert {**found["pingpong"], **found["microbench"], **found["load"]} == (
		EXPECTED | {"read_inv": "skip"}), found
	assert found["conform"] == {"stale_rkey": "pass", "read_inv": "skip"}, found
	assert lines[2].startswith(f"# device mlx5_0 (RoCE), address {ADDR}, kernel "), lines[2]
	assert "    ok 4 read_inv # SKIP read_inv: only iWARP devices have it" in [
		f"  {line}" for line in lines], lines
	assert lines[-1] == "# Totals: pass:30 fail:0 xfail:0 xpass:0 skip:2 error:0", lines[-1]
	# Each command once, in the order of the table.
	ran = [name_of(text) for text in module.commands]
	assert ran == [None] + [case.path for case in cases.CASES
				if not case.look and case.name != "read_inv"], ran
	assert all(text.text.startswith(f"loopback,addr={ADDR},") for text in module.commands[1:])
	assert junit == {name: {case: {"pass": "pass", "skip": "skipped"}[outcome]
				for case, outcome in group.items()}
			 for name, group in found.items()}, junit


@suite.test("figures are with each case: latencies, bandwidths and rates")
def said():
	_, lines, _, _ = accept(device(), "--only", "pingpong.dma,microbench.bw,microbench.fastreg")
	text = "\n".join(lines)
	assert re.search(r"^  # dma: seen: 100 iterations of 8192 bytes, p50 [0-9.]+ us, p99 [0-9.]+ us, "
			 r"max [0-9.]+ us\n  ok 1 dma$", text, re.MULTILINE), text
	assert "  # bw: seen: 200 iterations of 65536 bytes, 12.50 MiB/s, 200/s\n  ok 1 bw\n" in text, text
	assert "  # fastreg: seen: 500 iterations of 64 bytes, 500/s\n  ok 2 fastreg\n" in text, text


@suite.test("a case that fails: 1, with its command and the module's sentence; the others are run")
def fails():
	_, lines, err, junit = accept(device(("pingpong.poll", refuses)), status=1)
	found = nested(lines)
	assert found["pingpong"]["poll"] == "fail" and found["pingpong"][""] == "fail", found
	assert found["pingpong"]["pool"] == "pass" and found["conform"][""] == "pass", found
	at = lines.index("  not ok 6 poll")
	assert re.fullmatch(rf"  # poll: command: loopback,addr={ADDR},size=8K,count=100,validate,poll,"
			    r"tag=\S+", lines[at - 3]), lines[at - 3]
	assert lines[at - 2] == "  # poll: expected: success", lines[at - 2]
	# No directive.
	assert lines[at - 1] == "  # poll: reason: ECONNREFUSED (111): nothing listens on that port", lines
	assert junit["pingpong"]["poll"] == "failure" and err == "", (junit, err)


@suite.test("results that are not as they must be: each is a failure, with what is wrong")
def wrong():
	def but(**changes):
		return lambda module, text: run(module, text, **changes)

	for path, answer, sentence in (
			("pingpong.dma", but(iterations=99), "99 iterations in place of 100"),
			("pingpong.dma", but(recv_msgs=199), "recv_msgs is 199 in place of 200"),
			("pingpong.threads", but(iterations=1), "1 iterations in place of 100"),
			("pingpong.reg", but(histogram_ns=[(1, 2, 3)]), "the histogram has 3 of 100"),
			("microbench.wlat", but(p99_ns=1), "min, p50, p99 and max are "),
			("microbench.rlat", but(read_msgs=0), "read_msgs is 0 after 1000 iterations"),
			("microbench.bw", but(bytes=1), "1 bytes in 200 iterations of 65536"),
			("microbench.sbw", but(bytes_per_s=0), "there is no bandwidth"),
			("microbench.fastreg", but(iterations=0), "0 iterations in place of 500"),
			("microbench.abw", lambda _module, _text: 0, "there are 0 results of clients")):
		_, lines, _, junit = accept(device((path, answer)), "--only", path, status=1)
		group, name = path.split(".")
		reason, = [line for line in lines if line.startswith(f"  # {name}: reason: ")]
		assert reason.startswith(f"  # {name}: reason: {sentence}"), (reason, sentence)
		assert [line for line in lines if line.startswith(f"  # {name}: expected: ")], lines
		assert junit[group] == {name: "failure"}, junit


@suite.test("what failed is listed at the end, and JUnit's message has it: why, expected, seen")
def at_the_end():
	missed = "p99 of 30 us is above the 20 us of max_p99"
	answer = device(
		("pingpong.poll", refuses),
		("pingpong.dma", lambda module, text: run(module, text, recv_msgs=199)),
		("microbench.wlat", lambda module, text: module.fail(
			text, errno.ERANGE, missed, iterations=1000, elapsed_ns=10**9)),
		found=canned.CASES)
	why = {"pingpong.dma": r"recv_msgs is 199 in place of 200; expected recv_msgs 200; "
			       r"seen 100 iterations of 8192 bytes, p50 .*",
	       "pingpong.poll": r"ECONNREFUSED \(111\): nothing listens +on that port; expected success",
	       "microbench.wlat": rf"ERANGE \(34\): {missed}; expected max_p99=20us; seen 1000 .*",
	       "conform.rnr": "how the request ended; expected RNR +retries; seen nothing at all"}
	with front.directory(), Module(answer) as module:
		status, out, _ = krping("test", "--addr", ADDR, "--junit", "junit.xml", "--max-p99",
					"wlat=20us", "--timeout", "500")
		top = ElementTree.parse("junit.xml").getroot()
	lines = out.splitlines()
	at = lines.index("# Failed:")
	assert status == 1 and lines[-1].startswith("# Totals:"), lines
	listed = dict(line.removeprefix("#   ").split(": ", 1) for line in lines[at + 1:-1])
	assert sorted(listed) == sorted(why), listed
	assert next(iter(listed)) == "conform.rnr", listed
	messages = {f"{each.get('classname')}.{each.get('name')}".removeprefix("krping."):
		    each.find("failure") for each in top.iter("testcase")}
	for name, sentence in why.items():
		assert re.fullmatch(sentence, listed[name]), (name, listed[name])
		message = messages[name].get("message")
		assert re.fullmatch(sentence, message) and messages[name].text == message, message
	# The command is of this case alone.
	command, = [line for line in lines if "# rnr: command: " in line]
	text = command.partition(" command: ")[2]
	assert text == f"neg=rnr,loopback,addr={ADDR},timeout=500", command
	assert text in ElementTree.tostring(top, "unicode")
	# A line for a bug report says where, too.
	report, = [line for line in lines if "# rnr: report: " in line]
	assert re.search(r": report: krping \S+, Linux \S+ \S+, \S+.*: echo " + re.escape(text),
			 report), report
	assert report.partition("# rnr: ")[2] in ElementTree.tostring(top, "unicode").replace("&gt;", ">")
	assert sum("neg=all" in text.text for text in module.commands) == 1, module.commands


@suite.test("a size above the device's limit is a skip")
def above():
	sentence = "the size is above 131072 bytes, the most that can be registered here"
	_, lines, _, junit = accept(device(("pingpong.large", lambda module, text: module.fail(
		text, errno.ERANGE, sentence))), "--only", "pingpong.large")
	assert f"  ok 1 large # SKIP {sentence}" in lines and junit["pingpong"]["large"] == "skipped", lines
	assert "ok 1 pingpong # SKIP all of its cases were" in lines, lines


@suite.test("conformance: a failure, one that is known, and a run that did not come to its end")
def conformance():
	_, lines, _, junit = accept(device(found=canned.CASES), "--only", "conform", status=1)
	assert nested(lines)["conform"] == {"": "fail", "stale_rkey": "pass", "rnr": "fail",
					    "read_inv": "skip"}, lines
	assert junit["conform"]["rnr"] == "failure", junit
	with front.directory(), Module(device(found=canned.CASES)):
		front.write("known", "rnr: how the request ended\n")
		status, out, _ = krping("test", ADDR, "--only", "conform", "--known", "known",
					"--junit", "junit.xml")
		assert status == 0 and "  ok 2 rnr # XFAIL how the request ended" in out.splitlines(), out
		assert of_junit("junit.xml")["conform"]["rnr"] == "skipped"
		# The names of those that come with the program.
		assert krping("test", ADDR, "--only", "conform", "--known", "siw")[0] == 1

	def ends(module, text):
		module.keep(canned.conformance(PASSED, module.next, tag=text.tag, options=text.text,
					       status="failed", errno="ETIMEDOUT", errno_number=110,
					       reason="nothing happened"))
		return errno.ETIMEDOUT

	_, lines, _, _ = accept(device(("conform", ends)), "--only", "conform", status=1)
	at = lines.index("  not ok 3 end")
	assert lines[at - 1] == "  # end: reason: ETIMEDOUT (110): nothing happened", lines
	assert re.fullmatch(rf"  # end: command: loopback,addr={ADDR},neg=all,tag=\S+", lines[at - 2])


# What is run

@suite.test("--only: groups, cases, conformance cases; what there is not, is refused")
def only():
	module, lines, _, _ = accept(device(), "--only", "microbench.bw,pingpong.dma,conform.stale_rkey,"
				     "conform.drain,pingpong.dma", status=1)
	found = [re.sub(rf".*addr={ADDR},|,tag=.*", "", text.text) for text in module.commands]
	assert found == ["caps", "neg=stale_rkey+drain", "size=8K,count=100,validate,mem_mode=dma",
			 "bw,size=64K,count=200,validate"], found
	# A case that the module says nothing of.
	assert nested(lines)["conform"]["drain"] == "fail", lines
	for word, sentence in (("caps.", "caps has no case ''"),
			       ("pingpong.x", "has no case 'x'; there are dma"),
			       ("ping", "'ping' is no group and no case"), ("", "'' is no group"),
			       ("conform.a+b", "conform has no case 'a+b'")):
		module, lines, err, _ = accept(device(), "--only", word, status=2)
		assert (module.commands, lines) == ([], []) and sentence in err, (word, err)
	sentence = "neg=stale: must be all, or names with + between"

	def refused(module, text):
		if "neg" in text.options:
			return module.refuse(errno.EINVAL, sentence)
		return device()(module, text)

	_, lines, err, junit = accept(refused, "--only", "conform.stale", status=2)
	assert lines[-2] == f"Bail out! EINVAL (22): {sentence}" and sentence in err, (lines, err)
	assert junit["end"] == {"completed": "error"}, junit


@suite.test("limits: for all, for one, where they go; 3 where nothing else is amiss")
def bounds():
	words = ["--max-p99", "20us", "--max-p99", "rlat=1ms", "--min-bw", "10G", "--min-bw", "abw=2M"]
	module, lines, _, _ = accept(device(), *words, "--only", "microbench,pingpong")
	found = {name_of(text): ",".join(f"{name}={text.options[name]}" for name in ("max_p99", "min_bw")
					  if name in text.options) for text in module.commands[1:]}
	for path, limit in found.items():
		group, name = path.split(".")
		measure = KINDS.get(name, KINDS["pingpong"]).measure
		expected = "" if group == "pingpong" or measure == "rate" else {
			"rlat": "max_p99=1ms", "abw": "min_bw=2M", "casbw": ""}.get(
			name, "max_p99=20us" if measure == "latency" else "min_bw=10G")
		assert limit == expected, (path, limit)

	def misses(module, text):
		return module.fail(text, errno.ERANGE, "p99 of 30 us is above the 20 us of max_p99",
				   iterations=1000, elapsed_ns=10**9)

	missed = ("microbench.wlat", misses)
	_, lines, _, junit = accept(device(missed), *words, "--only", "microbench", status=3)
	assert "  # wlat: reason: ERANGE (34): p99 of 30 us is above the 20 us of max_p99" in lines, lines
	assert nested(lines)["microbench"]["wlat"] == "fail" and junit["microbench"]["wlat"] == "failure"
	accept(device(missed, ("microbench.bw", refuses)), *words, "--only", "microbench", status=1)
	# No limit was set, so none was missed.
	accept(device(missed), "--only", "microbench", status=1)
	for words, sentence in ((["--max-p99", "bw=20us"], "'bw' is none of wlat, rlat"),
				(["--max-p99", "20x"], "is no time"),
				(["--min-bw", "=1"], "'' is none of bw"),
				(["--min-bw", "wlat=1G"], "'wlat' is none of bw"),
				(["--min-bw", "bw="], "is no bandwidth")):
		module, _, err, _ = accept(device(), *words, status=2)
		assert module.commands == [] and sentence in err, (words, err)
	assert "fastreg" not in limits.takes("max_p99") + limits.takes("min_bw")


@suite.test("--duration, --timeout and --port are in the commands")
def options():
	module, _, _, _ = accept(device(), "--timeout", 500, "--port", 7, "--only",
				 "pingpong.dma,conform")
	assert [",port=7" in text.text for text in module.commands] == [False, True, True]
	assert all(",timeout=500" in text.text for text in module.commands)
	with front.directory(), Module(lambda module, text: device()(module, text) if "caps" in text.options
				       else run(module, text)) as module:
		status, out, _ = krping("test", ADDR, "--only", "pingpong.dma,microbench.bw",
					"--duration", "3")
	assert status == 0, out
	assert ["duration" in text.options for text in module.commands] == [False, False, True]
	assert ["count" in text.options for text in module.commands] == [False, True, False]


@suite.test("on iWARP, which has no immediate data, WRITEs are waited for by polling")
def iwarp():
	for transport, polls in (("RoCE", False), ("iWARP", True)):
		module, _, _, _ = accept(device(caps=(("transport", transport),)), "--only",
					 "microbench.wlat,microbench.bw")
		found = {text.kind.name: "poll" in text.options for text in module.commands[1:]}
		assert found == {"wlat": polls, "bw": False}, (transport, found)


@suite.test("--client: this side only, and what needs both is skipped; it needs an address")
def client():
	module, lines, _, junit = accept(device(), "--client")
	assert all(text.text.startswith(f"client,addr={ADDR},") for text in module.commands)
	assert not any({"neg", "local_dma_lkey"} & set(text.options) for text in module.commands)
	found = nested(lines)
	assert found["pingpong"]["local_dma_lkey"] == "skip", found
	assert found["conform"] == {"": "skip", "all": "skip"} and junit["conform"] == {"all": "skipped"}
	with front.directory(), Module(device()) as module:
		assert krping("test", "--client")[0] == 2 and module.commands == []


@suite.test("--client with --device or --src: all commands connect from there; elsewhere it is refused")
def source():
	for words, option in ((("--device", "mlx5_1"), "dev=mlx5_1"), (("--dev", "mlx5_1"), "dev=mlx5_1"),
			      (("--src", "192.0.2.7"), "src=192.0.2.7")):
		module, lines, _, _ = accept(device(), "--client", *words)
		start = f"client,addr={ADDR},{option},"
		assert all(text.text.startswith(start) for text in module.commands)
		assert len(module.commands) > 20, module.commands
		assert lines[-1].startswith("# Totals: pass:28 fail:0 "), lines[-1]
	refused = (((ADDR, "--device", "mlx5_1"), "only --client takes both"),
		   ((ADDR, "--src", "192.0.2.7"), "--src is for --client"),
		   ((ADDR, "--client", "--device", "a,b"), "'a,b' is no RDMA device"),
		   (("--client", "--device", "mlx5_1"), "--client needs ADDR"))
	for given, sentence in refused:
		with front.directory(), Module(device()) as module:
			status, _, err = krping("test", *given)
		assert (status, module.commands) == (2, []) and sentence in err, (given, err)


@suite.test("--json has all results of the module, which report takes")
def kept():
	with front.directory(), Module(device()):
		assert krping("test", ADDR, "--json", "found.json")[0] == 0
		with open("found.json", encoding="utf-8") as file:
			found = [json.loads(line) for line in file]
		assert [each["test"] for each in found[:3]] == ["caps", "neg", "pingpong"], found[:3]
		assert len(found) == 1 + len(EXPECTED) - 1 + 3 + 1
		status, out, _ = krping("report", "found.json", "--test", "wlat")
		assert status == 0 and "# wlat: " in out, out
		for words in (["--json", "-"], ["--junit", "-"], ["--json", "no/such/file"]):
			status, out, err = krping("test", ADDR, *words)
			assert (status, out) == (2, "") and err, (words, err)


suite.main()
