# SPDX-License-Identifier: GPL-2.0
"""Some rounds of soak_crash.py, the same ones each time."""

import soak_crash

soak_crash.main(["--seed", "1", "--rounds", "4"])
