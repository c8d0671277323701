# SPDX-License-Identifier: GPL-2.0
"""mtu=: connections whose packets are smaller than the path takes."""

import errno

import krping
from krping import ADDR, DEVICE, new_tag, run_fails, run_ok
from ktap import Suite

suite = Suite(check=krping.check)

SENT = f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters/sent_pkts"
# The network device's 1500 bytes hold 1024 of data, the next smaller power of two.
PATH = 1024


def packets(options):
	"""The packets that a run on this host sends."""
	def sent():
		with open(SENT, encoding="ascii") as file:
			return int(file.read())
	tag, before = new_tag(), sent()
	run_ok(f"loopback,addr={ADDR},{options},tag={tag}")
	return sent() - before, krping.result(tag, "client")


@suite.test("messages of 64 KiB take as many packets as their size needs, in both directions")
def counted():
	for test in ("bw", "sbw", "rbw"):
		for mtu in (256, 512, 1024):
			for options in ("", ",duplex"):
				found, result = packets(f"{test},size=64K,count=20,mtu={mtu},"
							f"validate{options}")
				messages = (20 + result["warmup"]) * (2 if options else 1)
				least = messages * 65536 // mtu
				# Acknowledgments and control messages, and what is sent again; with the
				# next smaller MTU there would be twice as many at least.
				assert least <= found, (test, mtu, found)
				assert found < 1.9 * least + 3 * messages + 200, (test, mtu, found)


@suite.test("every test that iterates takes it")
def everywhere():
	for options in ("", "mem_mode=reg,server_inv", "fr", "wlat", "rlat", "slat", "alat", "casbw"):
		for mtu in (256, PATH):
			run_ok(f"loopback,addr={ADDR},{options},count=20,mtu={mtu}".replace(",,", ","))


@suite.test("more than the path takes, other numbers, and a server: refused by name")
def refused():
	for mtu in (2048, 4096):
		run_fails(f"loopback,addr={ADDR},bw,count=1,mtu={mtu}", errno.EOPNOTSUPP,
			  "mtu: the path takes smaller packets only")
	for text, sentence in (
			(f"loopback,addr={ADDR},count=1,mtu=1500", "mtu=1500: must be 256, 512, 1024, "),
			(f"client,caps,addr={ADDR},mtu=256", "mtu does not go with caps"),
			("server,mtu=256", "mtu is for the client or loopback")):
		run_fails(text, errno.EINVAL, sentence)


if __name__ == "__main__":
	suite.main()
