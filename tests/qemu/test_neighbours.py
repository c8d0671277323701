# SPDX-License-Identifier: GPL-2.0
"""Some rounds of soak_neighbours.py."""

import soak_neighbours

soak_neighbours.main(["--seed", "1", "--rounds", "12"])
