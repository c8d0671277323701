# SPDX-License-Identifier: GPL-2.0
"""Microbenchmarks in tests: what a run is, and what its results must say.

	case = Case("bw", size=4096, count=100, postlist=4)
	client, servers = case.loopback()	# all of it is checked

docs/protocol.md has what moves.
"""

import dataclasses

import krping
from krping import ADDR, new_tag, run_ok, traffic
from krping_front import tables

# Those whose data can be of any size.
LATENCY, BANDWIDTH = (tuple(name for name in tables.names(family)
			    if name in tables.option("size")["goes"]["client"])
		      for family in ("latency", "bandwidth"))
TESTS = LATENCY + BANDWIDTH
# What counters call the operation of each.
OPERATION = {row["name"]: row["verb"] for row in tables.TESTS if row["name"] in TESTS}
# A control message, in bytes; where the data is as long, it has one more.
CONTROL = 24


def any_of(*families, option="qps"):
	"""The tests of FAMILIES that OPTION goes with, as sentences list them."""
	goes = tables.option(option)["goes"]["client"]
	chosen = [name for name in tables.names(*families) if name in goes]
	return " or ".join(filter(None, (", ".join(chosen[:-1]), chosen[-1])))


def ceil(amount, unit):
	"""How many of UNIT cover AMOUNT."""
	return -(-amount // unit)


def warmup(size, every):
	"""How many operations are done before measuring."""
	return ceil(min(max((1 << 20) // size, 2), 100), every) * every


def moving(number=1, least=300):
	"""The lines of at least NUMBER threads that have moved LEAST messages, which is
	more than the warm-up; or None."""
	found = [line for line in krping.lines() if sum(
		line.counters.get(f"{kind}_msgs", 0) for kind in ("write", "read", "send")) >= least]
	return found if len(found) >= number else None


def amid(begin, deed, seconds=4):
	"""Have DEED(run) be done while a run goes on that BEGIN(seconds, tag) starts and that lasts so
	long. Return its tag."""
	tag = krping.new_tag()
	run = begin(seconds * krping.SLOW, tag)
	deed(run)
	assert run.is_alive(), "it ended before what was to be done meanwhile"
	assert run.wait(180) == 0
	return tag


@dataclasses.dataclass(frozen=True)
class Case:
	"""A run, for which COUNT 0 is without an end."""

	test: str
	size: int = 64
	count: int = 32
	poll: bool = False
	postlist: int = 1
	signal_every: int = 0	# 0: the default
	qps: int = 1
	sge: int = 1
	duplex: bool = False
	imm: bool = False
	inline: bool = False
	untimed: bool = False
	options: str = ""	# others

	def text(self):
		"""Its options. No side has to say that it is alive."""
		words = [self.test, f"size={self.size}", f"count={self.count}",
			 f"timeout={60000 * krping.SLOW}"]
		words += [f"{name}={value}" for name, value, default in (
			("postlist", self.postlist, 1),
			("signal_every", 0 if "sig_all" in self.options else self.signal_every, 0),
			("qps", self.qps, 1), ("sge", self.sge, 1)) if value != default]
		words += [name for name in ("poll", "duplex", "imm", "inline", "untimed")
			  if getattr(self, name)]
		return ",".join(words + [self.options] * bool(self.options))

	@property
	def every(self):
		"""signal_every= as it is."""
		return self.signal_every or (1 if self.test == "rlat" else 16)

	@property
	def has_imm(self):
		"""Whether WRITEs carry immediate data."""
		return self.imm or (self.test == "wlat" and not self.poll)

	@property
	def warmup(self):
		"""Operations of a queue pair before measuring."""
		return warmup(self.size, self.every)

	def posts(self, role):
		"""Whether this side posts operations."""
		return role == "client" or self.duplex or self.test in ("wlat", "slat")

	def polls(self, role):
		"""Whether this side of a loopback polls: a server which sees nothing of what is
		done to it does not."""
		quiet = not self.posts("server") and OPERATION[self.test] != "send" \
			and not self.has_imm
		return self.poll and not (role == "server" and quiet)

	def moved(self, role, own, peers):
		"""The counters of one side of one queue pair after so many operations of its
		OWN and of its PEER'S, warm-up included."""
		control = CONTROL + (self.size == CONTROL)
		kind = OPERATION[self.test]
		# With duplex both say when they are ready to measure.
		count = 3 if self.duplex else 2
		found = traffic(send_bytes=count * control, send_msgs=count,
				recv_bytes=count * control, recv_msgs=count)
		if self.posts(role):
			found[f"{kind}_bytes"] += own * self.size
			found[f"{kind}_msgs"] += own
		if self.posts("server" if role == "client" else "client"):
			if kind == "send":
				found["recv_bytes"] += peers * self.size
			if kind == "send" or self.has_imm:
				found["recv_msgs"] += peers
		return found

	def loopback(self):
		"""Run a loopback of one thread, check all of its results, and return those of
		the client and of the servers."""
		tag = new_tag()
		run_ok(f"loopback,addr={ADDR},tag={tag},{self.text()}")
		servers = krping.wait_for(lambda: self._servers(tag))
		client = krping.result(tag, "client")
		self.assert_counted(client, servers)
		return client, servers

	def _servers(self, tag):
		found = [each for each in krping.results(tag) if each["role"] == "server"]
		return found if len(found) >= self.qps else None

	def assert_counted(self, client, servers):
		"""The results are those of this run with COUNT operations on each queue pair,
		to the byte."""
		assert len(servers) == self.qps, (len(servers), self.qps)
		for found, pairs in [(client, self.qps)] + [(server, 1) for server in servers]:
			role = found["role"]
			self.assert_set(found)
			count = self.count if self.posts(role) else 0
			self.assert_moved(found, pairs, count, self.count)
			self._assert_peer(found, pairs)

	def assert_set(self, found):
		"""The result repeats the run's options."""
		assert found["test"] == self.test and found["size"] == self.size, found
		assert found["peer_kind"] == "krping", found
		said = {key: found[key] for key in ("postlist", "signal_every", "sge", "poll",
						    "inline", "imm", "duplex", "untimed")}
		wanted = {"postlist": self.postlist, "signal_every": self.every, "sge": self.sge,
			  "poll": self.polls(found["role"]), "inline": self.inline,
			  "imm": self.has_imm, "duplex": self.duplex, "untimed": self.untimed}
		assert said == wanted, (said, wanted)
		assert found["qps"] == self.qps, found
		assert found["txdepth"] >= self.postlist + self.every - 1, found

	def assert_moved(self, found, pairs, own, peers, status="ok"):
		"""The figures of the result are those of PAIRS queue pairs, on each of which
		this side measured OWN operations and the peer PEERS."""
		assert found["status"] == status, found
		role = found["role"]
		total = own + self.warmup if self.posts(role) else 0
		wanted = {key: value * pairs for key, value
			  in self.moved(role, total, peers + self.warmup).items()}
		moved = {key: found[key] for key in krping.COUNTERS}
		assert moved == wanted, f"{self}: {role}: moved {moved}, not {wanted}"
		figures = {key: found[key] for key in
			   ("iterations", "bytes", "completions", "posts")}
		# One who has not known that it was the last has asked for none.
		told = role == "client" or self.count or self.duplex
		wanted = {"iterations": own * pairs, "bytes": own * pairs * self.size,
			  "completions": (ceil(total, self.every) if told
					  else total // self.every) * pairs,
			  "posts": (ceil(total - own, self.postlist)
				    + ceil(own, self.postlist)) * pairs}
		assert figures == wanted, f"{self}: {role}: {figures}, not {wanted}"
		assert found["warmup"] == self.warmup * pairs, (self, found)
		self._assert_rates(found)

	@staticmethod
	def _assert_rates(found):
		elapsed = found["elapsed_ns"]
		if found["iterations"] == 0:
			return
		assert elapsed > 0, found
		for amount, rate in (("iterations", "iterations_per_s"), ("bytes", "bytes_per_s")):
			assert found[rate] == found[amount] * 10 ** 9 // elapsed, (rate, found)

	def _assert_peer(self, found, pairs):
		"""The result has what the peer has measured."""
		other = "server" if found["role"] == "client" else "client"
		count = self.count * pairs if self.posts(other) else 0
		assert found["peer_iterations"] == count, (self, found)
		assert (found["peer_elapsed_ns"] > 0) == (count > 0), (self, found)
		assert ("total_bytes_per_s" in found) == self.duplex, (self, found)
