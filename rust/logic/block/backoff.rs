// SPDX-License-Identifier: GPL-2.0

//! Exponential backoff between attempts to reconnect.

/// The pauses of a client that connects again and again. Each is up to twice as long as the one
/// before, up to a limit, and random within its upper half, so that clients which lose their
/// connections together do not return together. Only a connection that has lasted begins anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    /// The longest that the next pause may be, in milliseconds; 0 for none.
    next_ms: u32,
}

impl Backoff {
    /// The first pause, in milliseconds.
    const FIRST_MS: u32 = 50;
    /// The longest pause, in milliseconds.
    const LAST_MS: u32 = 2000;
    /// The time in milliseconds for which a connection must have been there to have lasted.
    const LASTING_MS: u64 = 10_000;

    /// Starts without a pause, for a connection that is the first one.
    pub(crate) const fn new() -> Self {
        Self { next_ms: 0 }
    }

    /// Notes that a connection has been lost that was there for `ms`.
    pub(crate) fn lost_after(&mut self, ms: u64) {
        if ms >= Self::LASTING_MS {
            *self = Self::new();
        }
    }

    /// Returns the pause before the next attempt in milliseconds, of which `random` chooses, and
    /// lengthens the one after it.
    pub(crate) fn next_ms(&mut self, random: u64) -> u32 {
        let most = self.next_ms;
        self.next_ms = most.saturating_mul(2).clamp(Self::FIRST_MS, Self::LAST_MS);
        let half = most / 2;
        let share = random % (u64::from(half) + 1);
        // It is below the half, which fits.
        (most - half).saturating_add(share as u32)
    }
}
