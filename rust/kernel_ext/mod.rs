// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers of what the kernel crate does not wrap yet.
//!
//! One C concept a file. Each is written as it might go upstream, and knows
//! nothing of RDMA or of krping.
//!
//! | type | wraps |
//! |---|---|
//! | [`completion::Completion`] | `struct completion` with deadlines and signals |
//! | [`spinlock::SpinLockBh`] | `spin_lock_bh()` |
//! | [`spinlock::SpinLockIrq`] | `spin_lock_irqsave()` |
//! | [`pages::Contiguous`] | `alloc_pages_exact()` |
//! | [`display::Plain`], [`zeroed::zeroed_box`] | printing and allocation for `logic` |
//! | [`kthread::Kthread`] | `kthread_create()`, `kthread_stop()` |
//! | [`procfs::ProcEntry`] | `proc_create_data()`, `proc_remove()` |
//! | [`module::ModuleRef`] | `try_module_get()`, `module_put()` |
//! | [`net::Netns`] | a counted reference on a network namespace |
//! | [`time::Deadline`] | a point in time in jiffies |

pub(crate) mod completion;
pub(crate) mod display;
pub(crate) mod kthread;
pub(crate) mod module;
pub(crate) mod net;
pub(crate) mod pages;
pub(crate) mod procfs;
pub(crate) mod spinlock;
pub(crate) mod time;
pub(crate) mod zeroed;
