// SPDX-License-Identifier: GPL-2.0

//! Sums over the connections that a server has served.

use super::rate::Rates;
use crate::logic::text::json::Object;
use core::fmt;

/// Sums over the connections of a server that have ended, by which one sees whether all clients
/// were served alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    connections: u64,
    failed: u64,
    operations: u64,
    bytes: u64,
    rates: Rates,
}

/// Bytes that the fastest link carries in a nanosecond, with some to spare: 1024 Gbit/s.
const MOST_BYTES_PER_NS: u64 = 128;

/// Returns the `(operations, ns)` that a client says it has measured, and their `bytes`, or zeroes
/// where no link could carry so many in that time, or where it is longer than the `seen_ns` for
/// which the server has seen the client. Only the client knows of its RDMA WRITEs and READs.
pub(crate) fn credible(
    (operations, ns): (u64, u64),
    bytes: u64,
    seen_ns: u64,
) -> ((u64, u64), u64) {
    // Where no time was measured, the server's own is the limit.
    let time = if ns == 0 { seen_ns } else { ns };
    let most = time.saturating_mul(MOST_BYTES_PER_NS);
    let least = operations.saturating_mul(MOST_BYTES_PER_NS);
    match ns <= seen_ns && bytes.max(least) <= most {
        true => ((operations, ns), bytes),
        false => ((0, 0), 0),
    }
}

impl Served {
    /// Adds a connection that did `operations` of `bytes` together in `ns` nanoseconds. The rate of
    /// one that failed does not count.
    pub(crate) fn add(&mut self, failed: bool, operations: u64, bytes: u64, ns: u64) {
        self.connections = self.connections.saturating_add(1);
        self.operations = self.operations.saturating_add(operations);
        self.bytes = self.bytes.saturating_add(bytes);
        if failed {
            self.failed = self.failed.saturating_add(1);
        } else {
            self.rates.add(operations, ns);
        }
    }

    /// Writes them as member `served` of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut served = object.object("served")?;
        served
            .num("connections", self.connections)?
            .num("failed", self.failed)?
            .num("operations", self.operations)?
            .num("bytes", self.bytes)?
            .num("measured", self.rates.count())?
            .num("slowest_per_s", self.rates.slowest())?
            .num("fastest_per_s", self.rates.fastest())?;
        served.finish()
    }
}
