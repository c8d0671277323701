# SPDX-License-Identifier: GPL-2.0
# debug: yes
"""Multicast: datagrams that go to a group, of which servers and others are members."""

import contextlib
import errno
import itertools
import re

import compiled
import krping
import network
from krping import ADDR, ADDR6, NETDEV, Log, Program, new_port, new_tag, run_fails, run_ok, wait_for
from ktap import Suite, diag
from microbench import amid, moving, warmup

COUNT = 500 if krping.SLOW == 1 else 50
TIMEOUT = 20000 * krping.SLOW
# The network device's 1500 bytes hold 1024 of data, the next smaller power of two.
PATH = 1024
MEMBER = compiled.Compiled("krping-member")

_groups = itertools.count(1)


def new_group():
	"""A group that no other call has returned."""
	return f"239.9.{next(_groups)}.1"


def joined(netdev=NETDEV):
	"""The groups of IPv4 that NETDEV has joined, and the Ethernet addresses of such. Those of
	IPv6 soft-RoCE leaves behind (docs/reliability.md)."""
	text = network.ip(f"maddr show dev {netdev}")
	return sorted(re.findall(r"inet +[0-9.]+.*|link +01:00:5e:.*", text))


def ethernet(group):
	"""The Ethernet address that GROUP goes to."""
	_, *rest = (int(word) for word in group.split("."))
	return "01:00:5e:" + ":".join(f"{byte:02x}" for byte in (rest[0] & 0x7f, *rest[1:]))


_before = joined()


def check():
	"""Nothing is left behind, in particular no group."""
	krping.check()
	wait_for(lambda: joined() == _before, what=f"{joined()} to be {_before}")


suite = Suite(check=check)


def figures(found, sent):
	"""The result FOUND is of a run with SENT messages, all of which are accounted for.
	Returns its figures."""
	assert (found["status"], found["qp"]) == ("ok", "ud"), found
	loss = found["loss"]
	assert loss["sent"] == sent, (sent, loss)
	assert loss["arrived"] + loss["lost"] == sent and loss["arrived"] > 0, loss
	return loss


def loopback(group, size=64, options="", qps=1, count=COUNT):
	"""A command that sends to GROUP, and what returns its figures and its servers' then."""
	tag = new_tag()
	run = krping.Command(f"loopback,addr={ADDR},sbw,qp=ud,mcast={group},size={size},"
			     f"count={count},qps={qps},timeout={TIMEOUT},tag={tag}"
			     f"{options and ','}{options}")

	def finish():
		assert run.wait(60) == 0
		servers = wait_for(lambda: len(found := [each for each in krping.results(tag)
							 if each["role"] == "server"]) == qps and found)
		sent = count + warmup(size, 16)
		client = figures(krping.result(tag, "client"), sent * qps)
		told = [figures(each, sent) for each in servers]
		for key in ("arrived", "lost", "late", "repeated"):
			assert client[key] == sum(each[key] for each in told), (key, client, told)
		return client, told
	return finish


@suite.test("messages arrive, and each is compared")
def each():
	for size in (1, 24, 64, 1000, PATH):
		for options in ("", "validate", "validate=full", "validate=full,cq=pool", "poll"):
			_, (server,) = loopback(new_group(), size, options)()
			assert server["foreign"] == 0 and server["repeated"] == 0, server


@suite.test("several queue pairs get each other's messages, and tell them apart")
def several():
	client, servers = loopback(new_group(), 64, "validate=full,postlist=4", qps=3)()
	assert client["foreign"] == 0, client
	assert all(server["foreign"] > 0 for server in servers), servers


@contextlib.contextmanager
def member(group, size, *count):
	"""Within, a program beside krping that has joined GROUP."""
	program = Program(MEMBER.build(), ADDR, group, str(size), *map(str, count))
	wait_for(lambda: "joined" in program.output() or program.poll() is not None)
	assert program.poll() is None or count, program.output()
	yield program


def told(program):
	"""What the member PROGRAM says of each sender: messages, different ones, and those
	that are alike."""
	status, output = program.stop()
	assert status == 0, output
	return [tuple(map(int, found)) for found in re.findall(
		r"from [0-9]+ messages ([0-9]+) different ([0-9]+) alike ([0-9]+)", output)]


@suite.test("another member of the group gets the same datagrams")
def beside():
	group = new_group()
	with member(group, 64) as one, member(group, 64) as two, member(new_group(), 64) as other:
		# The debug kernel has no IGMP, and lists these only.
		assert any(ethernet(group) in line for line in joined()), joined()
		client, _ = loopback(group)()
		wait_for(lambda: all("receives" in each.output() for each in (one, two)))
		found, again, nothing = told(one), told(two), told(other)
	diag(f"{client}: {found} {again}")
	assert nothing == [], nothing
	for senders in (found, again):
		assert len(senders) == 1, senders
		messages, different, alike = senders[0]
		# Each has receives for all of them.
		assert 0 < messages == different == alike <= client["sent"], (senders, client)


@suite.test("datagrams that others send to the group are counted, and change nothing")
def strangers():
	MEMBER.build()
	group = new_group()

	def send(run):
		wait_for(lambda: moving() or not run.is_alive())
		with member(group, 256, 50) as program:
			status, output = program.finish()
		assert status == 0, output
	tag = amid(lambda seconds, tag: krping.Command(
		f"loopback,addr={ADDR},sbw,qp=ud,mcast={group},size=256,validate=full,"
		f"duration={seconds},timeout={TIMEOUT},tag={tag}"), send)
	client, server = (krping.result(tag, role)["loss"] for role in ("client", "server"))
	diag(f"{client} {server}")
	# No more than were sent, as none comes back to who sent it.
	assert 0 < server["foreign"] <= 50 and client["foreign"] == 0, (client, server)
	assert server["repeated"] == 0, server


