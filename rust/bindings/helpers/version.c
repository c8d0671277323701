// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>

/* The module! macro has no field for it. */
MODULE_VERSION(KRPING_VERSION);
