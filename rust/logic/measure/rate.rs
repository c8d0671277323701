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
