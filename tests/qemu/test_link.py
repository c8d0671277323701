# SPDX-License-Identifier: GPL-2.0
"""A link that goes down and comes back below a device that stays: runs end in time and say
why, disks go on, and the device's connection management is what it was before. Soft-RoCE's does
not survive a message over a port that is down; so each test that passes here shows that there
was none."""

import errno
import time

import block
import conformance
import krping
import network
from block import Fio, Server
from krping import (
	ADDR,
	ADDR6,
	DEVICE,
	Command,
	Log,
	Program,
	name,
	new_port,
	new_tag,
	run_fails,
	run_ok,
	wait_for,
)
from ktap import Suite, diag

# As a run may end whose link is down: it was told, it noticed, or its peer did.
CUT = (errno.ENETDOWN, errno.ECONNRESET, errno.ETIMEDOUT)
DOWN = "the port of the RDMA device is down"
LEFT_UP = "the port was not taken down within timeout="
DEAD = "the device's connection management does not answer; recreate it"
# The ends of connections wait for the port.
WAITING = "connections that have ended: their peers are told when that has changed"
# What the device has where nothing runs.
IDLE = krping.resources()[DEVICE]
# How much later than its deadline a run may end here, in seconds.
SLACK = 6


def check():
	"""Nothing is left, and connections come up as before, for krping and for others."""
	block.check()
	state = network.management_state()
	if state != "RTS":
		network.unplug()
		network.plug()
	assert state == "RTS", f"the connection management of {DEVICE} is broken: {state}"


suite = Suite(check=check)


def connects():
	"""krping and rping come to a connection."""
	run_ok(f"loopback,addr={ADDR},count=10,validate")
	port = str(new_port())
	server = Program("rping", "-s", "-a", ADDR, "-p", port, "-C", "5")
	wait_for(lambda: krping.listens(port))
	status, output = Program("rping", "-c", "-a", ADDR, "-p", port, "-C", "5").finish()
	assert status == 0, output
	server.finish()


def verify(disk, seconds):
	"""A Fio on DISK that takes about so many SECONDS at least, with every write verified."""
	job = {"filename": disk, "bsrange": "512-64k", "size": "4M", "time_based": 1,
	       "runtime": seconds, **block.VERIFY, "iodepth": 8}
	return Fio([job])


def moves(disk, program):
	"""Wait until DISK has done more requests than now, which PROGRAM makes."""
	before = disk.figures()["requests"]
	wait_for(lambda: disk.figures()["requests"] > before + 20 or program.poll() is not None,
		 30, f"{disk} to go on: {disk.line()}")


@suite.test("a disk under I/O comes back after each of three flaps, and nothing is lost")
def disk_flaps():
	with Server("size=16M,store=ram,persist,timeout=2000") as server, \
	     server.disk("queues=2,timeout=2000") as disk:
		fio = verify(disk, 5)
		for seconds in (0.3, 1, 2.5):
			moves(disk, fio.program)
			network.flap(seconds)
		moves(disk, fio.program)
		fio.succeed()
		figures = disk.figures()
		assert figures["reconnects"] >= 1 and figures["errors"] == 0, figures
		assert network.management_state() == "RTS"
	connects()


@suite.test("a disk whose link stays down fails after reconnect=, and says why")
def disk_given_up():
	with Server("size=4M,store=ram,persist,timeout=2000") as server:
		disk, log = server.disk("timeout=2000,reconnect=3"), Log()
		fio = verify(disk, 60)
		moves(disk, fio.program)
		network.link_down()
		try:
			number = disk.command.wait()
			assert number == errno.ENETDOWN, (name(number), log.text())
			log.wait(DOWN)
			assert fio.program.wait(20) != 0
		finally:
			network.link_back()
		wait_for(lambda: block.gone(disk.number))
		Program.running.remove(fio.program)
	connects()


def under_way(sides, clients=0):
	"""Wait until so many SIDES of connections have moved something, and so many CLIENTS
	more than a greeting. What still connects would wait for the link, and go on."""
	def begun():
		found = [line.counters for line in krping.lines() if any(line.counters.values())]
		busy = [each for each in found
			if each["send_msgs"] > 1 or each["read_msgs"] or each["write_msgs"]]
		return len(found) >= sides and len(busy) >= clients
	wait_for(begun)


def moved():
	"""What all runs have moved."""
	return sum(sum(line.counters.values()) for line in krping.lines())


def begin(kind, tag):
	"""Start a run of this KIND."""
	# Less than the 4.3 s after which mem_mode=reg repeats what was lost, and goes on.
	return Command(f"loopback,addr={ADDR},timeout=4000,tag={tag},count=1000000000,{kind}".strip(","))


