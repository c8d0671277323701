# SPDX-License-Identifier: GPL-2.0
"""What clients say that want more of a server than others: threads that spin, and chunks."""

import struct

import puppet
from messenger_puppet import REQUEST, say

# Bytes of a message of which a hog asks for the reply, and of its chunks.
LARGE = 40000
CHUNK = 4096


def wlat(alive_ms, size=64):
	"""The private data of a client of wlat, which has its server watch memory."""
	head = puppet.MAGIC + struct.pack(">BBBBIIQII", 1, 1, 3, 1, 0, size, 1000, 1, size)
	return (head + struct.pack(">HHIHHBBHII", 1, 0, 1, 1, 1, 1, 0, 0, 0, alive_ms)).hex()


def ask(peer, number=0):
	"""Have PEER send request NUMBER, and return how many messages that takes."""
	at = count = 0
	while at < LARGE:
		part = min(CHUNK - (0 if at else 16), LARGE - at)
		peer.tell(say(REQUEST, number, part, at, size=LARGE))
		at, count = at + part, count + 1
	return count
