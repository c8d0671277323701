# SPDX-License-Identifier: GPL-2.0
"""Hosts of a mesh in one guest: network namespaces on a bridge, each with an RDMA device.

	with hosts.Hosts(8) as mesh:
		mesh.slow(3)			# all that host 3 sends
		mesh.slow(2, only=5)		# what host 2 sends to host 5
		mesh.lose(4)			# 1% of what host 4 sends
"""

import subprocess

import network
from network import call, ip

BRIDGE = "mesh9"


class Hosts:
	"""Within, COUNT hosts with the names h1, h2 and so on."""

	def __init__(self, count):
		self.numbers = range(1, count + 1)

	def __enter__(self):
		try:
			ip(f"link add {BRIDGE} type bridge")
			ip(f"link set {BRIDGE} up")
			for number in self.numbers:
				self._add(number)
		except BaseException:
			self._tear_down()
			raise
		return self

	def __exit__(self, *_):
		self._tear_down()

	bridge = BRIDGE

	@property
	def names(self):
		"""The names of all, as a node set."""
		return f"h[1-{len(self.numbers)}]"

	@staticmethod
	def address(number):
		"""The address of a host."""
		return f"10.97.0.{number}"

	def _add(self, number):
		network.add_host(f"h{number}", f"mesh{number}", f"eth{number}", self.address(number))
		ip(f"link set mesh{number} master {BRIDGE} up")
		self.plug(number)

	def plug(self, number):
		"""Make a host's RDMA device."""
		self.exec(number, "rdma", "link", "add", f"rxe{10 + number}", "type", "rxe",
			  "netdev", f"eth{number}")
		network.wait_gids(f"rxe{10 + number}", self.address(number))

	@staticmethod
	def unplug(number):
		"""Remove it."""
		network.unplug(f"rxe{10 + number}")

	@staticmethod
	def exec(number, *words):
		"""Run a program on a host."""
		return call("ip", "netns", "exec", f"h{number}", *words)

	def slow(self, number, milliseconds=20, only=None):
		"""Delay what a host sends, to all or to ONLY one."""
		self._netem(number, f"delay {milliseconds}ms", only)

	def lose(self, number, percent=1, only=None):
		"""Lose some of what a host sends, to all or to ONLY one."""
		self._netem(number, f"loss {percent}%", only)

	def _netem(self, number, what, only):
		device = f"eth{number}"
		commands = [f"qdisc add dev {device} root netem {what}"] if only is None else [
			f"qdisc add dev {device} root handle 1: prio",
			f"qdisc add dev {device} parent 1:3 netem {what}",
			f"filter add dev {device} parent 1: protocol ip u32 match ip dst "
			f"{self.address(only)}/32 flowid 1:3"]
		for words in commands:
			self.exec(number, "tc", *words.split())

	def calm(self, number):
		"""Delay and lose nothing any more."""
		self.exec(number, "tc", "qdisc", "del", "dev", f"eth{number}", "root")

	def cut(self, number):
		"""Take a host's cable out."""
		ip(f"link set mesh{number} down")

	def mend(self, number):
		"""Put it in again."""
		ip(f"link set mesh{number} up")

	def _tear_down(self):
		for number in self.numbers:
			network.remove_host(f"h{number}", f"rxe{10 + number}", f"mesh{number}")
		subprocess.run(("ip", "link", "del", BRIDGE), stdin=subprocess.DEVNULL,
			       capture_output=True, check=False)
