// SPDX-License-Identifier: GPL-2.0

//! What the queue pairs of one thread tell each other.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Whether all queue pairs of a thread still run. It only marks a moment, and is read
/// at each operation, so it takes no lock.
pub(crate) struct Team {
    stopped: Atomic<u32>,
}

impl Team {
    /// Of queue pairs that are yet to run.
    pub(crate) fn new() -> Self {
        Self {
            stopped: Atomic::new(0),
        }
    }

    /// Says that one has come to its end.
    pub(crate) fn stop(&self) {
        self.stopped.store(1, Relaxed);
    }

    /// Whether any has come to its end.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Relaxed) != 0
    }
}
