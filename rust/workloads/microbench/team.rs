// SPDX-License-Identifier: GPL-2.0

//! State that the queue pairs of one thread share.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Flag that is set when the first of the queue pairs of a thread ends. It only marks a moment, and
/// is read at each operation, so it takes no lock.
pub(crate) struct Team {
    stopped: Atomic<u32>,
}

impl Team {
    /// Creates the flag for queue pairs that have not run yet.
    pub(crate) fn new() -> Self {
        Self {
            stopped: Atomic::new(0),
        }
    }

    /// Sets the flag: a queue pair has ended.
    pub(crate) fn stop(&self) {
        self.stopped.store(1, Relaxed);
    }

    /// Returns true if any queue pair has ended.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Relaxed) != 0
    }
}
