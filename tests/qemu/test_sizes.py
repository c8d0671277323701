# SPDX-License-Identifier: GPL-2.0
"""Operations of several sizes: sizes=."""

import errno

import krping
from krping import ADDR, both, run_fails, run_ok
from ktap import Suite

suite = Suite(check=krping.check)

# Bytes of 100 operations of MIX.
MIX, BYTES = "1:50+64:40+9000:10", 50 + 40 * 64 + 10 * 9000


@suite.test("each has its part of the operations: bytes are counted, on both sides")
def parts():
	for test, moved in (("bw", "write"), ("rbw", "read"), ("sbw", "send"), ("rlat", "read")):
		client, server = both(f"{test},sizes={MIX},count=1000")
		assert (client["size"], client["bytes"]) == (9000, 10 * BYTES), client
		ns = client["elapsed_ns"]
		assert client["bytes_per_s"] == 10 * BYTES * 10**9 // ns, client
		assert server["peer_bytes_per_s"] == client["bytes_per_s"], server
		# The warm-up is no whole turn.
		messages = client[f"{moved}_msgs"]
		per_message = client[f"{moved}_bytes"] / messages
		assert abs(per_message - BYTES / 100) < BYTES / 100 / 4, client
		if test == "sbw":
			assert server["recv_msgs"] == messages, (client, server)
			assert server["recv_bytes"] == client["send_bytes"], (client, server)


@suite.test("an interval of the series has the bytes of its operations")
def series():
	client, _ = both(f"rbw,sizes={MIX},count=3000,interval=1000")
	at = client["series"]["columns"].index("bytes")
	assert sum(row[at] for row in client["series"]["intervals"]) == 30 * BYTES, client


@suite.test("with other options")
def with_others():
	for options in ("bw,imm", "bw,qps=3,threads=2", "sbw,postlist=32,txdepth=64",
			"bw,inline,sizes=1+32", "rbw,buffers=100,mrs=7", "rbw,sge=4,sizes=4+4096",
			"sbw,srq=64", "bw,rate=5000", "rlat,rate=500", "sbw,solicited,signal_every=8",
			"sbw,sizes=24:5+26:5", "bw,sig_all"):
		sizes = "" if "sizes" in options else f",sizes={MIX}"
		run_ok(f"loopback,addr={ADDR},{options}{sizes},count=300")
	run_ok(f"loopback,addr={ADDR},sbw,sizes={MIX},duration=1")
	# A keepalive, the bytes and the end follow one another at once.
	run_ok(f"loopback,addr={ADDR},bw,sizes={MIX},qps=8,count=3000,timeout=600")


@suite.test("what does not go together, and other values: refused by name")
def refused():
	client = f"client,addr={ADDR}"
	for text, number, sentence in (
			(f"{client},slat,sizes=1+2", errno.EINVAL, "sizes does not go with slat"),
			(f"{client},bw,sizes=1+2,size=3", errno.EINVAL, "size and sizes are both given"),
			(f"{client},bw,sizes=1:0", errno.ERANGE, "sizes=0: must be from 1 to 1000"),
			(f"{client},bw,sizes=0", errno.ERANGE, "sizes=0: must be from 1 to"),
			(f"{client},bw,sizes=1+x", errno.EINVAL, "sizes=x"),
			(f"{client},bw,sizes=", errno.EINVAL, "sizes"),
			(f"{client},sbw,sizes=25", errno.EINVAL, "the length of control messages")):
		run_fails(text, number, sentence)


if __name__ == "__main__":
	suite.main()
