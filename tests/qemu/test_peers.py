# SPDX-License-Identifier: GPL-2.0
"""rdma-core's rping as the peer: user space, and without krping's private data.

rping exits with 0 whatever happens to its data once it is connected, so what
counts is what it prints. Its largest size is 65535.
"""

import errno
import re
import signal
import time

import krping
from krping import (
	ADDR,
	ADDR6,
	Program,
	listens,
	name,
	new_port,
	new_tag,
	run_fails,
	run_ok,
	wait_for,
)
from ktap import Suite

suite = Suite(check=krping.check)

SIZES = {64: 20, 100: 20, 4096: 10, 65535: 3}
# What rping prints when the other side disconnects, which is how each run ends. It
# comes through another stream than the data, so anywhere among it; and not at all
# where a client has exited before its thread for events got to it.
CLIENT_END = ("client DISCONNECT EVENT...",)
SERVER_END = ("server DISCONNECT EVENT...", "wait for RDMA_READ_ADV state 10")


def data(iteration, size):
	"""What an iteration carries, as rping prints it."""
	text = f"rdma-ping-{iteration}: "
	text += "".join(chr(65 + (iteration + i) % 58) for i in range(size))
	return text[:size - 1]


def said(output, prefix, ends, count, size):
	"""rping has printed the data of all COUNT iterations, the words of its ENDS, and
	nothing else."""
	for end in ends:
		assert f"{end}\n" in output or ends is CLIENT_END, output[-500:]
		output = output.replace(f"{end}\n", "", 1)
	expected = "".join(f"{prefix}{data(i, size)}\n" for i in range(count))
	assert output == expected, f"{len(output)} bytes, not {len(expected)}: {output[-500:]}"


def assert_moved(tag, role, count, size):
	"""There is one successful result of TAG, with a legacy peer, with the statistics
	of COUNT iterations."""
	found = krping.result(tag, role)
	assert (found["status"], found["iterations"]) == ("ok", count), found
	assert found["peer_kind"] == "legacy", found
	moved = {key: found[key] for key in krping.COUNTERS}
	assert moved == krping.pingpong_traffic(role, count, size), found
	return found


def start_server(options=""):
	"""Start our server; return the command, its port and its tag."""
	port, tag = new_port(), new_tag()
	server = krping.serve(f"server,port={port},tag={tag}{options}")
	return server, port, tag


def rping_client(port, count, size, addr=ADDR):
	"""Start rping as a client that validates and prints."""
	return Program("rping", "-c", "-v", "-V", "-a", addr, "-p", str(port),
		       "-C", str(count), "-S", str(size))


def rping_server(size, *options, addr=ADDR):
	"""Start rping as a server that prints; return it and its port."""
	port = new_port()
	server = Program("rping", "-s", "-v", "-a", addr, "-p", str(port), "-S", str(size), *options)
	wait_for(lambda: listens(port))
	return server, port


def as_client(options, sizes, addr=ADDR):
	"""rping is the client, once for each of SIZES."""
	for size, count in sizes.items():
		server, port, tag = start_server(options)
		status, output = rping_client(port, count, size, addr).finish()
		assert status == 0, (status, output)
		said(output, "ping data: ", CLIENT_END, count, size)
		assert server.wait() == 0
		assert_moved(tag, "server", count, size)


def as_server(options, sizes, addr=ADDR):
	"""rping is the server, once for each of SIZES."""
	for size, count in sizes.items():
		tag = new_tag()
		server, port = rping_server(size, addr=addr)
		where = f"addr6={addr}" if ":" in addr else f"addr={addr}"
		run_ok(f"client,{where},port={port},size={size},count={count},validate,"
		       f"tag={tag}{options}")
		status, output = server.finish()
		assert status == 0, (status, output)
		said(output, "server ping data: ", SERVER_END, count, size)
		assert assert_moved(tag, "client", count, size)["size"] == size


for modes in ("mem_mode=dma", "mem_mode=reg", "mem_mode=reg,local_dma_lkey"):
	suite.test(f"rping as the client, {modes}, every size")(
		lambda modes=modes: as_client(f",{modes}", SIZES))
for modes in ("mem_mode=dma", "mem_mode=reg"):
	suite.test(f"rping as the server, {modes}, every size")(
		lambda modes=modes: as_server(f",{modes}", SIZES))


@suite.test("rping over IPv6, and with poll")
def others():
	as_client(f",addr6={ADDR6}", {300: 5}, ADDR6)
	as_server("", {300: 5}, ADDR6)
	as_client(",poll", {300: 5})
	as_server(",poll,unsafe_global_rkey", {300: 5})


@suite.test("our persistent server serves rping after rping")
def persist():
	server, port, tag = start_server(",persist")
	sizes = (64, 65535, 23, 4096, 100)
	for size in sizes:
		status, output = rping_client(port, 4, size).finish()
		assert status == 0, (status, output)
		said(output, "ping data: ", CLIENT_END, 4, size)
	found = wait_for(lambda: krping.results(tag) if len(krping.results(tag)) == 5 else None)
	for each, size in zip(found, sizes):
		assert (each["status"], each["iterations"]) == ("ok", 4), each
		assert (each["read_bytes"], each["write_bytes"]) == (4 * size, 4 * size), each
	# One of ours is served like any other client.
	run_ok(f"client,addr={ADDR},port={port},count=5,size=70000,validate,mem_mode=reg,server_inv")
	assert server.interrupt() == errno.EINTR


