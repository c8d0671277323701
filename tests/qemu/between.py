# SPDX-License-Identifier: GPL-2.0
"""Runs of a client on one guest and a server on another, which have moved what they must. None is the
guest that the test runs on."""

import krping
from krping import new_port, new_tag

COUNT = 100


def results(guest, tag, role):
	"""The one result of TAG and ROLE, of another guest or, without one, of this."""
	return guest.ask("result", tag, role) if guest else krping.result(tag, role)


def pingpong(here, there, size, options):
	"""COUNT iterations of SIZE bytes with OPTIONS, of a client of the guest HERE and a server on
	THERE. None is this guest. Both have moved what they must."""
	port, tag = new_port(), new_tag()
	text = f"port={port},tag={tag},{options}"
	server = (there.serve if there else krping.serve)(f"server,{text}")
	client = (here.command if here else krping.Command)(
		f"client,{text},size={size},count={COUNT},validate")
	number = client.wait()
	assert number == 0, (krping.name(number), client.text)
	assert server.wait() == 0, text
	for guest, role in ((here, "client"), (there, "server")):
		krping.assert_done(results(guest, tag, role), COUNT, size)


def measured(here, there, test, options=""):
	"""COUNT operations of the microbenchmark TEST with OPTIONS, or of another one that counts them, at
	both ends."""
	port, tag = new_port(), new_tag()
	addr = there.addr if there else krping.ADDR
	server = (there.serve if there else krping.serve)(f"server,port={port},tag={tag}{options}")
	client = (here.command if here else krping.Command)(
		f"client,addr={addr},port={port},tag={tag},count={COUNT},{test}{options}")
	for side in (client, server):
		number = side.wait()
		assert number == 0, (krping.name(number), client.text)
	found = results(here, tag, "client")
	assert found["iterations"] == COUNT, found
