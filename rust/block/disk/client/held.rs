// SPDX-License-Identifier: GPL-2.0

//! Requests of a disk that has lost its connections, held until they are sent on new ones or end.
//!
//! A request that was lost many times in a row, on connections that answered nothing after it,
//! most likely causes the losses. It ends, as the disk would otherwise reconnect forever. But at a
//! packet loss of 5%, half of soft-RoCE's connections break before the first answer, and many of
//! them within a second, so such a request also has as long as a server that is away:
//! `reconnect=`. While other requests are answered now and then, packets may just be lost, and a
//! request has many more tries. No request takes longer than `request_timeout=`.

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
    logic::{
        command::BlockOptions,
        failure::errno, //
    }, //
};
use kernel::prelude::*;

/// Maximum number of successive repeats of a request on connections that answer nothing after it,
/// once the request is older than `reconnect=`.
const MOST_IN_VAIN: u32 = 15;

/// Maximum number of repeats of a request, over all connections.
const MOST_REPEATS: u32 = 1000;

const SECOND_NS: u64 = 1_000_000_000;

/// The held requests, and the limits after which they end.
pub(super) struct HeldRequests {
    requests: KVec<Request>,
    /// Maximum age of a request in seconds; 0 for no limit.
    limit_s: u32,
    /// Age in seconds up to which a request is repeated however often it is in vain.
    patience_s: u32,
}

impl HeldRequests {
    /// Creates an empty list for a disk with `queues` queues of `depth` requests, and the
    /// `request_timeout=` and `reconnect=` of `options`. May sleep.
    pub(super) fn new(queues: u16, depth: u16, options: &BlockOptions) -> Result<Self> {
        let most = usize::from(queues) * usize::from(depth);
        Ok(Self {
            requests: KVec::with_capacity(most, GFP_KERNEL)?,
            limit_s: options.request_timeout_s,
            patience_s: options.reconnect_s,
        })
    }

    /// Adds a request.
    pub(super) fn push(&mut self, request: Request) {
        // The list has capacity for every tag. A request dropped here would fail.
        drop(self.requests.push_within_capacity(request));
    }

    /// Returns the number of requests held.
    pub(super) fn count(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Returns the limit in seconds, and the time in ns of the monotonic clock before which a
    /// request that is overdue now was first sent. Returns `None` if there is no limit.
    pub(super) fn overdue_ns(&self) -> Option<(u32, u64)> {
        let limit_ns = u64::from(self.limit_s).saturating_mul(SECOND_NS);
        (self.limit_s != 0).then(|| (self.limit_s, monotonic_ns().saturating_sub(limit_ns)))
    }

    /// Returns the time of the next check for overdue requests under way.
    pub(super) fn look_again(&self) -> Deadline {
        match self.limit_s {
            0 => Deadline::never(),
            limit_s => Deadline::after_ms(limit_s.saturating_mul(1000) / 8),
        }
    }

    /// Ends the requests that must not be repeated: overdue ones with `ETIMEDOUT`, and those lost
    /// too often with `EIO`. Calls `tell` with each of the latter and its number of losses.
    /// Returns the number of requests ended.
    pub(super) fn end_expired(&mut self, tell: impl Fn(&Request, u32)) -> u64 {
        let overdue = self.overdue_ns();
        let patience_ns = u64::from(self.patience_s).saturating_mul(SECOND_NS);
        let out_of_patience = monotonic_ns().saturating_sub(patience_ns);
        let verdict = |history: &History| {
            let vain = history.in_vain > MOST_IN_VAIN && history.first_ns < out_of_patience;
            match overdue {
                Some((_, before)) if history.first_ns < before => Some(errno::ETIMEDOUT),
                _ if vain || history.losses > MOST_REPEATS => Some(errno::EIO),
                _ => None,
            }
        };
        let (mut ended, mut at) = (0, 0);
        while let Some(request) = self.requests.get(at) {
            let history = request.history();
            let Some(errno) = history.as_ref().and_then(verdict) else {
                at += 1;
                continue;
            };
            if errno == errno::EIO {
                tell(request, history.map_or(0, |history| history.losses));
            }
            if let Ok(request) = self.requests.remove(at) {
                request.end(errno);
            }
            ended += 1;
        }
        ended
    }

    /// Hands all requests back to the block layer, to be sent again.
    pub(super) fn requeue(&mut self) {
        while let Some(request) = self.requests.pop() {
            request.requeue();
        }
    }

    /// Ends all requests with `EIO`, and returns their number.
    pub(super) fn end(&mut self) -> u64 {
        let count = self.count();
        while let Some(request) = self.requests.pop() {
            request.end(errno::EIO);
        }
        count
    }
}
