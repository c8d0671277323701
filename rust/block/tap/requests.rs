// SPDX-License-Identifier: GPL-2.0

//! Bookkeeping of a tap's requests: those under way, each in one or several parts, and the
//! results of those that have ended.

#![forbid(unsafe_code)]

use super::{
    part::Part,
    record::Record,
    WINDOW, //
};
use crate::{
    block::figures::{
        moved_bytes,
        Live,
        Stages, //
    },
    engine::traffic::Traffic,
    kernel_ext::{
        blk::request::Op,
        time::monotonic_ns, //
    },
    logic::{
        block::{
            Action,
            Status, //
        },
        failure::{
            errno,
            Failure, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A part of a request that the server has refused.
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    /// The record of the part.
    pub(crate) record: Record,
    /// The server's status for the part.
    pub(crate) status: Status,
}

/// A request of which some part has been sent, and not all parts have been answered.
#[derive(Clone, Copy)]
struct Pending {
    number: u64,
    action: Action,
    /// Number of bytes of all parts that have been sent.
    bytes: u32,
    /// Number of parts that have not been answered.
    parts: u32,
    /// Time at which the first part was sent, in ns of the monotonic clock.
    posted_ns: u64,
    /// The last part has been sent.
    whole: bool,
    failed: bool,
}

/// The requests of a tap.
pub(super) struct Requests {
    /// Has one more entry than parts can be under way, for the request whose parts are not all
    /// sent.
    pending: [Option<Pending>; WINDOW + 1],
    /// The first part that was refused.
    refused: Option<Refused>,
    live: Arc<Live>,
    traffic: Arc<Traffic>,
    stages: Stages,
    /// Number of requests that have ended.
    ended: u64,
}

impl Requests {
    /// Creates an empty list. Its requests are counted in `live`, and in the series of `traffic`.
    /// May sleep.
    pub(super) fn new(live: Arc<Live>, traffic: Arc<Traffic>) -> Result<Self> {
        Ok(Self {
            pending: [None; WINDOW + 1],
            refused: None,
            live,
            traffic,
            stages: Stages::new()?,
            ended: 0,
        })
    }

    /// Records that a part is sent. Parts are sent in their order.
    ///
    /// # Errors
    ///
    /// `EIO` if more requests are under way than the window has parts.
    pub(super) fn sent(&mut self, part: &Part) -> Result<(), Failure> {
        let index = self.position(Some(part.request)).or(self.position(None));
        let place = index.and_then(|index| self.pending.get_mut(index));
        let place = place.ok_or(Failure::Kernel("sending a request", -errno::EIO))?;
        let pending = place.get_or_insert_with(|| {
            self.live.in_flight.add(1);
            Pending {
                number: part.request,
                action: part.record.action,
                bytes: 0,
                parts: 0,
                posted_ns: monotonic_ns(),
                whole: false,
                failed: false,
            }
        });
        pending.parts = pending.parts.saturating_add(1);
        pending.bytes = pending.bytes.saturating_add(part.record.bytes);
        pending.whole = part.last;
        Ok(())
    }

    /// Records the server's answer to a part, and counts its request if that has ended.
    pub(super) fn answered(&mut self, part: &Part, status: Status) {
        let index = self.position(Some(part.request));
        let Some(place) = index.and_then(|index| self.pending.get_mut(index)) else {
            return;
        };
        let Some(pending) = place else {
            return;
        };
        pending.parts = pending.parts.saturating_sub(1);
        if status != Status::Ok {
            pending.failed = true;
            self.refused.get_or_insert(Refused {
                record: part.record,
                status,
            });
        }
        if !pending.whole || pending.parts > 0 {
            return;
        }
        let op = match pending.action {
            Action::Write => Op::Write,
            Action::Note | Action::Read => Op::Read,
            _ => Op::Other,
        };
        self.live.ended(op, pending.bytes, pending.failed);
        self.live.in_flight.subtract(1);
        let now = monotonic_ns();
        let took = self
            .stages
            .record(Some(part.record.issued_ns), pending.posted_ns, now);
        let bytes = moved_bytes(op, pending.bytes, pending.failed);
        self.traffic.ended_request(now, bytes, took);
        self.ended += 1;
        *place = None;
    }

    fn position(&self, number: Option<u64>) -> Option<usize> {
        self.pending
            .iter()
            .position(|pending| pending.as_ref().map(|pending| pending.number) == number)
    }

    /// Returns the first part that was refused.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Returns the number of requests that have been sent completely and not been answered.
    pub(super) fn unanswered(&self) -> u64 {
        let pending = self.pending.iter().flatten();
        pending.filter(|pending| pending.whole).count() as u64
    }

    /// Returns the latency histograms.
    pub(super) fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Returns the number of requests that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }
}
