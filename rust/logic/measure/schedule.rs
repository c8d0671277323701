// SPDX-License-Identifier: GPL-2.0

//! The moments at which operations of an open loop are due.
//!
//! The `rate` operations per second of a command are divided among its threads, and the queue pairs
//! of a thread take turns. So operation `n` of queue pair `turn`, both from 0, is due after
//! `(n * queue_pairs + turn + 1) * threads / rate` seconds, rounded down to a nanosecond. The first
//! one is not due at once, so that the time until the last one is never less than what all take at
//! the rate.
//!
//! [`Schedule`] steps from one moment to the next by additions, and carries the fraction of a
//! nanosecond along, so that it does not drift, however long it runs.

use super::{
    histogram::{
        largest,
        Histogram, //
    },
    latencies::write_stage, //
};
use crate::logic::text::json::Object;
use core::fmt;

const NS_PER_S: u64 = 1_000_000_000;

/// The share that each queue pair has of the rate of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Operations per second of the whole command.
    pub(crate) rate: u32,
    /// Threads of the command.
    pub(crate) threads: u32,
    /// Queue pairs of each thread.
    pub(crate) queue_pairs: u16,
}

impl Share {
    /// Returns the moments of queue pair number `turn` of its thread, from `start_ns` on.
    pub(crate) fn schedule(&self, start_ns: u64, turn: u16) -> Schedule {
        let turn = turn.checked_rem(self.queue_pairs).unwrap_or(0);
        // At most 1024 * 256 * 10^9.
        let second = u64::from(self.threads.max(1)).saturating_mul(NS_PER_S);
        let all = second.saturating_mul(self.queue_pairs.max(1).into());
        let first = second.saturating_mul(u64::from(turn).saturating_add(1));
        Schedule {
            start_ns,
            next: Moment::new(first, self.rate),
            step: Moment::new(all, self.rate),
            rate: self.rate.max(1),
        }
    }
}

/// A time in nanoseconds, with a fraction that has the rate as its denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    ns: u64,
    part: u32,
}

impl Moment {
    /// Returns `dividend / rate` nanoseconds.
    fn new(dividend: u64, rate: u32) -> Self {
        let rate = u64::from(rate.max(1));
        Self {
            ns: dividend.checked_div(rate).unwrap_or(0),
            // Less than the rate.
            part: dividend.checked_rem(rate).unwrap_or(0) as u32,
        }
    }
}

/// The moments at which the operations of a queue pair are due, from the next one on.
///
/// # Invariants
///
/// The fractions are less than 1, and `rate` is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    start_ns: u64,
    /// The next moment, after the start.
    next: Moment,
    /// The time between two moments.
    step: Moment,
    rate: u32,
}

impl Schedule {
    /// Returns the moment at which the next operation is due.
    pub(crate) fn next(&self) -> u64 {
        self.start_ns.saturating_add(self.next.ns)
    }

    /// Steps to the operation after the next one.
    pub(crate) fn advance(&mut self) {
        let part = u64::from(self.next.part).saturating_add(self.step.part.into());
        let carry = part >= u64::from(self.rate);
        let rest = if carry { self.rate.into() } else { 0 };
        self.next = Moment {
            ns: self
                .next
                .ns
                .saturating_add(self.step.ns)
                .saturating_add(carry.into()),
            // Less than the rate.
            part: part.saturating_sub(rest) as u32,
        };
    }

    /// Returns the moment of the first operation that is due after `now`; that of the next one
    /// where it has not passed.
    pub(crate) fn after(&self, now: u64) -> u64 {
        match self.next() {
            next if next > now => next,
            _ => self.moment(self.due_by(now)),
        }
    }

    /// Returns the moment of the operation that `count` others, from the next one on, go before.
    fn moment(&self, count: u64) -> u64 {
        let (rate, part) = (u64::from(self.rate), u64::from(self.step.part));
        // Both are less than 2^32, so their product fits.
        let rest = count.checked_rem(rate).unwrap_or(0).saturating_mul(part);
        let rest = rest.saturating_add(self.next.part.into());
        let whole = count.checked_div(rate).unwrap_or(0).saturating_mul(part);
        self.next()
            .saturating_add(count.saturating_mul(self.step.ns))
            .saturating_add(whole)
            .saturating_add(rest.checked_div(rate).unwrap_or(0))
    }

    /// Returns the number of operations, from the next one on, that are due by `moment`.
    pub(crate) fn due_by(&self, moment: u64) -> u64 {
        let Some(after) = moment.checked_sub(self.start_ns) else {
            return 0;
        };
        let rate = u128::from(self.rate);
        let whole = |moment: Moment| {
            u128::from(moment.ns)
                .wrapping_mul(rate)
                .wrapping_add(moment.part.into())
        };
        let (next, step) = (whole(self.next), whole(self.step));
        // Rounded down, a moment is due by `after` where it is before the next nanosecond.
        let end = u128::from(after).wrapping_add(1).wrapping_mul(rate);
        largest(|count| {
            let last = u128::from(count).checked_sub(1);
            let last = last.and_then(|last| last.checked_mul(step));
            count == 0 || last.is_some_and(|last| last.saturating_add(next) < end)
        })
    }
}

/// Figures of an open loop. Like a [`Histogram`], too large for a stack.
pub(crate) struct OpenLoopFigures {
    /// Operations for which there was no room when they were due.
    pub(crate) late: u64,
    /// Operations that were due by the end of a run that is limited by time, and for which there
    /// was no room until then.
    pub(crate) unposted: u64,
    /// Time from the moment at which each operation was due to its post, in nanoseconds.
    pub(crate) lateness: Histogram,
}

impl OpenLoopFigures {
    /// Counts all that `other` counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.late = self.late.saturating_add(other.late);
        self.unposted = self.unposted.saturating_add(other.unposted);
        self.lateness.merge(&other.lateness);
    }

    /// Writes them, of a command with `rate` operations per second, as member `open_loop` of
    /// `object`.
    pub(crate) fn write(&self, rate: u32, object: &mut Object<'_>) -> fmt::Result {
        let mut member = object.object("open_loop")?;
        member
            .num("rate", rate)?
            .num("late", self.late)?
            .num("unposted", self.unposted)?;
        if self.lateness.count() > 0 {
            write_stage(&mut member, "lateness_ns", &self.lateness)?;
        }
        member.finish()
    }
}
