// SPDX-License-Identifier: GPL-2.0

//! Detects that a client has received an answer that told it of a failure.
//!
//! An answer can be lost with its connection, and the completion of its SEND says only that the
//! client's device has it. But a client reuses a tag only after it has handled the answer to the
//! last request of that tag, and it sends the next keepalive (a ping or a survey) only after it has
//! handled the answer to the last one. Answers are handled in the order in which they were sent. So
//! two things show that an answer was handled: a request of its tag, and the second keepalive after
//! it.

/// An answer that tells a client of failures, and that the client is not yet known to have
/// received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerReceipt {
    /// The number of the last failure that it tells of.
    number: u64,
    /// The tag of the answer.
    tag: u16,
    /// A keepalive has arrived since, and its answer follows this one.
    pinged: bool,
}

impl AnswerReceipt {
    /// Creates the record of an answer of `tag`, which is about to be sent and tells of all
    /// failures up to `number`.
    pub(crate) const fn new(number: u64, tag: u16) -> Self {
        Self {
            number,
            tag,
            pinged: false,
        }
    }

    /// Like [`new`](Self::new), where an answer `before` it may not be known to have arrived.
    ///
    /// Keeps `before` unless there are more failures to tell of. Otherwise a client that keeps
    /// asking would never be known to have been told, as each new answer would start the wait
    /// again.
    pub(crate) fn after(before: Option<Self>, number: u64, tag: u16) -> Self {
        before
            .filter(|before| before.number == number)
            .unwrap_or(Self::new(number, tag))
    }

    /// Handles the arrival of a request of `tag`. `is_ping` is true for a keepalive whose answer
    /// follows this one.
    ///
    /// Returns the number of the last failure that the client is known to have been told of; `None`
    /// where it is not known to have received the answer.
    pub(crate) fn arrived(&mut self, tag: u16, is_ping: bool) -> Option<u64> {
        if is_ping {
            return core::mem::replace(&mut self.pinged, true).then_some(self.number);
        }
        (tag == self.tag).then_some(self.number)
    }
}
