# SPDX-License-Identifier: GPL-2.0
"""Break a guest's network in ways that a test needs, and mend it.

	with network.deaf("10.99.0.2"):		# a host that never answers
	with network.Lab() as lab:		# another host, with a cable to cut
	network.unplug(); network.plug()	# the RDMA device
"""

import contextlib
import errno
import ipaddress
import os
import re
import subprocess
import time

import age
import krping
from krping import ADDR, ADDR6, DEVICE, NETDEV

# Nobody has this one.
NOBODY = "02:00:00:00:00:99"
# A device knows an address in the first place that is free, of a thousand. No host has so many.
GID_PLACES = 64


def call(*words):
	"""Run a program, which must succeed. Return what it prints."""
	done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
			      stderr=subprocess.STDOUT, text=True, check=False)
	assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}"
	return done.stdout


def ip(text):
	"""`ip TEXT`."""
	return call("ip", *text.split())


def batch(program, *lines):
	"""Have a PROGRAM with options, such as `ip`, do what each of LINES says: one costs less than
	many."""
	subprocess.run((*program.split(), "-batch", "-"), input="\n".join(lines), text=True, check=True)


@contextlib.contextmanager
def deaf(addr, netdev=NETDEV):
	"""Within, ADDR is a host on the link of NETDEV that takes all packets and never
	answers one, though its link-layer address is known."""
	ip(f"neigh replace {addr} lladdr {NOBODY} nud permanent dev {netdev}")
	try:
		yield addr
	finally:
		ip(f"neigh del {addr} dev {netdev}")


@contextlib.contextmanager
def route(kind, prefix):
	"""Within, the route to PREFIX is of this KIND, such as unreachable."""
	ip(f"route add {kind} {prefix}")
	try:
		yield
	finally:
		ip(f"route del {kind} {prefix}")


@contextlib.contextmanager
def mtu(netdev, size):
	"""NETDEV has an MTU of SIZE bytes."""
	with open(f"/sys/class/net/{netdev}/mtu", encoding="ascii") as file:
		before = file.read().strip()
	ip(f"link set {netdev} mtu {size}")
	try:
		yield
	finally:
		ip(f"link set {netdev} mtu {before}")


@contextlib.contextmanager
def plain_interface(addr):
	"""Within, ADDR is on an interface that has no RDMA device."""
	ip("link add plain9 type dummy")
	try:
		ip(f"addr add {addr}/24 dev plain9")
		ip("link set plain9 up")
		yield
	finally:
		ip("link del plain9")


def _gids(device):
	"""The addresses that DEVICE knows."""
	found = []
	for place in range(GID_PLACES):
		path = f"/sys/class/infiniband/{device}/ports/1/gids/{place}"
		try:
			with open(path, encoding="ascii") as file:
				gid = file.read().strip()
		except OSError:	# empty
			continue
		if gid.strip("0:"):
			found.append(ipaddress.IPv6Address(gid))
	return found


def wait_gids(device, *addrs):
	"""Wait until DEVICE knows ADDRS: that takes a moment after any change."""
	wanted = [ipaddress.ip_address(addr) for addr in addrs]
	wanted = [ipaddress.IPv6Address(f"::ffff:{addr}") if addr.version == 4 else addr
		  for addr in wanted]
	krping.wait_for(lambda: set(wanted) <= set(_gids(device)), what=f"{device} to know {addrs}")


def unplug(device=DEVICE, limit=10):
	"""Remove the RDMA device within LIMIT seconds (of the stock kernel), and return how
	many that took."""
	limit *= krping.SLOW
	start = time.monotonic()
	program = subprocess.Popen(("rdma", "link", "del", device), stdin=subprocess.DEVNULL)
	try:
		status = program.wait(limit)
	except subprocess.TimeoutExpired:
		# Whoever holds it must let go, for the sake of the tests after this one.
		for command in krping.Command.running[:]:
			command.interrupt()
		program.wait(20)
		raise AssertionError(f"{device} was not gone after {limit} s") from None
	assert status == 0, f"rdma link del ended with {status}"
	return time.monotonic() - start


