// SPDX-License-Identifier: GPL-2.0

//! The observations of a connection under test, once what was posted has completed.

#![forbid(unsafe_code)]

use super::{
    Pair,
    LATER,
    LOST_MS, //
};
use crate::{
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen,
                State, //
            },
            rule::Rule, //
        },
        failure::Failure, //
    },
    workloads::conformance::{
        end::{
            failed,
            Taken, //
        },
        probe::Probe, //
    }, //
};
use kernel::prelude::*;

/// Time in ms that a device has to change a queue pair's state after the completions that announce
/// it.
const STATE_MS: u32 = 1000;

impl Pair<'_> {
    /// Posts the request under test at the requester, then SENDs that arrive if nothing is wrong,
    /// and returns the observations. `intact` checks the memory at the end.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    pub(in crate::workloads::conformance) fn attempt(
        &mut self,
        rule: &Rule,
        probe: &Probe,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.responder.receives(LATER)?;
        self.attempt_into(rule, probe, None, intact)
    }

    /// Like [`Self::attempt`], but uses the receives that are posted already. `receive` is the slot
    /// number of the receive that the request under test is for.
    pub(in crate::workloads::conformance) fn attempt_into(
        &mut self,
        rule: &Rule,
        probe: &Probe,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.requester.begin();
        let first = self.requester.post(probe);
        self.post_later();
        self.look(rule, first, receive, intact)
    }

    /// Posts [`LATER`] messages at the requester.
    pub(in crate::workloads::conformance) fn post_later(&mut self) {
        let message = self.message();
        for _ in 0..LATER {
            // A queue pair that is in the error state already may refuse it.
            let _ = self.requester.post(&message);
        }
    }

    /// Waits until everything has completed, and returns the observations about `first` and the
    /// other requests.
    pub(in crate::workloads::conformance) fn look(
        &mut self,
        rule: &Rule,
        first: Taken,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.settle(rule, first, receive)?;
        self.found(rule, first, receive, intact)
    }

    /// Does as [`Self::look`] does; where `comes` is true, it waits for `intact` to become true as
    /// well, as long as an event may take.
    pub(in crate::workloads::conformance) fn look_until(
        &mut self,
        rule: &Rule,
        first: Taken,
        receive: Option<usize>,
        comes: bool,
        intact: impl Fn(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.settle(rule, first, receive)?;
        if comes {
            let ends = [&self.requester, &self.responder];
            self.hears(&ends, || intact(self).unwrap_or(true))?;
        }
        self.found(rule, first, receive, intact)
    }

    /// Waits until everything has completed that `rule` is about. What has not come soon after the
    /// request under test has failed is lost.
    fn settle(&self, rule: &Rule, first: Taken, receive: Option<usize>) -> Result<(), Failure> {
        self.until(|this| this.requester.ended(first) != Ended::Missing)?;
        let timeout = match self.requester.ended(first).is_harmless() {
            true => self.deadlines.timeout_ms,
            false => self.deadlines.timeout_ms.min(LOST_MS),
        };
        let ends = [&self.requester, &self.responder];
        self.deadlines.until(&ends, timeout, || {
            Ok(self.requester.is_done(false)
                && receive.is_none_or(|slot| self.responder.received(slot) != Ended::Missing)
                && (!rule.receives_end
                    || self.requester.is_done(true) && self.responder.is_done(true)))
        })?;
        Ok(())
    }

    /// Waits until the queue pairs are in the demanded states or have had time to get there.
    /// Returns the observations about `first` and the other requests.
    pub(in crate::workloads::conformance) fn found(
        &mut self,
        rule: &Rule,
        first: Taken,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        let ended = self.requester.ended(first);
        // Where requests are lost, the state may be, too.
        if self.requester.is_done(false) {
            self.reach(rule, ended)?;
        }
        let told = receive.and_then(|slot| self.responder.told(slot));
        let mut seen = Seen {
            first: ended,
            after_ms: None,
            rest: self.requester.sends(first),
            receives: self.responder.receives_tally(),
            receive: receive.map(|slot| self.responder.received(slot)),
            tells: self.message.is_none() || told.is_none() || told == self.message,
            requester: self.requester.state(),
            responder: self.responder.state(),
            requester_event: self.requester.event(),
            responder_event: self.responder.event(),
            intact: intact(self).map_err(failed)?,
            ahead: 0,
            works: None,
            destroyed: true,
        };
        if rule.goes_on(ended) && seen.requester == State::RTS && seen.responder == State::RTS {
            seen.works = Some(self.sends()?);
        }
        Ok(seen)
    }

    /// Waits until both queue pairs are in the states that `rule` demands, for at most
    /// [`STATE_MS`].
    fn reach(&self, rule: &Rule, first: Ended) -> Result<(), Failure> {
        let ends = [&self.requester, &self.responder];
        let timeout = self.deadlines.timeout_ms.min(STATE_MS);
        let wanted = [
            (rule.requester, &self.requester),
            (rule.responder, &self.responder),
        ];
        self.deadlines.until(&ends, timeout, || {
            Ok(wanted
                .iter()
                .all(|(wish, end)| !wish.wants_error(first) || end.state() == State::ERROR))
        })?;
        Ok(())
    }
}
