// SPDX-License-Identifier: GPL-2.0

//! An open loop: operations are due at moments of the clock, whatever becomes of those before.
//!
//! [`Moments`] has the rules. `docs/performance.md` defines the figures.

#![forbid(unsafe_code)]

use crate::{
    engine::histogram::new_open_loop_figures,
    logic::{
        command::Command,
        measure::{
            moments::Moments,
            schedule::{
                OpenLoopFigures,
                Share, //
            }, //
        }, //
    }, //
};
use kernel::prelude::*;

/// Time in ns after which to look whether an open loop has begun.
pub(crate) const IDLE_NS: u64 = 1_000_000;

/// Moments of one queue pair's operations, and what became of them.
pub(crate) struct OpenLoop {
    moments: Moments,
    figures: KBox<OpenLoopFigures>,
}

impl OpenLoop {
    /// Creates the loop of a queue pair with that share. May sleep.
    #[inline(never)]
    pub(crate) fn new(share: Share, duration_ms: Option<u32>) -> Result<KBox<Self>> {
        let this = Self {
            moments: Moments::new(share, duration_ms),
            figures: new_open_loop_figures()?,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Creates the loop of a thread with one queue pair; `None` where the command has none. May
    /// sleep.
    pub(crate) fn of(command: &Command) -> Result<Option<KBox<Self>>> {
        let share = command.share();
        share
            .map(|share| Self::new(share, command.duration_ms()))
            .transpose()
    }

    /// Begins the measurement. See [`Moments::begin`].
    pub(crate) fn begin(&mut self, now: u64, turn: u16) {
        self.moments.begin(now, turn);
    }

    /// Returns true once the measurement has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.moments.has_begun()
    }

    /// Returns true if the next operation may be posted at `now`.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.moments.is_due(now)
    }

    /// Returns true if no more operations are posted, as the time of the run is over at `now`. See
    /// [`Moments::ends`].
    pub(crate) fn ends(&mut self, now: u64) -> bool {
        self.moments.ends(now, &mut self.figures)
    }

    /// Notes that an operation is posted at `now`.
    pub(crate) fn posted(&mut self, now: u64) {
        self.moments.posted(now, &mut self.figures);
    }

    /// Notes that at `now` there is room for another operation, and was none before.
    pub(crate) fn made_room(&mut self, now: u64) {
        self.moments.made_room(now);
    }

    /// Notes that the oldest operation has ended at `now`, and returns its latency. See
    /// [`Moments::ended`].
    pub(crate) fn ended(&mut self, now: u64, halvings: u32) -> Option<u64> {
        self.moments.ended(now, halvings)
    }

    /// Returns the next moment after `now` at which to look whether an operation is due; where the
    /// loop has not begun, one at which to look whether it has. `None` where nothing more becomes
    /// due.
    pub(crate) fn after(&self, now: u64) -> Option<u64> {
        match self.has_begun() {
            false => Some(now.saturating_add(IDLE_NS)),
            true => self.moments.after(now),
        }
    }

    /// Returns the figures.
    pub(crate) fn figures(&self) -> &OpenLoopFigures {
        &self.figures
    }
}
