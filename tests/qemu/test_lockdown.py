# SPDX-License-Identifier: GPL-2.0
# alone: yes
"""A kernel that is locked down does not open its memory to the network. There is no way back."""

import errno
import subprocess

import krping
from krping import ADDR
from ktap import Skip, Suite

LOCKDOWN = "/sys/kernel/security/lockdown"

suite = Suite(check=krping.check)


@suite.test("unsafe_global_rkey is refused with EPERM on a kernel that is locked down")
def refused():
	subprocess.run(("mount", "-t", "securityfs", "none", "/sys/kernel/security"), check=False)
	commands = [f"loopback,addr={ADDR},count=1,unsafe_global_rkey",
		    f"loopback,addr={ADDR},count=1,bw,unsafe_global_rkey"]
	for command in commands:
		krping.run_ok(command)
	try:
		with open(LOCKDOWN, "w", encoding="ascii") as file:
			file.write("integrity")
	except FileNotFoundError:
		raise Skip("the kernel has no lockdown") from None
	for command in commands:
		krping.run_fails(command, errno.EPERM, "unsafe_global_rkey opens all memory")
	krping.run_ok(f"loopback,addr={ADDR},count=1")


if __name__ == "__main__":
	suite.main()
