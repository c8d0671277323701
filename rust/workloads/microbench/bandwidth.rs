// SPDX-License-Identifier: GPL-2.0

//! Bandwidth and message rate: as many operations as the send queue takes.
//!
//! The clock is read once for each completion. What is measured begins with the
//! completion that ends the warm-up, when the queue is full, and ends with the
//! last one.

#![forbid(unsafe_code)]

use super::poster::Poster;
use crate::{
    kernel_ext::time::Deadline,
    logic::failure::Failure,
    rdma::qp::Queue, //
};
use kernel::time::{
    Instant,
    Monotonic, //
};

/// One side that posts.
pub(crate) struct Bandwidth {
    /// What it posts.
    pub(crate) poster: Poster,
    /// Operations that are not measured.
    warmup: u64,
    duration_ms: Option<u32>,
    /// When to stop, once it is measured.
    until: Option<Deadline>,
    /// Operations that were done when measuring began; `None` before.
    before: Option<u64>,
    started: Instant<Monotonic>,
    ended: Instant<Monotonic>,
}

impl Bandwidth {
    /// Measures what `poster` does after `warmup` operations.
    pub(crate) fn new(poster: Poster, warmup: u64, duration_ms: Option<u32>) -> Self {
        let now = Instant::now();
        Self {
            poster,
            warmup,
            duration_ms,
            until: None,
            before: None,
            started: now,
            ended: now,
        }
    }

    /// Fills the send queue.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn post(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while self.poster.post(queue)? {}
        Ok(())
    }

    /// Goes on from the warm-up.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.poster.window.holds() {
            return Ok(());
        }
        self.begin();
        self.poster.window.release();
        self.post(queue)
    }

    /// Whether nothing goes on until [`go`](Self::go).
    pub(crate) fn held(&self) -> bool {
        self.poster.window.held() && self.poster.window.done() == self.warmup
    }

    /// Begins to measure, before [`go`](Self::go) lets operations go on. Does nothing where none
    /// are held, or it has begun.
    pub(crate) fn begin(&mut self) {
        if self.held() && self.before.is_none() {
            self.measure(Instant::now());
        }
    }

    fn measure(&mut self, now: Instant<Monotonic>) {
        self.before = Some(self.poster.window.done());
        self.started = now;
        self.until = self.duration_ms.map(Deadline::after_ms);
    }

    /// Takes a completion, and fills the send queue again.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.poster.completed();
        self.ended = Instant::now();
        if self.held() {
            return Ok(());
        }
        if self.before.is_none() && self.poster.window.done() >= self.warmup {
            self.measure(self.ended);
        }
        if self.until.is_some_and(Deadline::passed) {
            self.poster.window.stop();
        }
        self.post(queue)
    }

    /// Operations that have been measured.
    pub(crate) fn iterations(&self) -> u64 {
        let done = self.poster.window.done();
        done.saturating_sub(self.before.unwrap_or(done))
    }

    /// When measuring began, and when the last operation was done.
    pub(crate) fn times(&self) -> (Instant<Monotonic>, Instant<Monotonic>) {
        (self.started, self.ended)
    }
}
