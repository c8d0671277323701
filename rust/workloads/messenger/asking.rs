// SPDX-License-Identifier: GPL-2.0

//! The messages of the side that begins them.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        messenger::{
            header::Kind,
            turns::Turns, //
        }, //
    }, //
};
use kernel::prelude::*;

/// The messages of the side that begins them.
pub(super) struct Asking {
    pub(super) kind: Kind,
    pub(super) turns: Turns,
    /// The times at which those under way began.
    begun_ns: KVVec<u64>,
    duration_ms: Option<u32>,
    until: Deadline,
}

impl Asking {
    /// Creates the state before the first message of a command. May sleep.
    pub(super) fn new(command: &Command) -> Result<Self> {
        let inflight = command.messenger.inflight;
        Ok(Self {
            kind: match command.stream.echo {
                true => Kind::Request,
                false => Kind::OneWay,
            },
            turns: Turns::new(command.count, inflight),
            begun_ns: KVVec::from_elem(0, inflight.into(), GFP_KERNEL)?,
            duration_ms: command.duration_ms(),
            until: Deadline::never(),
        })
    }

    /// Begins the time of `duration=`.
    pub(super) fn start(&mut self) {
        self.until = Deadline::after(self.duration_ms);
    }

    /// Returns true where another message may begin, unless the time is over.
    pub(super) fn may_begin(&mut self) -> bool {
        if self.until.passed() {
            self.turns.is_time();
        }
        self.turns.may_begin()
    }

    /// Notes that a message begins.
    pub(super) fn begin(&mut self) {
        let number = self.turns.begin();
        if let Some(begun) = self.begun_at(number) {
            *begun = monotonic_ns();
        }
    }

    /// Notes that the oldest message is done at the time `now`, and returns how long it took.
    pub(super) fn finish(&mut self, now: u64) -> u64 {
        let begun = self.begun_at(self.turns.done()).map_or(now, |begun| *begun);
        self.turns.finish();
        now.saturating_sub(begun)
    }

    /// Returns the time at which message `number`, which is under way, began.
    fn begun_at(&mut self, number: u64) -> Option<&mut u64> {
        let place = number.checked_rem(self.begun_ns.len() as u64)?;
        self.begun_ns.get_mut(place as usize)
    }
}
