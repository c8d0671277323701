// SPDX-License-Identifier: GPL-2.0

//! A part of a request that a tap forwards.

#![forbid(unsafe_code)]

use super::record::Record;
use crate::logic::block::Action;

/// A part of a request, no larger than the server takes. The request ends with its last part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The request's record, with the range of this part only.
    pub(crate) record: Record,
    /// The number of the request.
    pub(crate) request: u64,
    /// This is the request's last part.
    pub(crate) last: bool,
}

impl Part {
    /// Returns true if this part must not be under way together with `other`, which precedes it.
    pub(super) fn must_follow(&self, other: &Self) -> bool {
        let (this, other) = (&self.record, &other.record);
        let end = |record: &Record| record.offset.saturating_add(u64::from(record.bytes));
        match (this.action, other.action) {
            (Action::Flush, _) => true,
            (Action::Note, _) | (_, Action::Note | Action::Flush) => false,
            _ => this.offset < end(other) && other.offset < end(this),
        }
    }
}
