# SPDX-License-Identifier: GPL-2.0
"""Addresses in commands: IPv4, IPv6 and names of hosts."""

import contextlib
import socket

import front
from front import Module, krping
from krping_front import address
from krping_front.command import Command
from krping_front.errors import Quit
from ktap import Suite

suite = Suite()

HOSTS = {"four.example": ["192.0.2.7", "2001:db8::7"], "six.example": ["2001:db8::6", "192.0.2.6"],
	 "local.example": ["fe80::1%eth0"]}


@contextlib.contextmanager
def hosts():
	"""Within, names are those of HOSTS."""
	asked = []

	def find(name, port, family, kind):
		assert port is None and kind == socket.SOCK_STREAM
		asked.append(name)
		found = [each for each in HOSTS.get(name, ())
			 if family != socket.AF_INET6 or ":" in each]
		if not found:
			raise socket.gaierror(-2, "Name or service not known")
		return [(family, kind, 6, "", (each, 0)) for each in found]

	with front.patched(socket, getaddrinfo=find):
		yield asked


def text(*words):
	"""The command that is written for WORDS, without its tag."""
	return Command.of_words(list(words)).text.partition(",tag=")[0]


@suite.test("addr= takes IPv4, IPv6 and names, and the command has addr= or addr6=")
def taken():
	with hosts() as asked:
		for given, expected in (
				("addr=192.0.2.1", "addr=192.0.2.1"), ("addr=300.1", "addr=300.1"),
				("addr=2001:db8::1", "addr6=2001:db8::1"),
				("addr6=fe80::1%eth0", "addr6=fe80::1%eth0"),
				("addr=", "addr="), ("addr", "addr"), ("addr6=1.2.3.4", "addr6=1.2.3.4")):
			assert text("client", given, "wlat") == f"client,{expected},wlat", given
		assert not asked, asked
		for given, expected in (
				("addr=four.example", "addr=192.0.2.7"),
				("addr=six.example", "addr6=2001:db8::6"),
				("addr6=four.example", "addr6=2001:db8::7"),
				("addr=local.example", "addr6=fe80::1%eth0")):
			assert text(f"client, {given},wlat") == f"client,{expected},wlat", given
		# Only those are addresses.
		assert text("server,store=/four.example,tag=addr=x") == "server,store=/four.example"


@suite.test("a name that is none is refused, and nothing is run")
def unknown():
	with front.directory(), Module(lambda *_: 0) as module, hosts():
		for words in (("run", "client,addr=nobody.example"), ("caps", "nobody.example"),
			      ("conform", "nobody.example"), ("sweep", "nobody.example")):
			status, out, err = krping(*words)
			assert (status, out, module.commands) == (2, "", []), (words, err)
			assert err == "krping: addr=nobody.example: Name or service not known\n", err
	for name in ("a" * 300, "xn--\x80", "a..b", "-"):
		try:
			address.place(name)
		except Quit as ended:
			assert str(ended).startswith(f"addr={name}: "), str(ended)
		else:
			raise AssertionError(f"{name!r} was taken")


@suite.test("other subcommands take names, too; a sweep asks for one once")
def elsewhere():
	def answer(module, command):
		module.result(command, iterations=10)
		return 0

	with front.directory(), Module(answer) as module, hosts() as asked:
		krping("sweep", "four.example", "--test", "bw", "--sizes", "64,128",
		       "--count", 10)
		assert [each.options["addr"] for each in module.commands] == ["192.0.2.7"] * 2
		assert asked == ["four.example"], asked
		# The address may stand anywhere, and older scripts name it.
		for words in (("fe80::1%eth0", "--quiet"), ("--quiet", "fe80::1%eth0"),
			      ("--addr", "fe80::1%eth0", "--quiet"), ("--addr=fe80::1%eth0",)):
			krping("sweep", "--test", "bw", "--sizes", "64", "--loopback", *words)
			text = module.commands[-1].text
			assert text.startswith("loopback,addr6=fe80::1%eth0,bw"), (words, text)
		for both, word in ((["four.example", "--addr", "four.example"], "not allowed with"),
				   ([], "ADDR is required")):
			status, _, err = krping("sweep", *both)
			assert status == 2 and word in err, (both, err)
		krping("caps", "six.example")
		assert module.commands[-1].options["addr6"] == "2001:db8::6", module.commands[-1].text


suite.main()
