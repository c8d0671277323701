// SPDX-License-Identifier: GPL-2.0

//! A connection under test with its two ends, and the waits for events on it.

#![forbid(unsafe_code)]

mod observe;

use super::{
    end::{
        failed,
        seed,
        End,
        Place,
        Taken, //
    },
    probe::Probe, //
};
use crate::{
    engine::outcome::Outcome,
    kernel_ext::time::Deadline,
    logic::{
        conformance::{
            observation::{
                Ended,
                Told, //
            },
            rule::Fabric,
            steps::Side, //
        },
        failure::{
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    mr::Access,
    workloads::conformance::setup::GUARD, //
};
use kernel::prelude::*;

/// Number of requests that are posted after the one under test.
pub(super) const LATER: usize = 2;

/// Time in ms after which a missing event is taken to be lost.
pub(super) const LOST_MS: u32 = 1000;

/// Interval in ms at which a device is checked.
const LOOK_MS: u32 = 1;

/// Limits of the waits for a device: a timeout, and an outcome that ends them early.
#[derive(Clone, Copy)]
pub(crate) struct Deadlines<'a> {
    /// Outcome that fails when the command is cancelled or the device removed.
    pub(crate) control: &'a Outcome,
    /// Timeout of each wait in ms.
    pub(crate) timeout_ms: u32,
}

impl Deadlines<'_> {
    /// Handles the completions of `ends` until `done` returns true. Returns false if it has not
    /// done so within `timeout_ms`. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure of `control`, or the error of `done`.
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
    /// The end that posts the request under test.
    pub(super) requester: End,
    /// Its peer.
    pub(super) responder: End,
    /// The facts of the message under test that its receive must tell, if they are known.
    pub(super) message: Option<Told>,
    pub(super) fabric: Fabric,
    pub(super) deadlines: Deadlines<'a>,
}

impl<'a> Pair<'a> {
    /// Creates a pair from the two ends of a connection.
    pub(crate) fn new(
        requester: End,
        responder: End,
        fabric: Fabric,
        deadlines: Deadlines<'a>,
    ) -> Self {
        Self {
            requester,
            responder,
            message: None,
            fabric,
            deadlines,
        }
    }

    /// Returns the two ends.
    pub(crate) fn into_ends(self) -> (End, End) {
        (self.requester, self.responder)
    }

