// SPDX-License-Identifier: GPL-2.0

//! Counters and latency histograms of disks and taps.

#![forbid(unsafe_code)]

use crate::{
    engine::histogram::new_histogram,
    kernel_ext::blk::request::Op,
    logic::measure::{
        histogram::Histogram,
        stats::BlockFigures, //
    }, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// A counter with one writer at a time and any number of readers.
pub(super) struct Count(Atomic<u64>);

impl Default for Count {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl Count {
    /// Adds `n`. Any context.
    pub(super) fn add(&self, n: u64) {
        // The holder of the queue pair's lock is the only writer, so no read-modify-write is
        // needed.
        self.set(self.get().wrapping_add(n));
    }

    /// Subtracts `n`. Any context.
    pub(super) fn subtract(&self, n: u64) {
        self.set(self.get().wrapping_sub(n));
    }

    /// Sets the counter to `n`. Any context.
    pub(super) fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// Returns the current value. Any context.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Live counters of one hardware queue of a disk, or of a tap.
pub(crate) struct Live {
    reads: Count,
    writes: Count,
    others: Count,
    read_bytes: Count,
    write_bytes: Count,
    /// Failed requests. It can have several writers at a time: the holder of the queue pair's
    /// lock, and any caller that fails a request that was not sent.
    errors: Atomic<u64>,
    /// Number of requests under way.
    pub(super) in_flight: Count,
    /// Number of answered writes, discards and zeroings that only a flush makes durable.
    pub(super) unstable: Count,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            reads: Count::default(),
            writes: Count::default(),
            others: Count::default(),
            read_bytes: Count::default(),
            write_bytes: Count::default(),
            errors: Atomic::new(0),
            in_flight: Count::default(),
            unstable: Count::default(),
        }
    }
}

impl Live {
    /// Counts a request of `bytes` bytes that has ended; `failed` counts it as an error. Any
    /// context, one call at a time.
    pub(super) fn ended(&self, op: Op, bytes: u32, failed: bool) {
        if failed {
            self.failed(1);
            return;
        }
        match op {
            Op::Read => {
                self.reads.add(1);
                self.read_bytes.add(u64::from(bytes));
            }
            Op::Write => {
                self.writes.add(1);
                self.write_bytes.add(u64::from(bytes));
            }
            _ => self.others.add(1),
        }
    }

    /// Counts `n` requests that failed. Any context.
    pub(crate) fn failed(&self, n: u64) {
        self.errors.fetch_add(n, Relaxed);
    }

    /// Returns the number of requests under way. Any context.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// Returns the current counts. Any context.
    pub(crate) fn snapshot(&self) -> BlockFigures {
        let (reads, writes, others) = (self.reads.get(), self.writes.get(), self.others.get());
        let errors = self.errors.load(Relaxed);
        BlockFigures {
            requests: reads
                .wrapping_add(writes)
                .wrapping_add(others)
                .wrapping_add(errors),
            reads,
            writes,
            others,
            read_bytes: self.read_bytes.get(),
            write_bytes: self.write_bytes.get(),
            errors,
            ..Default::default()
        }
    }
}

/// Returns the bytes that a request which has ended has read or written, of the `bytes` that it was
/// about.
pub(super) fn moved_bytes(op: Op, bytes: u32, failed: bool) -> u32 {
    match op {
        Op::Read | Op::Write if !failed => bytes,
        _ => 0,
    }
}

/// Latency histograms of requests by stage, in nanoseconds.
pub(crate) struct Stages {
    /// From creation to post.
    queued: KBox<Histogram>,
    /// From post to the server's answer.
    wire: KBox<Histogram>,
    /// From creation to the server's answer.
    total: KBox<Histogram>,
}

impl Stages {
    /// Creates empty histograms. May sleep.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            queued: new_histogram()?,
            wire: new_histogram()?,
            total: new_histogram()?,
        })
    }

    /// Returns the histograms with their names in results.
    pub(crate) fn named(&self) -> [(&'static str, &Histogram); 3] {
        [
            ("queued_ns", &self.queued),
            ("wire_ns", &self.wire),
            ("total_ns", &self.total),
        ]
    }

    /// Records a request that was created, posted and answered at these times, and returns how long
    /// all of that took. `made` is `None` where the creation time is unknown; the request then
    /// counts as created when it was posted.
    pub(super) fn record(&mut self, made: Option<u64>, posted: u64, answered: u64) -> u64 {
        let made = made.unwrap_or(posted);
        self.queued.record(posted.saturating_sub(made));
        self.wire.record(answered.saturating_sub(posted));
        let total = answered.saturating_sub(made);
        self.total.record(total);
        total
    }

    /// Adds the measurements of another queue.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.queued.merge(&other.queued);
        self.wire.merge(&other.wire);
        self.total.merge(&other.total);
    }
}
