// SPDX-License-Identifier: GPL-2.0

//! How much room a send queue has.
//!
//! A request takes its place in the queue until it is known to be done, which a
//! completion says of the one that asked for it and of all before it. Few ask: all
//! READs do, and so does a SEND where too many before it have not. Those that nobody
//! has asked for are so few that there is always room for a whole list once all that
//! were asked for are done.
//!
//! On soft-iWARP a READ completes after what was posted behind it. Completions are only
//! counted here, so what is known to be done then lags behind what is: nothing but a READ
//! is taken to be done before it is, and its memory waits for its own completion.

#![forbid(unsafe_code)]

use super::fifo::Fifo;
use crate::rdma::wr::MAX_CHAIN;
use kernel::prelude::*;

/// The fewest requests that a send queue must hold.
pub(super) const LEAST: u32 = 4 * MAX_CHAIN as u32;

/// The requests in one send queue. They are numbered from 1 in their order.
pub(super) struct SendRoom {
    capacity: u32,
    posted: u64,
    done: u64,
    /// The last that asked for a completion.
    asked: u64,
    /// Those that have, and have not completed.
    under_way: Fifo<u64>,
}

impl SendRoom {
    /// That of a queue which holds `capacity` requests, at least [`LEAST`]. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for fewer.
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

    /// Whether `count` more fit.
    pub(super) fn has(&self, count: u32) -> bool {
        let used = self.posted.wrapping_sub(self.done);
        used.saturating_add(u64::from(count)) <= u64::from(self.capacity)
    }

    /// Whether the last of the next `count` must ask for a completion.
    pub(super) fn must_ask(&self, count: u32) -> bool {
        let silent = self.posted.wrapping_sub(self.asked);
        silent.saturating_add(u64::from(count)) >= u64::from(self.capacity / 4)
    }

    /// The number of the next.
    pub(super) fn next(&self) -> u64 {
        self.posted.wrapping_add(1)
    }

    /// Notes that `count` have been posted, whose last has `asked` for a completion.
    ///
    /// # Errors
    ///
    /// `ENOSPC` where they did not fit.
    pub(super) fn post(&mut self, count: u32, asked: bool) -> Result {
        self.posted = self.posted.wrapping_add(u64::from(count));
        if asked {
            self.asked = self.posted;
            self.under_way.push(self.posted)?;
        }
        Ok(())
    }

    /// Notes that the first of those that asked for a completion has completed.
    pub(super) fn completed(&mut self) {
        if let Some(number) = self.under_way.pop() {
            self.done = number;
        }
    }

    /// The last that is known to be done.
    pub(super) fn done(&self) -> u64 {
        self.done
    }
}
