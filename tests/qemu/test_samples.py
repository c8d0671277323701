# SPDX-License-Identifier: GPL-2.0
"""samples/rdma_echo.rs, a module that uses only rust/rdma and rust/kernel_ext: what a client in
user space sends comes back."""

import contextlib
import subprocess

import krping
from krping import ADDR
from ktap import Suite
from puppet import Client

MODULE = "/krping/rdma_echo.ko"
PORT = 7175
SIZE = 4096

suite = Suite(check=krping.check)


@contextlib.contextmanager
def echo_server():
	"""Within, the module is loaded."""
	subprocess.run(("insmod", MODULE), check=True)
	try:
		krping.wait_for(lambda: krping.listens(PORT))
		yield
	finally:
		subprocess.run(("rmmod", "rdma_echo"), check=True)


def message(size, seed):
	"""SIZE bytes that follow from SEED, as hexadecimal digits."""
	return bytes((seed + 7 * at) & 0xff for at in range(size)).hex()


def echoes(client, size, seed):
	"""Send a message, which must come back as it was."""
	client.ask(message(size, seed), message(size, seed))


@suite.test("messages of 1 to 4096 bytes come back as they were")
def sizes():
	with echo_server(), Client(PORT, "00").connected() as client:
		for seed, size in enumerate((1, 2, 63, 64, 1000, 1024, 4095, SIZE)):
			echoes(client, size, seed)


@suite.test("500 messages come back in their order")
def many():
	with echo_server(), Client(PORT, "00").connected() as client:
		for seed in range(500):
			echoes(client, 64, seed)


@suite.test("several clients get their own messages")
def several():
	with echo_server(), contextlib.ExitStack() as stack:
		clients = [stack.enter_context(Client(PORT, "00").connected()) for _ in range(5)]
		for turn in range(20):
			for number, client in enumerate(clients):
				echoes(client, 100, 31 * number + turn)


@suite.test("a message that is too long ends its connection, and no other one")
def too_long():
	with (echo_server(), Client(PORT, "00").connected() as other,
	      Client(PORT, "00").connected() as client):
		echoes(client, SIZE, 1)
		client.tell(f"send {message(SIZE + 1, 2)}")
		client.thrown_out()
		echoes(other, SIZE, 3)


@suite.test("a client that is killed leaves nothing behind, and the next one is served")
def killed():
	with echo_server():
		idle = krping.resources()
		for seed in range(10):
			with Client(PORT, "00").connected() as client:
				echoes(client, 64, seed)
			# Its end takes it down without a word of its own.
			krping.wait_for(lambda: krping.resources() == idle, what="the connection to go")


@suite.test("rdma_client of rdma-core gets an answer")
def rdma_core():
	with echo_server():
		done = subprocess.run(("rdma_client", "-s", ADDR, "-p", str(PORT)), timeout=30,
				      capture_output=True, text=True, check=False)
		assert done.returncode == 0 and "end 0" in done.stdout, done


@suite.test("the module can be unloaded while clients are connected, and they are told")
def unload():
	with contextlib.ExitStack() as stack:
		with echo_server():
			clients = [stack.enter_context(Client(PORT, "00").connected())
				   for _ in range(3)]
			for client in clients:
				echoes(client, 64, 1)
		for client in clients:
			client.thrown_out()


if __name__ == "__main__":
	suite.main()