@suite.test("runs in mid-flap end in time or go on, the cause is named, and what comes next connects")
def runs():
	kinds = ("", "mem_mode=reg", "poll", "slat", "bw", "rbw", "sbw,qps=3", "slat,qp=ud", "bw,qp=uc")
	for seconds in (0.3, 2):
		tag, log = new_tag(), Log()
		commands = {kind: begin(kind, tag) for kind in kinds}
		# The client of several queue pairs is one side, each of its servers another.
		under_way(2 * len(kinds) + 2, len(kinds))
		network.link_down()
		try:
			krping.pass_time(seconds, "the link is down, for a moment or for long")
			# The port is looked at 200 ms after the end, when a short flap may be over.
			if seconds > 0.5:
				log.wait(rf"tag={tag}.*: ENETDOWN \(100\): {DOWN}")
		finally:
			network.link_back()
		start = time.monotonic()
		ended = {}
		for kind, command in commands.items():
			command.join(max(0, start + 4 + SLACK - time.monotonic()) * krping.SLOW)
			if command.is_alive():
				# Its requests were all on their way when the link went down, and are
				# repeated after half a second; those of mem_mode=reg so late that the
				# deadline may miss them.
				assert seconds < 0.5 or kind == "mem_mode=reg", \
					f"{kind} still runs: {log.text()}"
				before = moved()
				wait_for(lambda before=before: moved() > before, what=f"{kind} to go on")
				assert command.interrupt() == errno.EINTR
				ended[kind] = "goes on"
				continue
			number = command.wait()
			assert number in CUT, (kind, name(number), log.text())
			ended[kind] = name(number)
		diag(f"{seconds} s: {ended}")
		assert network.management_state() == "RTS"
		connects()


@suite.test("a server and its clients in two processes: both end, and both sides are told")
def two_commands():
	port, tag, log = new_port(), new_tag(), Log()
	# Longer than a machine stalls before the link goes.
	server = krping.serve(f"server,persist,addr={ADDR},port={port},timeout=4000,tag={tag}")
	clients = [Command(f"client,addr={ADDR},port={port},timeout=4000,tag={tag}")
		   for _ in range(3)]
	under_way(6)
	network.link_down()
	try:
		for client in clients:
			number = client.wait()
			assert number in CUT, name(number)
		wait_for(lambda: len(krping.results(tag)) == 6)
		log.wait(WAITING)
	finally:
		network.link_back()
	run_ok(f"client,addr={ADDR},port={port},count=10")
	assert server.interrupt() == errno.EINTR


def end_without_link():
	"""Take the link of a run down, and wait until only the identifiers of its two sides
	are left."""
	# Longer than a machine stalls before the link goes.
	command = Command(f"loopback,addr={ADDR},timeout=4000")
	under_way(2)
	network.link_down()
	number = command.wait()
	assert number in CUT, name(number)
	wait_for(lambda: krping.resources()[DEVICE]["cm_id"] == IDLE["cm_id"] + 2)


@suite.test("what ends while the link is down waits with its identifiers only, and for the port only")
def waiting():
	log = Log()
	try:
		end_without_link()
		log.wait(WAITING)
		krping.pass_time(3, "the CM would have sent again what nobody answers")
		left = krping.resources()[DEVICE]
		assert (left["qp"], left["cm_id"]) == (IDLE["qp"], IDLE["cm_id"] + 2), left
		assert not krping.lines()
	finally:
		network.link_back()
	wait_for(lambda: krping.resources()[DEVICE] == IDLE)
	connects()


@suite.test("a device that goes while ends wait for its port is not held up")
def device_removed():
	try:
		end_without_link()
		taken = network.unplug(limit=15)
		diag(f"unplugged in {taken:.2f} s")
	finally:
		network.ip(f"link set {krping.NETDEV} up")
		network.ip(f"addr replace {ADDR6}/64 dev {krping.NETDEV}")
		network.plug()
	connects()


@suite.test("the module goes while ends wait for a port")
def unloaded():
	try:
		end_without_link()
		assert krping.unload() == ""
		assert krping.resources()[DEVICE]["cm_id"] == IDLE["cm_id"]
	finally:
		# What was sent for that nothing could keep back.
		network.link_up()
		krping.load()
	connects()


@suite.test("a run that begins while the link is down waits for it, up to its timeout")
def begins():
	network.link_down()
	try:
		for kind in ("", "bw", "blk"):
			start = time.monotonic()
			more = "size=4M,store=ram" if kind == "blk" else ""
			run_fails(f"loopback,addr={ADDR},timeout=1000,{kind},{more}".strip(","),
				  errno.ENETDOWN, DOWN)
			assert 0.9 < time.monotonic() - start < 1 + SLACK
		late = Command(f"loopback,addr={ADDR},count=10,timeout=20000")
		krping.pass_time(1, "the link is down for less than the timeout")
		assert late.is_alive()
	finally:
		network.link_back()
	assert late.wait() == 0


@suite.test("a run within this host needs no carrier")
def no_carrier():
	far = krping.NETDEV + "p"
	network.ip(f"link set {far} down")
	try:
		with open(f"/sys/class/infiniband/{DEVICE}/ports/1/state", encoding="ascii") as file:
			assert "DOWN" in file.read()
		run_ok(f"loopback,addr={ADDR},count=10,validate")
	finally:
		network.ip(f"link set {far} up")


