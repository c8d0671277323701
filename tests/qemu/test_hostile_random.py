# SPDX-License-Identifier: GPL-2.0
# debug: only
"""Some of soak_hostile.py: the same lies each time."""

import krping
import soak_hostile

soak_hostile.main(["--seed", "1", "--rounds", "1000" if krping.SLOW == 1 else "300"])
