// SPDX-License-Identifier: GPL-2.0

//! Figures of a dispatcher: its connections, its pool of chunks, and its own work.

use crate::logic::{
    measure::rate::{
        per_second,
        Rates, //
    },
    text::json::Object, //
};
use core::fmt;

/// Figures of a dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessengerFigures {
    /// Connections that were served to their end.
    pub(crate) connections: u32,
    /// Messages that were sent.
    pub(crate) sent: u64,
    /// Messages that have come.
    pub(crate) received: u64,
    /// Bytes of the messages of both directions.
    pub(crate) bytes: u64,
    /// Messages per second of the connections that have ended.
    pub(crate) rates: Rates,
    /// Bytes of a chunk, and their number.
    pub(crate) chunk: u32,
    /// Chunks of the pool.
    pub(crate) chunks: u32,
    /// Chunks that no connection has given back, although all are gone.
    pub(crate) lost_chunks: u32,
    /// Times that a connection found no chunk to send from.
    pub(crate) exhausted: u64,
    /// The time for which at least one connection waited for a chunk, in nanoseconds.
    pub(crate) exhausted_ns: u64,
    /// Times that the device has told that few receives were posted.
    pub(crate) limit_events: u64,
    /// Looks for completions that found some.
    pub(crate) batches: u64,
    /// Completions that they found.
    pub(crate) completions: u64,
    /// The most of one.
    pub(crate) largest_batch: u32,
    /// Times that the dispatcher slept.
    pub(crate) sleeps: u64,
    /// The time that it did not sleep, in nanoseconds.
    pub(crate) awake_ns: u64,
    /// The time for which it handled completions, in nanoseconds.
    pub(crate) busy_ns: u64,
}

impl MessengerFigures {
    /// Writes them as member `messenger` of `object`, of a run that took `elapsed_ns`.
    pub(crate) fn write(&self, object: &mut Object<'_>, elapsed_ns: u64) -> fmt::Result {
        let mut messenger = object.object("messenger")?;
        messenger
            .num("connections", self.connections)?
            .num("sent", self.sent)?
            .num("received", self.received)?
            .num("bytes", self.bytes)?
            .num("bytes_per_s", per_second(self.bytes, elapsed_ns))?
            .num("measured", self.rates.count())?
            .num("slowest_per_s", self.rates.slowest())?
            .num("fastest_per_s", self.rates.fastest())?
            .num("chunk", self.chunk)?
            .num("chunks", self.chunks)?
            .num("lost_chunks", self.lost_chunks)?
            .num("exhausted", self.exhausted)?
            .num("exhausted_ns", self.exhausted_ns)?
            .num("limit_events", self.limit_events)?
            .num("batches", self.batches)?
            .num("completions", self.completions)?
            .num("largest_batch", self.largest_batch)?
            .num("sleeps", self.sleeps)?
            .num("awake_ns", self.awake_ns)?
            .num("busy_ns", self.busy_ns)?;
        messenger.finish()
    }
}
