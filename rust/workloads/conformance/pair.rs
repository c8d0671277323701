// SPDX-License-Identifier: GPL-2.0

//! The two ends of a connection under test, and waiting for what happens on it.

#![forbid(unsafe_code)]

use super::end::{
    failed,
    seed,
    End,
    Place,
    Taken, //
};
use crate::{
    engine::outcome::Outcome,
    kernel_ext::time::Deadline,
    logic::{
        conformance::{
            expectation::{
                Fabric,
                Rule, //
            },
            observation::{
                Ended,
                Seen,
                State, //
            }, //
        },
        failure::{
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    mr::Access,
    rdma::wr::probe::Probe, //
};
use kernel::prelude::*;

/// Requests that follow on the one that is tried.
const LATER: usize = 2;

/// How long a device may take to change a queue pair's state when completions have
/// told why, in ms.
const STATE_MS: u32 = 2000;

/// Between two looks at a device, in ms.
const LOOK_MS: u32 = 1;

/// How long to wait for a device, and what ends that before.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    /// Fails when the command is cancelled, or the device removed.
    pub(crate) control: &'a Outcome,
    /// The deadline of each wait, in ms.
    pub(crate) timeout_ms: u32,
}

impl Patience<'_> {
    /// Handles the completions of `ends` until `done` says so, and returns whether it
    /// did before the deadline. Sleeps.
    ///
    /// # Errors
    ///
    /// What `control` has failed with; what `done` returns.
    pub(super) fn until(
        &self,
        ends: &[&End],
        timeout_ms: u32,
        mut done: impl FnMut() -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let deadline = Deadline::after_ms(timeout_ms);
        loop {
            let moved = ends
                .iter()
                .fold(0, |sum: usize, end| sum.saturating_add(end.poll()));
            if done()? {
                return Ok(true);
            }
            if let Some(failure) = self.control.failure() {
                return Err(failure);
            }
            if deadline.passed() {
                return Ok(false);
            }
            if moved == 0 {
                self.control.pause(Deadline::after_ms(LOOK_MS));
            }
        }
    }
}

/// A connection under test.
pub(crate) struct Pair<'a> {
    /// The end that posts what is tried.
    pub(super) requester: End,
    /// Its peer.
    pub(super) responder: End,
    pub(super) fabric: Fabric,
    pub(super) patience: Patience<'a>,
}

impl<'a> Pair<'a> {
    /// A connection between two ends.
    pub(crate) fn new(
        requester: End,
        responder: End,
        fabric: Fabric,
        patience: Patience<'a>,
    ) -> Self {
        Self {
            requester,
            responder,
            fabric,
            patience,
        }
    }

    /// Waits for what `done` says of both ends, and returns whether it came.
    ///
    /// # Errors
    ///
    /// The command is cancelled, or the device removed.
    pub(super) fn until(&self, done: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let ends = [&self.requester, &self.responder];
        let timeout = self.patience.timeout_ms;
        self.patience.until(&ends, timeout, || Ok(done(self)))
    }

    /// Posts a request that must work to one end, and waits for it.
    ///
    /// # Errors
    ///
    /// It did not; the command is cancelled.
    fn must(&mut self, at_requester: bool, probe: &Probe) -> Result<(), Failure> {
        let end = if at_requester {
            &mut self.requester
        } else {
            &mut self.responder
        };
        let taken = end.post(probe);
        let end = |this: &Self| match at_requester {
            true => this.requester.ended(taken),
            false => this.responder.ended(taken),
        };
        self.until(|this| end(this) != Ended::Missing)?;
        good(end(self), probe.operation(), self.patience.timeout_ms)
    }

    /// Opens the responder's memory, and returns what to tell the requester of it.
    ///
    /// # Errors
    ///
    /// The registration failed; the command is cancelled.
    pub(super) fn open(&mut self, access: Access) -> Result<Advertisement, Failure> {
        let region = self.responder.region;
        self.must(false, &Probe::Register { region, access })?;
        self.responder.advertise().map_err(failed)
    }

