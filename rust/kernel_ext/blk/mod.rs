// SPDX-License-Identifier: GPL-2.0

//! Disks of the multi-queue block layer, as far as the kernel crate's own
//! `block::mq` does not go: several hardware queues with data of their own, what a
//! request asks for and where its memory is, ends with an error, timeouts,
//! quiescing, and limits.
//!
//! - A driver implements [`Operations`] for its data, and makes a [`disk::Disk`].
//! - [`Operations::queue`] is handed each [`request::Request`] as a value: it is
//!   the driver's until it ends or requeues it, or drops it, which ends it with an
//!   I/O error. So none is ever lost.
//! - [`disk::Disk::add`] makes it visible, and [`disk::Disk::remove`], or its drop,
//!   waits until no request is left: they must be answered meanwhile.
//!
//! | type | wraps |
//! |---|---|
//! | [`disk::Disk`] | `struct gendisk` and its `struct blk_mq_tag_set` |
//! | [`request::Request`] | `struct request` that has been started |
//!
//! Not supported: zones, integrity, polling, maps of queues by type.
//!
//! C header: `include/linux/blk-mq.h`

pub(crate) mod disk;
pub(crate) mod request;

use request::Request;

/// A driver of disks.
pub(crate) trait Operations: Send + Sync + 'static {
    /// Takes a request for hardware queue `queue`. Any context but hard interrupts;
    /// must not sleep.
    ///
    /// # Errors
    ///
    /// The request, where there is no room for it at present: it is tried again
    /// some milliseconds later.
    fn queue(&self, queue: usize, request: Request) -> core::result::Result<(), Request>;
}