def side_by_side(*groups):
	"""How many messages of others each server of loopbacks to GROUPS, begun together, got."""
	runs = [loopback(group, 128, "validate=full", count=4 * COUNT) for group in groups]
	found = [server for finish in runs for server in finish()[1]]
	diag(f"{found}")
	return [server["foreign"] for server in found]


@suite.test("two groups at once do not mix, and two clients of one do not either")
def at_once():
	assert side_by_side(new_group(), new_group()) == [0, 0]
	for _ in range(10):
		# Those of a busy machine may run one after the other.
		if any(side_by_side(*[new_group()] * 2)):
			return
	raise AssertionError("no server ever got what another client sent to its group")


@suite.test("a server joins its own group only")
def named():
	group, tag, port = new_group(), new_tag(), new_port()
	before = joined()
	server = krping.serve(f"server,addr={ADDR},port={port},persist,mcast={group},tag={tag}")
	client = f"client,addr={ADDR},port={port},sbw,size=64,count=10"
	for options in ("", ",qp=ud", f",qp=ud,mcast={group}"):
		run_ok(client + options)
	log = Log()
	run_fails(f"{client},qp=ud,mcast={new_group()}", errno.ECONNREFUSED, "the peer refused")
	log.wait("the client sends to another multicast group than the one of this server")
	assert server.interrupt() == errno.EINTR
	server = krping.serve(f"server,addr={ADDR},port={port},persist")
	run_fails(f"{client},qp=ud,mcast={group}", errno.ECONNREFUSED, "the peer refused")
	log.wait("the client sends to a multicast group, and this server was given none")
	assert server.interrupt() == errno.EINTR
	assert joined() == before, joined()


@suite.test("what is no group, and what the kernel does not join, is refused by name")
def refused():
	base = f"loopback,addr={ADDR},sbw,qp=ud,count=10"
	for value in (ADDR, "223.255.255.255", "240.0.0.1", "::1", "all"):
		run_fails(f"{base},mcast={value}", errno.EINVAL,
			  f"mcast={re.escape(value)}: must be the address of a multicast group")
	run_fails(f"loopback,addr6={ADDR6},sbw,qp=ud,mcast=ff05::1:3,count=10", errno.EOPNOTSUPP,
		  "mcast: the kernel joins no IPv6 group on RoCE v2, but IPv4 ones")
	# Before anything is connected.
	run_fails(f"client,addr6={ADDR6},port={new_port()},sbw,qp=ud,mcast=ff05::1:3",
		  errno.EOPNOTSUPP, "mcast: the kernel joins no IPv6 group")


@suite.test("messages that the network loses are counted, on another host")
def lost():
	with network.Lab() as lab:
		port, group, tag = new_port(), new_group(), new_tag()
		before = lab.exec("ip", "maddr", "show", "dev", "away9")
		server = krping.serve(f"server,port={port},persist,mcast={group},timeout={TIMEOUT}",
				      lab.command)
		lab.disturb("loss 10%")
		run_ok(f"client,addr={lab.FAR},port={port},sbw,qp=ud,mcast={group},size=64,"
		       f"count={2 * COUNT},validate=full,timeout={TIMEOUT},tag={tag}")
		loss = figures(krping.result(tag, "client"), 2 * COUNT + warmup(64, 16))
		diag(f"{loss}")
		assert loss["lost"] > COUNT // 20, loss
		lab.calm()
		assert server.interrupt() == errno.EINTR
		after = lab.exec("ip", "maddr", "show", "dev", "away9")
		assert group not in after and group not in before, after


@suite.test("another host's queue pair with the number of the peer's is a stranger")
def namesake():
	with network.Lab() as lab:
		group, port, tag = new_group(), new_port(), new_tag()
		# Numbers are given one after the other, and those are not to be reached here.
		assert lab.command(f"loopback,addr={lab.FAR},slat,qps=30,count=1,"
				   f"timeout={TIMEOUT}").wait(60) == 0
		server = krping.serve(f"server,addr={lab.NEAR},port={port},mcast={group},"
				      f"timeout={TIMEOUT},tag={tag}")
		client = lab.command(f"client,addr={lab.NEAR},port={port},sbw,qp=ud,mcast={group},"
				     f"size=256,validate=full,count=0,timeout={TIMEOUT}")
		wait_for(moving)
		number = next(each["lqpn"] for each in krping.rdma("resource", "show", "qp")
			      if (each["ifname"], each["type"]) == ("rxe9", "UD"))
		said = network.call(MEMBER.build(), lab.NEAR, group, "256", "50", str(number))
		assert "joined" in said, said
		assert client.interrupt() == errno.EINTR
		assert server.wait() == errno.ECONNRESET
		loss = krping.result(tag, "server")["loss"]
		diag(f"{loss}")
		assert loss["foreign"] > 0 and loss["repeated"] == 0, loss


@suite.test("a signal ends it, and leaves nothing")
def interrupted():
	for wait in (0, 0.05, 0.3):
		run = krping.Command(f"loopback,addr={ADDR},sbw,qp=ud,mcast={new_group()},count=0,"
				     "qps=2")
		krping.pass_time(wait * krping.SLOW, "the signal comes at any moment")
		assert run.interrupt() == errno.EINTR
		check()


@suite.test("the device is removed in mid-run")
def unplugged():
	run = krping.Command(f"loopback,addr={ADDR},sbw,qp=ud,mcast={new_group()},size=64,count=0")
	wait_for(moving)
	try:
		diag(f"unplugged in {network.unplug():.2f} s")
		assert run.wait() == errno.ENODEV
		assert joined() == _before, joined()
	finally:
		network.plug()
	loopback(new_group())()


if __name__ == "__main__":
	suite.main()
