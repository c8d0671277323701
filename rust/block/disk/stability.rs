// SPDX-License-Identifier: GPL-2.0

//! Durability of a disk's answered writes: how many of them flushes have covered, and whether
//! some are lost.
//!
//! A server reports a loss to a disk once, and the disk cannot tell which program it concerns: a
//! flush does not say for whom it is. So from then on every flush and FUA write fails, until all
//! that could have written before have closed the disk.

#![forbid(unsafe_code)]

use crate::{
    block::figures::Live,
    kernel_ext::{
        atomic::raise,
        time::monotonic_ms, //
    }, //
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

/// Durability state of the answered writes of one disk.
pub(crate) struct Stability {
    /// Number of the disk.
    number: u32,
    queues: KVec<Arc<Live>>,
    /// Number of answered writes that are known to have been flushed.
    flushed: Atomic<u64>,
    /// Errno of a loss in the upper 32 bits, and the number of the disk's use in which it is
    /// reported in the lower 32 bits; 0 if nothing is lost.
    loss: Atomic<u64>,
    /// Time of the last line in the log about a lack of room, in ms of [`monotonic_ms`]; 0 if there
    /// was none.
    told_of_room_ms: Atomic<u64>,
}

/// Minimum time between two lines in the log about a lack of room, in ms.
const QUIET_MS: u64 = 10_000;

impl Stability {
    /// Creates the state of disk `number` with these queues, before any write. May sleep.
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
                told_of_room_ms: Atomic::new(0),
            },
            GFP_KERNEL,
        )?)
    }

    /// Returns the number of the disk.
    pub(super) fn disk(&self) -> u32 {
        self.number
    }

    /// Returns the number of answered writes that only a flush makes durable. A flush sent now
    /// covers these. Any context.
    pub(super) fn answered(&self) -> u64 {
        self.queues
            .iter()
            .fold(0, |sum, queue| sum.wrapping_add(queue.unstable.get()))
    }

    /// Records that a flush which covers `covered` writes has succeeded. Any context.
    pub(super) fn flushed(&self, covered: u64) {
        raise(&self.flushed, covered);
    }

    /// Records a restart of the server's host, which loses the writes that were not flushed. If
    /// there are any, every flush and FUA write fails with `EIO` during use number `uses` of the
    /// disk. Process context, while no request is under way.
    pub(crate) fn host_restarted(&self, uses: u32) {
        if self.answered() != self.flushed.load(Relaxed) {
            self.lose(crate::logic::failure::errno::EIO, uses);
        }
    }

    /// Records that the server has lost data: a flush or FUA request failed with `errno` in use
    /// number `uses` of the disk. Any context.
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

    /// Logs that the server has no room for a write, unless that was logged lately. Any context.
    pub(super) fn no_room(&self) {
        let (now, before) = (monotonic_ms(), self.told_of_room_ms.load(Relaxed));
        if before == 0 || now.saturating_sub(before) >= QUIET_MS {
            self.told_of_room_ms.store(now, Relaxed);
            pr_err!(
                "krping{}: the server has no room for a write, which fails with ENOSPC: free \
                 space in the file system of its store\n",
                self.number
            );
        }
    }

    /// Returns the errno to fail a flush or FUA write with, in use number `uses` of the disk;
    /// `None` if nothing is lost. Any context.
    pub(super) fn loss(&self, uses: u32) -> Option<i32> {
        let loss = self.loss.load(Relaxed);
        if loss == 0 || loss as u32 != uses {
            return None;
        }
        i32::try_from(loss >> 32).ok()
    }
}
