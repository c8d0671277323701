// SPDX-License-Identifier: GPL-2.0
/* The C functions that rust/rdma and rust/kernel_ext call, for this module: see Kbuild. */
#include "../../samples/helpers.c"
