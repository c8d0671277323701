# SPDX-License-Identifier: GPL-2.0
"""A server in the background and a client in front, in one shell: neither may fail.

The end of the server is a signal (SIGCHLD) to the shell, which is still in the client's write:
that takes its connection down. Some shells have a handler for it that ends system calls.
"""

import os
import signal
import subprocess

import krping
import soak
from krping import ADDR, listens, new_port, wait_for
from ktap import Suite

suite = Suite(check=krping.check, limit=60 * soak.SLOW)

SCRIPT = """
echo "server,addr=$1,port=$2" >/proc/krping &
until rdma resource show cm_id | grep ":$2 " | grep -q LISTEN; do :; done
echo "client,addr=$1,port=$2,count=10,validate" >/proc/krping || exit 1
wait $!
"""


def shell(name):
	"""The script, as the shell NAME runs it."""
	words = (name, "-c", SCRIPT, "script", ADDR, str(new_port()))
	ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
			       check=False)
	assert ended.returncode == 0, ended


def python():
	"""The same in Python, with a handler, which there ends system calls."""
	port = new_port()
	server = os.fork()
	if server == 0:
		os._exit(krping.run(f"server,addr={ADDR},port={port}"))
	before = signal.signal(signal.SIGCHLD, lambda *_: None)
	try:
		wait_for(lambda: listens(port))
		# Its own writes again after a signal.
		assert krping.run(f"client,addr={ADDR},port={port},count=10,validate") == 0
	finally:
		_, status = os.waitpid(server, 0)
		signal.signal(signal.SIGCHLD, before)
	assert os.waitstatus_to_exitcode(status) == 0, status


KINDS = {"dash": lambda: shell("dash"), "bash": lambda: shell("bash"), "python": python}


def add_round(options, number):
	"""The test of round NUMBER."""
	kind = options.deal(KINDS, number)

	def play():
		KINDS[kind]()
		options.counts[f"runs.{kind}"] += 1
	suite.test(f"round {number}: {kind}")(play)


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=60, argv=argv)
	for number in options.numbers():
		add_round(options, number)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
