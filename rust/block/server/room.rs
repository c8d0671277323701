// SPDX-License-Identifier: GPL-2.0

//! Accounting of the room in a send queue.
//!
//! A work request takes up room in the queue until it is known to be done. A completion shows that
//! the work request that asked for it is done, and all before it. All READs ask, and on iWARP all
//! WRITEs. A SEND asks at the latest when too many work requests before it have not. So the number
//! of those without a completion is limited, and once all that asked have completed, there is
//! always room for a whole list.
//!
//! On soft-iWARP a READ completes after work requests that were posted behind it. Completions are
//! only counted here, so what is known to be done then lags behind what is done. Nothing but a READ
//! can be taken for done too early, and the memory of a READ waits for its own completion.

#![forbid(unsafe_code)]

use super::fifo::Fifo;
use crate::rdma::wr::MAX_CHAIN;
use kernel::prelude::*;

/// Minimum number of work requests that a send queue must hold.
pub(super) const LEAST: u32 = 4 * MAX_CHAIN as u32;

/// The work requests in one send queue. They are numbered from 1, in the order of posting.
pub(super) struct SendRoom {
    capacity: u32,
    posted: u64,
    done: u64,
    /// Number of the last work request that asked for a completion.
    asked: u64,
    /// Numbers of the work requests that asked for a completion and have not completed.
    under_way: Fifo<u64>,
}

impl SendRoom {
    /// Creates the accounting for an empty queue that holds `capacity` work requests, at least
    /// [`LEAST`]. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `capacity` is less than [`LEAST`]; `ENOMEM`.
    pub(super) fn new(capacity: u32) -> Result<Self> {
        if capacity < LEAST {
            return Err(EINVAL);
        }
        Ok(Self {
            capacity,
            posted: 0,
            done: 0,
            asked: 0,
            under_way: Fifo::new(capacity as usize, 0)?,
        })
    }

    /// Returns true if there is room for `count` more work requests.
    pub(super) fn has(&self, count: u32) -> bool {
        let used = self.posted - self.done;
        used + u64::from(count) <= u64::from(self.capacity)
    }

    /// Returns true if the last of the next `count` work requests must ask for a completion.
    pub(super) fn must_ask(&self, count: u32) -> bool {
        let silent = self.posted - self.asked;
        silent + u64::from(count) >= u64::from(self.capacity / 4)
    }

    /// Returns the number of the next work request.
    pub(super) fn next(&self) -> u64 {
        self.posted + 1
    }

    /// Records that `count` work requests have been posted. `asked` is true if the last one asked
    /// for a completion.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if more have asked for a completion than the queue holds.
    pub(super) fn post(&mut self, count: u32, asked: bool) -> Result {
        self.posted += u64::from(count);
        if asked {
            self.asked = self.posted;
            self.under_way.push(self.posted)?;
        }
        Ok(())
    }

    /// Handles a completion, which counts as that of the first work request that still waits for
    /// one.
    pub(super) fn completed(&mut self) {
        if let Some(number) = self.under_way.pop() {
            self.done = number;
        }
    }

    /// Returns the number of the last work request that is known to be done.
    pub(super) fn done(&self) -> u64 {
        self.done
    }
}