def plug():
	"""Make the RDMA device of the guest's start again, unless it is there."""
	if not os.path.exists(f"/sys/class/infiniband/{DEVICE}"):
		call("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", NETDEV)
	wait_gids(DEVICE, ADDR, ADDR6)


def distance(milliseconds):
	"""From now on all that this host sends to itself takes so long. With soft-iWARP: it
	answers a client before it listens to its socket, and what then comes at once (an
	advertisement) waits there for ever (siw_accept() of 7.2)."""
	call("tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay",
	     f"{milliseconds}ms")


def link_down():
	"""Take the link below the RDMA device down."""
	ip(f"link set {NETDEV} down")


def link_up():
	"""Take it up again, with a new RDMA device. For tests of programs that send when the
	link is down, which soft-RoCE's connection management does not survive."""
	ip(f"link set {NETDEV} up")
	ip(f"addr replace {ADDR6}/64 dev {NETDEV}")
	unplug()
	plug()


def link_back():
	"""Take it up again, and keep the device."""
	ip(f"link set {NETDEV} up")
	ip(f"addr replace {ADDR6}/64 dev {NETDEV}")
	wait_gids(DEVICE, ADDR, ADDR6)


def flap(seconds):
	"""Take the link down for SECONDS, and keep the device."""
	link_down()
	try:
		krping.pass_time(seconds, "the link is down")
	finally:
		link_back()


def management_state(device=DEVICE):
	"""The state of the queue pair that DEVICE's connection management sends by."""
	return next(each["state"] for each in krping.rdma("resource", "show", "qp")
		    if each["ifname"] == device and each["type"] == "GSI")


def add_host(name, outside, inside, addr):
	"""Add a host: a network namespace NAME with an interface INSIDE of it that has ADDR, at the
	other end of a cable from OUTSIDE, which is here and still down."""
	age.needs("namespaces")
	ip(f"netns add {name}")
	ip(f"link add {outside} type veth peer name {inside} netns {name}")
	batch(f"ip -n {name}", f"addr add {addr}/24 dev {inside}", "link set lo up",
	      f"link set {inside} up")


def remove_host(name, device, outside):
	"""Remove a host with its RDMA DEVICE, as far as it has come, and the interface OUTSIDE. Links
	go first: the CM holds on to namespaces."""
	for words in (("ip", "netns", "exec", name, "rdma", "link", "del", device),
		      ("ip", "link", "del", outside),
		      ("ip", "netns", "del", name)):
		subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)


