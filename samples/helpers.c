// SPDX-License-Identifier: GPL-2.0
/* The C functions that rust/rdma and rust/kernel_ext call, once more: see Kbuild. */
#include "../rust/bindings/helpers/block.c"
#include "../rust/bindings/helpers/cred.c"
#include "../rust/bindings/helpers/fs.c"
#include "../rust/bindings/helpers/mm.c"
#include "../rust/bindings/helpers/net.c"
#include "../rust/bindings/helpers/rdma.c"
#include "../rust/bindings/helpers/rw.c"
#include "../rust/bindings/helpers/sched.c"
#include "../rust/bindings/helpers/sync.c"
