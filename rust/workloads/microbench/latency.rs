// SPDX-License-Identifier: GPL-2.0

//! Latency: one operation at a time, with the clock read once for each.
//!
//! A WRITE or a SEND goes back and forth: what is measured is half of the way
//! there and back. A READ is measured from its post to its completion.

#![forbid(unsafe_code)]

use super::{
    plan::Plan,
    poster::Poster,
    team::Team, //
};
use crate::{
    engine::histogram::new_histogram,
    kernel_ext::time::Deadline,
    logic::{
        failure::{
            Failure,
            Operation, //
        },
        measure::histogram::Histogram, //
    },
    mr::BufferId,
    rdma::qp::Queue,
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// How a side sees that a plain WRITE has arrived: by the last byte of its sink,
/// which is another in each operation.
pub(crate) struct Mark {
    /// Where WRITEs are posted from.
    pub(crate) source: BufferId,
    /// Where the peer's arrive.
    pub(crate) sink: BufferId,
    /// The last byte of both.
    pub(crate) offset: usize,
}

impl Mark {
    /// What the last byte is in operation `number`; never 0, as it is at first.
    fn value(number: u64) -> u8 {
        u8::try_from(number % 255).unwrap_or(0).wrapping_add(1)
    }
}

/// One side of the way there and back, or of READs.
pub(crate) struct Latency {
    /// What it posts.
    pub(crate) poster: Poster,
    mark: Option<Mark>,
    /// Whether this side begins, and says when it ends.
    leading: bool,
    /// Whether each operation is timed.
    timed: bool,
    /// Operations that are not measured.
    warmup: u64,
    duration_ms: Option<u32>,
    /// When to stop, once it is measured.
    until: Option<Deadline>,
    /// A post is due for which the send queue has no room yet.
    due: bool,
    /// Operations that have come to their end.
    arrived: u64,
    /// The end has been timed.
    closed: bool,
    /// Those that it is measured together with.
    team: Option<Arc<Team>>,
    /// When it was let go on together with them, and what had arrived then.
    released: (Instant<Monotonic>, u64),
    /// Twice what had been done since then when the first of them came to its end.
    halves: Option<u64>,
    begun: Instant<Monotonic>,
    started: Instant<Monotonic>,
    ended: Instant<Monotonic>,
    histogram: KBox<Histogram>,
}

impl Latency {
    /// Measures what `poster` does, as `plan` says. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        poster: Poster,
        mark: Option<Mark>,
        plan: &Plan,
        team: Option<Arc<Team>>,
    ) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            poster,
            mark,
            leading: plan.leading,
            timed: !plan.load.untimed,
            warmup: plan.warmup(),
            duration_ms: plan.duration_ms,
            until: None,
            due: false,
            arrived: 0,
            closed: false,
            team,
            released: (now, 0),
            halves: None,
            begun: now,
            started: now,
            ended: now,
            histogram: new_histogram()?,
        })
    }

    /// Begins, on the side that leads.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn begin(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.begun = Instant::now();
        self.post(queue)
    }

    /// Goes on from the warm-up, together with others.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.poster.window.holds() {
            return Ok(());
        }
        self.released = (Instant::now(), self.arrived);
        self.poster.window.release();
        if self.due {
            self.post(queue)?;
        }
        Ok(())
    }

    /// Whether nothing goes on until [`go`](Self::go).
    pub(crate) fn held(&self) -> bool {
        self.poster.window.held() && self.arrived == self.poster.window.posted()
    }

    fn post(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if let Some(mark) = &self.mark {
            let value = Mark::value(self.poster.window.posted());
            queue
                .write(mark.source, mark.offset, &[value])
                .map_err(memory_failed)?;
        }
        self.due = !self.poster.post(queue)?;
        Ok(())
    }

    /// Takes a completion of this side's.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.poster.completed();
        if self.poster.operation() == Operation::Read {
            return self.arrived(queue);
        }
        if self.due {
            self.post(queue)?;
        }
        Ok(())
    }

    /// Takes the peer's operation, or the data of a READ: the next one is due.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn arrived(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.arrived = self.arrived.wrapping_add(1);
        let last = self.leading && self.poster.window.all_posted();
        let first = self.arrived == self.warmup;
        if self.timed || first || last {
            self.take_time(first);
        }
        self.compare(last);
        if last {
            self.closed = true;
            return Ok(());
        }
        if self.leading && self.until.is_some_and(Deadline::passed) {
            self.poster.window.stop();
        }
        self.post(queue)
    }

    /// Looks whether the first of the team has come to its end, or is it. What was under
    /// way then counts half.
    fn compare(&mut self, last: bool) {
        let Some(team) = self.team.as_ref().filter(|_| self.halves.is_none()) else {
            return;
        };
        let twice = self.arrived.saturating_sub(self.released.1) << 1;
        if team.stopped() {
            self.halves = Some(twice.saturating_sub(1));
        } else if last {
            team.stop();
            self.halves = Some(twice);
        }
    }

    /// When it went on together with others, and twice what it had done when the first
    /// of them came to its end.
    pub(crate) fn stretch(&self) -> Option<(Instant<Monotonic>, u64)> {
        Some((self.released.0, self.halves?))
    }

    fn take_time(&mut self, first: bool) {
        let now = Instant::now();
        if self.timed && self.arrived > self.warmup {
            let ns = u64::try_from((now - self.begun).as_nanos()).unwrap_or(0);
            let latency = ns.checked_shr(self.halvings()).unwrap_or(0);
            self.histogram.record(latency);
        }
        if first {
            self.started = now;
            self.until = self.duration_ms.map(Deadline::after_ms);
        }
        self.begun = now;
        self.ended = now;
    }

    /// How often a measured time is to be halved for a latency.
    pub(crate) fn halvings(&self) -> u32 {
        u32::from(self.poster.operation() != Operation::Read)
    }

    /// Looks at the memory where a plain WRITE arrives.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn look(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let Some(mark) = &self.mark else {
            return Ok(false);
        };
        let mut byte = [0];
        queue
            .memory()
            .read(mark.sink, mark.offset, &mut byte)
            .map_err(memory_failed)?;
        if byte != [Mark::value(self.arrived)] {
            return Ok(false);
        }
        self.arrived(queue)?;
        Ok(true)
    }

    /// Says that nothing more will come.
    pub(crate) fn close(&mut self) {
        if !self.timed && !self.closed {
            self.ended = Instant::now();
        }
        self.closed = true;
    }

    /// Whether all has been done, on the side that leads.
    pub(crate) fn finished(&self) -> bool {
        self.poster.window.finished() && self.arrived == self.poster.window.posted()
    }

    /// Operations that have come to their end, those before measuring included.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrived
    }

    /// Operations that have been measured.
    pub(crate) fn iterations(&self) -> u64 {
        self.arrived.saturating_sub(self.warmup)
    }

    /// When measuring began, and when the last operation came to its end; without a
    /// time for each, when that was [closed](Self::close).
    pub(crate) fn times(&self) -> (Instant<Monotonic>, Instant<Monotonic>) {
        (self.started, self.ended)
    }

    /// The latencies, where each was timed.
    pub(crate) fn histogram(&self) -> Option<&Histogram> {
        self.timed.then_some(&*self.histogram)
    }
}