@suite.test("connection management that somebody else has broken is found and named")
def broken():
	"""rping takes its connection down over a link that is down."""
	port = str(new_port())
	server = Program("rping", "-s", "-a", ADDR, "-p", port)
	wait_for(lambda: krping.listens(port))
	client = Program("rping", "-c", "-a", ADDR, "-p", port)
	wait_for(lambda: {each["state"] for each in krping.rdma("resource", "show", "qp")
			  if each["type"] == "RC"} == {"RTS"}, 30)
	network.link_down()
	try:
		client.stop()
		server.stop()
		wait_for(lambda: network.management_state() != "RTS")
	finally:
		network.link_back()
	try:
		tag = new_tag()
		run_fails(f"caps,addr={ADDR},tag={tag}", errno.ENETDOWN, DEAD)
		found = krping.result(tag, "client")["caps"]
		assert found["connection_management"] == "does not answer", found
		assert found["limits"]["blk"]["supported"], found
		for command in ("loopback,count=10", "loopback,bw", "neg=all",
				"loopback,blk,size=4M,store=ram"):
			run_fails(f"{command},addr={ADDR},timeout=1000", errno.ENETDOWN, DEAD)
	finally:
		network.unplug()
		network.plug()
	run_ok(f"caps,addr={ADDR}")
	connects()


class PortDown(Command):
	"""The conformance test that asks for the port to be taken down and up, with OPTIONS."""

	def __init__(self, *options):
		self.tag, self.log = new_tag(), Log()
		super().__init__(",".join((f"neg=port_down,addr={ADDR},tag={self.tag}", *options)))

	def asked(self, what):
		"""Wait until the log asks for WHAT."""
		self.log.wait(rf"krping: [0-9]+: neg port_down: {what} the port of {DEVICE} ")

	def case(self):
		"""What the case came to, which the log says, too."""
		case, = krping.result(self.tag, "loopback")["cases"]
		diag(f"{case['outcome']}: {case['seen']} ({case['reason']})")
		assert case["name"] == "port_down", case
		conformance.assert_log(self.log.lines(), case)
		return case


@suite.test("conformance: a message of the connection management over a port that is down")
def conforms():
	command = PortDown("timeout=8000")
	try:
		command.asked("take")
		network.link_down()
		command.asked("bring")
		network.link_back()
		number = command.wait()
		assert number == errno.EBADE, (name(number), command.log.text())
		case = command.case()
		assert case["outcome"] == "fail", case
		# The WRITE is flushed itself, as all that is wrong is; the rest is QP1.
		assert case["reason"] == "how the request ended; no new connection works", case
		assert case["seen"].startswith("WR flushed (5); requester ERR, responder "), case
		assert f"; a new connection does not work: {DEAD}" in case["seen"], case
		assert network.management_state() == "ERR"
	finally:
		# Also where the case still waits for the link.
		if command.is_alive():
			command.interrupt()
		network.link_up()
	connects()


@suite.test("conformance: a port that nobody takes down, or that nobody brings back")
def left_alone():
	# Each of its steps may take as long.
	command = PortDown("timeout=3000")
	assert command.wait() == 0
	case = command.case()
	assert (case["outcome"], case["seen"]) == ("skip", ""), case
	assert case["reason"] == LEFT_UP, case
	connects()
	command = PortDown("timeout=3000")
	command.asked("take")
	network.link_down()
	try:
		number = command.wait()
		case = command.case()
	finally:
		network.link_up()
	connects()
	assert number == errno.EBADE, (name(number), command.log.text())
	assert case["seen"].startswith(DOWN), case
	assert (case["outcome"], case["reason"]) == ("fail", "it could not be tried"), case


@suite.test("conformance: interrupted while it waits for the port to go or to come back")
def interrupted():
	for down in (False, True):
		command = PortDown()
		command.asked("take")
		try:
			if down:
				network.link_down()
				command.asked("bring")
			start = time.monotonic()
			number = command.interrupt()
			taken = time.monotonic() - start
		finally:
			if down:
				network.link_up()
		assert number == errno.EINTR, name(number)
		assert taken < krping.SOON, f"took {taken:.2f} s"
		assert krping.result(command.tag, "loopback")["cases"] == []
		diag(f"{taken:.2f} s")
		connects()


@suite.test("conformance: the device is removed while it waits for the port")
def unplugged():
	command = PortDown()
	command.asked("take")
	try:
		network.unplug()
		assert command.wait() == errno.ENODEV, command.log.text()
	finally:
		network.plug()
	connects()


@suite.test("a host that does not answer is not taken for a device that does not")
def deaf():
	with network.deaf("10.99.0.77"):
		log = Log()
		run_fails("client,addr=10.99.0.77,timeout=1000", errno.ETIMEDOUT, "connecting")
		assert not log.find(DEAD), log.text()


if __name__ == "__main__":
	suite.main()
