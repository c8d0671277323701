// SPDX-License-Identifier: GPL-2.0

//! An open loop: operations are due at moments of the clock, whatever becomes of those before.
//!
//! What is due is posted at once if there is room, else as soon as there is. Its latency counts
//! from the moment at which it was due in either case, so the wait for those before it is in it.
//! `docs/performance.md` defines the figures.

#![forbid(unsafe_code)]

use super::{
    plan::Plan,
    team::Team, //
};
use crate::{
    engine::histogram::new_open_loop_figures,
    logic::measure::schedule::{
        OpenLoopFigures,
        Schedule,
        Share, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Moments of a loop that has begun.
struct Moments {
    /// Moments of the operations that are to be posted.
    posts: Schedule,
    /// Moments of the operations that are to end.
    ends: Schedule,
    /// Moment after which none is due.
    last_ns: u64,
}

/// Moments of one queue pair's operations, and what became of them.
pub(super) struct OpenLoop {
    share: Share,
    team: Arc<Team>,
    duration_ns: Option<u64>,
    /// `None` before the measurement begins.
    moments: Option<Moments>,
    /// Time of the last post.
    posted_ns: u64,
    /// Time at which the last operation before the next one made room for it.
    room_ns: u64,
    figures: KBox<OpenLoopFigures>,
}

impl OpenLoop {
    /// Creates the loop of `plan`, of queue pairs that share `team`; `None` where the plan has
    /// none. May sleep.
    #[inline(never)]
    pub(super) fn new(plan: &Plan, team: Option<&Arc<Team>>) -> Result<Option<KBox<Self>>> {
        let Some((share, team)) = plan.share.zip(team) else {
            return Ok(None);
        };
        let each = Self {
            share,
            team: team.clone(),
            duration_ns: plan.duration_ms.map(|ms| u64::from(ms) * 1_000_000),
            moments: None,
            posted_ns: 0,
            room_ns: 0,
            figures: new_open_loop_figures()?,
        };
        Ok(Some(KBox::new(each, GFP_KERNEL)?))
    }

    /// Begins the measurement at `now`. Until then operations are posted as in a closed loop.
    pub(super) fn begin(&mut self, now: u64) {
        let schedule = self.share.schedule(now, self.team.take_turn());
        let duration_ns = self.duration_ns.unwrap_or(u64::MAX);
        self.moments = Some(Moments {
            posts: schedule,
            ends: schedule,
            last_ns: now.saturating_add(duration_ns),
        });
        self.room_ns = now;
    }

    /// Returns true once the measurement has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.moments.is_some()
    }

    /// Returns true if the next operation may be posted at `now`.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let moments = self.moments.as_ref();
        moments.is_none_or(|moments| moments.posts.next() <= now.min(moments.last_ns))
    }

    /// Returns true if the time of the run has come to its end at `now`, or will before the next
    /// operation is due.
    pub(super) fn is_over(&self, now: u64) -> bool {
        let moments = self.moments.as_ref();
        moments.is_some_and(|moments| now.max(moments.posts.next()) > moments.last_ns)
    }

    /// Notes that no more operations are posted, because of [`is_over`](Self::is_over).
    pub(super) fn end(&mut self) {
        if let Some(moments) = &self.moments {
            self.figures.unposted = moments.posts.due_by(moments.last_ns);
        }
    }

    /// Notes that an operation is posted at `now`.
    pub(super) fn posted(&mut self, now: u64) {
        let Some(moments) = &mut self.moments else {
            return;
        };
        let due = moments.posts.next();
        moments.posts.advance();
        self.figures.lateness.record(now.saturating_sub(due));
        if due < self.room_ns {
            self.figures.late = self.figures.late.saturating_add(1);
        }
        self.posted_ns = now;
    }

    /// Notes that at `now` there is room for another operation, and was none before.
    pub(super) fn made_room(&mut self, now: u64) {
        self.room_ns = now;
    }

    /// Notes that the oldest operation has ended at `now`, and returns its latency. Where the time
    /// since its post is halved, which is for one at a time, the time until its post is not.
    pub(super) fn ended(&mut self, now: u64, halvings: u32) -> Option<u64> {
        let moments = self.moments.as_mut()?;
        let due = moments.ends.next();
        moments.ends.advance();
        let posted = if halvings == 0 { due } else { self.posted_ns };
        let there = now.saturating_sub(posted).checked_shr(halvings);
        Some(
            posted
                .saturating_sub(due)
                .saturating_add(there.unwrap_or(0)),
        )
    }

    /// Returns the next moment after `now` at which to look whether an operation is due.
    pub(super) fn after(&self, now: u64) -> u64 {
        let moments = self.moments.as_ref();
        moments.map_or(now, |moments| moments.posts.after(now).min(moments.last_ns))
    }

    /// Returns the figures.
    pub(super) fn figures(&self) -> &OpenLoopFigures {
        &self.figures
    }
}
