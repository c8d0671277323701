# SPDX-License-Identifier: GPL-2.0
"""A second host on a cable, in a guest: a network namespace with a device of its own, and a server of
krping. What a soft-RoCE device sends to its own host never becomes a packet on an interface."""

import subprocess

from swap import call, until

HOST = "far"
NEAR, FAR = "10.98.0.1", "10.98.0.2"
# Seconds for the server to listen, and to end.
PATIENCE = 10
GRACE = 20


def lay(kind: str) -> str:
	"""Lay the cable, with a device of KIND at either end. Return why that cannot be done, or ""."""
	there = ("ip", "netns", "exec", HOST)
	return (call("ip", "netns", "add", HOST)
		or call("ip", "link", "add", "near8", "type", "veth", "peer", "name", "far8", "netns", HOST)
		or call("ip", "addr", "add", f"{NEAR}/24", "dev", "near8")
		or call("ip", "link", "set", "near8", "up")
		or call(*there, "ip", "addr", "add", f"{FAR}/24", "dev", "far8")
		or call(*there, "ip", "link", "set", "far8", "up")
		or call("rdma", "link", "add", "near0", "type", kind, "netdev", "near8")
		or call(*there, "rdma", "link", "add", "far0", "type", kind, "netdev", "far8"))


def serve() -> subprocess.Popen[bytes]:
	"""Start a server on the other host, and return it once it listens, or a while later."""
	server = subprocess.Popen(("ip", "netns", "exec", HOST, "sh", "-c",
				   f"exec /bin/echo server,addr={FAR},persist >/proc/krping"),
				  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
				  stderr=subprocess.DEVNULL)
	until(listens, PATIENCE)
	return server


def listens() -> bool:
	"""Whether krping does anything."""
	with open("/proc/krping", encoding="ascii") as file:
		return any(not line.startswith("#") for line in file)


def take_away(server: subprocess.Popen[bytes]) -> bool:
	"""End SERVER, and take all of it away. Return whether that was possible."""
	server.terminate()
	try:
		server.wait(GRACE)
	except subprocess.TimeoutExpired:
		server.kill()
		return False
	return not (call("ip", "netns", "exec", HOST, "rdma", "link", "del", "far0")
		    or call("rdma", "link", "del", "near0")
		    or call("ip", "link", "del", "near8")
		    or call("ip", "netns", "del", HOST))
