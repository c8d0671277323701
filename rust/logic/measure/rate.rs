// SPDX-License-Identifier: GPL-2.0

//! Rates.

/// Returns the rate per second of `count` events in `ns` nanoseconds; 0 where there was no time.
pub(crate) fn per_second(count: u64, ns: u64) -> u64 {
    let ms = (ns / 1_000_000).max(1);
    match count.checked_mul(1_000_000_000) {
        Some(scaled) => scaled.checked_div(ns).unwrap_or(0),
        // A count this large takes long enough to measure in milliseconds.
        None => count.checked_div(ms).unwrap_or(0).saturating_mul(1000),
    }
}

/// Rates of connections that have ended, by which one sees whether what they share served all
/// alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    count: u32,
    slowest: u64,
    fastest: u64,
}

impl Rates {
    /// Adds a connection of `operations` in `ns` nanoseconds. One that has measured nothing does
    /// not count.
    pub(crate) fn add(&mut self, operations: u64, ns: u64) {
        if operations == 0 || ns == 0 {
            return;
        }
        let per_second = per_second(operations, ns);
        self.slowest = match self.count {
            0 => per_second,
            _ => self.slowest.min(per_second),
        };
        self.fastest = self.fastest.max(per_second);
        self.count = self.count.saturating_add(1);
    }

    /// Returns the number of connections.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the lowest operations per second; 0 of none.
    pub(crate) fn slowest(&self) -> u64 {
        self.slowest
    }

    /// Returns the highest operations per second; 0 of none.
    pub(crate) fn fastest(&self) -> u64 {
        self.fastest
    }
}
