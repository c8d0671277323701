# SPDX-License-Identifier: GPL-2.0
"""krping conform: the command, its KTAP, and the exit status."""

import errno
import json
import os
import re

import canned
import front
from front import Module, krping
from krping_front import known
from krping_front.tables import TABLES
from ktap import Suite

suite = Suite(limit=60)

PASSED = (canned.CASES[0], canned.CASES[2])


def found(cases=canned.CASES, number=None, **changes):
	"""A module's answer that is canned.conformance() with CASES and CHANGES."""
	def answer(module, text):
		made = canned.conformance(cases, module.next, tag=text.tag, options=text.text,
					  **changes)
		module.keep(made)
		if "reason" in made:
			module.log(f"{module.next}: {text.text}: {made['errno']} "
				   f"({made['errno_number']}): {made['reason']}")
		return made.get("errno_number", 0) if number is None else number
	return answer


def conform(answer, *words, status=0):
	"""Run krping conform WORDS with a Module that has ANSWER: the module, the lines of
	stdout, stderr."""
	with front.directory(), Module(answer) as module:
		ended, out, err = krping("conform", *words)
	assert ended == status, (ended, out, err)
	return module, out.splitlines(), err


@suite.test("what is written: all cases, or those that are named")
def written():
	for words, expected in (
			(["192.0.2.1"], "neg=all,addr=192.0.2.1"),
			(["fe80::1%eth0"], "neg=all,addr6=fe80::1%eth0"),
			(["192.0.2.1", "stale_rkey", "rnr", "stale_rkey", "read_inv"],
			 "neg=stale_rkey+rnr+read_inv,addr=192.0.2.1"),
			(["--timeout", "500", "192.0.2.1"], "neg=all,addr=192.0.2.1,timeout=500")):
		module, _, _ = conform(found(), *words, status=1)
		text = module.commands[0]
		assert text.text == f"{expected},tag={text.tag}", text.text
	for words in (["192.0.2.1", "a,count=1"], ["192.0.2.1", ""], ["192.0.2.1", "a+b"],
		      ["192.0.2.1,x"], ["--timeout", "0", "192.0.2.1"], []):
		with front.directory(), Module(found()) as module:
			status, _, err = krping("conform", *words)
		assert (status, module.commands) == (2, []) and err, (words, status)


@suite.test("KTAP: a plan, a line for each case, what was expected and seen; 1 where one failed")
def ktap():
	_, lines, err = conform(found(), "192.0.2.1", status=1)
	assert lines[:2] == ["KTAP version 1", "1..3"], lines
	assert lines[2].startswith("# mlx5_0 (RoCE), Linux "), lines
	report = lines.pop(6)
	assert re.fullmatch(r"# rnr: report: krping \S+, Linux \S+ \S+, mlx5_0( \(.+\))?: "
			    r"echo neg=rnr,addr=192\.0\.2\.1 >/proc/krping", report), report
	assert lines[3:] == [
		"# stale_rkey: expected: remote access error",
		"# stale_rkey: seen: remote access error (10)", "ok 1 stale_rkey",
		"# rnr: command: neg=rnr,addr=192.0.2.1",
		# Neither a directive nor a line of its own.
		"# rnr: expected: RNR retries", "# rnr: seen: nothing at all",
		"# rnr: reason: how the request ended", "not ok 2 rnr",
		"ok 3 read_inv # SKIP the device has none", "# Failed:",
		"#   rnr: how the request ended; expected RNR retries; seen nothing at all",
		"# Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0"], lines
	assert err == "", err


@suite.test("0 where none failed; a skip is no failure")
def passed():
	_, lines, err = conform(found(PASSED), "192.0.2.1")
	assert lines[1] == "1..2" and lines[-1] == \
		"# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:1 error:0", lines
	assert err == "" and not [line for line in lines if line.startswith("not")], lines
	assert "# Failed:" not in lines, lines


@suite.test("the command of a failed case repeats this one, with the options of the run")
def repeats():
	_, lines, _ = conform(found(), "--timeout", "500", "fe80::1%eth0", status=1)
	assert [line for line in lines if ": command: " in line] == [
		"# rnr: command: neg=rnr,addr6=fe80::1%eth0,timeout=500"], lines


@suite.test("a case that was asked for and is not there has failed")
def missing():
	words = ["192.0.2.1", "stale_rkey", "drain"]
	for cases in (canned.CASES[:1], canned.CASES[:2]):
		_, lines, _ = conform(found(cases), *words, status=1)
		at = lines.index(f"not ok {len(cases) + 1} drain")
		assert lines[at - 1] == "# drain: reason: the module says nothing of it", lines
		assert lines[1] == f"1..{len(cases) + 1}", lines


