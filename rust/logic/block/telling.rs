// SPDX-License-Identifier: GPL-2.0

//! When a client is known to have received an answer that told it of a failure.
//!
//! An answer can be lost with its connection, and the completion of its SEND says only that the
//! client's device has it. But a client uses a tag again when it has taken the answer to the last
//! request of that tag, and it pings again when it has taken the answer to the last ping. Answers
//! are taken in the order in which they were sent. So two things show that an answer was taken: a
//! request of its tag, and the second ping after it.

/// An answer that tells a client of failures, until the client is known to have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    /// Up to which failure.
    number: u64,
    /// The tag of the answer.
    tag: u16,
    /// Whether a ping has come since, whose answer follows this one.
    pinged: bool,
}

impl Telling {
    /// Of all failures up to `number`, by an answer of `tag` that is about to be sent.
    pub(crate) const fn new(number: u64, tag: u16) -> Self {
        Self {
            number,
            tag,
            pinged: false,
        }
    }

    /// The same, where one `before` it may not be known to have arrived: that is waited for, unless
    /// there is more to tell. Otherwise a client that asks again and again would never be known to
    /// have been told.
    pub(crate) fn after(before: Option<Self>, number: u64, tag: u16) -> Self {
        before
            .filter(|before| before.number == number)
            .unwrap_or(Self::new(number, tag))
    }

    /// Takes a request of `tag`, which is a ping or not. Returns up to which failure the client is
    /// known to have been told by now.
    pub(crate) fn arrived(&mut self, tag: u16, is_ping: bool) -> Option<u64> {
        if is_ping {
            return core::mem::replace(&mut self.pinged, true).then_some(self.number);
        }
        (tag == self.tag).then_some(self.number)
    }
}
