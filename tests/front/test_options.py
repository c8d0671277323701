# SPDX-License-Identifier: GPL-2.0
"""krping options: the list, one option, and names that there are not."""

from front import krping
from krping_front.tables import TABLES, TESTS
from ktap import Suite

suite = Suite(limit=60)


def printed(*words):
	"""The lines of krping options WORDS, which succeeds."""
	status, out, err = krping("options", *words)
	assert (status, err) == (0, ""), (status, err)
	return out.splitlines()


@suite.test("every option is listed, with what it does")
def every():
	lines = printed()
	starts = [line.split("=")[0].split("[")[0].split(" ")[0] for line in lines if line[0] != " "]
	assert starts == [option["name"] for option in TABLES["options"]], starts
	text = " ".join(" ".join(lines).split())
	assert all(option["help"] in text for option in TABLES["options"]), text
	assert all(len(line) <= 96 for line in lines), lines


@suite.test("--test lists those that go with it, and no others")
def of_test():
	for test in TESTS:
		text = "\n" + "\n".join(printed("--test", test["name"]))
		for option in TABLES["options"]:
			goes = any(test["name"] in tests for tests in option["goes"].values())
			found = any(f"\n{option['name']}{end}" in text for end in ("=", " ", "[", "\n"))
			assert found == goes, (test["name"], option["name"])


@suite.test("one option, by its name, by another name, and as it stands in a command")
def one():
	assert printed("poll")[:2] == ["poll", "  Spins on completions"]
	for name in ("txdepth", "tx-depth", "txdepth=64"):
		lines = printed(name)
		assert lines[0] == "txdepth=N" and "  also              tx-depth" in lines, lines
	lines = printed("max_p99")
	assert "  value             1 to 1000000000000 ns; ns, us, ms, s, m, h may follow" in lines, lines
	assert "  not with          untimed" in lines, lines
	assert "  not with          spin, solicited" in printed("poll")
	assert printed("validate")[0] == "validate[=full]"
	assert printed("mem_mode")[0] == "mem_mode=dma|reg|fastreg"
	for option in TABLES["options"]:
		printed(option["name"])


@suite.test("an option or a test that there is not is named, with one that is near")
def unknown():
	for words, sentence in ((("sise",), "'sise' is no option; did you mean size?"),
				(("qqqqqq",), "'qqqqqq' is no option; there are client, server,"),
				(("iters",), "'iters' is no option; did you mean count?"),
				(("Source",), "'Source' is no option; did you mean src?"),
				(("all",), "'all' is no option; did you mean krping sweep?"),
				(("ramp_time",), "'ramp_time' is no option; each microbenchmark warms up"),
				(("--test", "ib_read_lat"), "'ib_read_lat' is no test; did you mean rlat?"),
				(("--test", "wlatt"), "'wlatt' is no test; did you mean wlat?"),
				(("",), "'' is no option")):
		status, out, err = krping("options", *words)
		assert (status, out) == (2, "") and sentence in err, (words, err)


@suite.test("krping run --help-options lists the same, without a command")
def of_run():
	assert printed() == krping("run", "--help-options")[1].splitlines()
	for word in ("help", "help=size"):
		status, out, err = krping("run", word)
		assert (status, out) == (2, "") and "krping options NAME" in err, err


if __name__ == "__main__":
	suite.main()
