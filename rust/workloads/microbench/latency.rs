// SPDX-License-Identifier: GPL-2.0

//! Latency: one operation at a time, with the clock read once for each unless `untimed` is set.
//!
//! WRITEs and SENDs go back and forth, and their latency is half a round trip. A READ is measured
//! from its post to its completion. In an open loop, the time from the moment at which an operation
//! was due to its post is added.

#![forbid(unsafe_code)]

use super::{
    losses::QUIET_MS,
    plan::Plan,
    poster::Poster,
    team::Team, //
};
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
        failure::Failure,
        measure::histogram::Histogram, //
    },
    mr::BufferId,
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Detects the arrival of a plain WRITE by the last byte of the sink, which changes with each
/// operation.
pub(crate) struct Mark {
    /// Buffer that WRITEs are posted from.
    pub(crate) source: BufferId,
    /// Buffer that the peer's WRITEs arrive in.
    pub(crate) sink: BufferId,
    /// Offset of the last byte in both buffers.
    pub(crate) offset: usize,
}

impl Mark {
    /// Returns the value of the last byte in operation `number`. It is never 0, the initial value.
    fn value(number: u64) -> u8 {
        u8::try_from(number % 255).unwrap_or(0).wrapping_add(1)
    }
}

/// One side of a latency test with round trips or with READs.
pub(crate) struct Latency {
    /// The operations to post.
    pub(crate) poster: Poster,
    mark: Option<Mark>,
    /// This side leads: it begins the test and decides when it ends.
    leading: bool,
    /// Each operation is timed.
    timed: bool,
    /// Number of warm-up operations, which are not measured.
    warmup: u64,
    duration_ms: Option<u32>,
    /// Time in ns after which something was lost, and sent again by either side, so that the time
    /// of the operation says nothing; `None` where nothing is lost.
    patience_ns: Option<u64>,
    /// Time in ms after which a side that leads gives up, if nothing comes.
    timeout_ms: u32,
    /// The end of that time, counted from the last tick at which something had come.
    answer_by: Deadline,
    /// Deadline of a test that is limited by time, set when the measurement begins.
    until: Option<Deadline>,
    /// Operations that were posted again.
    unanswered: u64,
    /// Number of operations that had ended at the last tick.
    ticked: Option<u64>,
    /// The next operation is due, but it may not be posted yet.
    due: bool,
    /// Number of operations that have ended, including the warm-up.
    arrived: u64,
    /// The last operation has ended, or [`close`](Self::close) was called.
    closed: bool,
    /// Queue pairs that this one is measured together with.
    team: Option<Arc<Team>>,
    /// Time at which this queue pair continued after its warm-up, and number of operations that had
    /// ended by then.
    released: (u64, u64),
    /// Twice the number of operations that ended between `released` and the end of the team's first
    /// queue pair; `None` before that end is seen.
    halves: Option<u64>,
    begun_ns: u64,
    started_ns: u64,
    ended_ns: u64,
    histogram: KBox<Histogram>,
}

impl Latency {
    /// Creates a side that measures the operations of `poster` for `plan`. May sleep.
    pub(crate) fn new(
        poster: Poster,
        mark: Option<Mark>,
        plan: &Plan,
        team: Option<Arc<Team>>,
    ) -> Result<Self> {
        let histogram = new_histogram()?;
        let now = monotonic_ns();
        Ok(Self {
            poster,
            mark,
            leading: plan.leading,
            timed: plan.is_timed(),
            warmup: plan.warmup(),
            duration_ms: plan.duration_ms,
            patience_ns: plan
                .is_unreliable()
                .then_some(u64::from(QUIET_MS) * 1_000_000),
            timeout_ms: plan.timeout_ms,
            answer_by: Deadline::after_ms(plan.timeout_ms),
            until: None,
            unanswered: 0,
            ticked: None,
            due: false,
            arrived: 0,
            closed: false,
            // Those of an open loop all go at the same pace.
            team: team.filter(|_| !plan.is_paced()),
            released: (now, 0),
            halves: None,
            begun_ns: now,
            started_ns: now,
            ended_ns: now,
            histogram,
        })
    }

    /// Starts the test, on the leading side.
    pub(crate) fn begin(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.begun_ns = monotonic_ns();
        self.post(queue)
    }

