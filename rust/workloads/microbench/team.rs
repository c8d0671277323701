// SPDX-License-Identifier: GPL-2.0

//! State that the queue pairs of one thread share.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Queue pairs of a thread that are measured together. It only marks moments, and is read at each
/// operation, so it takes no lock.
pub(crate) struct Team {
    /// Not 0 once the first of the queue pairs has ended.
    stopped: Atomic<u32>,
    /// Number of queue pairs that have taken a turn.
    turns: Atomic<u32>,
}

impl Team {
    /// Creates the state of queue pairs that have not run yet.
    pub(crate) fn new() -> Self {
        Self {
            stopped: Atomic::new(0),
            turns: Atomic::new(0),
        }
    }

    /// Returns the turn of a queue pair among those that post in turns: each has another one.
    pub(crate) fn take_turn(&self) -> u16 {
        // There are no more than `qps=` takes.
        self.turns.fetch_add(1, Relaxed) as u16
    }

    /// Notes that a queue pair has ended.
    pub(crate) fn stop(&self) {
        self.stopped.store(1, Relaxed);
    }

    /// Returns true if any queue pair has ended.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Relaxed) != 0
    }
}