@suite.test("our persistent server serves several rpings at once")
def at_once():
	server, port, tag = start_server(",persist,mem_mode=reg")
	clients = [rping_client(port, 50, 100 + number) for number in range(6)]
	for number, client in enumerate(clients):
		status, output = client.finish()
		assert status == 0, (status, output)
		said(output, "ping data: ", CLIENT_END, 50, 100 + number)
	found = wait_for(lambda: krping.results(tag) if len(krping.results(tag)) == 6 else None)
	assert sorted(each["read_bytes"] for each in found) \
		== [50 * (100 + number) for number in range(6)], found
	assert {each["status"] for each in found} == {"ok"}, found
	assert server.interrupt() == errno.EINTR


@suite.test("rping's persistent server serves us again and again")
def persistent_rping():
	server, port = rping_server(1000, "-P")
	for mode in ("mem_mode=dma", "mem_mode=reg", "poll"):
		tag = new_tag()
		run_ok(f"client,addr={ADDR},port={port},size=1000,count=10,validate,tag={tag},{mode}")
		assert_moved(tag, "client", 10, 1000)
	tag = new_tag()
	run_ok(f"client,addr={ADDR},port={port},size=1000,count=10,threads=4,validate,tag={tag}")
	assert [each["iterations"] for each in krping.results(tag)] == [10] * 4
	server.stop()


@suite.test("rping is told apart from what it cannot do")
def cannot():
	server, port = rping_server(64, "-P")
	client = f"client,addr={ADDR},port={port},count=3,timeout=3000"
	# Its buffers are registered once and never invalidated by the other side.
	run_fails(f"{client},mem_mode=reg,server_inv", errno.EPROTO,
		  "did not invalidate key 0x[0-9a-f]+ with its go-ahead in iteration 0")
	run_fails(f"{client},pattern=binary", errno.EOPNOTSUPP, "pattern=binary: the server is not")
	server.stop()
	# It offers no iterations to check, and no READ_WITH_INV on RoCE.
	server, port, _ = start_server(",mem_mode=reg,read_inv")
	rping_client(port, 3, 64).finish()
	assert server.wait() == errno.EOPNOTSUPP


@suite.test("rping's server may have a larger buffer than we advertise, not a smaller one")
def other_size():
	tag = new_tag()
	server, port = rping_server(4096)
	run_ok(f"client,addr={ADDR},port={port},size=64,count=5,validate,tag={tag}")
	status, output = server.finish()
	assert status == 0, (status, output)
	said(output, "server ping data: ", SERVER_END, 5, 64)
	assert_moved(tag, "client", 5, 64)

	# It posts a READ of more than its buffer holds, and gives up.
	server, port = rping_server(64)
	run_fails(f"client,addr={ADDR},port={port},size=4096,count=5", errno.ECONNRESET,
		  "the peer disconnected")
	status, output = server.finish()
	assert status != 0, (status, output)


@suite.test("programs that are no krping: each side says what the other may be")
def other_programs():
	for program in ("ib_write_bw", "ib_read_lat"):
		words = (program, "-R", "-d", krping.DEVICE, "-n", "100", "-p")
		port = new_port()
		server = krping.serve(f"server,addr={ADDR},port={port}")
		log = krping.Log()
		client = Program(*words, str(port), ADDR)
		assert server.wait() == errno.EPROTO
		log.wait(re.escape("EPROTO (71): the client's request offers no RDMA READ: it is no "
				   "krping or rping (perftest's programs serve only each other)"))
		client.stop(signal.SIGKILL)
		port = new_port()
		theirs = Program(*words, str(port))
		wait_for(lambda port=port: listens(port))
		run_fails(f"client,addr={ADDR},port={port},count=10", errno.ECONNRESET,
			  re.escape("(rping: -S); perftest's programs serve only each other"))
		theirs.stop(signal.SIGKILL)
	for options, number, sentence in (
			(",stream", errno.EPROTO, "no private data of rsocket's protocol: it is no socket "
			 "program of rdma-core, but perhaps rping"),
			(",messenger", errno.EPROTO, "the peer's private data is missing, or not that"),
			(",bw", errno.EOPNOTSUPP, "the client asks for another test than the one that is")):
		port = new_port()
		server = krping.serve(f"server,addr={ADDR},port={port}{options}")
		log = krping.Log()
		client = Program("rping", "-c", "-a", ADDR, "-p", str(port), "-C", "3")
		assert server.wait() == number
		log.wait(f"{name(number)} .*{re.escape(sentence)}")
		client.stop(signal.SIGKILL)


@suite.test("an rping that is killed is noticed at once")
def killed():
	server, port, tag = start_server(",timeout=20000")
	client = rping_client(port, 10 ** 9, 100)
	wait_for(lambda: any(line.counters.get("read_msgs", 0) > 10 for line in krping.lines()))
	client.stop(signal.SIGKILL)
	begin = time.monotonic()
	number = server.wait()
	assert time.monotonic() - begin < krping.SOON
	found = krping.result(tag, "server")
	assert found["iterations"] > 0, found
	# It does not say how many iterations it wants, so between two it may leave.
	if found["status"] == "ok":
		assert number == 0, (name(number), found)
	else:
		assert (name(number), found["errno"]) == ("ECONNRESET", "ECONNRESET"), found


suite.main()