    /// Continues after the warm-up, together with the other queue pairs. Does nothing if it has
    /// already continued.
    pub(crate) fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.poster.window.holds() {
            return Ok(());
        }
        let now = monotonic_ns();
        self.released = (now, self.arrived);
        if self.poster.begin(now) {
            self.poster.traffic().measuring(now);
            (self.started_ns, self.ended_ns) = (now, now);
        }
        self.poster.window.release();
        if self.due {
            self.post(queue)?;
        }
        Ok(())
    }

    /// Returns true if the operations posted so far have ended and no other is posted until
    /// [`go`](Self::go).
    pub(crate) fn held(&self) -> bool {
        self.poster.window.held() && self.has_all()
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

    /// Handles a completion of this side's operations.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.poster.completed(queue)?;
        if self.poster.fetches() {
            return self.arrived(queue);
        }
        if self.due {
            self.post(queue)?;
        }
        Ok(())
    }

    /// Handles the arrival of the peer's operation or of a READ's data, and posts the next
    /// operation unless this was the last one.
    pub(crate) fn arrived(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.arrived += 1;
        let last = self.leading && self.poster.window.all_posted();
        let first = self.arrived == self.warmup;
        if self.timed || first || last {
            self.take_time(first);
        }
        self.poster.stop_in_time(self.ended_ns);
        let last = last || self.leading && self.poster.window.all_posted();
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

    /// Posts the last operation again, if nothing has come since the last call that it waits for:
    /// on an unreliable queue pair either that operation or the answer may be lost.
    ///
    /// # Errors
    ///
    /// [`Failure::AllLost`] on the leading side once nothing has come for the timeout. The peer's
    /// keepalives, which are not lost, say nothing about that.
    pub(crate) fn tick(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let came = self.ticked.replace(self.arrived) != Some(self.arrived);
        // The side that does not lead waits for the next operation after each.
        let waits = !self.leading || self.arrived < self.poster.window.posted();
        if came || !waits || self.due || self.closed {
            self.answer_by = Deadline::after_ms(self.timeout_ms);
            return Ok(());
        }
        if self.leading && self.answer_by.passed() {
            return Err(Failure::AllLost(self.timeout_ms));
        }
        if self.poster.post_again(queue)? {
            self.unanswered += 1;
        }
        Ok(())
    }

    /// Returns the number of operations that were posted again.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Checks whether the first queue pair of the team has ended; `last` is true if this one has.
    /// The operation that was in flight at that time counts half.
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

    /// Returns the time at which this queue pair continued after its warm-up, and twice the number
    /// of operations that ended between that time and the end of the team's first queue pair.
    /// Returns `None` until that end is seen.
    pub(crate) fn stretch(&self) -> Option<(u64, u64)> {
        Some((self.released.0, self.halves?))
    }

    fn take_time(&mut self, first: bool) {
        let now = monotonic_ns();
        let ns = now.saturating_sub(self.begun_ns);
        let is_answered = self.patience_ns.is_none_or(|patience| ns < patience);
        let halvings = self.halvings();
        if self.timed && self.arrived > self.warmup && is_answered {
            let latency = match &mut self.poster.open_loop {
                Some(open_loop) => {
                    open_loop.made_room(now);
                    open_loop.ended(now, halvings)
                }
                None => ns.checked_shr(halvings),
            };
            let latency = latency.unwrap_or(0);
            self.histogram.record(latency);
            let bytes = self.poster.bytes_from(self.arrived - 1, 1);
            let traffic = self.poster.traffic();
            traffic.ended_bytes(now, (1, bytes), Some(latency));
        }
        if first && self.poster.open_loop.is_none() {
            self.poster.traffic().measuring(now);
            self.started_ns = now;
            self.until = self.duration_ms.map(Deadline::after_ms);
        }
        self.begun_ns = now;
        self.ended_ns = now;
    }

    /// Posts the next operation of an open loop if it is due by now, and returns the moment at
    /// which to call this again; `None` where all are posted.
    pub(crate) fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        if self.due {
            self.post(queue)?;
        }
        let now = monotonic_ns();
        self.poster.stop_in_time(now);
        // The last one may have ended before.
        self.closed |= self.poster.window.all_posted() && self.has_all();
        Ok(self.poster.after(now))
    }

    /// Returns true if nothing is under way, and the next operation is not due yet.
    pub(crate) fn rests(&self) -> bool {
        self.poster.follows_clock() && self.has_all() && !self.poster.window.all_posted()
    }

    /// Returns true if all operations that were posted have ended.
    fn has_all(&self) -> bool {
        self.arrived == self.poster.window.posted()
    }

    /// Returns the number of times that a measured time is halved to get a latency.
    pub(crate) fn halvings(&self) -> u32 {
        u32::from(!self.poster.fetches())
    }

    /// Checks the sink for the peer's next plain WRITE. Handles it and returns true if it has
    /// arrived.
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

    /// Notes that no more operations will arrive.
    pub(crate) fn close(&mut self) {
        if !self.timed && !self.closed {
            self.ended_ns = monotonic_ns();
        }
        self.closed = true;
    }

    /// Returns true if the next step is due only when an operation of this side has completed.
    pub(crate) fn awaits_own(&self) -> bool {
        let ends = self.closed && !self.has_completed();
        self.due || ends || self.poster.is_again()
    }

    /// Returns true if the completions of all operations have come. The side that does not lead
    /// knows only then that the peer has its answers, and may be told of no last one.
    fn has_completed(&self) -> bool {
        let window = &self.poster.window;
        match self.leading {
            true => window.finished(),
            false => !window.awaits_completion(),
        }
    }

    /// Returns true if all operations are done. The side that does not lead learns from the peer
    /// that no more will arrive.
    pub(crate) fn finished(&self) -> bool {
        self.has_completed() && (self.has_all() || !self.leading)
    }

    /// Returns the number of operations that have ended, including the warm-up.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrived
    }

    /// Returns the number of measured operations.
    pub(crate) fn iterations(&self) -> u64 {
        self.arrived.saturating_sub(self.warmup)
    }

    /// Returns the time at which the measurement began and the time at which the last operation
    /// ended. If operations are not timed, a side that does not see the last one uses the time of
    /// [`close`](Self::close).
    pub(crate) fn times(&self) -> (u64, u64) {
        (self.started_ns, self.ended_ns)
    }

    /// Returns the latencies, if each operation is timed.
    pub(crate) fn histogram(&self) -> Option<&Histogram> {
        self.timed.then_some(&*self.histogram)
    }
}
