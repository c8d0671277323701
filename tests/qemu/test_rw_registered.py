# SPDX-License-Identifier: GPL-2.0
# guest: --parameter ib_core.force_mr=1
# debug: yes
"""The transfers of test_rw.py where the kernel makes a registration for each of them."""

import transfers

transfers.main(registered=True)