def with_known(text, *words, answer=None, status=0):
	"""Run krping conform with TEXT as what is known: the lines of stdout, stderr."""
	with front.directory(), Module(answer or found()) as module:
		front.write("known", text)
		ended, out, err = krping("conform", "192.0.2.1", "--known", "known", *words)
	assert ended == status, (ended, out, err)
	return module, out.splitlines(), err


@suite.test("a failure that is known is none, with its reason, and its lines before it")
def known_fails():
	_, lines, err = with_known("# a driver\n\n rnr : how the request ended \n")
	assert lines[-6:] == [
		"# rnr: seen: nothing at all", "# rnr: reason: how the request ended",
		"# rnr: known: how the request ended", "ok 2 rnr # XFAIL how the request ended",
		"ok 3 read_inv # SKIP the device has none",
		"# Totals: pass:1 fail:0 xfail:1 xpass:0 skip:1 error:0"], lines
	assert err == "", err
	# It may be more than is seen, and cases that were not run are no matter.
	with_known("rnr: the responder's state; how the request ended\ndrain: what")


@suite.test("a known case that fails in another part has failed, and so has one that is unknown")
def known_otherwise():
	for text in ("rnr: the responder's state", "rnr: how the request", "stale_rkey: what", ""):
		_, lines, _ = with_known(text, status=1)
		assert "not ok 2 rnr" in lines, lines
	# The module must have said so.
	_, lines, _ = with_known("drain: how the request ended", "drain",
				 answer=found(canned.CASES[:1]), status=1)
	assert "not ok 2 drain" in lines, lines


@suite.test("a known case with another end than the one that is known has failed")
def known_end():
	for seen, status in (("no", 0), ("nothing", 0), ("something", 1)):
		_, lines, _ = with_known(f"rnr: how the request ended: {seen}", status=status)
		assert ("not ok 2 rnr" in lines) == bool(status), (seen, lines)
		assert f"# rnr: known: how the request ended; seen: {seen}" in lines, lines


@suite.test("--list: cases by family, and what is demanded of those that are named")
def listed():
	def lines(*words, status=0):
		with front.directory():
			ended, out, err = krping("conform", "--list", *words)
		assert (ended, bool(err)) == (status, bool(status)), (ended, err)
		return out.splitlines()

	found = lines()
	for row in TABLES["cases"]:
		assert f"  {row['name']}: {row['does']}" in found, row
	for name, about in TABLES["families"].items():
		assert f"{name}: {about}" in found, name
	ranges = [row["name"] for row in TABLES["cases"] if row["family"] == "ranges"]
	found = lines("ranges", "rnr")
	assert [line.partition(":")[0].strip() for line in found if re.match("  [a-z]", line)] == \
		[*ranges, "rnr"], found
	text = " ".join(" ".join(found).split())
	assert "demanded: remote access error, both queue pairs in error" in text, text
	assert "on iWARP: the connection ends" in text and "source: IBA chapter 9" in text, text
	assert "not tried: iWARP has no immediate data" in " ".join(lines("send_imm")), "send_imm"
	lines("rnr", "nothing", status=2)


@suite.test("a known case that passes is said, and is no failure; a skip stays one")
def known_passes():
	_, lines, _ = with_known("stale_rkey: what\nread_inv: what", answer=found(PASSED))
	assert lines[-4:] == [
		"# stale_rkey: known: what",
		"ok 1 stale_rkey # XPASS it is known to fail, and did not",
		"ok 2 read_inv # SKIP the device has none",
		"# Totals: pass:0 fail:0 xfail:0 xpass:1 skip:1 error:0"], lines


@suite.test("a file of what is known that is none: 2, with its line, and nothing is run")
def known_malformed():
	for text, sentence in (("rnr", ":1: must be CASE: PART"), ("\nrnr:", ":2: must be CASE"),
			       (": what", ":1: must be CASE"), ("rnr: a:", ":1: must be CASE"),
			       ("include nothing", ":1: must be CASE"),
			       ("include rxe\nstale_lkey: a", ":2: stale_lkey is given twice"),
			       ("rnr: a;;b", ":1: must be CASE"),
			       ("rnr: a\nrnr: b", ":2: rnr is given twice")):
		module, lines, err = with_known(text, status=2)
		assert (module.commands, lines) == ([], []) and f"known{sentence}" in err, err
	with front.directory(), Module(found()) as module:
		status, _, err = krping("conform", "192.0.2.1", "--known", "none")
	assert (status, module.commands) == (2, []) and "none: No such file" in err, err


