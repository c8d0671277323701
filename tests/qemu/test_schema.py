# SPDX-License-Identifier: GPL-2.0
"""Results of every kind conform to docs/krping-result.schema.json. With RECORD=PATH they are
also kept, for tests/front/recorded.jsonl."""

import contextlib
import errno
import io
import json
import os

import block
import krping
import schema
import tap
from krping import ADDR, Command, new_port, new_tag, run, run_ok, serve_new, wait_for
from ktap import Suite
from program import load

suite = Suite(check=block.check)

LOOPBACK = f"loopback,addr={ADDR}"


def conform(tag, number=1):
	"""At least NUMBER results of TAG came, and conform."""
	found = wait_for(lambda: found if len(found := krping.results(tag)) >= number else None)
	keep(found)
	return found


def keep(found):
	"""FOUND conform."""
	for each in found:
		schema.check(each)
	if "RECORD" in os.environ:
		with open(os.environ["RECORD"], "a", encoding="ascii") as file:
			file.writelines(json.dumps(each, separators=(",", ":")) + "\n" for each in found)


def tagged(text, number=2):
	"""The results of the command TEXT, which succeeds."""
	tag = new_tag()
	run_ok(f"{text},tag={tag}")
	return conform(tag, number)


@suite.test("each test, and what options add to its result")
def tests():
	for words in ("count=50", "fr,count=20", "wlat,count=50,start_at=1", "rlat,count=50",
		      "slat,count=50,solicited", "alat,count=20", "caslat,count=20",
		      "bw,count=50,duplex", "sbw,count=50,srq=32", "rlat,count=50,untimed",
		      "slat,count=50,qp=uc", "sbw,count=50,qp=ud", "wlat,rate=100,count=50,interval=100",
		      "rwread,count=20", "rwwrite,count=20", "stream,count=20,echo",
		      "messenger,count=20,echo"):
		for each in tagged(f"{LOOPBACK},{words}"):
			assert each["status"] == "ok", each
	members = set().union(*tagged(f"{LOOPBACK},wlat,rate=100,count=50,interval=100"))
	assert {"open_loop", "series", "usage"} <= members, members


def validated(words):
	"""What a loopback with WORDS has compared: messages and bytes of the client and the server, None
	for a side that has nothing to say; and the results."""
	found = {each["role"]: each for each in tagged(f"{LOOPBACK},{words}")}
	said = [found[role].get("validated") for role in ("client", "server")]
	assert all(each is None or each["wrong"] == 0 for each in said), said
	return [each and (each["msgs"], each["bytes"]) for each in said], found


@suite.test("validate: what was compared is counted where it arrived")
def compared():
	for words, client, server in (
			("count=50", None, None), ("bw,count=50", None, None),
			("count=50,size=4K,validate", (50, 50 << 12), (50, 50 << 12)),
			("count=50,mem_mode=reg,validate,threads=1", (50, 3200), (50, 3200)),
			# What has arrived last on each queue pair.
			("bw,count=50,size=4K,qps=2,validate", (0, 0), (1, 4096)),
			("sbw,count=50,duplex,validate", (1, 64), (1, 64)),
			("rbw,count=50,qps=2,validate", (2, 128), (0, 0)),
			("alat,count=20,validate", (1, 8), (0, 0)),
			("rwread,count=20,size=4K", None, (20, 20 << 12)),
			("rwwrite,count=20,size=4K", (20, 20 << 12), None),
			("fr,count=20,validate", (0, 0), (0, 0))):
		found, _ = validated(words)
		assert found == [client, server], (words, found)
	for test, side in (("bw", "server"), ("sbw", "server"), ("rbw", "client")):
		found, results = validated(f"{test},count=50,validate=full")
		count = 50 + results["client"]["warmup"]
		expected = [(0, 0), (0, 0)]
		expected[side == "server"] = (count, 64 * count)
		assert found == expected, (test, found, count)
		peer = results["client"]["validated"].get("peer")
		assert peer == ("right" if side == "server" else None), (test, peer)
	for words in ("stream,count=20,echo,validate", "messenger,count=20,echo,validate"):
		found, _ = validated(words)
		assert [bytes_ for _, bytes_ in found] == [20 * 64] * 2, (words, found)


@suite.test("what the front adds")
def front():
	program = load(os.path.join(schema.TOP, "scripts", "krping"))
	out = io.StringIO()
	with contextlib.redirect_stdout(out):
		assert program.main(["run", LOOPBACK, "wlat", "count=50", "--json"]) == 0
	found = [json.loads(line) for line in out.getvalue().splitlines()]
	assert all("provenance" in each for each in found), found
	keep(found)
	server, port, _ = serve_new("persist")
	out = io.StringIO()
	with contextlib.redirect_stdout(out):
		assert program.main(["caps", "--client", "--port", str(port), "--json", ADDR]) == 0
	assert server.interrupt() == errno.EINTR
	found = [json.loads(line) for line in out.getvalue().splitlines()]
	assert [each["pair"]["gets_through_bytes"] for each in found] == [1024], found
	keep(found)


@suite.test("what a device can do, and its conformance")
def device():
	found, = tagged(f"caps,addr={ADDR}", 1)
	assert found["caps"]["limits"], found
	found, = tagged(f"neg=stale_rkey+zero_length,addr={ADDR}", 1)
	assert len(found["cases"]) == 2, found


@suite.test("a server of several clients")
def server():
	command, port, tag = serve_new("threads=2")
	for _ in range(2):
		run_ok(f"client,addr={ADDR},port={port},wlat,count=20")
	assert command.wait() == 0
	assert all("served" in each for each in conform(tag, 2))


@suite.test("a disk and a tap, with their servers")
def disks():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,blk,port={port},size=1M,store=ram,tag={tag}")
	run_ok(f"client,blk,addr={ADDR},port={port},detach,tag={tag}")
	block.fio("/dev/krping0", rw="randrw", bs=4096, size="1M", iodepth=4)
	run_ok("stop=0")
	assert server.wait() == 0
	found = conform(tag, 3)
	assert {each.get("state") for each in found} == {"attached", "closed", None}, found
	with tap.null_blk("schema", size=4 * tap.MIB) as disk, tap.Server("log") as copy:
		with copy.tap(disk) as tapped:
			tap.write_data(disk, "size=1M")
			tapped.idle()
			tapped.end()
		assert conform(tapped.tag)[0]["test"] == "tap"
		conform(copy.tag)


@suite.test("runs that fail, miss a limit, or are interrupted")
def failures():
	for words, number in ((f"client,addr={ADDR},port={new_port()},count=1", errno.ECONNREFUSED),
			      (f"{LOOPBACK},wlat,count=50,max_p99=1ns", errno.ERANGE)):
		tag = new_tag()
		assert run(f"{words},tag={tag}") == number
		assert any(each.get("errno_number") == number for each in conform(tag))
	tag = new_tag()
	command = Command(f"{LOOPBACK},tag={tag}")
	wait_for(lambda: any(line.counters.get("write_msgs", 0) > 10 for line in krping.lines()))
	assert command.interrupt() == errno.EINTR
	assert any(each.get("partial") for each in conform(tag))


suite.main()