class Lab:
	"""Within, a second host, which is a network namespace of its own, on a link with a
	cable that can be cut. Both ends have RDMA devices."""

	NAME = "far9"
	NEAR, FAR = "10.98.0.1", "10.98.0.2"
	# For who sends, nothing fails.
	CUT = ("filter add dev near9 ingress matchall action drop",
	       "filter add dev near9 egress matchall action trap")
	MEND = ("filter del dev near9 ingress", "filter del dev near9 egress")

	def __init__(self, introduce=True):
		"""INTRODUCE the hosts to each other, or have them resolve their link-layer
		addresses as hosts do."""
		self.introduce = introduce

	def __enter__(self):
		try:
			self._set_up()
		except BaseException:
			self._tear_down()
			raise
		return self

	def __exit__(self, *_):
		self._tear_down()

	def _set_up(self):
		add_host(self.NAME, "near9", "away9", self.FAR)
		batch("ip", f"addr add {self.NEAR}/24 dev near9", "link set near9 up")
		self._introduce()
		# Loads the modules that a cut takes.
		self._tc("qdisc add dev near9 clsact", *self.CUT, *self.MEND)
		self._plug()

	def _plug(self):
		self.plug_near()
		self.plug_far()

	def plug_near(self):
		"""Make this end's RDMA device."""
		call("rdma", "link", "add", "rxe8", "type", "rxe", "netdev", "near9")
		wait_gids("rxe8", self.NEAR)

	def plug_far(self):
		"""Make the far end's RDMA device."""
		self.exec("rdma", "link", "add", "rxe9", "type", "rxe", "netdev", "away9")
		wait_gids("rxe9", self.FAR)

	def unplug_near(self):
		"""Remove this end's RDMA device."""
		unplug("rxe8")

	def unplug_far(self):
		"""Remove the far end's RDMA device."""
		self.exec("rdma", "link", "del", "rxe9")

	def _introduce(self):
		"""Have both ends know each other, so that nobody notices by ARP that the cable
		is cut."""
		if not self.introduce:
			return
		with open("/sys/class/net/near9/address", encoding="ascii") as file:
			near = file.read().strip()
		words = ip(f"-n {self.NAME} link show away9").split()
		far = words[words.index("link/ether") + 1]
		ip(f"neigh replace {self.FAR} lladdr {far} nud permanent dev near9")
		ip(f"-n {self.NAME} neigh replace {self.NEAR} lladdr {near} nud permanent dev away9")

	def forget(self):
		"""Have both ends forget each other's link-layer address."""
		ip("neigh flush dev near9")
		ip(f"-n {self.NAME} neigh flush dev away9")

	def _tear_down(self):
		subprocess.run(("rdma", "link", "del", "rxe8"), stdin=subprocess.DEVNULL,
			       capture_output=True, check=False)
		remove_host(self.NAME, "rxe9", "near9")

	def exec(self, *words):
		"""Run a program on the far host."""
		return call("ip", "netns", "exec", self.NAME, *words)

	@staticmethod
	def enter():
		"""Have the calling thread be on the far host."""
		fd = os.open(f"/run/netns/{Lab.NAME}", os.O_RDONLY)
		os.setns(fd, os.CLONE_NEWNET)
		os.close(fd)

	def command(self, text):
		"""A krping.Command on the far host."""
		class Far(krping.Command):
			def run(self):
				Lab.enter()
				super().run()
		return Far(text)

	def narrow(self, mbit):
		"""From now on the near end sends no more than so many megabits a second."""
		self._tc(f"qdisc add dev near9 root netem rate {mbit}mbit")

	def cut(self):
		"""Cut the cable: what is sent either way is lost, and both links stay up."""
		self._tc(*self.CUT)

	def mend(self):
		"""Make it whole."""
		self._tc(*self.MEND)

	@staticmethod
	def link_down():
		"""Take the near end's link down."""
		ip("link set near9 down")

	def link_up(self):
		"""Take it up again, with new RDMA devices at both ends: see above."""
		ip("link set near9 up")
		self.unplug_near()
		self.unplug_far()
		self._introduce()
		self._plug()

	def cut_amid(self, words, served="", after=110):
		"""Run a client of WORDS, of 3 s or more, here, to a server with the words SERVED at the
		far end, and cut the cable for a second once AFTER messages have gone, by default those
		of a warm-up and some. Return its errno, and its result."""
		timeout = f"timeout={20000 * krping.SLOW}"
		port, tag = krping.new_port(), krping.new_tag()
		server = krping.serve(f"server,addr={self.FAR},port={port},{timeout}{served}", self.command)
		client = krping.Command(f"client,addr={self.FAR},port={port},{words},{timeout},tag={tag}")
		krping.wait_for(lambda: not client.is_alive() or any(
			line.counters.get(f"{operation}_msgs", 0) > after
			for line in krping.lines() for operation in ("read", "write", "send")))
		krping.pass_time(0.3, "some operations are due before the cable is cut")
		assert client.is_alive(), krping.results(tag)
		self.cut()
		krping.pass_time(1, "the cable is cut for less than a queue pair bears")
		self.mend()
		number, other = client.wait(), server.wait()
		assert other == 0, krping.name(other)
		return number, krping.result(tag, "client")

	def remove_address(self):
		"""Take the near end's address away."""
		ip(f"addr del {self.NEAR}/24 dev near9")

	def add_address(self):
		"""Give it back."""
		ip(f"addr add {self.NEAR}/24 dev near9")
		self._introduce()
		wait_gids("rxe8", self.NEAR)

	def disturb(self, text):
		"""Have netem do TEXT, such as "loss 5%", to what either end sends."""
		call("tc", "qdisc", "replace", "dev", "near9", "root", "netem", *text.split())
		self.exec("tc", "qdisc", "replace", "dev", "away9", "root", "netem", *text.split())

	@contextlib.contextmanager
	def late_acknowledgments(self, milliseconds):
		"""Within, acknowledgments that the near end sends to a queue pair of type RC take
		longer by so many milliseconds, and nothing else does."""
		# Nothing but what the filter finds goes into the fourth band. See lose() for the opcode.
		self._tc("qdisc add dev near9 root handle 1: prio bands 4",
			 f"qdisc add dev near9 parent 1:4 netem delay {milliseconds}ms",
			 "filter add dev near9 parent 1: protocol ip u32 match u16 4791 0xffff at 22 "
			 "match u8 0x11 0xff at 28 flowid 1:4")
		try:
			yield
		finally:
			self._tc("qdisc del dev near9 root")

	def calm(self):
		"""No netem any more."""
		call("tc", "qdisc", "del", "dev", "near9", "root")
		self.exec("tc", "qdisc", "del", "dev", "away9", "root")

	@contextlib.contextmanager
	def no_rtu(self):
		"""Within, the far end's last message of the three that connect (RTU) is lost."""
		# Behind IP, UDP, BTH and DETH: management class 7, attribute 0x14.
		with self._drop("match u8 7 0xff at 49 match u16 0x14 0xffff at 64"):
			yield
			assert self.has_lost(), "it was not lost"

	@staticmethod
	def has_lost(count=1):
		"""Whether COUNT packets are lost that are to be."""
		told = call("tc", "-s", "filter", "show", "dev", "near9", "ingress")
		return sum(map(int, re.findall(r"dropped (\d+)", told))) >= count

	def lose(self, opcode, mask=0xff):
		"""Within, packets that the far end sends with the OPCODE (IBA, base transport
		header), in the bits of MASK, are lost."""
		# Behind IP and UDP.
		return self._drop(f"match u8 {opcode:#x} {mask:#x} at 28")

	@contextlib.contextmanager
	def lose_each(self, number, opcode, mask=0xff):
		"""Within, one in NUMBER of the packets with the OPCODE, see above, that either end sends
		is lost, however many that are."""
		line = ("filter add dev {} ingress protocol ip u32 match u16 4791 0xffff at 22 "
			f"match u8 {opcode:#x} {mask:#x} at 28 action pass random determ drop {number}")
		self._tc(line.format("near9"))
		batch(f"tc -n {self.NAME}", "qdisc add dev away9 clsact", line.format("away9"))
		try:
			yield
		finally:
			self._tc("filter del dev near9 ingress")
			batch(f"tc -n {self.NAME}", "qdisc del dev away9 clsact")

	@contextlib.contextmanager
	def _drop(self, match):
		"""Within, RoCE packets of the far end that MATCH, words of the u32 filter, are lost."""
		self._tc("filter add dev near9 ingress protocol ip u32 match u16 4791 0xffff at 22 "
			 f"{match} action drop")
		try:
			yield
		finally:
			self._tc("filter del dev near9 ingress")

	@staticmethod
	def _tc(*lines):
		"""`tc` with each of LINES, at once."""
		batch("tc", *lines)

	def unacknowledged(self, start):
		"""Bring a client to where it is done and waits for the peer to acknowledge that,
		in vain. START is called with a command and returns what is to be returned."""
		for count in (60000, 240000, 960000):
			port = krping.new_port()
			server = self.command(f"server,port={port}")
			krping.wait_for(krping.lines)
			# It needs no cable until it is done, which must not be before the cut.
			started = start(f"client,addr={self.FAR},port={port},fr,count={count}")
			krping.wait_for(self._states)
			self.cut()
			try:
				krping.wait_for(lambda: self._states() != {"RTS"}, 120)
				late = self._states() != {"ERR"}
				if not late:
					# It has no deadline, as such a client sends nothing.
					assert server.interrupt() == errno.EINTR
			finally:
				self.mend()
			if not late:
				return started
			assert (started.wait(), server.wait()) == (0, 0)
		raise AssertionError("the cable is always cut too late")

	@staticmethod
	def _states():
		"""The states of this end's queue pairs."""
		return {each["state"] for each in krping.rdma("resource", "show", "qp")
			if each["ifname"] == "rxe8" and each["type"] == "RC"}
