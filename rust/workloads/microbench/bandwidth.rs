// SPDX-License-Identifier: GPL-2.0

//! Bandwidth and message rate: as many operations as the send queue takes.
//!
//! The clock is read once for each completion. The measurement begins once the warm-up operations
//! are done and the side is told to continue; a side that is told earlier begins with the
//! completion that ends its warm-up. The measurement ends with the last completion. In an open loop
//! each operation completes, and has a latency.

#![forbid(unsafe_code)]

use super::poster::Poster;
use crate::{
    engine::{
        histogram::new_histogram,
        queue::Queue, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        data::pattern::Mismatch,
        failure::Failure,
        measure::histogram::Histogram, //
    }, //
};
use kernel::prelude::*;

/// A side that posts operations and measures them.
pub(crate) struct Bandwidth {
    /// The operations to post.
    pub(crate) poster: Poster,
    /// Number of warm-up operations, which are not measured.
    warmup: u64,
    duration_ms: Option<u32>,
    /// Deadline of a test that is limited by time, set when the measurement begins.
    until: Option<Deadline>,
    /// Number of operations that were done when the measurement began; `None` before that.
    before: Option<u64>,
    started_ns: u64,
    ended_ns: u64,
    /// Latencies in an open loop, since each operation was due.
    latencies: Option<KBox<Histogram>>,
}

impl Bandwidth {
    /// Creates a side that measures the operations of `poster` after the first `warmup` ones. May
    /// sleep.
    pub(crate) fn new(poster: Poster, warmup: u64, duration_ms: Option<u32>) -> Result<Self> {
        let now = monotonic_ns();
        let is_timed = poster.open_loop.is_some();
        Ok(Self {
            latencies: is_timed.then(new_histogram).transpose()?,
            poster,
            warmup,
            duration_ms,
            until: None,
            before: None,
            started_ns: now,
            ended_ns: now,
        })
    }

    /// Fills the send queue.
    pub(crate) fn post(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while self.poster.post(queue)? {}
        Ok(())
    }

    /// Continues after the warm-up. Does nothing if it has already continued.
    pub(crate) fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.poster.window.holds() {
            return Ok(());
        }
        self.begin();
        self.poster.window.release();
        self.post(queue)
    }

    /// Returns true if the warm-up operations are done and no other is posted until
    /// [`go`](Self::go).
    pub(crate) fn held(&self) -> bool {
        self.poster.window.held() && self.poster.window.done() == self.warmup
    }

    /// Begins the measurement before [`go`](Self::go) lets operations continue. Does nothing if no
    /// operations are held, or the measurement has begun.
    pub(crate) fn begin(&mut self) {
        if self.held() && self.before.is_none() {
            self.measure(monotonic_ns());
        }
    }

    fn measure(&mut self, now: u64) {
        self.before = Some(self.poster.window.done());
        self.started_ns = now;
        self.poster.traffic().measuring(now);
        if !self.poster.begin(now) {
            self.until = self.duration_ms.map(Deadline::after_ms);
        }
    }

    /// Handles a completion, and fills the send queue again. Returns the first difference of
    /// numbered data that the operations have brought, if any.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let before = self.poster.window.done();
        let was_full = self.poster.window.room() == 0;
        let found = self.poster.completed(queue)?;
        self.ended_ns = monotonic_ns();
        if self.before.is_some() {
            let newly = self.poster.window.done().saturating_sub(before);
            let latency = self.take_latency(newly, was_full);
            let bytes = self.poster.bytes_from(before, newly);
            self.poster
                .traffic()
                .ended_bytes(self.ended_ns, (newly, bytes), latency);
        }
        if self.held() {
            return Ok(found);
        }
        if self.before.is_none() && self.poster.window.done() >= self.warmup {
            self.measure(self.ended_ns);
        }
        if self.until.is_some_and(Deadline::passed) {
            self.poster.window.stop();
        }
        self.poster.stop_in_time(self.ended_ns);
        self.post(queue)?;
        Ok(found)
    }

    /// Takes the latency of the operation of an open loop that has just ended, if `newly` says that
    /// one has. It has made room for another one if the window `was_full`.
    fn take_latency(&mut self, newly: u64, was_full: bool) -> Option<u64> {
        let open_loop = self.poster.open_loop.as_mut().filter(|_| newly > 0)?;
        let latencies = self.latencies.as_mut()?;
        if was_full {
            open_loop.made_room(self.ended_ns);
        }
        let latency = open_loop.ended(self.ended_ns, 0)?;
        latencies.record(latency);
        Some(latency)
    }

    /// Posts what is due by now, and returns the moment at which to call this again; `None` where
    /// all is posted.
    pub(crate) fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        self.post(queue)?;
        let now = monotonic_ns();
        self.poster.stop_in_time(now);
        Ok(self.poster.after(now))
    }

    /// Returns true if nothing is under way, and the next operation is not due yet.
    pub(crate) fn rests(&self) -> bool {
        let window = &self.poster.window;
        self.poster.follows_clock() && window.done() == window.posted() && !window.all_posted()
    }

    /// Returns the latencies, if they are taken.
    pub(crate) fn histogram(&self) -> Option<&Histogram> {
        self.latencies.as_deref()
    }

    /// Returns the number of measured operations.
    pub(crate) fn iterations(&self) -> u64 {
        let done = self.poster.window.done();
        done.saturating_sub(self.before.unwrap_or(done))
    }

    /// Returns the time at which the measurement began, and the time of the last completion.
    pub(crate) fn times(&self) -> (u64, u64) {
        (self.started_ns, self.ended_ns)
    }
}
