// SPDX-License-Identifier: GPL-2.0

//! The pace of several queue pairs while all of them run.
//!
//! Queue pairs that begin together do not end together. All operations by the time until the last
//! one ends would be too slow a pace, as not all ran all the time. Each one's by its own time would
//! be too fast, as those that take turns would seem to run at once. So what counts is the time
//! until the first one ends, and what all have done by then.

use super::histogram::largest;

/// The pace of queue pairs that began together: what they did until the first one ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The earliest start and the earliest end of a queue pair, in nanoseconds.
    times: Option<(u64, u64)>,
    /// Twice the number of operations between these times.
    halves: u64,
}

impl Pace {
    /// Adds a queue pair that ran from `began` to `ended`, both in nanoseconds, and had done half
    /// of `halves` operations when the first one ended. One that was under way counts half.
    pub(crate) fn add(&mut self, began: u64, ended: u64, halves: u64) {
        let (first, end) = self.times.unwrap_or((began, ended));
        self.times = Some((first.min(began), end.min(ended)));
        self.halves = self.halves.saturating_add(halves);
    }

    /// Returns the time that `operations` take at this pace, in nanoseconds, rounded down; `None`
    /// where nothing was done.
    pub(crate) fn time_of(&self, operations: u64) -> Option<u64> {
        let (began, ended) = self.times?;
        let ns = ended.checked_sub(began)?;
        let product = u128::from(operations).saturating_mul(u128::from(ns) << 1);
        let halves = u128::from(self.halves);
        (halves > 0).then(|| largest(|time| u128::from(time).wrapping_mul(halves) <= product))
    }
}
