// SPDX-License-Identifier: GPL-2.0

//! Cuts what is in a tap's ring into parts that the server takes.

#![forbid(unsafe_code)]

use super::{
    part::Part,
    record::Record,
    ring::{
        Next,
        Ring,
        Taken, //
    },
    slot::Claim, //
};
use crate::logic::block::Action;
use kernel::prelude::*;

/// What to do next.
pub(crate) enum Step {
    /// Send this.
    Send(Part),
    /// Wait: the ring's bell will be rung.
    Wait,
    /// There is nothing any more.
    End,
}

/// The most bytes of a part.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    /// Of one with data.
    pub(crate) data: u32,
    /// Of a discard or write-zeroes.
    pub(crate) discard: u32,
}

/// The place in the ring up to which all has been sent.
pub(crate) struct Cutter<'a> {
    ring: &'a Ring,
    most: Most,
    /// The record that is being sent, and how much of it has been.
    current: Option<(Taken, u32)>,
    /// The number of its request.
    request: u64,
}

impl<'a> Cutter<'a> {
    /// From the oldest record on.
    pub(crate) fn new(ring: &'a Ring, most: Most) -> Self {
        Self {
            ring,
            most,
            current: None,
            request: 0,
        }
    }

    /// What to do next; the same until [`sent`](Self::sent).
    pub(crate) fn next(&mut self) -> Step {
        let (taken, from) = match self.current {
            Some(current) => current,
            None => match self.ring.next() {
                Next::Record(taken) => *self.current.insert((taken, 0)),
                Next::Nothing => return Step::Wait,
                Next::Ended => return Step::End,
            },
        };
        let record = taken.record;
        let left = record.bytes.saturating_sub(from);
        let most = match record.action {
            Action::Write => self.most.data,
            Action::Discard | Action::WriteZeroes if self.most.discard > 0 => self.most.discard,
            _ => u32::MAX,
        };
        Step::Send(Part {
            record: Record {
                offset: record.offset.saturating_add(u64::from(from)),
                bytes: left.min(most),
                ..record
            },
            request: self.request,
            last: taken.last && left <= most,
        })
    }

    /// Copies the data of `part`, which is next, to where it was promised a place.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it does not fit.
    pub(crate) fn load(&self, part: &Part, claim: &Claim) -> Result {
        let (taken, from) = self.current.as_ref().ok_or(EINVAL)?;
        if part.record.action != Action::Write {
            return Ok(());
        }
        let (from, len) = (*from as usize, part.record.bytes as usize);
        self.ring
            .copy(taken, from, &claim.memory, claim.offset, len)
    }

    /// Goes on behind `part`.
    pub(crate) fn sent(&mut self, part: &Part) {
        let Some((taken, from)) = &mut self.current else {
            return;
        };
        *from = from.saturating_add(part.record.bytes);
        if *from < taken.record.bytes {
            return;
        }
        self.current = None;
        self.ring.consume();
        if part.last {
            self.request = self.request.wrapping_add(1);
        }
    }
}
