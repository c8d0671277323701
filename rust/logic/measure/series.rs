// SPDX-License-Identifier: GPL-2.0

//! A run over time: operations and latencies of each interval, and the worst operations, in fixed
//! memory.
//!
//! An operation counts in the interval in which it ended. An interval in which none did is there
//! as well, with zeros: a stall is what one looks for. The last [`KEPT`] intervals are kept, and
//! the number of those before them; the extremes are of all.
//!
//! It is some 60 KiB. All bytes zero is a valid series that has not begun: allocate it zeroed.

use super::{
    histogram::Histogram,
    rate::per_second, //
};
use crate::logic::text::json::Object;
use core::fmt;

/// Number of intervals that are kept, the latest.
pub(crate) const KEPT: usize = 1024;

/// Number of operations that are kept as the worst.
pub(crate) const WORST: usize = 10;

/// Figures of an interval: operations, their bytes, and median, 99th percentile and maximum of
/// their latencies.
pub(crate) type Kept = [u64; 5];

/// The extreme of an interval: its value, and the start of the interval in nanoseconds after the
/// series began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extreme {
    /// The value.
    pub(crate) value: u64,
    /// The start of the interval.
    pub(crate) start_ns: u64,
}

/// Operations of a run by intervals.
///
/// # Invariants
///
/// All zero has not begun. `open` counts the intervals that are closed, of which the last [`KEPT`]
/// are in `kept`, each at its number modulo [`KEPT`]. `worst` is sorted, the longest first.
///
/// Fields are visible only for an empty one to be made in place: it is too large for a stack.
pub(crate) struct Series {
    /// Length of an interval; 0 before the series begins.
    pub(crate) interval_ns: u64,
    pub(crate) began_ns: u64,
    /// Time of day at which it began.
    pub(crate) unix_ns: u64,
    /// Time of the last operation.
    pub(crate) ended_ns: u64,
    /// Number of the interval that is open.
    pub(crate) open: u64,
    /// Operations in it.
    pub(crate) operations: u64,
    /// Bytes of these.
    pub(crate) bytes: u64,
    /// Number of all latencies.
    pub(crate) timed: u64,
    /// Latencies of the open interval.
    pub(crate) latencies: Histogram,
    pub(crate) kept: [Kept; KEPT],
    /// Latencies of the worst operations, and the times at which they ended after the beginning.
    pub(crate) worst: [[u64; 2]; WORST],
    /// The fewest bytes of a whole interval, and its number. Not valid where none is closed.
    pub(crate) fewest: [u64; 2],
    /// The highest 99th percentile of an interval, and its number.
    pub(crate) highest: [u64; 2],
}

impl Extreme {
    /// Returns the start of the interval in milliseconds, up to what fits.
    pub(crate) fn start_ms(&self) -> u32 {
        u32::try_from(self.start_ns / 1_000_000).unwrap_or(u32::MAX)
    }
}

impl Series {
    /// Begins the series at `now`, which is `unix_ns` as a time of day, with intervals of
    /// `interval_ns` nanoseconds.
    pub(crate) fn begin(&mut self, now: u64, unix_ns: u64, interval_ns: u64) {
        self.interval_ns = interval_ns;
        self.began_ns = now;
        self.unix_ns = unix_ns;
        self.ended_ns = now;
    }