    /// Handles completions of both ends until `done` returns true. Returns false if it has not done
    /// so within the timeout.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    pub(super) fn until(&self, done: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let ends = [&self.requester, &self.responder];
        let timeout = self.deadlines.timeout_ms;
        self.deadlines.until(&ends, timeout, || Ok(done(self)))
    }

    /// Handles completions of `ends` until `came` returns true. Returns false if the event that it
    /// looks for is lost.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    pub(super) fn hears(&self, ends: &[&End], came: impl Fn() -> bool) -> Result<bool, Failure> {
        let timeout = self.deadlines.timeout_ms.min(LOST_MS);
        self.deadlines.until(ends, timeout, || Ok(came()))
    }

    /// Posts a request that must succeed at one end, and waits for its completion.
    ///
    /// # Errors
    ///
    /// The request failed, or the command was cancelled.
    fn must(&mut self, side: Side, probe: &Probe) -> Result<(), Failure> {
        let taken = self.end_mut(side).post(probe);
        self.until(|this| this.end(side).ended(taken) != Ended::Missing)?;
        let ended = self.end(side).ended(taken);
        good(ended, probe.operation(), self.deadlines.timeout_ms)
    }

    /// Waits for the completion of a request of the requester that must succeed.
    ///
    /// # Errors
    ///
    /// The request failed, or the command was cancelled.
    pub(super) fn succeeds(&self, taken: Taken) -> Result<(), Failure> {
        self.until(|this| this.requester.ended(taken) != Ended::Missing)?;
        let ended = self.requester.ended(taken);
        good(ended, Operation::Send, self.deadlines.timeout_ms)
    }

    /// Handles completions of both ends for `ms`.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    pub(super) fn rest(&self, ms: u32) -> Result<(), Failure> {
        let ends = [&self.requester, &self.responder];
        self.deadlines.until(&ends, ms, || Ok(false)).map(|_| ())
    }

    /// Registers the responder's memory for `access`, and returns the advertisement for the
    /// requester.
    ///
    /// # Errors
    ///
    /// The registration failed, or the command was cancelled.
    pub(super) fn open(&mut self, access: Access) -> Result<Advertisement, Failure> {
        self.open_of(Side::Responder, access)
    }

    /// Registers the memory of an end for `access` of its peer, and returns the advertisement.
    ///
    /// # Errors
    ///
    /// The registration failed, or the command was cancelled.
    pub(super) fn open_of(&mut self, side: Side, access: Access) -> Result<Advertisement, Failure> {
        let region = self.end(side).region;
        self.must(side, &Probe::Register { region, access })?;
        self.end(side).advertise().map_err(failed)
    }

    /// Invalidates the registration of the responder's memory.
    ///
    /// # Errors
    ///
    /// The invalidation failed, or the command was cancelled.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        let region = self.responder.region;
        self.must(Side::Responder, &Probe::Invalidate { region })
    }

    /// Registers the requester's own memory as the sink of READs.
    ///
    /// # Errors
    ///
    /// The request failed, or the command was cancelled.
    pub(super) fn open_own(&mut self) -> Result<(), Failure> {
        self.open_own_of(Side::Requester, Access::RemoteWrite)
    }

    /// Registers the own memory of an end for `access`.
    ///
    /// # Errors
    ///
    /// The request failed, or the command was cancelled.
    pub(super) fn open_own_of(&mut self, side: Side, access: Access) -> Result<(), Failure> {
        let region = self.end(side).own_region;
        self.must(side, &Probe::Register { region, access })
    }

    /// Invalidates that registration.
    ///
    /// # Errors
    ///
    /// The request failed, or the command was cancelled.
    pub(super) fn close_own_of(&mut self, side: Side) -> Result<(), Failure> {
        let region = self.end(side).own_region;
        self.must(side, &Probe::Invalidate { region })
    }

    /// Returns an end.
    pub(super) fn end(&self, side: Side) -> &End {
        match side {
            Side::Requester => &self.requester,
            Side::Responder => &self.responder,
        }
    }

    /// Returns an end.
    pub(super) fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Requester => &mut self.requester,
            Side::Responder => &mut self.responder,
        }
    }

    /// Returns a SEND of a whole message from the requester.
    pub(super) fn message(&self) -> Probe {
        let end = &self.requester;
        Probe::Send {
            local: end.local(Place::Exposed, end.exposed),
            invalidate: None,
            fence: false,
        }
    }

    /// Sends a message, and returns true if it arrives unchanged.
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
            && self.responder.told(receive) == Some(Told::plain(size))
            && self
                .responder
                .holds(Place::Inbox, 0, size, sent)
                .map_err(failed)?)
    }

    /// Checks a new connection with a WRITE, a SEND and a READ, and the data of each.
    ///
    /// # Errors
    ///
    /// The operation that failed, or the command was cancelled.
    pub(crate) fn round(&mut self) -> Result<(), Failure> {
        let size = self.requester.exposed;
        let remote = self.open(Access::Remote)?;
        let exposed = self.requester.local(Place::Exposed, size);
        self.must(
            Side::Requester,
            &Probe::Write {
                local: exposed,
                remote,
            },
        )?;
        // On iWARP, a WRITE may complete here before it has arrived.
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
        self.open_own()?;
        let own = self.requester.own(size);
        self.must(Side::Requester, &Probe::Read { local: own, remote })?;
        match self.requester.holds(Place::Own, 0, size, written) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::WrongData("the READ")),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Returns an error if a request that must succeed did not.
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
        Ended::Missing | Ended::Answer(_) => {
            Err(Failure::TimedOut("waiting for a completion", timeout_ms))
        }
    }
}

/// Returns true if neither the memory that is open to the requester nor the guard behind it was
/// written.
pub(super) fn untouched(pair: &Pair<'_>) -> Result<bool> {
    pair.responder.is_intact(false, Place::Exposed, 0)
}

/// Returns true if the first `len` bytes of the open memory hold the data that the requester wrote,
/// and the guard behind the memory is unchanged.
pub(super) fn written(pair: &Pair<'_>, len: u32) -> Result<bool> {
    let (end, size) = (&pair.responder, pair.responder.exposed);
    Ok(end.holds(Place::Exposed, 0, len, seed(true, Place::Own))?
        && end.holds(
            Place::Exposed,
            size,
            size + GUARD,
            seed(false, Place::Exposed),
        )?)
}
