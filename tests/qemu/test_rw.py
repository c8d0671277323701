# SPDX-License-Identifier: GPL-2.0
# debug: yes
# oldest: yes
"""rwread and rwwrite: transfers that a server makes through the kernel's rdma_rw contexts."""

import transfers

transfers.main()
