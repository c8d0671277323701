# SPDX-License-Identifier: GPL-2.0
"""A pair of hosts: what both ends have, and how large packets may be on the way between them.

A server of krping's is at the other end. Messages that fill a packet of the path are exchanged with
it, both ways, and where they do not get through, those of smaller packets."""

import errno
from typing import NamedTuple

from . import runner
from .command import Command
from .disks import amount
from .errors import FAILED, Quit
from .result import Pair, Port, Result

MTUS = (4096, 2048, 1024, 512, 256)
# The MTU of a path without packets of its own: TCP finds it by itself.
STREAM = 1 << 16
# Bytes that get through if anything does.
SMALL = 64
# Milliseconds for which a message that never arrives is waited for.
PATIENCE = 3000
# Ends of runs whose packets do not arrive.
LOST = (errno.ECONNRESET, errno.ETIMEDOUT, errno.EIO)


class Server(NamedTuple):
	"""A server of krping's."""

	# The options for its address, and where this host connects from.
	place: str
	port: int | None

	def exchange(self, options: str, must: bool = False) -> Result | None:
		"""Exchange messages with it: the result, or None where they do not get through, which they
		MUST if that is said."""
		at = f",port={self.port}" if self.port is not None else ""
		text = f"client,{self.place}{at},count=2,timeout={PATIENCE},{options}"
		outcome = runner.run(Command(text))
		if outcome.errno in LOST and not must:
			return None
		if outcome.errno or not outcome.results:
			why = outcome.message if outcome.errno else "; ".join(outcome.warnings)
			raise Quit(f"the pair cannot be checked: {why}; it takes a server there, such as "
				   "'krping run server,persist'", outcome.status or FAILED)
		return outcome.results[0]


def check(server: Server, here: Result) -> Pair:
	"""The pair of SERVER and this host, whose result of caps is HERE."""
	found = server.exchange(f"size={SMALL}", must=True)
	assert found is not None
	pair: Pair = {"own_port": here["caps"]["port"], "gets_through_bytes": SMALL}
	if "server_port" in found:
		pair["server_port"] = found["server_port"]
	if "gid" in found:
		pair["gid"], pair["peer_gid"] = found["gid"], found["peer_gid"]
	path = found.get("path_mtu_bytes")
	tries = [(STREAM, f"size={STREAM}")]
	if path is not None:
		pair["path_mtu_bytes"] = path
		tries = [(mtu, f"size={mtu}" + (f",mtu={mtu}" if mtu < path else ""))
			 for mtu in MTUS if mtu <= path]
	for size, options in tries:
		if server.exchange(options):
			pair["gets_through_bytes"] = size
			break
	reason = _wrong(pair, tries[0][0])
	if reason:
		pair["reason"] = reason
	return pair


def _wrong(pair: Pair, wanted: int) -> str:
	"""Why messages of WANTED bytes do not get through, and what to try; "" if they do."""
	most = pair["gets_through_bytes"]
	if most >= wanted:
		return ""
	if most == SMALL:
		return (f"messages of {wanted} bytes do not get through, with any MTU: are packets lost on "
			"the way?")
	theirs = pair.get("server_port", Port()).get("active_mtu_bytes", wanted)
	cause = (f"the server's port takes packets of {theirs}" if theirs < wanted else
		 "the path's MTU is smaller than the ports'")
	return (f"messages of {wanted} bytes do not get through, and those of {most} do: {cause}. Give all "
		f"interfaces on the way the same MTU, or commands mtu={most}")


def lines(result: Result) -> list[str]:
	"""The table of the pair of RESULT."""
	pair = result["pair"]
	own, theirs = pair["own_port"], pair.get("server_port", Port())
	interface = result.get("provenance", {}).get("interface_mtu_bytes", 0)
	rows = [("", "here", "at the server"),
		("MTU", _bytes(own.get("active_mtu_bytes")), _bytes(theirs.get("active_mtu_bytes"))),
		("largest MTU", _bytes(own.get("max_mtu_bytes")), _bytes(theirs.get("max_mtu_bytes"))),
		("MTU of the interface", str(interface or "unknown"), "not told"),
		("rate", _rate(own.get("rate_mbit_per_s")), _rate(theirs.get("rate_mbit_per_s"))),
		("GID", pair.get("gid", "none"), pair.get("peer_gid", "none"))]
	if "path_mtu_bytes" in pair:
		rows.append(("MTU of the path", _bytes(pair["path_mtu_bytes"]), ""))
	rows.append(("messages get through", f"{pair['gets_through_bytes']} bytes", ""))
	return ["", "the pair"] + [f"  {name:25}  {here:26}  {there}".rstrip()
				   for name, here, there in rows]


def _bytes(number: int | None) -> str:
	return "not told" if number is None else amount(number)


def _rate(megabits: int | None) -> str:
	if megabits is None:
		return "not told"
	return f"{megabits / 1000:g} Gbit/s" if megabits else "unknown"
