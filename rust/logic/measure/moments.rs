// SPDX-License-Identifier: GPL-2.0

//! The operations of an open loop between the moments at which they are due and their ends.
//!
//! What is due is posted at once if there is room, else as soon as there is. Its latency counts
//! from the moment at which it was due in either case, so the wait for those before it is in it.
//! Operations end in the order in which they were posted.

use super::schedule::{
    OpenLoopFigures,
    Schedule,
    Share, //
};

/// Moments of a loop that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Moments of the operations that are to be posted.
    posts: Schedule,
    /// Moments of the operations that are to end.
    ends: Schedule,
    /// Moment after which none is due.
    last_ns: u64,
}

/// Moments of one connection's operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    share: Share,
    duration_ns: u64,
    /// `None` before the measurement begins.
    begun: Option<Begun>,
    /// Time of the last post.
    posted_ns: u64,
    /// Time at which the last operation before the next one made room for it.
    room_ns: u64,
    /// True once no more operations are posted.
    has_ended: bool,
}

impl Moments {
    /// Creates the moments of a loop that has not begun, and lasts for `duration_ms` if that is
    /// limited.
    pub(crate) fn new(share: Share, duration_ms: Option<u32>) -> Self {
        let duration_ns = duration_ms.map(|ms| u64::from(ms).saturating_mul(1_000_000));
        Self {
            share,
            duration_ns: duration_ns.unwrap_or(u64::MAX),
            begun: None,
            posted_ns: 0,
            room_ns: 0,
            has_ended: false,
        }
    }

    /// Begins the measurement at `now`, as number `turn` of those that take turns. Until then
    /// operations are posted as in a closed loop.
    pub(crate) fn begin(&mut self, now: u64, turn: u16) {
        let schedule = self.share.schedule(now, turn);
        self.begun = Some(Begun {
            posts: schedule,
            ends: schedule,
            last_ns: now.saturating_add(self.duration_ns),
        });
        self.room_ns = now;
    }

    /// Returns true once the measurement has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Returns true if the next operation may be posted at `now`.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        let begun = self.begun.as_ref();
        begun.is_none_or(|begun| begun.posts.next() <= now.min(begun.last_ns))
    }

    /// Returns true if no more operations are posted at `now`: none is due by the end of the run,
    /// or there was no room for the next one until then. One for which there was room may be
    /// posted later, as a timer is never early.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        let begun = self.begun.as_ref();
        begun.is_some_and(|begun| {
            let had_no_room = now.min(self.room_ns) > begun.last_ns;
            begun.posts.next() > begun.last_ns || had_no_room
        })
    }

    /// Notes that no more operations are posted if [`is_over`](Self::is_over) at `now`, and counts
    /// those for which there was no room. Returns true if no more are posted.
    pub(crate) fn ends(&mut self, now: u64, figures: &mut OpenLoopFigures) -> bool {
        if !self.has_ended && self.is_over(now) {
            self.has_ended = true;
            if let Some(begun) = &self.begun {
                let unposted = begun.posts.due_by(begun.last_ns);
                figures.unposted = figures.unposted.saturating_add(unposted);
            }
        }
        self.has_ended
    }

    /// Notes that an operation is posted at `now`.
    pub(crate) fn posted(&mut self, now: u64, figures: &mut OpenLoopFigures) {
        let Some(begun) = &mut self.begun else {
            return;
        };
        let due = begun.posts.next();
        begun.posts.advance();
        figures.lateness.record(now.saturating_sub(due));
        if due < self.room_ns {
            figures.late = figures.late.saturating_add(1);
        }
        self.posted_ns = now;
    }

    /// Notes that at `now` there is room for another operation, and was none before.
    pub(crate) fn made_room(&mut self, now: u64) {
        self.room_ns = now;
    }

    /// Notes that the oldest operation has ended at `now`, and returns its latency. Where the time
    /// since its post is halved, which is for one at a time, the time until its post is not.
    pub(crate) fn ended(&mut self, now: u64, halvings: u32) -> Option<u64> {
        let begun = self.begun.as_mut()?;
        let due = begun.ends.next();
        begun.ends.advance();
        let posted = if halvings == 0 { due } else { self.posted_ns };
        let there = now.saturating_sub(posted).checked_shr(halvings);
        Some(
            posted
                .saturating_sub(due)
                .saturating_add(there.unwrap_or(0)),
        )
    }

    /// Returns the next moment after `now` at which to look whether an operation is due. `None`
    /// where nothing becomes due any more, or the measurement has not begun.
    pub(crate) fn after(&self, now: u64) -> Option<u64> {
        let begun = self.begun.as_ref()?;
        let next = begun.posts.after(now).min(begun.last_ns);
        (next > now && !self.is_over(now)).then_some(next)
    }
}
