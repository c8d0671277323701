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

impl Served {
    /// Adds a connection that did `operations` of `size` bytes in `ns` nanoseconds. The rate of one
    /// that failed does not count.
    pub(crate) fn add(&mut self, failed: bool, operations: u64, size: u32, ns: u64) {
        self.connections = self.connections.saturating_add(1);
        self.operations = self.operations.saturating_add(operations);
        let bytes = operations.saturating_mul(size.into());
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
