# SPDX-License-Identifier: GPL-2.0
"""What the tests of messages share."""

import krping
from krping import ADDR, run_ok

TIMEOUT = f"timeout={10000 * krping.SLOW}"


def check():
	"""Nothing is left, and messages pass as before."""
	krping.check()
	run_ok(f"loopback,addr={ADDR},messenger,echo,validate,conns=2,count=5,{TIMEOUT}")
