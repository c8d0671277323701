#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A side of rdma-core's rsocket, in a process of its own: the library keeps its devices open.

	rsocket.py ADDRESS PORT STEP...
	rsocket.py [--plain] listen PORT STEP...

The first is a client, the second a server of one client, which says "listens"; with --plain it calls
the functions of sockets, for librspreload.so to take. A STEP is send=N, single=N (N messages of a
byte), wrong=N (a byte, which is wrong at that position), receive=N (fewer at the end only), echo
(what comes, to its end), end (nothing more may come), shutdown, close, or vanish. What is received
must be the bytes of a stream from its beginning.
"""

import ctypes
import os
import socket
import struct
import sys

PLAIN = "--plain" in sys.argv
library = ctypes.CDLL(None if PLAIN else "librdmacm.so.1", use_errno=True)


def call(function, *arguments):
	"""Call FUNCTION of the library, and return what it returns."""
	function = getattr(library, function.removeprefix("r") if PLAIN else function)
	if function.__name__.endswith(("send", "recv")):
		function.restype = ctypes.c_ssize_t
	result = function(*arguments)
	if result < 0:
		number = ctypes.get_errno()
		raise OSError(number, f"{function.__name__}: {os.strerror(number)}")
	return result


def data(first, count):
	"""COUNT bytes of a stream from position FIRST on."""
	return (bytes(range(256)) * (count // 256 + 2))[first % 256:][:count]


def sockaddr(host, port):
	"""A struct sockaddr_in."""
	return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) \
		+ socket.inet_aton(host) + bytes(8)


def connect(host, port):
	"""The descriptor of a connection to a server."""
	fd = call("rsocket", socket.AF_INET, socket.SOCK_STREAM, 0)
	address = sockaddr(host, port)
	call("rconnect", fd, address, len(address))
	return fd


def accept(port):
	"""The descriptor of the connection of the first client."""
	fd = call("rsocket", socket.AF_INET, socket.SOCK_STREAM, 0)
	address = sockaddr("0.0.0.0", port)
	call("rbind", fd, address, len(address))
	call("rlisten", fd, 1)
	print("listens", flush=True)
	return call("raccept", fd, None, None)


class Stream:
	"""A connected socket."""

	def __init__(self, fd):
		self.fd = fd
		self.sent = self.got = 0

	def send(self, count, flip=0):
		"""Send COUNT bytes."""
		content = bytes(byte ^ flip for byte in data(self.sent, count)) if flip \
			else data(self.sent, count)
		self.sent += count
		while content:
			content = content[call("rsend", self.fd, content,
					       ctypes.c_size_t(len(content)), 0):]

	def some(self, most=1 << 20):
		"""Receive MOST bytes or fewer, and return their number: 0 at the end."""
		buffer = ctypes.create_string_buffer(most)
		part = call("rrecv", self.fd, buffer, ctypes.c_size_t(most), 0)
		assert buffer.raw[:part] == data(self.got, part), f"behind byte {self.got}"
		self.got += part
		return part

	def receive(self, count):
		"""Receive COUNT bytes, fewer at the end only, and return their number."""
		got = 0
		while got < count:
			part = self.some(count - got)
			if not part:
				break
			got += part
		return got

	def step(self, word, count):
		"""Do the step WORD=COUNT."""
		if word == "send":
			self.send(count)
		elif word == "single":
			for _ in range(count):
				self.send(1)
		elif word == "wrong":
			self.send(count)
			self.send(1, flip=1)
		elif word == "receive":
			assert self.receive(count) == count, self.got
		elif word == "echo":
			while part := self.some():
				self.send(part)
		elif word == "end":
			assert self.receive(1) == 0
		elif word == "shutdown":
			call("rshutdown", self.fd, socket.SHUT_WR)
		elif word == "close":
			call("rclose", self.fd)
		elif word == "vanish":
			os._exit(0)
		else:
			raise ValueError(word)


def main():
	"""Do the steps of the command line."""
	host, port, *steps = (word for word in sys.argv[1:] if word != "--plain")
	stream = Stream(accept(int(port)) if host == "listen" else connect(host, int(port)))
	for step in steps:
		word, _, count = step.partition("=")
		stream.step(word, int(count or 0))


main()
