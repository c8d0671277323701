// SPDX-License-Identifier: GPL-2.0

//! What a disk knows of its answered writes: how far flushes have covered them, and whether some
//! are lost.
//!
//! A server tells a disk once that something is lost, and the disk cannot tell whose it was: a
//! flush does not say which program it is for. So from then on every flush and FUA fails, until
//! nobody has the disk open any more who could have written before.

#![forbid(unsafe_code)]

use crate::{
    block::figures::Live,
    kernel_ext::atomic::raise, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// What is known of the answered writes of one disk.
pub(crate) struct Stability {
    /// The number of the disk.
    number: u32,
    queues: KVec<Arc<Live>>,
    /// So many of the writes that were answered have been flushed, at least.
    flushed: Atomic<u64>,
    /// The errno of a loss, above the number of the disk's use that is told of it; 0 where nothing
    /// is lost.
    loss: Atomic<u64>,
}

impl Stability {
    /// Creates that of disk `number` with these queues; nothing has been written yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(number: u32, queues: impl Iterator<Item = Arc<Live>>) -> Result<Arc<Self>> {
        let mut all = KVec::new();
        for queue in queues {
            all.push(queue, GFP_KERNEL)?;
        }
        Ok(Arc::new(
            Self {
                number,
                queues: all,
                flushed: Atomic::new(0),
                loss: Atomic::new(0),
            },
            GFP_KERNEL,
        )?)
    }

    /// The number of the disk.
    pub(super) fn disk(&self) -> u32 {
        self.number
    }

    /// How many writes have been answered that only a flush makes durable. A flush that is sent
    /// now covers these. Any context.
    pub(super) fn answered(&self) -> u64 {
        self.queues
            .iter()
            .fold(0, |sum, queue| sum.wrapping_add(queue.unstable.get()))
    }

    /// Notes that a flush which covers so many writes has succeeded. Any context.
    pub(super) fn flushed(&self, covered: u64) {
        raise(&self.flushed, covered);
    }

    /// Notes that the host of the server has been started anew, and has lost what was not flushed:
    /// so the next flush fails, in the disk's present use. Process context,
    /// while no request is under way.
    pub(crate) fn host_restarted(&self, uses: u32) {
        if self.answered() != self.flushed.load(Relaxed) {
            self.lose(crate::logic::failure::errno::EIO, uses);
        }
    }

    /// Notes that the server has lost something, as a request says that has failed with `errno`.
    /// Any context.
    pub(super) fn lose(&self, errno: i32, uses: u32) {
        let loss = u64::from(errno.unsigned_abs()) << 32 | u64::from(uses);
        let before = self.loss.xchg(loss, Relaxed);
        if before != loss {
            pr_err!(
                "krping{}: the server has lost what was written to it and not flushed (errno {}); \
                 every flush fails until the disk has been closed by all\n",
                self.number,
                errno
            );
        }
    }

    /// The errno to fail a flush with, in use number `uses` of the disk. Any
    /// context.
    pub(super) fn loss(&self, uses: u32) -> Option<i32> {
        let loss = self.loss.load(Relaxed);
        if loss == 0 || loss as u32 != uses {
            return None;
        }
        i32::try_from(loss >> 32).ok()
    }
}
