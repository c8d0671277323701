// SPDX-License-Identifier: GPL-2.0

//! Exponential backoff between attempts to reconnect.

/// The pauses between a client's attempts to reconnect after connection loss. Each is twice as long
/// as the one before, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next_ms: u32,
}

impl Backoff {
    /// The first pause, in milliseconds.
    const FIRST_MS: u32 = 50;
    /// The longest pause, in milliseconds.
    const LAST_MS: u32 = 2000;

    /// Starts with the shortest pause, for a connection that has just been lost.
    pub(crate) const fn new() -> Self {
        Self {
            next_ms: Self::FIRST_MS,
        }
    }

    /// Returns the next pause, in milliseconds, and doubles the one after it.
    pub(crate) fn next_ms(&mut self) -> u32 {
        let now = self.next_ms;
        self.next_ms = now.saturating_mul(2).min(Self::LAST_MS);
        now
    }
}
