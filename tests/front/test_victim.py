# SPDX-License-Identifier: GPL-2.0
"""krping victim: its commands, when they run, and what it says of them."""

import errno
import json

import canned
import front
from front import Module, krping
from ktap import Suite

suite = Suite(limit=60)

AGGRESSORS = 3


class Played(Module):
	"""A module with a victim of 1 us, which takes SLOWER times as long beside aggressors. These
	FAIL at once, or run until they are interrupted."""

	def __init__(self, slower=3, fail=None):
		super().__init__(self.play)
		self.slower = slower
		self.failing = fail
		self.busy = False
		self.seen = []

	def play(self, _module, text):
		"""Run the command TEXT."""
		if text.kind.measure == "bandwidth":
			return self.fail(text, *self.failing) if self.failing else self.aggress(text)
		self.seen.append(self.busy)
		values = canned.times(200, 1000 * (self.slower if self.busy else 1))
		self.result(text, elapsed_ns=sum(values), **canned.latency(values))
		return 0

	def aggress(self, text):
		"""Be so many threads of aggressors until a signal comes."""
		self.busy = True
		counters = " ".join(["0"] * 4 + ["4096", "64"] + ["0"] * 2)
		self.show("".join(f"{200 + number}-rxe0 {counters}\n"
				  for number in range(text.value("threads", 1))))
		front.sleep()
		self.busy = False
		self.show("")
		self.result(text, status="failed", errno="EINTR", errno_number=errno.EINTR, partial=True,
			    reason="interrupted", iterations=1000, elapsed_ns=10**9)
		return errno.EINTR


def victim(module, *words, status=0):
	"""Run krping victim WORDS with the MODULE: stdout and stderr."""
	with module:
		found, out, err = krping("victim", "192.0.2.1", "--aggressors", str(AGGRESSORS), *words)
	assert found == status, (found, out, err)
	return out, err


@suite.test("the victim runs alone, and then while all aggressors do")
def commands():
	with front.directory():
		module = Played()
		out, err = victim(module, "--port", "99", "--option", "poll", "--aggressor-option", "qps=2")
	first, aggressors, second = (text.text.rpartition(",tag=")[0] for text in module.commands)
	assert first == second == "client,addr=192.0.2.1,port=99,wlat,size=64,duration=5,poll", first
	assert aggressors == "client,addr=192.0.2.1,port=99,bw,size=65536,qps=2,threads=3", aggressors
	assert module.seen == [False, True] and err == "", (module.seen, err)
	lines = out.splitlines()
	assert lines[0].startswith("# wlat: RDMA WRITE latency") and lines[5].startswith("# bw: "), lines
	assert [line.split()[0] for line in lines[1:4]] == ["run", "alone", "beside"], lines
	assert lines[-1].startswith("# beside them, times as long: t_typical 3.00, t_avg 3.00, 99% 3.0"), \
		lines


@suite.test("JSON has both, and the ratio")
def as_json():
	with front.directory():
		out, _ = victim(Played(slower=2), "--json", "--test", "rlat", "--loopback")
	found = json.loads(out)
	assert found["krping_victim"] == 1 and set(found["ratio"]) == {
		"p50_ns", "mean_ns", "p99_ns", "p99_9_ns"}, found["ratio"]
	assert abs(found["ratio"]["p99_ns"] - 2) < 0.1, found["ratio"]
	assert [len(found[name]) for name in ("alone", "beside", "aggressors")] == [1, 1, 1], found


@suite.test("more than --max-slower is a missed limit")
def limit():
	with front.directory():
		_, err = victim(Played(), "--max-slower", "150%", status=3)
		assert "201% longer beside the aggressors, above 150%" in err, err
		victim(Played(), "--max-slower", "250%")


@suite.test("aggressors that fail, and a victim that does, end it")
def failures():
	with front.directory():
		module = Played(fail=(errno.ECONNRESET, "the peer has gone"))
		out, err = victim(module, status=1)
		assert "the aggressors: ECONNRESET (104): the peer has gone" in err and not out, (out, err)

	def refuse(module, _text):
		return module.refuse(errno.EINVAL, "duplex is for bw, rbw or sbw")

	with front.directory():
		refusing = Module(refuse)
		_, err = victim(refusing, "--option", "duplex", status=2)
		assert len(refusing.commands) == 1 and "duplex is for" in err, err


@suite.test("arguments that are none are refused by name")
def refused():
	for words, word in ((["--test", "bw"], "'bw'"), (["--aggressor-test", "wlat"], "'wlat'"),
			    (["--max-slower", "2"], "'2' is no share"),
			    (["--option", "size=5"], "'size=5'"),
			    (["--aggressor-option", "count=5"], "'count=5'"),
			    (["--loopback", "--device", "mlx5_1"], "--device and --src are for --client")):
		with front.directory():
			module = Played()
			_, err = victim(module, *words, status=2)
			assert word in err and not module.commands, (words, err)


if __name__ == "__main__":
	suite.main()
