# SPDX-License-Identifier: GPL-2.0
"""Some rounds of soak_shells.py."""

import soak_shells

soak_shells.main(["--seed", "1", "--rounds", "60"])
