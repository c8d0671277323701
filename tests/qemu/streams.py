# SPDX-License-Identifier: GPL-2.0
"""What the tests of streams share."""

import os
import subprocess

import krping
from krping import ADDR, new_tag, run_ok

# A side of rdma-core's rsocket, in a process of its own.
RSOCKET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rsocket.py")
TIMEOUT = f"timeout={10000 * krping.SLOW}"


def check():
	"""Nothing is left, and streams are as good as before."""
	krping.check()
	run_ok(f"loopback,addr={ADDR},stream,echo,validate,size=5000,count=3,{TIMEOUT}")


def sides(options, addr=f"addr={ADDR}"):
	"""Run a loopback with OPTIONS, and return the results of its client and server."""
	tag = new_tag()
	run_ok(f"loopback,{addr},stream,{TIMEOUT},tag={tag}{options}")
	return krping.result(tag, "client"), krping.result(tag, "server")


def program(*words, timeout=250 * krping.SLOW):
	"""Run a program to its end."""
	return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
			      timeout=timeout, check=False)
