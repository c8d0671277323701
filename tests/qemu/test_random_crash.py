# SPDX-License-Identifier: GPL-2.0
# time: real (what was promised must hold while everything else goes on)
"""Some rounds of soak_crash.py, the same ones each time."""

import soak_crash

soak_crash.main(["--seed", "1", "--rounds", "4"])
