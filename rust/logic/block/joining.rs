// SPDX-License-Identifier: GPL-2.0

//! When a server's answers go together in one message.
//!
//! A message of its own for each answer costs the device more than the answer is worth, where many
//! are due. So while an answer is on its way, those that become due wait for it, and then go
//! together; its way is over when its SEND completes, which the client's device has then taken.
//! Under load that happens by itself, and no clock is needed: the more answers become due
//! meanwhile, the more share a message, and none waits for longer than one trip over the network.
//!
//! Where few are due this would gain nothing, and each completion that is asked for costs
//! something. So it is on or off by what has been seen: how many answers became due on the way of
//! those that were watched. While it is off, only some are.
//!
//! ```text
//! off:  a a a a ... a          each goes at once, and one now and then is watched:
//!                   |a|        few on its way, so it stays off
//! on:   |a aaaaa|aaaaa aa|aaa  what became due on the way of one is the next message
//! ```

use super::answer::Response;

/// So many that become due on the way of one are worth waiting for each other.
const FEW: u32 = 4;

/// After so many in a row with fewer on their way it is off. Requests come in waves, and the last
/// answer of each has none behind it.
const PATIENCE: u32 = 8;

/// While it is off, an answer is watched after so many that were not.
const SELDOM: u32 = 16;

/// What one connection's answers do.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// How many more with few on their way leave it on; 0 where it is off.
    patience: u32,
    /// The number of its SEND in the send queue.
    watched: Option<u64>,
    /// How many became due since that was posted; where none is, since it completed.
    due: u32,
}

impl Joining {
    /// Notes that an answer is due.
    pub(crate) fn due(&mut self) {
        self.due = self.due.saturating_add(1);
    }

    /// Whether a message is to be sent, now that so many answers wait: when there are enough for a
    /// whole one, too. So of a loss on the way, which the client's device notices by what comes
    /// next, it need not be told by a timer.
    pub(crate) fn sends(&self, waiting: usize) -> bool {
        let wait = self.patience > 0 && self.watched.is_some();
        waiting > 0 && (!wait || waiting >= Response::JOINED)
    }

    /// Whether the next SEND of answers must ask for a completion, to be watched.
    pub(crate) fn must_ask(&self) -> bool {
        self.watched.is_none() && (self.patience > 0 || self.due >= SELDOM)
    }

    /// Notes that answers have been posted, in the SEND of that `number`, which has `asked` for a
    /// completion or not.
    pub(crate) fn posted(&mut self, number: u64, asked: bool) {
        if asked && self.watched.is_none() {
            self.watched = Some(number);
            self.due = 0;
        }
    }

    /// Notes that all requests in the send queue up to `number` are done.
    pub(crate) fn done(&mut self, number: u64) {
        if self.watched.is_some_and(|watched| watched <= number) {
            self.watched = None;
            self.patience = if self.due >= FEW {
                PATIENCE
            } else {
                self.patience.saturating_sub(1)
            };
            self.due = 0;
        }
    }
}
