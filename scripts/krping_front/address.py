# SPDX-License-Identifier: GPL-2.0
"""Addresses of commands, which may be IPv4 or IPv6, or names of hosts."""

import argparse
import re

from .errors import Quit

# The module says what is wrong with such a one, if anything is.
NUMERIC = re.compile(r"[0-9.]*")


def add_argument(group: argparse._MutuallyExclusiveGroup, text: str) -> None:
	"""Add the address ADDR to GROUP; TEXT says what it is of. It was --addr once."""
	group.add_argument("addr", metavar="ADDR", nargs="?", default=argparse.SUPPRESS, help=text)
	group.add_argument("--addr", help=argparse.SUPPRESS)


def add_source(parser: argparse.ArgumentParser, device: str = "the RDMA device of this host that it "
	       "connects from, such as mlx5_0") -> None:
	"""Add to PARSER where of this host a client connects from; DEVICE says what --device is."""
	source = parser.add_mutually_exclusive_group()
	source.add_argument("--device", "--dev", metavar="DEV", help=device)
	source.add_argument("--src", metavar="SRC", help="the address of this host that it connects from, "
			    "in place of the device")


def source(arguments: argparse.Namespace) -> list[str]:
	"""The options of a client for the ARGUMENTS of add_source(): one or none."""
	found = []
	for name, value, what in (("src", arguments.src, "address"),
				  ("dev", arguments.device, "RDMA device")):
		if value is not None:
			if not value or "," in value:
				raise Quit(f"{value!r} is no {what}")
			found.append(f"{name}={value}")
	return found


def place(addr: str) -> str:
	"""The option for ADDR, an IPv4 or IPv6 address or the name of a host."""
	if not addr or "," in addr:
		raise Quit(f"{addr!r} is no address")
	return option("addr", addr)


def option(name: str, value: str) -> str:
	"""The option NAME, which is addr or addr6, for the address or host VALUE. An IPv6
	address is for addr6 in any case."""
	if ":" in value:
		return f"addr6={value}"
	if NUMERIC.fullmatch(value):
		return f"{name}={value}"
	return resolved(name, value)


def resolved(name: str, host: str) -> str:
	"""The option for the first address of HOST, which for addr6 is one of IPv6."""
	import socket  # noqa: PLC0415
	family = socket.AF_INET6 if name == "addr6" else socket.AF_UNSPEC
	try:
		found = socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)
	except (OSError, UnicodeError) as error:
		reason = getattr(error, "strerror", None) or "no name of a host"
		raise Quit(f"{name}={host}: {reason}") from None
	address = str(found[0][4][0])
	return f"{'addr6' if ':' in address else 'addr'}={address}"


def in_command(text: str) -> str:
	"""The command TEXT with addresses as the module takes them."""
	return ",".join(_in_option(each) for each in text.split(","))


def _in_option(text: str) -> str:
	given = text.strip()
	name, equals, value = given.partition("=")
	if not equals or name not in ("addr", "addr6"):
		return text
	taken = option(name, value)
	return text if taken == given else taken
