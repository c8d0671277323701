// SPDX-License-Identifier: GPL-2.0

//! The messages of the side that begins them.

#![forbid(unsafe_code)]

use super::pool::Pool;
use crate::{
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        measure::moments::Moments,
        messenger::{
            header::Kind,
            turns::Turns, //
        }, //
    }, //
};
use core::mem;
use kernel::prelude::*;

/// The messages of the side that begins them.
pub(super) struct Asking {
    pub(super) kind: Kind,
    pub(super) turns: Turns,
    /// The times at which those under way began.
    begun_ns: KVVec<u64>,
    duration_ms: Option<u32>,
    until: Deadline,
    /// The moments at which messages are due; `None` where each begins as soon as it can.
    moments: Option<Moments>,
    /// The message that has begun last has had to wait for a chunk or a send.
    has_waited: bool,
}

impl Asking {
    /// Creates the state before the first message of a command. May sleep.
    pub(super) fn new(command: &Command) -> Result<KBox<Self>> {
        let inflight = command.messenger.inflight;
        let this = Self {
            kind: match command.stream.echo {
                true => Kind::Request,
                false => Kind::OneWay,
            },
            turns: Turns::new(command.count, inflight),
            begun_ns: KVVec::from_elem(0, inflight.into(), GFP_KERNEL)?,
            duration_ms: command.duration_ms(),
            until: Deadline::never(),
            moments: command
                .share()
                .map(|share| Moments::new(share, command.duration_ms())),
            has_waited: false,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Begins the time of `duration=` at `now`, on the connection with that number. Returns true
    /// where messages are due at moments from then on.
    pub(super) fn start(&mut self, now: u64, number: u32) -> bool {
        match &mut self.moments {
            // There are no more connections than `conns=` takes.
            Some(moments) => moments.begin(now, number as u16),
            None => self.until = Deadline::after(self.duration_ms),
        }
        self.moments.is_some()
    }

    /// Returns true where another message may begin: unless the time is over, and if it is due.
    pub(super) fn may_begin(&mut self, pool: &Pool) -> bool {
        let Some(moments) = &mut self.moments else {
            if self.until.passed() {
                self.turns.is_time();
            }
            return self.turns.may_begin();
        };
        let now = monotonic_ns();
        if mem::take(&mut self.has_waited) {
            moments.made_room(now);
        }
        if !self.turns.has_begun_all() && moments.is_over(now) {
            pool.with_open_loop(|figures| moments.ends(now, figures));
            self.turns.is_time();
        }
        self.turns.may_begin() && moments.is_due(now)
    }

    /// Notes that a message begins.
    pub(super) fn begin(&mut self, pool: &Pool) {
        let now = monotonic_ns();
        let number = self.turns.begin();
        if let Some(begun) = self.begun_at(number) {
            *begun = now;
        }
        if let Some(moments) = &mut self.moments {
            pool.with_open_loop(|figures| moments.posted(now, figures));
        }
    }

    /// Notes that not all of the message that has begun last could be posted.
    pub(super) fn waits(&mut self) {
        self.has_waited = true;
    }

    /// Returns true where nothing is under way, and another message is not due yet.
    pub(super) fn rests(&self) -> bool {
        self.moments.is_some() && self.turns.under_way() == 0 && !self.turns.has_begun_all()
    }

    /// Notes that the oldest message is done at the time `now`, and returns how long it took, since
    /// it was due or since it has begun.
    pub(super) fn finish(&mut self, now: u64) -> u64 {
        let begun = self.begun_at(self.turns.done()).map_or(now, |begun| *begun);
        let was_full = self.turns.is_full();
        self.turns.finish();
        let since_due = self.moments.as_mut().and_then(|moments| {
            if was_full {
                moments.made_room(now);
            }
            moments.ended(now, 0)
        });
        since_due.unwrap_or(now.saturating_sub(begun))
    }

    /// Returns the time at which message `number`, which is under way, began.
    fn begun_at(&mut self, number: u64) -> Option<&mut u64> {
        let place = number.checked_rem(self.begun_ns.len() as u64)?;
        self.begun_ns.get_mut(place as usize)
    }
}