    /// Returns true if the series has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.interval_ns > 0
    }

    /// Counts `operations` of `bytes` together that ended at `now`, each after `latency`
    /// nanoseconds if that was measured. Nothing counts before the series begins.
    pub(crate) fn record(&mut self, now: u64, operations: u64, bytes: u64, latency: Option<u64>) {
        let at = now.saturating_sub(self.began_ns);
        let Some(number) = at.checked_div(self.interval_ns) else {
            return;
        };
        self.close_until(number);
        self.ended_ns = self.ended_ns.max(now);
        self.operations = self.operations.saturating_add(operations);
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(ns) = latency {
            self.timed = self.timed.saturating_add(1);
            self.latencies.record(ns);
            self.compare(at, ns);
        }
    }

    /// Closes the open interval and those in which nothing has ended, so that interval `number` is
    /// open.
    fn close_until(&mut self, number: u64) {
        if number <= self.open {
            return;
        }
        let row = self.row();
        self.judge(row);
        self.keep(row);
        if number > self.open {
            self.note_fewest(0);
        }
        // Only the last can be kept.
        self.open = self.open.max(number.saturating_sub(KEPT as u64));
        while self.open < number {
            self.keep([0; 5]);
        }
        self.operations = 0;
        self.bytes = 0;
        self.latencies.clear();
    }

    /// Returns what the open interval has.
    fn row(&self) -> Kept {
        let of = &self.latencies;
        let (median, p99) = (of.percentile(50_000), of.percentile(99_000));
        [self.operations, self.bytes, median, p99, of.max()]
    }

    /// Keeps an interval, and opens the next.
    fn keep(&mut self, row: Kept) {
        let index = self.open.checked_rem(KEPT as u64).unwrap_or(0) as usize;
        if let Some(kept) = self.kept.get_mut(index) {
            *kept = row;
        }
        self.open = self.open.saturating_add(1);
    }

    /// Compares the whole interval that is open with the extremes.
    fn judge(&mut self, [_, bytes, _, p99, _]: Kept) {
        self.note_fewest(bytes);
        if p99 > self.highest[0] {
            self.highest = [p99, self.open];
        }
    }

    fn note_fewest(&mut self, bytes: u64) {
        if self.open == 0 || bytes < self.fewest[0] {
            self.fewest = [bytes, self.open];
        }
    }

    /// Keeps an operation that took `ns` if it is one of the worst.
    fn compare(&mut self, at: u64, ns: u64) {
        if self.worst.last().is_some_and(|last| ns <= last[0]) {
            return;
        }
        let mut next = [ns, at];
        for kept in &mut self.worst {
            if next[0] > kept[0] {
                core::mem::swap(kept, &mut next);
            }
        }
    }

    fn start_of(&self, number: u64) -> u64 {
        number.saturating_mul(self.interval_ns)
    }

    /// Returns the lowest bytes per second of a whole interval; `None` where no interval was whole.
    pub(crate) fn lowest_bandwidth(&self) -> Option<Extreme> {
        let [bytes, number] = self.fewest;
        (self.open > 0).then(|| Extreme {
            value: per_second(bytes, self.interval_ns),
            start_ns: self.start_of(number),
        })
    }

    /// Returns the highest 99th percentile of the latency of an interval; `None` where no latency
    /// was measured.
    pub(crate) fn highest_p99(&self) -> Option<Extreme> {
        let last = self.latencies.percentile(99_000);
        let [p99, number] = match last > self.highest[0] {
            true => [last, self.open],
            false => self.highest,
        };
        (self.timed > 0).then(|| Extreme {
            value: p99,
            start_ns: self.start_of(number),
        })
    }

    /// Writes it as member `series` of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let kept = self.open.min(KEPT as u64);
        let first = self.open.saturating_sub(kept);
        let mut series = object.object("series")?;
        series
            .num("interval_ns", self.interval_ns)?
            .num("began_unix_ns", self.unix_ns)?
            .num("ended_ns", self.ended_ns.saturating_sub(self.began_ns))?
            .num("dropped", first)?;
        let mut columns = series.array("columns")?;
        columns.str("start_ns")?.str("operations")?.str("bytes")?;
        if self.timed > 0 {
            columns.str("p50_ns")?.str("p99_ns")?.str("max_ns")?;
        }
        columns.finish()?;
        let mut intervals = series.array("intervals")?;
        for number in first..=self.open {
            let index = number.checked_rem(KEPT as u64).unwrap_or(0) as usize;
            let row = match self.kept.get(index) {
                Some(row) if number < self.open => *row,
                _ => self.row(),
            };
            let [operations, bytes, median, p99, max] = row;
            let mut interval = intervals.array()?;
            interval
                .num(self.start_of(number))?
                .num(operations)?
                .num(bytes)?;
            if self.timed > 0 {
                interval.num(median)?.num(p99)?.num(max)?;
            }
            interval.finish()?;
        }
        intervals.finish()?;
        if self.timed > 0 {
            let mut worst = series.array("worst")?;
            for [ns, at] in self.worst.iter().take_while(|[ns, _]| *ns > 0) {
                let mut operation = worst.array()?;
                operation.num(*at)?.num(*ns)?;
                operation.finish()?;
            }
            worst.finish()?;
        }
        series.finish()
    }
}
