// SPDX-License-Identifier: GPL-2.0

//! The completions of the requests and receives of an end.

#![forbid(unsafe_code)]

use super::{
    End,
    Taken, //
};
use crate::logic::conformance::observation::{
    Ended,
    Tally,
    Told, //
};

impl End {
    /// Returns the result of a request, given the result of posting it.
    pub(in crate::workloads::conformance) fn ended(&self, taken: Taken) -> Ended {
        match taken {
            Err(number) => Ended::Refused(number),
            Ok(slot) => self.completion(false, slot),
        }
    }

    /// Returns the result of the receive in `slot`.
    pub(in crate::workloads::conformance) fn received(&self, slot: usize) -> Ended {
        self.completion(true, slot)
    }

    /// Returns what the completion of the receive in `slot` tells of the message; `None` where none
    /// has arrived.
    pub(in crate::workloads::conformance) fn told(&self, slot: usize) -> Option<Told> {
        self.with(|recorder, _| recorder.told(slot)).unwrap_or(None)
    }

    fn completion(&self, receive: bool, slot: usize) -> Ended {
        self.with(|recorder, _| recorder.ended(receive, slot))
            .unwrap_or(Ended::Missing)
    }

    /// Returns true if all requests, or all receives if `receive` is true, have completed.
    pub(in crate::workloads::conformance) fn is_done(&self, receive: bool) -> bool {
        let posted = if receive { self.received } else { self.sent };
        self.with(|recorder, _| recorder.count(receive) >= posted)
            .unwrap_or(true)
    }

    /// Returns the results of all requests under test except `except`.
    pub(in crate::workloads::conformance) fn sends(&self, except: Taken) -> Tally {
        let slots = self.before..self.sent;
        self.with(|recorder, _| recorder.tally(false, slots, except.ok()))
            .unwrap_or_default()
    }

    /// Returns the results of all requests under test, or of all receives if `receive` is true, and
    /// the status of the one that failed, as [`Recorder::ended_at`] does.
    pub(in crate::workloads::conformance) fn ended_at(
        &self,
        receive: bool,
        silent: impl Fn(usize) -> bool,
    ) -> (Tally, Option<u32>) {
        let slots = match receive {
            true => 0..self.received,
            false => self.before..self.sent,
        };
        self.with(|recorder, _| recorder.ended_at(receive, slots, silent))
            .unwrap_or_default()
    }

    /// Returns the results of all receives.
    pub(in crate::workloads::conformance) fn receives_tally(&self) -> Tally {
        let slots = 0..self.received;
        self.with(|recorder, _| recorder.tally(true, slots, None))
            .unwrap_or_default()
    }
}
