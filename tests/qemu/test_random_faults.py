# SPDX-License-Identifier: GPL-2.0
# debug: only
"""Some rounds of soak_faults.py, the same ones each time."""

import soak
import soak_faults

soak_faults.main(["--seed", "1", "--rounds", "10" if soak.SLOW == 1 else "6"])
