// SPDX-License-Identifier: GPL-2.0

//! Cuts the records in a tap's ring into parts that the server takes.

#![forbid(unsafe_code)]

use super::{
    message::Claim, //
    part::Part,
    record::Record,
    ring::{
        Next,
        Ring,
        Taken, //
    },
};
use crate::logic::block::Action;
use kernel::prelude::*;

/// The next step of the thread.
pub(crate) enum Step {
    /// Send this part.
    Send(Part),
    /// Wait: the ring's wait queue will be woken.
    Wait,
    /// Nothing is left to send.
    End,
}

/// Maximum size of parts, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    /// Maximum size of a part with data.
    pub(crate) data: u32,
    /// Maximum size of a discard or write-zeroes; 0 for no limit, if the server takes neither.
    pub(crate) discard: u32,
}

/// Cutting position: the place in the ring up to which everything has been sent.
pub(crate) struct Cutter<'a> {
    ring: &'a Ring,
    most: Most,
    /// The record that is being sent, and the number of its bytes already sent.
    current: Option<(Taken, u32)>,
    /// Number of the request that the current record belongs to.
    request: u64,
}

impl<'a> Cutter<'a> {
    /// Starts at the oldest record.
    pub(crate) fn new(ring: &'a Ring, most: Most) -> Self {
        Self {
            ring,
            most,
            current: None,
            request: 0,
        }
    }

    /// Returns the next step. Repeats it until [`sent`](Self::sent) is called.
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

    /// Copies the data of `part`, which is next, to the memory claimed for it.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the data does not fit.
    pub(crate) fn load(&self, part: &Part, claim: &Claim) -> Result {
        let (taken, from) = self.current.as_ref().ok_or(EINVAL)?;
        if part.record.action != Action::Write {
            return Ok(());
        }
        let (from, len) = (*from as usize, part.record.bytes as usize);
        self.ring
            .copy(taken, from, &claim.memory, claim.offset, len)
    }

    /// Advances past `part`, and frees its record once all of it has been sent.
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
            self.request += 1;
        }
    }
}
