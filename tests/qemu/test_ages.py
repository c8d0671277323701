# SPDX-License-Identifier: GPL-2.0
# guest: --peers 1 --peer-kernel other
"""The module on kernels of different ages, here and on another machine: whatever one does with the
other, in either direction, as with its like. The wire is one."""

import errno
import os

import block
import guests
import krping
from between import measured, pingpong
from block import Raw
from krping import ADDR, ADDR6, new_port
from ktap import Skip, Suite, diag
from microbench import TESTS

suite = Suite(check=guests.check)
BLOCK = 4096


def far():
	"""The guest at the other end, which has another kernel."""
	other = guests.others()[0]
	release = other.exec("uname", "-r").strip()
	own = os.uname().release
	if release == own:
		raise Skip(f"both have Linux {own}")
	diag(f"Linux {own} here, {release} there")
	return other


def directions():
	"""Both: who has the client, and who the server."""
	other = far()
	return (None, other), (other, None)


@suite.test("ping/pong in each memory mode, with data that is checked")
def rounds():
	for here, there in directions():
		addr, addr6 = (there.addr, "fd99::2") if there else (ADDR, ADDR6)
		pingpong(here, there, 64, f"addr={addr},mem_mode=dma")
		pingpong(here, there, 65536, f"addr={addr},mem_mode=reg")
		pingpong(here, there, 4096, f"addr={addr},server_inv")
		pingpong(here, there, 1000, f"addr6={addr6}")


@suite.test("each microbenchmark")
def figures():
	for here, there in directions():
		for test in TESTS:
			measured(here, there, test)


@suite.test("streams and messages, compared at both ends")
def streams():
	for here, there in directions():
		measured(here, there, "size=5000", ",stream,echo,validate")
		measured(here, there, "size=5000,echo", ",messenger,validate")


@suite.test("transfers of the kernel's own contexts")
def transfers():
	for here, there in directions():
		for test in ("rwread", "rwwrite"):
			measured(here, there, f"{test},size=64K,segs=3,offset=9")


@suite.test("disks: what is written is there, and is flushed")
def disks():
	other = far()
	port = new_port()
	server = other.serve(f"server,blk,persist,port={port},size=1M,store=ram")
	with block.Disk(f"client,blk,addr={other.addr},port={port}") as disk, Raw(disk) as raw:
		for offset in (0, 17 * BLOCK):
			raw.put(offset, bytes(range(256)) * 16)
			assert raw.flush() == "ok"
			assert raw.get(offset, BLOCK) == bytes(range(256)) * 16
	assert server.interrupt() == errno.EINTR
	port = new_port()
	server = krping.serve(f"server,blk,persist,port={port},size=1M,store=ram")
	assert other.ask("disk_keeps", f"client,blk,addr={ADDR},port={port}", BLOCK) is True
	assert server.interrupt() == errno.EINTR


suite.main()
