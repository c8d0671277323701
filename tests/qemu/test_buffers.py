# SPDX-License-Identifier: GPL-2.0
"""Several buffers and memory regions that a microbenchmark takes in turn: buffers= and mrs=."""

import errno

import krping
from krping import ADDR, both, new_port, run_fails, run_ok
from ktap import Suite

suite = Suite(check=krping.check)

TESTS = ("bw", "rbw", "sbw", "slat", "rlat", "bw,duplex", "rbw,duplex", "sbw,duplex")


def regions():
	"""The number of memory regions on the device."""
	return krping.resources()[krping.DEVICE]["mr"]


@suite.test("each test, with places in one region and in several: all that they bring is right")
def each():
	for test in TESTS:
		compared = "" if "lat" in test else ",validate"
		for words in ("buffers=7", "mrs=5", "buffers=100,mrs=9", "buffers=3,mrs=3"):
			for result in both(f"{test},size=500,count=230,{words}{compared}"):
				said = dict(word.split("=") for word in words.split(","))
				mrs = int(said.get("mrs", 1))
				assert result["mrs"] == mrs, result
				assert result["buffers"] == int(said.get("buffers", mrs)), result


@suite.test("each place is taken once before one is taken again, and each is compared")
def places():
	# Messages that were compared, of the side that data comes to.
	for test, role, count, expected in (("bw", 1, 100, 32), ("rbw", 0, 100, 32), ("bw", 1, 10, 26)):
		for words in ("buffers=32", "mrs=32", "buffers=32,mrs=5"):
			# With 16 operations of the warm-up.
			result = both(f"{test},size=64K,count={count},{words},validate")[role]
			assert result["validated"]["msgs"] == expected, (test, words, result)


@suite.test("with lists, pieces, inline data, immediate data, several queue pairs and a rate")
def with_others():
	for options in ("bw,postlist=32,signal_every=8,txdepth=64,buffers=5,mrs=2",
			"bw,sge=4,buffers=9,mrs=3", "bw,inline,size=32,buffers=9,mrs=3",
			"bw,imm,buffers=9,mrs=3", "rbw,qps=3,buffers=9,mrs=9",
			"bw,sig_all,threads=2,buffers=300", "bw,cq=pool,mrs=7", "bw,poll,mrs=7",
			"bw,pattern=binary,mrs=33", "bw,unsafe_global_rkey,buffers=8"):
		run_ok(f"loopback,addr={ADDR},{options},count=200,validate")
	# A keepalive may come before the table of regions.
	run_ok(f"loopback,addr={ADDR},bw,qps=8,mrs=500,size=64,count=50,timeout=1000")
	run_ok(f"loopback,addr={ADDR},rbw,duplex,qps=8,mrs=500,size=64,count=50,timeout=1000")
	run_ok(f"loopback,addr={ADDR},rlat,rate=500,count=50,mrs=4")
	run_ok(f"loopback,addr={ADDR},sbw,srq=64,mrs=4,count=200")


@suite.test("the device has so many regions of each side, and none when it is over")
def many():
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},persist")
	client = krping.Command(f"client,addr={ADDR},port={port},bw,mrs=1000,size=64,rate=50")
	# Those of the target, with one for the table, and those that the client's own memory has.
	krping.wait_for(lambda: regions() == 2001, what="2001 regions")
	client.interrupt()
	krping.wait_for(lambda: regions() == 0, what="no region")
	server.interrupt()
	for result in both("rbw,mrs=4096,size=64,count=5000,validate"):
		assert (result["buffers"], result["mrs"]) == (4096, 4096), result


@suite.test("what does not go together, is too much or is for other tests: refused by name")
def refused():
	client = f"client,addr={ADDR}"
	for text, number, sentence in (
			(f"{client},wlat,buffers=4", errno.EINVAL, "buffers does not go with wlat"),
			(f"{client},abw,mrs=4", errno.EINVAL, "mrs does not go with abw"),
			(f"{client},mrs=4", errno.EINVAL, "mrs does not go with"),
			(f"{client},bw,buffers=4097", errno.ERANGE, "buffers=4097: must be from 1 to 4096"),
			(f"{client},bw,buffers=3,mrs=4", errno.EINVAL,
			 "mrs=4 does not go with buffers=3; each region needs a buffer"),
			(f"{client},sbw,qp=uc,buffers=3", errno.EINVAL, "buffers"),
			(f"{client},bw,validate=full,mrs=3", errno.EINVAL,
			 "validate=full and mrs are both given"),
			(f"{client},bw,unsafe_global_rkey,mrs=3", errno.EINVAL,
			 "unsafe_global_rkey and mrs are both given")):
		run_fails(text, number, sentence)
	port = new_port()
	server = krping.serve(f"server,addr={ADDR},port={port},persist,unsafe_global_rkey")
	run_fails(f"client,addr={ADDR},port={port},rbw,mrs=4", errno.ECONNREFUSED,
		  "mrs: this server opens its memory by one key, with unsafe_global_rkey")
	run_ok(f"client,addr={ADDR},port={port},rbw,buffers=4,count=20,validate")
	server.interrupt()
	run_fails(f"loopback,addr={ADDR},bw,size=64K,buffers=4096", errno.EOPNOTSUPP,
		  "buffers: the device cannot cover so many with one region; give more regions by mrs=")


if __name__ == "__main__":
	suite.main()
