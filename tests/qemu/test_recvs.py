# SPDX-License-Identifier: GPL-2.0
"""Receives that a side of a microbenchmark keeps posted for data: recvs=."""

import errno

import krping
from krping import ADDR, both, new_port, new_tag, run_fails, run_ok
from ktap import Suite

suite = Suite(check=krping.check)

# Beyond the control messages' receives, which data may take, too.
MANY = 400


def rnr(result):
	"""How often a sender was told that there is no receive."""
	return result.get("hw_counters", {}).get("rcvd_rnr_err", 0)


@suite.test("a fast sender is told to wait where there are few, and not where there are many")
def few_and_many():
	for test in ("sbw", "bw"):
		# The server's thread is only woken by the last receive that there is for data.
		words = f"{test},solicited,signal_every=16,txdepth=64,count={MANY}"
		client, server = both(f"{words},recvs=16")
		assert (client["recvs"], server["recvs"]) == (0, 16), (client, server)
		assert rnr(client) > 0, client
		client, server = both(f"{words},recvs=1024")
		assert (server["recvs"], rnr(client)) == (1024, 0), (server, client)
		# Twice the operations under way.
		assert both(words)[1]["recvs"] == 128


@suite.test("datagrams are lost where there are few")
def lost():
	client, server = both(f"sbw,qp=ud,txdepth=64,count={MANY},recvs=1")
	assert server["recvs"] == 1 and server["loss"]["lost"] > 0, server
	assert client["loss"]["lost"] == server["loss"]["lost"], (client, server)
	server = both("sbw,qp=ud,size=256,txdepth=8,count=20,recvs=2000")[1]
	assert (server["recvs"], server["loss"]["lost"]) == (2000, 0), server


@suite.test("each side has its own; latencies, both directions, each message compared")
def sides():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,addr={ADDR},port={port},recvs=7,tag={tag}")
	run_ok(f"client,addr={ADDR},port={port},slat,count=50,recvs=3,tag={tag}")
	assert server.wait() == 0
	found = [krping.result(tag, role)["recvs"] for role in ("client", "server")]
	assert found == [3, 7], found
	for options in ("wlat", "sbw,duplex", "bw,duplex,imm", "slat,qp=uc"):
		found = both(f"{options},count=50,recvs=9")
		assert [each["recvs"] for each in found] == [9, 9], (options, found)
	for options in ("sbw,validate", "sbw,validate=full", "bw,validate=full"):
		found = both(f"{options},count=100,recvs=2")
		assert found[1]["recvs"] == 2, (options, found)
	# The server is not woken before.
	server = both("sbw,solicited,signal_every=32,count=200,recvs=1")[1]
	assert server["recvs"] == 32, server


@suite.test("tests without receives, shared receives, other numbers: refused by name")
def refused():
	client = f"client,addr={ADDR}"
	for text, number, sentence in (
			(f"{client},rbw,recvs=4", errno.EINVAL, "recvs does not go with rbw"),
			(f"{client},recvs=4", errno.EINVAL, "recvs does not go with"),
			("server,srq=64,recvs=4", errno.EINVAL, "are both given; give one of them"),
			(f"{client},sbw,recvs=0", errno.ERANGE, "recvs=0: must be from 1 to 16384")):
		run_fails(text, number, sentence)


if __name__ == "__main__":
	suite.main()
