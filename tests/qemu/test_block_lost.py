# SPDX-License-Identifier: GPL-2.0
"""An acknowledged write, whatever its server and the medium below the store go through before the
next flush: it is there, or that flush fails. docs/block.md has the same table."""

import errno

import block
from block import Raw, Server
from fragile import Mapping
from ktap import Suite
from losses import NEW, OLD, TABLE, TOLD, Place, Process, check, fails_forgotten, remounted, safely

suite = Suite(check=block.check)


for _happens, _make, *_expected in TABLE:
	suite.test(f"a write that was not flushed: {_happens.__doc__.rstrip('.')}")(
		lambda row=(_happens, _make, _expected): check(*row))


@suite.test("a write that was not flushed, whose server's writer is killed")
def killed():
	for happens, make, *expected in TABLE:
		if happens in (fails_forgotten, remounted):
			check(happens, make, expected, Process)


@suite.test("memory does not outlive its server: ESTALE, and nothing is said to be kept")
def memory():
	server = Server("size=1M,store=ram,persist")
	disk = server.disk("reconnect=30")
	with Raw(disk) as raw:
		raw.put(0, NEW)
		server.kill()
		server.start()
		assert disk.command.wait() == errno.ESTALE
	server.kill()


@suite.test("two clients are told of what was lost when their server ended, each once")
def both():
	with Mapping() as medium, safely():
		place = Place(medium, True)
		server = Server(f"store={place},persist")
		with server.disk("reconnect=90") as one, server.disk("reconnect=90") as other, \
		     Raw(one) as first, Raw(other) as second:
			for raw, offset in ((first, 0), (second, 8192)):
				raw.put(offset, OLD)
				assert raw.flush() == "ok"
				raw.put(offset, NEW)
			fails_forgotten(place, server)
			server.start()
			assert [raw.flush() for raw in (first, second, first)] == [TOLD] * 3
		server.kill()
		place.unmount()


suite.main()
