#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the controller of a mesh adds to the time that the tests themselves take: eight network
namespaces, all 28 pairs, wlat and bw, for some durations of a test.

Its rounds are timed by the controller itself, from the announcement of each to its end; the tests
from the start until the last client has ended. All of it is the time of the whole program.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../qemu"))

import hosts
import meshes

DURATIONS = (1, 2, 5)


def main():
	print(f"{'seconds':>8}{'rounds':>8}{'tests':>10}{'rounds':>10}{'added':>8}{'all of it':>11}")
	with hosts.Hosts(8) as net:
		for seconds in DURATIONS:
			start = time.monotonic()
			found, _ = meshes.mesh(net.names, "--test", "wlat,bw", "--sizes", "64",
					       "--directions", "one", "--duration", str(seconds))
			whole = time.monotonic() - start
			spent = found["spent"]
			added = spent["whole_s"] / spent["tests_s"] - 1
			print(f"{seconds:8}{spent['rounds']:8}{spent['tests_s']:8.1f} s"
			      f"{spent['whole_s']:8.1f} s{added:8.1%}{whole:9.1f} s", flush=True)


if __name__ == "__main__":
	main()