@suite.test("the shipped files of what is known name what the module says")
def shipped():
	source = os.path.join(front.TOP, "rust", "logic", "conformance", "deviation.rs")
	with open(source, encoding="utf-8") as file:
		parts = re.findall(r'\(Deviation::\w+, "(.*)"\)', file.read())
	assert len(parts) > 10, parts
	folder = os.path.join(front.TOP, "scripts", "known")
	for name in os.listdir(folder):
		found = known.load(os.path.join(folder, name))
		assert found and not {part for each in found.values() for part in each.parts} - {*parts}, \
			found
		assert {*found} <= {row["name"] for row in TABLES["cases"]}, found


def plain(lines):
	"""Those of LINES that are no comments."""
	return [line for line in lines if not line.startswith("#")]


@suite.test("a run that did not come to its end bails out: 2, and 130 for an interrupt")
def bails_out():
	sentence = "connecting: nothing happened for 10000 ms"
	for cases in (canned.CASES, PASSED):
		_, lines, err = conform(
			found(cases, status="failed", errno="ETIMEDOUT", errno_number=110,
			      reason=sentence), "192.0.2.1", status=2)
		assert plain(lines)[-1] == f"Bail out! ETIMEDOUT (110): {sentence}", lines
		assert err == f"krping: ETIMEDOUT (110): {sentence}\n", err
	_, lines, err = conform(found(PASSED, status="failed", errno="EINTR", errno_number=4,
				      reason="interrupted by a signal"), "192.0.2.1", status=130)
	assert lines[-2].startswith("Bail out! EINTR (4)"), lines
	assert err == "krping: interrupted\n", err
	# An errno of failed cases, and no such case.
	_, lines, err = conform(found(PASSED, status="failed", errno="EBADE", errno_number=52,
				      reason="1 case failed"), "192.0.2.1", status=2)
	assert lines[-2] == "Bail out! EBADE (52): 1 case failed", lines


@suite.test("it could not be run: 2, with the reason, and no KTAP")
def not_run():
	sentence = "neg=stale: must be all, or names with + between"
	_, lines, err = conform(lambda module, _text: module.refuse(errno.EINVAL, sentence),
				"192.0.2.1", "stale", status=2)
	assert (lines, err) == ([], f"krping: EINVAL (22): {sentence}\n"), (lines, err)
	_, lines, err = conform(lambda module, text: module.fail(text, errno.EADDRNOTAVAIL, "why"),
				"192.0.2.1", status=2)
	assert (lines, err) == ([], "krping: EADDRNOTAVAIL (99): why\n"), (lines, err)
	# A success that nobody can tell of is none.
	for answer in (lambda _module, _text: 0, found(())):
		_, lines, err = conform(answer, "192.0.2.1", status=2)
		assert "says of no case how it ended" in err, err
		assert not [line for line in lines if line.startswith("ok")], lines
	with front.directory(), front.patched(front.paths, PROC="nothing"):
		status, out, err = krping("conform", "192.0.2.1")
	assert (status, out) == (2, "") and "not loaded" in err, err


@suite.test("without debugfs: 2, whatever the module did")
def blind():
	with front.directory(), Module(found(PASSED)), \
			front.patched(front.paths, RESULTS="nothing"):
		status, out, err = krping("conform", "192.0.2.1")
	assert (status, out) == (2, "") and "the results cannot be shown" in err, (status, err)


@suite.test("--json prints the result, and the status is the same")
def as_json():
	with front.directory(), Module(found()):
		status, out, _ = krping("conform", "192.0.2.1", "--json")
	assert status == 1, status
	assert json.loads(out)["cases"] == [dict(case) for case in canned.CASES], out


@suite.test("run and report have a line for each case")
def tables():
	expected = ["# neg: conformance of mlx5_0 (RoCE); pass:1 fail:1 skip:1",
		    "  pass  stale_rkey  remote access error (10)",
		    "  fail  rnr         nothing at all",
		    "  skip  read_inv    the device has none"]
	with front.directory(), Module(found()):
		status, out, err = krping("run", "neg=all,addr=192.0.2.1")
		assert (status, out.splitlines()) == (1, expected), out
		assert err == "krping: EBADE (52): 1 of 3 cases failed\n", err
		front.write("saved", canned.json_lines([canned.conformance()]))
		_, out, _ = krping("report", "saved", "--test", "neg")
	assert out.splitlines()[:4] == expected, out
	assert out.splitlines()[-1].endswith("EBADE: 1 of 3 cases failed"), out


suite.main()
