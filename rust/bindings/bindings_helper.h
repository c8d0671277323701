/* SPDX-License-Identifier: GPL-2.0 */
/* Input of bindgen: every header whose types or functions Rust code uses. */
#include <linux/types.h>
#include <linux/crc32.h>
#include <linux/falloc.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cm_ib.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_cache.h>
#include <rdma/rw.h>

#include "helpers.h"
#include "krping_trace.h"
