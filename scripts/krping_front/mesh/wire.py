# SPDX-License-Identifier: GPL-2.0
"""The lines between the controller of a mesh and its nodes: a JSON object each.

Down, to all nodes alike, by "do":

	clock	n, sent			what does your clock say
	plan	schema, ids, addresses, port, offsets
					who is who: each node finds its number by its id
	offsets	offsets			each node's clock less the controller's, in ns
	round	n, spec, rail, server, client, listen, seconds, absent
					start what listens, and say so; and send the result of
					the round before. The hosts in absent start nothing:
					they have failed, or have no address on the rail
	round	..., start, skip	the same and go at once, as all listen already
	go	n, start, skip, absent	start the clients, which begin at that time of the
					controller; not those of the servers in skip, nor any
					of or to hosts in absent
	report				send the result of the round, as none follows
	alive				the controller is there: said every ALIVE seconds. A
					node that hears nothing for SILENCE seconds leaves
	end				end everything, and leave

Up, by "say", all with host and id:

	ready	schema, kernel, module, lacks, rails, ...
	clock	n, sent, now, mono
	listening	n, now, mono
	trouble	n, reason		it does not listen
	ended	n, took, late, now, mono
					all clients of the round have ended
	result	n, runs, late		what they came to

A line up is never longer than LINE: srun and others may take longer ones apart. What does not
fit is sent in parts. Nothing here does I/O."""

import json
from typing import Any

SCHEMA = 3
ALIVE = 5.0
SILENCE = 60.0
LINE = 1000
# Of the text of a part, which may get twice as long by its escapes.
PART = 400
# The most characters of a sentence that are sent, and kept.
SENTENCE = 400
# The largest message, so that a host gone mad does not fill the controller's memory.
MOST = 4 << 20

Message = dict[str, Any]


def down(message: Message) -> str:
	"""MESSAGE as a line."""
	return json.dumps(message, separators=(",", ":")) + "\n"


def parse(line: bytes | str) -> Message:
	"""The Message of LINE. ValueError is raised for what is none."""
	try:
		found = json.loads(line)
	except RecursionError:
		raise ValueError("too deep") from None
	if not isinstance(found, dict):
		raise ValueError("no object")
	return found


class Sender:
	"""Makes the lines of one node."""

	def __init__(self, host: str, ident: str) -> None:
		self.head = {"host": host, "id": ident}
		self.count = 0

	def lines(self, message: Message) -> list[str]:
		"""The lines for MESSAGE."""
		text = down(self.head | message)
		if len(text) <= LINE:
			return [text]
		whole = json.dumps(message, separators=(",", ":"))
		self.count += 1
		pieces = [whole[place:place + PART] for place in range(0, len(whole), PART)]
		return [down(self.head | {"part": [self.count, place, len(pieces)], "text": piece})
			for place, piece in enumerate(pieces)]


class Receiver:
	"""Puts the lines of one node together."""

	def __init__(self) -> None:
		self.number = 0
		self.pieces: list[str] = []

	def take(self, line: str) -> Message | None:
		"""The Message that is complete with LINE, or None. ValueError is raised for a line
		that no node sends."""
		found = parse(line)
		if not isinstance(found.get("id"), str):
			raise ValueError("not of a node")
		if "part" not in found:
			return found
		part, text = found["part"], found.get("text")
		if not (isinstance(part, list) and len(part) == 3 and isinstance(text, str)
			and all(type(each) is int for each in part)):
			raise ValueError("not a part")
		number, place, count = part
		if place == 0:
			self.number, self.pieces = number, []
		if number != self.number or place != len(self.pieces) or count * PART > MOST:
			raise ValueError("a part is missing")
		self.pieces.append(text[:PART])
		if place + 1 < count:
			return None
		whole = parse("".join(self.pieces))
		self.pieces = []
		return {"host": found.get("host"), "id": found["id"]} | whole
