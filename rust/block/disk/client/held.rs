// SPDX-License-Identifier: GPL-2.0

//! Requests of a disk that has lost its connections, until they are sent on new ones or end.
//!
//! A request that was lost often, without a connection in between that answered anything after
//! it, is most likely the reason: it ends, as the disk would otherwise never come to an end with
//! it. Where others are answered now and then, packets may just be lost, so it has many more tries:
//! with a loss of 5%, half of soft-RoCE's connections break before the first answer. And none
//! takes longer than `request_timeout=`.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::{
        blk::request::{
            History,
            Request, //
        },
        time::{
            monotonic_ns,
            Deadline, //
        }, //
    },
    logic::failure::errno, //
};
use kernel::prelude::*;

/// How often in a row a request is repeated on connections that answer nothing after it.
const MOST_IN_VAIN: u32 = 15;

/// How often a request is repeated on whatever connections.
const MOST_REPEATS: u32 = 1000;

const SECOND_NS: u64 = 1_000_000_000;

/// The requests, and what ends them.
pub(super) struct Held {
    requests: KVec<Request>,
    /// For how many seconds one is waited for; 0 is as long as it takes.
    limit_s: u32,
}

impl Held {
    /// None yet, of a disk with `queues` queues of `depth` requests. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(queues: u16, depth: u16, limit_s: u32) -> Result<Self> {
        let most = usize::from(queues).saturating_mul(usize::from(depth));
        Ok(Self {
            requests: KVec::with_capacity(most, GFP_KERNEL)?,
            limit_s,
        })
    }

    /// Adds one.
    pub(super) fn push(&mut self, request: Request) {
        // There is room for each tag. One that is dropped would fail.
        drop(self.requests.push_within_capacity(request));
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.requests.len() as u64
    }

    /// The limit in seconds, and when a request was first sent that has reached it now, if
    /// there is a limit.
    pub(super) fn overdue_ns(&self) -> Option<(u32, u64)> {
        let limit_ns = u64::from(self.limit_s).saturating_mul(SECOND_NS);
        (self.limit_s != 0).then(|| (self.limit_s, monotonic_ns().saturating_sub(limit_ns)))
    }

    /// Until when to look for requests under way that have reached the limit.
    pub(super) fn look_again(&self) -> Deadline {
        match self.limit_s {
            0 => Deadline::never(),
            limit_s => Deadline::after_ms(limit_s.saturating_mul(1000) / 8),
        }
    }

    /// Ends those that are not to be repeated: with `ETIMEDOUT` what has reached the limit,
    /// and with `EIO`, after `tell`ing how often that was, what was lost too often. Returns how
    /// many.
    pub(super) fn sift(&mut self, tell: impl Fn(&Request, u32)) -> u64 {
        let overdue = self.overdue_ns();
        let verdict = |history: &History| match overdue {
            Some((_, before)) if history.first_ns < before => Some(errno::ETIMEDOUT),
            _ if history.in_vain > MOST_IN_VAIN || history.losses > MOST_REPEATS => {
                Some(errno::EIO)
            }
            _ => None,
        };
        let (mut ended, mut at) = (0, 0);
        while let Some(request) = self.requests.get(at) {
            let history = request.history();
            let Some(errno) = history.as_ref().and_then(verdict) else {
                at = at.saturating_add(1);
                continue;
            };
            if errno == errno::EIO {
                tell(request, history.map_or(0, |history| history.losses));
            }
            if let Ok(request) = self.requests.remove(at) {
                request.end(errno);
            }
            ended = u64::saturating_add(ended, 1);
        }
        ended
    }

    /// Gives them all back to the block layer, to be sent again.
    pub(super) fn requeue(&mut self) {
        while let Some(request) = self.requests.pop() {
            request.requeue();
        }
    }

    /// Ends them all with `EIO`. Returns how many there were.
    pub(super) fn end(&mut self) -> u64 {
        let count = self.count();
        while let Some(request) = self.requests.pop() {
            request.end(errno::EIO);
        }
        count
    }
}
