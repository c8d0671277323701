# SPDX-License-Identifier: GPL-2.0
# debug: only
"""Some failures of soak_alloc.py, the same ones each time."""

import soak_alloc

soak_alloc.main(["--seed", "1", "--rounds", "5"])
