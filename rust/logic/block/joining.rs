// SPDX-License-Identifier: GPL-2.0

//! Coalescing: decides when a server sends several answers in one message.
//!
//! Under load, one message per answer is expensive for the device. So while a message of answers is
//! in flight, new answers wait, and are then sent together. The flight ends when the SEND
//! completes, which means that the client's device has the message. No timer is needed: the more
//! answers become due during a flight, the more share the next message, and none waits for longer
//! than one trip over the network.
//!
//! With few answers this gains nothing, and each completion that is asked for has a cost. So
//! coalescing is switched on and off by measurement: some SENDs are watched, which means that they
//! ask for a completion, and the answers that become due during their flight are counted. While it
//! is off, only an occasional SEND is watched.
//!
//! ```text
//! off:  a a a a ... a          each answer is sent at once, and an occasional one is watched:
//!                   |a|        few become due during its flight, so it stays off
//! on:   |a aaaaa|aaaaa aa|aaa  the answers that become due during a flight are the next message
//! ```

use super::answer::Response;

/// The number of answers due during one flight from which coalescing is worth it.
const FEW: u32 = 4;

/// The number of flights in a row with fewer than [`FEW`] answers after which coalescing is off.
/// One is not enough: requests come in waves, and no answer follows the last one of a wave.
const PATIENCE: u32 = 8;

/// While coalescing is off, a SEND is watched once this many answers have become due since the last
/// watched one completed.
const SELDOM: u32 = 16;

/// The state of coalescing on one connection.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// The number of further flights with few answers until coalescing is off; 0 where it is off.
    joining: u32,
    /// The send queue number of the watched SEND, while one is in flight.
    watched: Option<u64>,
    /// The number of answers that became due since the watched SEND was posted, or, while none is
    /// in flight, since the last one completed.
    due: u32,
}

impl Joining {
    /// Notes that an answer is due.
    pub(crate) fn due(&mut self) {
        self.due = self.due.saturating_add(1);
    }

    /// Returns true where a message is to be sent now, with `waiting` answers waiting.
    ///
    /// A full message is sent even during a flight. So if a message is lost, the client's device
    /// notices the gap when the next one arrives, without waiting for a retransmit timer.
    pub(crate) fn sends(&self, waiting: usize) -> bool {
        let wait = self.joining > 0 && self.watched.is_some();
        waiting > 0 && (!wait || waiting >= Response::JOINED)
    }

    /// Returns true where the next SEND of answers must ask for a completion, to be watched.
    pub(crate) fn must_ask(&self) -> bool {
        self.watched.is_none() && (self.joining > 0 || self.due >= SELDOM)
    }

    /// Notes that answers have been posted in the SEND of that `number`. `asked` is true where it
    /// asked for a completion.
    pub(crate) fn posted(&mut self, number: u64, asked: bool) {
        if asked && self.watched.is_none() {
            self.watched = Some(number);
            self.due = 0;
        }
    }

    /// Notes that all work requests in the send queue up to `number` are done.
    pub(crate) fn done(&mut self, number: u64) {
        if self.watched.is_some_and(|watched| watched <= number) {
            self.watched = None;
            self.joining = if self.due >= FEW {
                PATIENCE
            } else {
                self.joining.saturating_sub(1)
            };
            self.due = 0;
        }
    }
}
