# SPDX-License-Identifier: GPL-2.0
# debug: only
"""Some rounds of soak_signals.py, the same ones each time."""

import soak
import soak_signals

soak_signals.main(["--seed", "1", "--rounds", "25" if soak.SLOW == 1 else "8"])
