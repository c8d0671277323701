// SPDX-License-Identifier: GPL-2.0

//! Disks of the multi-queue block layer, with features that the kernel crate's `block::mq` lacks:
//! several hardware queues, the operation and memory of a request, completion with errors,
//! quiescing, and limits.
//!
//! - A driver implements [`Operations`] for its data, and creates a [`disk::Disk`].
//! - [`Operations::queue`] gets each [`request::Request`] as a value. The driver owns it until it
//!   ends, requeues or drops it; dropping it ends it with an I/O error. So no request is ever lost.
//! - [`disk::Disk::add`] makes the disk visible. [`disk::Disk::remove`], or the drop of the disk,
//!   waits until no request is left, so the driver must still answer requests meanwhile.
//!
//! | type | wraps |
//! |---|---|
//! | [`disk::Disk`] | `struct gendisk` and its `struct blk_mq_tag_set` |
//! | [`request::Request`] | `struct request` that has been started |
//!
//! Not supported: zones, integrity, polling, queue maps by type.
//!
//! C header: `include/linux/blk-mq.h`

pub(crate) mod disk;
pub(crate) mod request;
mod uses;

use request::Request;

/// A disk driver.
pub(crate) trait Operations: Send + Sync + 'static {
    /// Takes a request of hardware queue `queue`. Any context except hard interrupts; must not
    /// sleep.
    ///
    /// # Errors
    ///
    /// The request, if there is no room for it at present. The block layer tries it again some
    /// milliseconds later.
    fn queue(&self, queue: usize, request: Request) -> core::result::Result<(), Request>;
}
