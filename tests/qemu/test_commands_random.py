# SPDX-License-Identifier: GPL-2.0
# time: real (commands race with each other)
# debug: yes
"""Some of soak_commands.py: the same commands each time."""

import soak_commands

soak_commands.main(["--seed", "1", "--rounds", "4000"])
