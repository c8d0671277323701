#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A client of rdma-core's rsocket, in a process of its own: the library keeps its devices open.

	rsocket.py ADDRESS PORT STEP...

A STEP is send=N, single=N (N messages of a byte), wrong=N (a byte, which is wrong at that
position), receive=N (fewer at the end only), end (nothing more may come), shutdown, close, or
vanish. What is received must be the bytes of a stream from its beginning.
"""

import ctypes
import os
import socket
import struct
import sys

library = ctypes.CDLL("librdmacm.so.1", use_errno=True)
for name in ("rsend", "rrecv"):
	getattr(library, name).restype = ctypes.c_ssize_t


def call(function, *arguments):
	"""Call FUNCTION of the library, and return what it returns."""
	result = getattr(library, function)(*arguments)
	if result < 0:
		number = ctypes.get_errno()
		raise OSError(number, f"{function}: {os.strerror(number)}")
	return result


def data(first, count):
	"""COUNT bytes of a stream from position FIRST on."""
	return (bytes(range(256)) * (count // 256 + 2))[first % 256:][:count]


class Stream:
	"""A connected socket."""

	def __init__(self, host, port):
		self.fd = call("rsocket", socket.AF_INET, socket.SOCK_STREAM, 0)
		self.sent = self.got = 0
		address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) \
			+ socket.inet_aton(host) + bytes(8)
		call("rconnect", self.fd, address, len(address))

	def send(self, count, flip=0):
		"""Send COUNT bytes."""
		content = bytes(byte ^ flip for byte in data(self.sent, count)) if flip \
			else data(self.sent, count)
		self.sent += count
		while content:
			content = content[call("rsend", self.fd, content,
					       ctypes.c_size_t(len(content)), 0):]

	def receive(self, count):
		"""Receive COUNT bytes, fewer at the end only, and return their number."""
		got = 0
		while got < count:
			buffer = ctypes.create_string_buffer(count - got)
			part = call("rrecv", self.fd, buffer, ctypes.c_size_t(len(buffer)), 0)
			if not part:
				break
			assert buffer.raw[:part] == data(self.got, part), f"behind byte {self.got}"
			self.got += part
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
	host, port, *steps = sys.argv[1:]
	stream = Stream(host, int(port))
	for step in steps:
		word, _, count = step.partition("=")
		stream.step(word, int(count or 0))


main()
