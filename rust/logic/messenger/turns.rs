// SPDX-License-Identifier: GPL-2.0

//! The messages that a client has under way on a connection.

/// The messages that a client has under way on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Messages to send; 0 is without end.
    count: u64,
    /// The most of them at a time.
    inflight: u16,
    begun: u64,
    done: u64,
    is_over: bool,
}

impl Turns {
    /// Creates the state before the first of `count` messages, of which up to `inflight` may be
    /// under way; 0 messages are without end.
    pub(crate) const fn new(count: u64, inflight: u16) -> Self {
        Self {
            count,
            inflight,
            begun: 0,
            done: 0,
            is_over: false,
        }
    }

    /// Returns true where another may begin.
    pub(crate) fn may_begin(&self) -> bool {
        !self.has_begun_all() && !self.is_full()
    }

    /// Returns true where as many are under way as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.under_way() >= self.inflight.into()
    }

    /// Notes that one has begun, and returns its number.
    pub(crate) fn begin(&mut self) -> u64 {
        let number = self.begun;
        self.begun = self.begun.wrapping_add(1);
        number
    }

    /// Notes that one is done: the oldest.
    pub(crate) fn finish(&mut self) {
        if self.under_way() > 0 {
            self.done = self.done.wrapping_add(1);
        }
    }

    /// Notes that the time is over: no more begin.
    pub(crate) fn is_time(&mut self) {
        self.is_over = true;
    }

    /// Returns the number of those that have begun and are not done.
    pub(crate) fn under_way(&self) -> u64 {
        self.begun.wrapping_sub(self.done)
    }

    /// Returns the number of those that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Returns true where no more begin.
    pub(crate) fn has_begun_all(&self) -> bool {
        self.is_over || self.count != 0 && self.begun >= self.count
    }

    /// Returns true where all are done.
    pub(crate) fn is_done(&self) -> bool {
        self.has_begun_all() && self.under_way() == 0
    }
}
