// SPDX-License-Identifier: GPL-2.0

//! Figures of a stream: bytes, messages, and where the time goes.

use super::sender::Stall;
use crate::logic::{
    measure::rate::per_second,
    text::json::Object, //
};
use core::fmt;

/// Figures of one side of a stream, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamFigures {
    /// Bytes that have come.
    pub(crate) received_bytes: u64,
    /// Bytes that were sent.
    pub(crate) sent_bytes: u64,
    /// Messages with data that were sent.
    pub(crate) sent_msgs: u64,
    /// Direct writes that were sent, each in as many as it takes.
    pub(crate) direct_writes: u64,
    /// Bytes of them.
    pub(crate) direct_bytes: u64,
    /// Grants that were sent.
    pub(crate) grants_sent: u64,
    /// Grants that have come.
    pub(crate) grants_received: u64,
    /// The time that copying to the send buffer took, in nanoseconds.
    pub(crate) copy_ns: u64,
    /// The time for which there were bytes to send and none could be posted, in nanoseconds, by
    /// reason in the order of [`Stall::ALL`].
    stalled_ns: [u64; Stall::ALL.len()],
}

impl StreamFigures {
    /// Adds `ns` for which nothing could be posted because of `stall`.
    pub(crate) fn stalled(&mut self, stall: Stall, ns: u64) {
        let all = Stall::ALL.iter().zip(&mut self.stalled_ns);
        for (_, sum) in all.filter(|(each, _)| **each == stall) {
            *sum = sum.saturating_add(ns);
        }
    }

    /// Returns the sum of two.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut sum = Self {
            received_bytes: self.received_bytes.saturating_add(other.received_bytes),
            sent_bytes: self.sent_bytes.saturating_add(other.sent_bytes),
            sent_msgs: self.sent_msgs.saturating_add(other.sent_msgs),
            direct_writes: self.direct_writes.saturating_add(other.direct_writes),
            direct_bytes: self.direct_bytes.saturating_add(other.direct_bytes),
            grants_sent: self.grants_sent.saturating_add(other.grants_sent),
            grants_received: self.grants_received.saturating_add(other.grants_received),
            copy_ns: self.copy_ns.saturating_add(other.copy_ns),
            stalled_ns: self.stalled_ns,
        };
        for (stall, ns) in Stall::ALL.iter().zip(other.stalled_ns) {
            sum.stalled(*stall, ns);
        }
        sum
    }

    /// Writes them as member `stream` of `object`, of a run that took `elapsed_ns`.
    pub(crate) fn write(&self, object: &mut Object<'_>, elapsed_ns: u64) -> fmt::Result {
        let mut stream = object.object("stream")?;
        stream
            .num("received_bytes", self.received_bytes)?
            .num(
                "received_bytes_per_s",
                per_second(self.received_bytes, elapsed_ns),
            )?
            .num("sent_bytes", self.sent_bytes)?
            .num("sent_bytes_per_s", per_second(self.sent_bytes, elapsed_ns))?
            .num("sent_msgs", self.sent_msgs)?
            .num("direct_writes", self.direct_writes)?
            .num("direct_bytes", self.direct_bytes)?
            .num("grants_sent", self.grants_sent)?
            .num("grants_received", self.grants_received)?
            .num("copy_ns", self.copy_ns)?;
        let mut stalled = stream.object("stalled_ns")?;
        for (stall, ns) in Stall::ALL.iter().zip(self.stalled_ns) {
            stalled.num(stall.name(), ns)?;
        }
        stalled.finish()?;
        stream.finish()
    }
}
