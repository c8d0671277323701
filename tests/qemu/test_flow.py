# SPDX-License-Identifier: GPL-2.0
"""flow=: the flow label of a connection's path, and the UDP source port that follows from it."""

import contextlib
import errno
import socket
import struct
import threading

import krping
import network
from krping import ADDR, new_port, new_tag, run_fails, run_ok
from ktap import Suite

suite = Suite(check=krping.check)

ROCE_PORT = 4791
# All protocols.
ETH_P_ALL = 3


def source_port(label):
	"""The UDP source port that Linux derives from the flow LABEL."""
	return 0xc000 | (label & 0x3fff) ^ (label >> 14)


@contextlib.contextmanager
def source_ports(netdev):
	"""Within, note the UDP source ports of RoCE packets on NETDEV, but for those of the connection
	management, whose queue pair is number 1; a set."""
	found, done = set(), threading.Event()
	with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as packets:
		packets.bind((netdev, 0))
		packets.settimeout(0.2)

		def note():
			while not done.is_set():
				with contextlib.suppress(TimeoutError):
					packet = packets.recv(256)
					# Behind the headers of Ethernet, IP without options and UDP.
					source, target = struct.unpack_from(">HH", packet, 34)
					queue_pair, = struct.unpack_from(">I", packet, 46)
					if target == ROCE_PORT and queue_pair & 0xffffff != 1:
						found.add(source)

		thread = threading.Thread(target=note)
		thread.start()
		try:
			yield found
		finally:
			done.set()
			thread.join()


@suite.test("packets of both directions have the port of the label, whichever the connection")
def ports():
	with network.Lab() as lab:
		for label, options in ((1, "bw,duplex"), (1000, "slat,qps=3"), (0xfffff, "stream,echo"),
				       (0x4001, "")):
			port, tag = new_port(), new_tag()
			test = "stream,echo," if "stream" in options else ""
			server = lab.command(f"server,{test}addr={lab.FAR},port={port},tag={tag}")
			krping.wait_for(krping.lines)
			with source_ports("near9") as found:
				run_ok(f"client,addr={lab.FAR},port={port},count=100,flow={label},tag={tag},"
				       f"{options}".rstrip(","))
			assert server.wait() == 0
			assert found == {source_port(label)}, (label, found)
			for each in krping.results(tag):
				assert each["flow_label"] == label, (label, each)


@suite.test("other numbers, and a server: refused by name")
def refused():
	for text, number, sentence in (
			(f"client,addr={ADDR},flow=0", errno.ERANGE, "flow=0: must be from 1 to 1048575"),
			(f"client,addr={ADDR},flow=1048576", errno.ERANGE, "must be from 1 to 1048575"),
			(f"client,addr={ADDR},blk,flow=7", errno.EINVAL, "flow does not go with blk"),
			("server,flow=7", errno.EINVAL, "flow is for the client or loopback")):
		run_fails(text, number, sentence)


if __name__ == "__main__":
	suite.main()
