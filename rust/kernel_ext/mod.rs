// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers for kernel interfaces that the kernel crate does not wrap yet.
//!
//! Each file wraps one C concept. It is written as it might go upstream, and is independent of RDMA
//! and krping.
//!
//! | type | wraps |
//! |---|---|
//! | [`alarm::with_alarm`] | `struct hrtimer` that calls a function while another one runs |
//! | [`atomic::raise`] | a maximum in an atomic number |
//! | [`boot::number`] | the random UUID of the current boot |
//! | [`identity::Identity`], [`medium::Medium`] | identifiers of files, disks and partitions |
//! | [`blk::disk::Disk`], [`blk::request::Request`] | disks of the multi-queue block layer |
//! | [`cpu_time::TaskAccount`], [`cpu_time::softirq_ns`] | accounts of CPU time |
//! | [`completion::Completion`] | `struct completion` with deadlines and signals |
//! | [`spinlock::SpinLockBh`] | `spin_lock_bh()` |
//! | [`spinlock::SpinLockIrq`] | `spin_lock_irqsave()` |
//! | [`pages::Contiguous`] | `alloc_pages_exact()` |
//! | [`pages::Node`] | `node_state()`, `alloc_pages_node()` |
//! | [`pages::Area`] | `__vmalloc()` |
//! | [`tapped::Tap`] | tracepoints of requests to disks that others use |
//! | [`cred::Credentials`] | `override_creds()` |
//! | [`debugfs::File`] | `debugfs_create_file()` with an owner |
//! | [`file::OpenFile`] | files and block devices that the kernel itself reads and writes |
//! | [`kthread::Kthread`] | `kthread_create()`, `kthread_stop()` |
//! | [`procfs::ProcEntry`] | `proc_create_data()`, `proc_remove()` |
//! | [`memory::NoIo`] | `memalloc_noio_save()` |
//! | [`module::ModuleRef`] | `try_module_get()`, `module_put()` |
//! | [`net::Netns`] | a counted reference on a network namespace |
//! | [`random::random`] | `get_random_u64()` |
//! | [`signal::Disturbance`] | causes of an interrupted sleep: signals, freezers, debuggers |
//! | [`socket::Listener`], [`socket::Stream`] | TCP sockets of the kernel: `struct socket` |
//! | [`time::Deadline`] | a point in time in jiffies |

pub(crate) mod alarm;
pub(crate) mod atomic;
pub(crate) mod blk;
pub(crate) mod boot;
pub(crate) mod completion;
pub(crate) mod cpu_time;
pub(crate) mod cred;
pub(crate) mod debugfs;
pub(crate) mod file;
pub(crate) mod identity;
pub(crate) mod kthread;
pub(crate) mod medium;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod net;
pub(crate) mod pages;
pub(crate) mod procfs;
pub(crate) mod random;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod spinlock;
pub(crate) mod tapped;
pub(crate) mod time;
mod tracepoint;
