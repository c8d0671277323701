// SPDX-License-Identifier: GPL-2.0

//! The requests of a tap that are under way, each in one or several parts, and what has
//! become of those before.

#![forbid(unsafe_code)]

use super::{
    part::Part,
    record::Record,
    WINDOW, //
};
use crate::{
    block::figures::{
        Live,
        Stages, //
    },
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

/// What of a request the server has refused.
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    /// The part.
    pub(crate) record: Record,
    /// Why.
    pub(crate) status: Status,
}

/// A request of which some part has been sent, and not all have been answered.
#[derive(Clone, Copy)]
struct Pending {
    number: u64,
    action: Action,
    /// Of all parts that have been sent.
    bytes: u32,
    /// Parts that have not been answered.
    parts: u32,
    /// When the first part was sent.
    posted_ns: u64,
    /// Whether its last part has been sent.
    whole: bool,
    failed: bool,
}

/// The requests of a tap.
pub(super) struct Requests {
    /// One more than parts can be under way, for the one whose parts are not all sent.
    pending: [Option<Pending>; WINDOW + 1],
    /// The first that was refused.
    refused: Option<Refused>,
    live: Arc<Live>,
    stages: Stages,
    /// How many have ended.
    ended: u64,
}

impl Requests {
    /// None yet; they are counted in `live`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(live: Arc<Live>) -> Result<Self> {
        Ok(Self {
            pending: [None; WINDOW + 1],
            refused: None,
            live,
            stages: Stages::new()?,
            ended: 0,
        })
    }

    /// Notes that a part is sent. Parts are sent in their order.
    ///
    /// # Errors
    ///
    /// None but for more requests under way than the window has parts.
    pub(super) fn sent(&mut self, part: &Part) -> Result<(), Failure> {
        let index = self.position(Some(part.request)).or(self.position(None));
        let place = index.and_then(|index| self.pending.get_mut(index));
        let place = place.ok_or(Failure::Kernel(
            "sending a request",
            errno::EIO.saturating_neg(),
        ))?;
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

    /// Notes that a part has been answered.
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
        self.stages.record(
            Some(part.record.issued_ns),
            pending.posted_ns,
            monotonic_ns(),
        );
        self.ended = self.ended.wrapping_add(1);
        *place = None;
    }

    fn position(&self, number: Option<u64>) -> Option<usize> {
        self.pending
            .iter()
            .position(|pending| pending.as_ref().map(|pending| pending.number) == number)
    }

    /// The first that was refused.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Those that have been sent whole, and not been answered.
    pub(super) fn unanswered(&self) -> u64 {
        let pending = self.pending.iter().flatten();
        pending.filter(|pending| pending.whole).count() as u64
    }

    /// How long they took.
    pub(super) fn stages(&self) -> &Stages {
        &self.stages
    }

    /// How many have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }
}