    /// Closes it again.
    ///
    /// # Errors
    ///
    /// The invalidation failed; the command is cancelled.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        let region = self.responder.region;
        self.must(false, &Probe::Invalidate { region })
    }

    /// Opens the requester's own memory for READs to put data there, or closes it.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub(super) fn open_own(&mut self, open: bool) -> Result<(), Failure> {
        let region = self.requester.own_region;
        let probe = match open {
            true => Probe::Register {
                region,
                access: Access::RemoteWrite,
            },
            false => Probe::Invalidate { region },
        };
        self.must(true, &probe)
    }

    /// A SEND of a whole message.
    pub(super) fn message(&self) -> Probe {
        let end = &self.requester;
        Probe::Send {
            local: end.local(Place::Exposed, end.exposed),
            invalidate: None,
        }
    }

    /// Posts what is tried at the requester, then SENDs that would arrive if nothing
    /// were wrong, and says what became of it all. `intact` says whether memory is as it
    /// must be then.
    ///
    /// # Errors
    ///
    /// The command is cancelled, or the device removed.
    pub(super) fn attempt(
        &mut self,
        rule: &Rule,
        probe: &Probe,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.responder.receives(LATER)?;
        self.attempt_into(rule, probe, None, intact)
    }

    /// As [`Self::attempt`], with the receives that are there; `receive` is the one that
    /// the request is for.
    ///
    /// # Errors
    ///
    /// As [`Self::attempt`].
    pub(super) fn attempt_into(
        &mut self,
        rule: &Rule,
        probe: &Probe,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.requester.begin();
        let first = self.requester.post(probe);
        let message = self.message();
        for _ in 0..LATER {
            // A queue pair that is in error already may refuse it.
            let _ = self.requester.post(&message);
        }
        self.look(rule, first, receive, intact)
    }

    /// Waits until all is over, and says what became of `first` and the others.
    ///
    /// # Errors
    ///
    /// As [`Self::attempt`].
    pub(super) fn look(
        &mut self,
        rule: &Rule,
        first: Taken,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        self.until(|this| {
            this.requester.is_done(false)
                && receive.is_none_or(|slot| this.responder.received(slot) != Ended::Missing)
                && (!rule.receives_end
                    || this.requester.is_done(true) && this.responder.is_done(true))
        })?;
        self.found(rule, first, receive, intact)
    }

    /// Says what became of `first` and the others, once the states are those demanded or
    /// have had time for it.
    ///
    /// # Errors
    ///
    /// As [`Self::attempt`].
    pub(super) fn found(
        &mut self,
        rule: &Rule,
        first: Taken,
        receive: Option<usize>,
        intact: impl FnOnce(&Self) -> Result<bool>,
    ) -> Result<Seen, Failure> {
        let ended = self.requester.ended(first);
        self.reach(rule, ended)?;
        let mut seen = Seen {
            first: ended,
            rest: self.requester.sends(first),
            receives: self.responder.receives_tally(),
            receive: receive.map(|slot| self.responder.received(slot)),
            requester: self.requester.state(),
            responder: self.responder.state(),
            requester_event: self.requester.event(),
            responder_event: self.responder.event(),
            intact: intact(self).map_err(failed)?,
            works: None,
        };
        if rule.goes_on(ended) && seen.requester == State::RTS && seen.responder == State::RTS {
            seen.works = Some(self.sends()?);
        }
        Ok(seen)
    }

    /// Waits for the states that are demanded, a while.
    fn reach(&self, rule: &Rule, first: Ended) -> Result<(), Failure> {
        let ends = [&self.requester, &self.responder];
        let timeout = self.patience.timeout_ms.min(STATE_MS);
        let wanted = [
            (rule.requester, &self.requester),
            (rule.responder, &self.responder),
        ];
        self.patience.until(&ends, timeout, || {
            Ok(wanted
                .iter()
                .all(|(wish, end)| !wish.wants_error(first) || end.state() == State::ERROR))
        })?;
        Ok(())
    }

    /// Whether a message arrives as it was sent.
    ///
    /// # Errors
    ///
    /// As [`Self::attempt`].
    pub(super) fn sends(&mut self) -> Result<bool, Failure> {
        let size = self.requester.exposed;
        let receive = self.responder.receive(size)?;
        let taken = self.requester.post(&self.message());
        self.until(|this| {
            this.requester.ended(taken) != Ended::Missing
                && (taken.is_err() || this.responder.received(receive) != Ended::Missing)
        })?;
        let sent = seed(true, Place::Exposed);
        Ok(self.requester.ended(taken) == Ended::Status(0)
            && self.responder.received(receive) == Ended::Status(0)
            && self
                .responder
                .holds(Place::Inbox, 0, size, sent)
                .map_err(failed)?)
    }

    /// A good round on a new connection: WRITE, READ and SEND, and the data of each.
    ///
    /// # Errors
    ///
    /// What did not work; the command is cancelled.
    pub(crate) fn round(&mut self) -> Result<(), Failure> {
        let size = self.requester.exposed;
        let remote = self.open(Access::Remote)?;
        let exposed = self.requester.local(Place::Exposed, size);
        self.must(
            true,
            &Probe::Write {
                local: exposed,
                remote,
            },
        )?;
        // On iWARP a WRITE may be done here before it has arrived.
        let written = seed(true, Place::Exposed);
        let arrived = |this: &Self| {
            let end = &this.responder;
            end.holds(Place::Exposed, 0, size, written).unwrap_or(false)
        };
        if !self.until(arrived)? {
            return Err(Failure::WrongData("the WRITE"));
        }
        if !self.sends()? {
            return Err(Failure::WrongData("the SEND"));
        }
        self.open_own(true)?;
        let own = self.requester.own(size);
        self.must(true, &Probe::Read { local: own, remote })?;
        match self.requester.holds(Place::Own, 0, size, written) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::WrongData("the READ")),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Whether a request that must work did.
fn good(ended: Ended, op: Operation, timeout_ms: u32) -> Result<(), Failure> {
    match ended {
        Ended::Status(0) => Ok(()),
        Ended::Status(status) => Err(Failure::Completion {
            status,
            vendor: 0,
            op,
            iteration: 0,
        }),
        Ended::Refused(number) => Err(Failure::Kernel("posting", number.saturating_neg())),
        Ended::Missing => Err(Failure::TimedOut("waiting for a completion", timeout_ms)),
    }
}
