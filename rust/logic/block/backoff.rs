// SPDX-License-Identifier: GPL-2.0

//! How long to wait before the next attempt to connect.

/// The pauses between the attempts of one who has lost its connection: each twice as long as the
/// one before, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next_ms: u32,
}

impl Backoff {
    /// The first pause, in milliseconds.
    const FIRST_MS: u32 = 50;
    /// The longest pause, in milliseconds.
    const LAST_MS: u32 = 2000;

    /// That of a connection that has just been lost.
    pub(crate) const fn new() -> Self {
        Self {
            next_ms: Self::FIRST_MS,
        }
    }

    /// How long to wait now, in milliseconds.
    pub(crate) fn next_ms(&mut self) -> u32 {
        let now = self.next_ms;
        self.next_ms = now.saturating_mul(2).min(Self::LAST_MS);
        now
    }
}
