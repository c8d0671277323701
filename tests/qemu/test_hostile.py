# SPDX-License-Identifier: GPL-2.0
# time: real (floods, and what goes on beside them)
"""Peers that break the protocol, in every way that they can: the run ends with the
right errno, in time, says why, and the module stays whole."""

import errno
import json
import re
import threading

import age
import krping
import peer
from krping import ADDR, Command, Log, name, new_port, new_tag
from ktap import Suite, diag
from peer import private_data, reject_data

# Of every wait where it is not what ends the run: a run that only ends by its deadline
# has not seen what its peer did.
PATIENT = 15000
# Where the deadline is what ends the run, in ms. The peers, which all begin at once, must come as far
# as they are to come before.
IMPATIENT = 6000

# What a legacy client makes a server's buffer.
LEGACY_BUFFER = 65536

RECV_FAILED = "RECV of iteration {} failed: .*(longer|more|key)"


def check():
	"""Nothing is left, and the module is whole."""
	krping.check()
	krping.run_ok(f"loopback,addr={ADDR},count=3,validate,mem_mode=reg,server_inv")


suite = Suite(check=check)


def text(iteration, size):
	"""The text that krping sends in ITERATION, of which SIZE is enough for all."""
	start = b"rdma-ping-%d: " % iteration
	letters = bytes(range(65, 123))
	first = iteration % len(letters)
	body = (letters[first:] + letters[:first]) * (size // len(letters) + 1)
	return (start + body)[:size - 1] + b"\0"


def assert_failed(found, number, sentence):
	"""The result FOUND is that of a failure."""
	assert found["status"] == "failed", found
	assert found["errno"] == name(number) and found["errno_number"] == number, found
	assert re.search(sentence, found["reason"]), f"no {sentence!r} in {found['reason']!r}"


def killed_early(options, found, number, sentence):
	"""The errno and the sentence that FOUND must be of a peer with OPTIONS, where NUMBER and
	SENTENCE are usual: the memory of a killed one may go before its queue pair does."""
	if "how=kill" in options and found == errno.EREMOTEIO:
		return found, "remote (access|operation) error"
	return number, sentence


# Deeds of a client: name, options of the peer, how we end, and why.

def client_deeds():
	"""All that end by what the client does."""
	data = private_data(count=3)
	proto = errno.EPROTO
	krping_client = (f"private={data}", "count=3")

	for length in (0, 1, 15, 17, 63, 64):
		yield (f"a message of {length} bytes", ("on=source", f"length={length}"), proto,
		       f"sent a message of {length} bytes instead of 16 in iteration 0")
	for length in (65, 1024, 4096):
		yield (f"a message of {length} bytes", ("on=source", f"length={length}"), proto,
		       RECV_FAILED.format(0))
	yield ("a sink's message of 15 bytes",
	       ("on=sink", "length=15", "at=1", *krping_client), proto,
	       "sent a message of 15 bytes instead of 16 in iteration 1")

	for side in ("source", "sink"):
		yield (f"a {side} of 0 bytes", (f"on={side}", "claim=0"), proto,
		       "advertised a buffer of 0 bytes in iteration 0")
		yield (f"a {side} of 4 GiB", (f"on={side}", "claim=0xffffffff"), proto,
		       f"advertised 4294967295 bytes, more than the {LEGACY_BUFFER}")
	yield ("a source above a legacy client's buffer",
	       ("on=source", f"claim={LEGACY_BUFFER + 1}"), proto,
	       f"advertised {LEGACY_BUFFER + 1} bytes, more than the {LEGACY_BUFFER}")
	yield ("a source above the announced size",
	       ("on=source", "claim=65", *krping_client), proto,
	       "advertised 65 bytes, more than the 64")
	for size in (63, 65):
		yield (f"a sink of {size} bytes after a source of 64",
		       ("on=sink", f"claim={size}"), proto,
		       f"advertised a sink of {size} bytes after a source of 64 in iteration 0")

	# A READ this long is still under way when the next message arrives.
	large = (f"private={private_data(size=1 << 20)}", f"size={1 << 20}")
	for times, what in ((2, "a message"), (900, "a flood of messages")):
		yield (f"{what} during the READ", ("on=source", f"times={times}", *large), proto,
		       "sent a message out of turn in iteration 0")

	yield ("a source's key that is none", ("on=source", "key=0x100000"), errno.EREMOTEIO,
	       "RDMA READ of iteration 0 failed: remote access error")
	yield ("a source's key from before",
	       ("on=source", "key=1", "at=1", *krping_client), errno.EREMOTEIO,
	       "RDMA READ of iteration 1 failed: remote access error")
	yield ("a source outside of its region", ("on=source", "shift=0x100000"),
	       errno.EREMOTEIO, "RDMA READ of iteration 0 failed: remote access error")
	yield ("a source beyond its region's end", ("on=source", "shift=1"),
	       errno.EREMOTEIO, "RDMA READ of iteration 0 failed: remote access error")
	yield ("a sink's key that is none", ("on=sink", "key=0x100000"), errno.EREMOTEIO,
	       "RDMA WRITE of iteration 0 failed: remote access error")
	yield ("a sink outside of its region",
	       ("on=sink", "shift=0x100000", "at=1", *krping_client), errno.EREMOTEIO,
	       "RDMA WRITE of iteration 1 failed: remote access error")
	yield ("no receive posted", ("norecv=1", "rnr=1"), errno.EREMOTEIO,
	       "SEND of iteration 0 failed: RNR retry counter exceeded .* no receive posted")
	yield ("a receive of 8 bytes", ("recv=8",), errno.EREMOTEIO,
	       "SEND of iteration 0 failed: remote operation error")
	yield ("an advertisement that invalidates a key", ("on=source", "inv=0x1234"), proto,
	       RECV_FAILED.format(0))

	yield ("an iteration too many", (f"private={data}", "count=4"), proto,
	       "went on after the last iteration")
	yield ("an end before the last iteration", (f"private={data}", "count=2"),
	       errno.ECONNRESET, "(the peer disconnected before the end|WR flushed)")
	for step in ("connected", "source", "read", "sink", "written"):
		for how in ("disconnect", "kill"):
			yield (f"{how} when {step}",
			       (*krping_client, "at=1", f"stop={step}", f"how={how}"),
			       errno.ECONNRESET, "(the peer disconnected before the end|WR flushed)")
	yield ("an end between source and sink", ("stop=read", "how=exit"),
	       errno.ECONNRESET, "(the peer disconnected before the end|WR flushed)")


def private_deeds():
	"""Private data of a client that no server takes."""
	def malformed(what, data, sentence):
		return what, (f"private={data}",), errno.EPROTO, sentence

	yield malformed("version 0", private_data(version=0), "version 0, .* version 1")
	yield malformed("version 2", private_data(version=2), "version 2, .* version 1")
	yield malformed("no role", private_data(role=0), r"role that does not exist \(0\)")
	yield malformed("role 3", private_data(role=3), r"role that does not exist \(3\)")
	yield malformed("a server's role", private_data(role=peer.SERVER),
			"announced itself as the wrong side")
	yield malformed("no test", private_data(test=0), r"test that does not exist \(0\)")
	yield malformed("test 99", private_data(test=99), r"test that does not exist \(99\)")
	yield malformed("memory mode 0", private_data(mem_mode=0),
			r"memory mode that does not exist \(0\)")
	yield malformed("memory mode 3", private_data(mem_mode=3),
			r"memory mode that does not exist \(3\)")
	yield malformed("flag 0x10", private_data(flags=0x10),
			r"flags that do not exist \(0x10\)")
	yield malformed("flag 0x80000000", private_data(flags=0x80000000 | peer.VALIDATE),
			r"flags that do not exist \(0x80000000\)")
	yield malformed("size 0", private_data(size=0), "0 bytes of data")
	yield malformed("reserved bytes", private_data(reserved=bytes(23) + b"\1"),
			"reserved bytes that are not zero")
	together = "asked for what does not go together"
	yield malformed("server_inv without mem_mode=reg", private_data(flags=peer.SERVER_INV),
			together)
	yield malformed("server_inv and read_inv",
			private_data(mem_mode=peer.REG, flags=peer.SERVER_INV | peer.READ_INV),
			together)
	# The transport pads what is too short.
	yield malformed("nothing but the magic number", private_data()[:8], "version 0")
	yield malformed("nothing but magic number and version", private_data()[:10],
			r"test that does not exist \(0\)")
	yield ("more than can be registered", (f"private={private_data(size=0xffffffff)}",),
	       errno.ERANGE, "size is above 2097152 bytes")
	yield ("READ_WITH_INV on RoCE",
	       (f"private={private_data(mem_mode=peer.REG, flags=peer.READ_INV)}",),
	       errno.EOPNOTSUPP, "read_inv")


def serve(options, number, sentence, extra=(), timeout=PATIENT):
	"""A server meets a client with OPTIONS, and fails with errno NUMBER."""
	peer.PEER.build()
	port, tag, log = new_port(), new_tag(), Log()
	server = krping.serve(f"server,addr={ADDR},port={port},tag={tag},timeout={timeout}")
	client = peer.client(port, *options)
	found = server.wait()
	number, sentence = killed_early(options, found, number, sentence)
	assert found == number, f"{name(found)}, not {name(number)}: {log.text()}"
	log.wait(rf"tag={tag}: {name(number)} \({number}\): .*({sentence})")
	assert_failed(krping.result(tag, "server"), number, sentence)
	peer.end(client, *extra, status=-9 if "how=kill" in options else 0)


def add_client_deeds():
	"""A test for each."""
	for what, options, number, sentence in client_deeds():
		suite.test(f"client: {what}: {name(number)}")(
			lambda o=options, n=number, s=sentence: serve(o, n, s))
	for what, options, number, sentence in private_deeds():
		suite.test(f"client's private data: {what}: {name(number)}")(
			lambda o=options, n=number, s=sentence: serve(
				o, n, s, ("rejected 28 6b727072",)))


@suite.test("a client that keeps to the protocol is served")
def good_client():
	for options in ((), ("count=3", "size=65536"),
			(f"private={private_data(count=20, size=4096)}", "count=20", "size=4096")):
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,addr={ADDR},port={port},tag={tag}")
		peer.end(peer.client(port, *options), "DISCONNECTED")
		assert server.wait() == 0
		found = krping.result(tag, "server")
		assert found["status"] == "ok" and found["iterations"] in (1, 3, 20), found


@suite.test("a legacy client may leave between iterations")
def legacy_leaves():
	for options, iterations in ((("stop=connected", "how=disconnect"), 0),
				    (("stop=written", "how=kill", "at=2", "count=5"), 3)):
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,addr={ADDR},port={port},tag={tag}")
		client = peer.client(port, *options)
		assert server.wait() == 0
		assert krping.result(tag, "server")["iterations"] == iterations
		client.finish()


add_client_deeds()


@suite.test("client: no READ allowed: EPROTO")
def no_reads():
	serve(("reads=0",), errno.EPROTO, "READ", timeout=4000)


SILENT_CLIENTS: list[tuple[str, ...]] = [(f"stop={step}", "how=silent", "at=1", "count=3",
		   f"private={private_data(count=3)}")
		  for step in ("connected", "source", "read", "sink", "written")]
# It takes no go-ahead.
SILENT_CLIENTS.append(("norecv=1",))


@suite.test("clients that fall silent, at each step: ETIMEDOUT")
def silent_clients():
	port, tag, log = new_port(), new_tag(), Log()
	# A persistent server has no deadline for the first to come.
	server = krping.serve(f"server,persist,port={port},tag={tag},timeout={IMPATIENT}")
	clients = [peer.client(port, *options) for options in SILENT_CLIENTS]
	for client in clients:
		peer.end(client, "connected", "DISCONNECTED")
	found = krping.wait_for(lambda: len(krping.results(tag)) == len(clients)
				and krping.results(tag))
	for each in found:
		assert_failed(each, errno.ETIMEDOUT, f"nothing happened for {IMPATIENT} ms")
	log.wait("not served to its end: waiting for the peer: nothing happened")
	assert sorted(each["iterations"] for each in found) == [0, 0, 1, 1, 2, 2], found
	assert server.interrupt() == errno.EINTR


@suite.test("a client that falls silent ends a server that does not persist: ETIMEDOUT")
def silent_client():
	serve(("stop=read", "how=silent"), errno.ETIMEDOUT, "nothing happened for 4000 ms",
	      timeout=4000)


@suite.test("clients that vanish while they connect")
def vanish():
	for how in ("kill", "exit", "disconnect"):
		port, tag = new_port(), new_tag()
		server = krping.serve(f"server,addr={ADDR},port={port},tag={tag},timeout={PATIENT}")
		client = peer.client(port, "stop=request", f"how={how}")
		# The CM has them refuse our acceptance.
		found = server.wait()
		# EINVAL: the kernel would not accept, and said why too late for the module.
		# ETIMEDOUT: the refusal was lost, which the CM does not repeat.
		assert found in (errno.ECONNRESET, errno.ECONNREFUSED, errno.EINVAL,
				 errno.ETIMEDOUT), name(found)
		assert_failed(krping.result(tag, "server"), found, "")
		client.finish()
	# The last never says a word.
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,addr={ADDR},port={port},tag={tag},timeout=4000")
	client = peer.client(port, "stop=request", "how=silent")
	assert server.wait() == errno.ETIMEDOUT
	assert_failed(krping.result(tag, "server"), errno.ETIMEDOUT,
		      "accepting: nothing happened for 4000 ms")
	client.stop()


class GoodClients(threading.Thread):
	"""One client after the other, some of them a second, until stop(): all must be served."""

	def __init__(self, port):
		super().__init__(daemon=True)
		self.command = f"client,addr={ADDR},port={port},count=20,validate"
		self.runs = 0
		self.bad = []
		self.ending = threading.Event()
		self.start()

	def run(self):
		krping.block_signals()
		modes = ("", ",mem_mode=reg,server_inv", ",poll", ",size=20000,pattern=binary")
		while not self.ending.is_set():
			number = krping.run(self.command + modes[self.runs % len(modes)])
			if number:
				self.bad.append(name(number))
			self.runs += 1
			self.ending.wait(0.5)

	def stop(self):
		"""End them, and return how many were served."""
		self.ending.set()
		self.join(30)
		assert not self.is_alive(), "a good client hangs"
		assert not self.bad, f"good clients failed: {self.bad}"
		return self.runs


def assert_each(deeds, found):
	"""Each of DEEDS has led to one of the results FOUND, and nothing else to any of them."""
	left = list(found)
	# Those that are killed last, as they may end as others do.
	for what, options, number, sentence in sorted(deeds, key=lambda deed: "how=kill" in deed[1]):
		ends = {(number, sentence), killed_early(options, errno.EREMOTEIO, number, sentence)}
		own = [each for each in left if any(
			each["errno_number"] == errno_number and re.search(text, each["reason"])
			for errno_number, text in ends)]
		assert own, f"{what}: no {name(number)}, {sentence!r} in {left}"
		assert_failed(own[0], own[0]["errno_number"], "")
		left.remove(own[0])
	assert not left, left


@suite.test("a persistent server survives them all, many at once, and good ones between them")
def survive():
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,persist,port={port},tag={tag},timeout={PATIENT}")
	good = GoodClients(port)
	deeds = [*((deed, ()) for deed in client_deeds()),
		 *((deed, ("rejected 28 6b727072",)) for deed in private_deeds())]
	# Kept from look to look: the good clients push the others' results out of the list.
	failures = {}

	def failed():
		with open(krping.RESULTS, encoding="ascii") as file:
			# There are many good ones, and to take them apart takes long.
			found = [json.loads(line) for line in file
				 if f'"tag":"{tag}"' in line and '"status":"ok"' not in line]
		failures.update((each["thread"], each) for each in found if each["status"] != "ok")
		return len(failures)

	try:
		for start in range(0, len(deeds), 12):
			some = [deed for deed, _ in deeds[start:start + 12]]
			clients = [peer.client(port, *options) for _, options, _, _ in some]
			before = len(failures)
			krping.wait_for(
				lambda before=before: failed() - before >= len(clients), 30,
				f"all to end of {[deed[0] for deed in some]}")
			for client, (_, seen) in zip(clients, deeds[start:start + 12]):
				_, output = client.finish()
				assert all(re.search(each, output) for each in seen), output
			assert_each(some, list(failures.values())[before:])
	finally:
		served = good.stop()
	assert server.interrupt() == errno.EINTR
	diag(f"{len(deeds)} bad clients, {served} good ones")
	assert served > 3


# Deeds of a server: name, our options, the peer's, how we end, and why.

def server_deeds():
	"""All that end by what the server does."""
	proto, bad = errno.EPROTO, errno.EBADMSG
	inv = "count=3,mem_mode=reg,server_inv"

	for length in (0, 1, 15, 17, 64):
		yield (f"a go-ahead of {length} bytes", "count=3",
		       ("on=source", "at=1", f"length={length}"), proto,
		       f"sent a message of {length} bytes instead of 16 in iteration 1")
	for length in (65, 4096):
		yield (f"a go-ahead of {length} bytes", "count=3",
		       ("on=sink", "at=1", f"length={length}"), proto, RECV_FAILED.format(1))

	yield ("a go-ahead that invalidates without being asked", "count=3,mem_mode=reg",
	       ("on=source", "inv=right"), proto,
	       "invalidated key 0x[0-9a-f]+ .* without being asked in iteration 0")
	yield ("a go-ahead that invalidates another key of ours", inv,
	       ("on=sink", "inv=other", "at=1"), proto,
	       "invalidated key 0x([0-9a-f]+) instead of 0x(?!\\1 )[0-9a-f]+ in iteration 1")
	for asked in ("count=3", inv):
		yield (f"a go-ahead that invalidates what is no key, {asked}", asked,
		       ("on=sink", "inv=0x1234", "at=1"), proto, RECV_FAILED.format(1))
	for side in ("source", "sink"):
		yield (f"a {side}'s go-ahead that does not invalidate", inv,
		       (f"on={side}", "inv=no", "at=1"), proto,
		       "did not invalidate key 0x[0-9a-f]+ with its go-ahead in iteration 1")

	yield ("a source that is never read, and a sink never written", "count=3,validate",
	       ("on=sink", "skip=1"), bad,
	       "in iteration 0: byte 0 is 0x00 instead of 0x72, 63 wrong")
	yield ("a sink that is not written again", "count=3,validate",
	       ("on=sink", "skip=1", "at=1"), bad,
	       "in iteration 1: byte 10 is 0x30 instead of 0x31")
	yield ("what was read before is written again", "count=3,validate",
	       ("on=source", "skip=1", "at=2"), bad,
	       "in iteration 2: byte 10 is 0x31 instead of 0x32")

	# Else the server notices only that the peer gives up.
	refused = (proto, "access error") if age.has("access_event") else (
		errno.ECONNRESET, "(the peer disconnected before the end|WR flushed)")
	for options, beyond, op in (("count=3", "sink", "write"), ("count=3", "source", "read"),
				    ("count=3,mem_mode=reg,size=4096", "sink", "write")):
		yield (f"a {op} beyond the {beyond}'s end, {options}", options,
		       (f"on={beyond}", "beyond=1", "at=1"), *refused)
	yield ("a write to the source", "count=3", ("on=source", "write=source"), *refused)
	yield ("a read of the sink", "count=3", ("on=sink", "read=sink"), *refused)

	yield ("a receive of 8 bytes", "count=3,mem_mode=reg", ("recv=8",), errno.EREMOTEIO,
	       "SEND of iteration 0 failed: remote operation error")
	for step in ("connected", "source", "read", "sink", "written"):
		for how in ("disconnect", "kill"):
			yield (f"{how} when {step}", "count=3",
			       (f"stop={step}", f"how={how}", "at=1"), errno.ECONNRESET,
			       "the peer disconnected before the end")
	for how in ("disconnect", "kill"):
		yield (f"{how} instead of an answer", "count=3",
		       ("stop=request", f"how={how}"), errno.ECONNREFUSED,
		       r"connection was rejected: consumer defined \(28\)")


def answer_deeds():
	"""Answers that no client takes."""
	def server_data(**values):
		return (f"private={private_data(**{'role': peer.SERVER} | values)}",)

	def malformed(what, options, sentence):
		return what, "count=1", options, errno.EPROTO, sentence

	yield malformed("version 3", server_data(version=3), "version 3, .* version 1")
	yield malformed("role 9", server_data(role=9), r"role that does not exist \(9\)")
	yield malformed("a client's role", server_data(role=peer.CLIENT),
			"announced itself as the wrong side")
	yield malformed("flag 0x20", server_data(flags=0x20), r"flags that do not exist \(0x20\)")
	yield malformed("size 0", server_data(size=0), "0 bytes of data")
	yield malformed("reserved bytes", server_data(reserved=bytes(range(24))),
			"reserved bytes that are not zero")
	yield malformed("nothing but the magic number", (f"private={private_data()[:8]}",),
			"version 0")
	# What is well-formed, but no answer to what was asked.
	for what, values in (("another size", {"size": 63}),
			     ("another test", {"test": peer.FASTREG}),
			     ("another memory mode", {"mem_mode": peer.REG}),
			     ("server_inv that nobody asked for",
			      {"mem_mode": peer.REG, "flags": peer.SERVER_INV})):
		yield malformed(what, server_data(**values),
				"agreed to something other than what was asked for")


def refusals():
	"""Refusals, and what they mean."""
	def refused(what, data, sentence):
		return what, "count=1", (f"reject={data}",), errno.ECONNREFUSED, sentence

	plain = r"connection was rejected: consumer defined \(28\)"
	yield refused("nothing", "", plain)
	yield refused("bytes that are not ours", "00112233445566778899", plain)
	yield refused("another version", reject_data(1, 7), "speaks version 7 .* version 1")
	yield refused("too large", reject_data(2, 32), "a size of at most 32 bytes")
	yield refused("another test", reject_data(3), "does not do this test")
	yield refused("busy", reject_data(4), "is busy")
	yield refused("stopping", reject_data(5), "is being stopped")
	yield refused("resources", reject_data(6), "lacks memory or device resources")
	yield refused("a reason that is not known here", reject_data(200), plain)
	yield refused("no reason", reject_data(0), plain)
	yield refused("half a reason", reject_data(4)[:10], plain)


def lead(ours, options, number, sentence):
	"""A client of ours meets a server with OPTIONS, and fails with errno NUMBER."""
	port, tag, log = new_port(), new_tag(), Log()
	server = peer.server(port, *options)
	found = krping.run(f"client,addr={ADDR},port={port},tag={tag},timeout={PATIENT},{ours}")
	number, sentence = killed_early(options, found, number, sentence)
	assert found == number, f"{name(found)}, not {name(number)}: {log.text()}"
	log.wait(rf"tag={tag}.*: {name(number)} \({number}\): .*{sentence}")
	assert_failed(krping.result(tag, "client"), number, sentence)
	peer.end(server, status=-9 if "how=kill" in options else 0)


def add_server_deeds():
	"""A test for each."""
	for prefix, deeds in (("server", server_deeds()), ("server's answer", answer_deeds()),
			      ("server's refusal", refusals())):
		for what, ours, options, number, sentence in deeds:
			suite.test(f"{prefix}: {what}: {name(number)}")(
				lambda u=ours, o=options, n=number, s=sentence: lead(u, o, n, s))


@suite.test("a server that keeps to the protocol is led")
def good_server():
	for ours in ("count=3,validate", "count=20,validate,mem_mode=reg,server_inv,size=4096",
		     "count=2,validate,size=1M", "count=1,validate,size=1"):
		port = new_port()
		server = peer.server(port)
		krping.run_ok(f"client,addr={ADDR},port={port},{ours}")
		peer.end(server, "DISCONNECTED")


add_server_deeds()


@suite.test("go-aheads before anything was advertised are noticed")
def early_go_ahead():
	# They may arrive before or after the advertisements that would make them due: out
	# of turn, or without the data that they promise. The server never moves any data:
	# one that did could be ahead of its go-aheads, and the data then be there.
	port, tag = new_port(), new_tag()
	server = peer.server(port, "first=2", "stop=source", "how=silent")
	found = krping.run(f"client,addr={ADDR},port={port},tag={tag},count=3,validate")
	assert found in (errno.EPROTO, errno.EBADMSG), name(found)
	assert_failed(krping.result(tag, "client"), found, "out of turn|iteration 0: byte 0")
	peer.end(server)


@suite.test("a flood of go-aheads is noticed")
def flood_of_go_aheads():
	port, tag = new_port(), new_tag()
	server = peer.server(port, "on=source", "times=900", "at=1")
	found = krping.run(f"client,addr={ADDR},port={port},tag={tag},count=10,validate")
	assert found == errno.EBADMSG, name(found)
	assert_failed(krping.result(tag, "client"), found, "in iteration 1: byte 10")
	peer.end(server)


SILENT_SERVERS: list[tuple[tuple[str, ...], str, int]] = [
	((f"stop={step}", "how=silent", "at=1"), "waiting for the peer", iterations)
	for step, iterations in (("connected", 0), ("source", 1), ("read", 1), ("sink", 1),
				 ("written", 1))]
SILENT_SERVERS += [(("stop=request", "how=silent"), "connecting", 0),
		   (("norecv=1",), "waiting for the peer", 0)]


@suite.test("servers that fall silent, at each step: ETIMEDOUT")
def silent_servers():
	runs = []
	for options, sentence, iterations in SILENT_SERVERS:
		port, tag = new_port(), new_tag()
		server = peer.server(port, *options)
		poll = ",poll" if len(runs) % 2 else ""
		runs.append((Command(f"client,addr={ADDR},port={port},tag={tag},count=3,"
				     f"timeout={IMPATIENT}{poll}"),
			     server, tag, sentence, iterations))
	for command, server, tag, sentence, iterations in runs:
		assert command.wait() == errno.ETIMEDOUT, command.text
		found = krping.result(tag, "client")
		assert_failed(found, errno.ETIMEDOUT, f"{sentence}: nothing happened")
		assert found["iterations"] == iterations, found
		server.stop()


# Bytes that are corrupted: size, offset, XOR, how many, in which iteration, our options.
SCRIBBLES = (
	(64, 0, 0x80, 1, 0, ""),
	(64, 13, 0x01, 1, 2, ""),
	(64, 63, 0x41, 1, 1, ""),	# the NUL
	(64, 0, 0xff, 64, 1, ""),
	(64, 20, 0x20, 7, 2, ",mem_mode=reg,server_inv"),
	(4096, 511, 0x04, 2, 1, ",mem_mode=reg"),
	(65537, 65536, 0x10, 1, 0, ",poll"),
	(131072, 70000, 0x02, 1000, 1, ""),
)


@suite.test("corrupt data is found, with offset, bytes, iteration and how much: EBADMSG")
def scribbles():
	for size, offset, xor, count, iteration, options in SCRIBBLES:
		expected = text(iteration, size)[offset]
		lead(f"count=5,validate,size={size}{options}",
		     ("on=sink", f"scribble={offset}:{xor}:{count}", f"at={iteration}"),
		     errno.EBADMSG,
		     f"in iteration {iteration}: byte {offset} is {expected ^ xor:#04x} "
		     f"instead of {expected:#04x}, {count} wrong in all")


@suite.test("corrupt binary data is found, wherever it is: EBADMSG")
def binary_scribbles():
	answer = private_data(role=peer.SERVER, size=1000, count=5, max_size=1000,
			      flags=peer.VALIDATE | peer.BINARY_DATA)
	for offset in (0, 500, 995, 996, 999):
		lead("count=5,validate,size=1000,pattern=binary",
		     ("on=sink", f"scribble={offset}:128:1", "at=3", f"private={answer}"),
		     errno.EBADMSG, f"in iteration 3: byte {offset} is 0x.*, 1 wrong in all")


@suite.test("without validate, nobody looks at the data")
def unchecked():
	port = new_port()
	server = peer.server(port, "on=sink", "scribble=0:255:64")
	krping.run_ok(f"client,addr={ADDR},port={port},count=3")
	peer.end(server)


@suite.test("a server finds corrupt data of a client that announces to validate: EBADMSG")
def corrupt_source():
	# The peer sends zeros.
	data = private_data(count=3, flags=peer.VALIDATE)
	serve((f"private={data}", "count=3"), errno.EBADMSG,
	      "in iteration 0: byte 0 is 0x00 instead of 0x72, 63 wrong in all")


if __name__ == "__main__":
	suite.main()
