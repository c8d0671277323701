# SPDX-License-Identifier: GPL-2.0
"""Ends of connections that do what they are told: puppet.c, built once in a guest; and
what the two sides of a disk say, so that they can be told to say it wrongly.

	with puppet.Client(port, hello()) as client:
		client.expect("connected")
		client.tell(f"send {request(READ, tag=1, offset=0, ...)}")
		client.expect(response(1))
"""

import os
import re
import signal
import struct
import subprocess
import threading

import krping
from compiled import Compiled
from krping import ADDR

PUPPET = Compiled("krping-puppet")

# What a client says that its server has thrown out: a server that has not yet heard that the
# connection is made rejects it.
THROWN_OUT = "^event RDMA_CM_EVENT_DISCONNECTED|^rejected"

MAGIC = b"krpg"
BLOCK, TAP = 9, 10
READ, WRITE, FLUSH, DISCARD, ZEROES, PING, CLOSE, NOTE = range(1, 9)
FUA, DATA, KEEP = 1, 2, 4
OK, IO, NO_SPACE, READ_ONLY, OUT_OF_RANGE, UNSUPPORTED, INVALID = range(7)


# What is said, as hexadecimal digits

def hello(magic=MAGIC, version=1, role=1, test=BLOCK, zero=0, flags=0, disk=0x1234, generation=1,
	  index=0, queues=1, depth=8, zero2=0, max_bytes=1 << 20, alive_ms=1000, hold_ms=0,
	  rest=bytes(12)):
	"""A client's private data."""
	return (magic + struct.pack(">BBBBIQIHHHHIII", version, role, test, zero, flags, disk,
				    generation, index, queues, depth, zero2, max_bytes, alive_ms,
				    hold_ms) + rest).hex()


def geometry(magic=MAGIC, version=1, role=2, test=BLOCK, zero=0, flags=0, size=1 << 20,
	     store=0x5678, block=512, max_bytes=1 << 20, max_discard=1 << 20, depth=128, zero2=0,
	     inline=4096, alive_ms=1000, rest=bytes(4)):
	"""A server's."""
	return (magic + struct.pack(">BBBBIQQIIIHHII", version, role, test, zero, flags, size,
				    store, block, max_bytes, max_discard, depth, zero2, inline,
				    alive_ms) + rest).hex()


def request(action, tag=0, seq=1, offset=0, size=0, addr=0, key=0, flags=0, data=b""):
	"""What a client asks for."""
	return (struct.pack(">BBHIQQII", action, flags, tag, seq, offset, addr, key, size)
		+ data).hex()


def response(tag=0, seq=1, status=OK, kind=0x81, rest=bytes(8)):
	"""What a server answers."""
	return (struct.pack(">BBHI", kind, status, tag, seq) + rest).hex()


class Asked:
	"""What a disk asks for, taken apart."""

	def __init__(self, text):
		raw = bytes.fromhex(text)
		assert len(raw) >= 32, text
		(self.action, self.flags, self.tag, self.seq, self.offset, self.addr, self.key,
		 self.size) = struct.unpack(">BBHIQQII", raw[:32])
		self.data = raw[32:]


class Puppet(krping.Program):
	"""The program, with what it says. Within, it runs."""

	def __init__(self, *words):
		binary = PUPPET.build()
		self.ours, theirs = os.pipe()
		read, self.write = os.pipe()
		self.lines, self.seen = [], 0
		self.said = threading.Condition()
		self.stdin_fd = read
		subprocess.Popen.__init__(self, (binary,) + words, stdin=read, stdout=theirs,
					  stderr=subprocess.STDOUT)
		os.close(theirs)
		os.close(read)
		krping.Program.running.append(self)
		self.reader = threading.Thread(target=self._read, daemon=True)
		self.reader.start()

	def _read(self):
		with os.fdopen(self.ours, encoding="ascii") as file:
			for line in file:
				with self.said:
					self.lines.append(line.rstrip("\n"))
					self.said.notify_all()

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.end()

	def end(self):
		"""End it at once."""
		if self in krping.Program.running:
			krping.Program.running.remove(self)
			self.kill()
			self.wait()
			self.reader.join()
			os.close(self.write)

	def pause(self):
		"""Have it do nothing any more, not even look for completions."""
		self.send_signal(signal.SIGSTOP)

	def output(self):
		"""All that it has said."""
		return "\n".join(self.lines)

	def tell(self, *lines):
		"""Have it do what LINES say."""
		os.write(self.write, "".join(f"{line}\n" for line in lines).encode())

	def expect(self, pattern, timeout=30):
		"""Wait until it says what matches PATTERN, and return the match. What it has
		said before that is passed over."""
		def find():
			while self.seen < len(self.lines):
				self.seen += 1
				found = re.search(pattern, self.lines[self.seen - 1])
				if found:
					return found
			return None
		with self.said:
			found = self.said.wait_for(find, timeout)
		assert found, f"no {pattern!r}: {self.output()}"
		return found

	def memory(self):
		"""Address and key of its memory."""
		found = self.expect("^memory ([0-9a-f]+) ([0-9a-f]+)$")
		return int(found[1], 16), int(found[2], 16)

	def arrived(self):
		"""How many of its messages have arrived."""
		return self.output().count("done 0")

	def get(self, at, length):
		"""What its memory holds."""
		self.tell(f"get {at:x} {length:x}")
		return bytes.fromhex(self.expect("^memory: ([0-9a-f]*)$")[1])


def lie(sides, noticed, seed, count):
	"""Have each of SIDES, functions, tell COUNT lies, which are found out by an errno of NOTICED,
	or end well. Returns how all ended, and how many lies have arrived."""
	arrivals, ends = 0, []
	for to_side in sides:
		number, came = to_side(seed, count)
		assert not number or number in noticed, (to_side.__name__, seed, krping.name(number))
		arrivals += came
		ends.append(krping.name(number) if number else "ok")
	return arrivals, ends


class Client(Puppet):
	"""A client of the server at PORT that says PRIVATE."""

	def __init__(self, port, private, receives=0x100):
		super().__init__("client", ADDR, str(port), private, f"{receives:x}")
		self.addr, self.key = self.memory()

	def connected(self):
		"""Wait until it is."""
		self.expect("^connected")
		return self

	def refused(self):
		"""Wait until it is refused."""
		return self.expect("^rejected ([0-9]+)")

	def ask(self, text, *answers):
		"""Send the message TEXT, which must be answered by ANSWERS, in this order."""
		self.tell(f"send {text}")
		for answer in answers:
			found = self.expect("^received ([0-9a-f]*)")
			assert found[1] == answer, (found[1], answer)

	def thrown_out(self):
		"""Wait until the server has ended the connection."""
		self.expect(THROWN_OUT)


class Server(Puppet):
	"""A server at PORT."""

	def __init__(self, port):
		super().__init__("server", ADDR, str(port))
		self.port = port
		self.expect("^listening")

	def accept(self, private):
		"""Take the next client, to whom it says PRIVATE."""
		self.expect("^request ")
		self.tell(f"accept {private}")
		self.addr, self.key = self.memory()
		before = self.seen
		self.expect("^connected")
		# What the client asks for may have come before the CM said that.
		self.seen = before

	def asked(self, timeout=10):
		"""What the client asks for next, but for signs of life, which are answered."""
		while True:
			found = Asked(self.expect("^received ([0-9a-f]*)", timeout)[1])
			if found.action != PING:
				return found
			self.tell(f"send {response(found.tag, found.seq)}")
