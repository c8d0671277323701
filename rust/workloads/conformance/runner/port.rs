// SPDX-License-Identifier: GPL-2.0

//! The case of a port that is down. The user must take the port down and bring it up again: the log
//! asks for that, and the case waits.
//!
//! All other code holds back messages of the CM that cannot leave ([`cm::port`](crate::cm)). This
//! case sends one, to test whether the device survives it.

#![forbid(unsafe_code)]

use super::CaseRunner;
use crate::{
    cm::{
        port::LOOK_MS,
        CmId, //
    },
    kernel_ext::time::Deadline,
    logic::{
        conformance::{
            observation::Seen,
            Case, //
        },
        failure::Failure, //
    }, //
};
use kernel::prelude::*;

/// Time in ms in which the CM's message leaves or is dropped.
const SENDING_MS: u32 = 200;

impl CaseRunner<'_> {
    /// Asks for the port to be taken down, calls `run`, has the CM send a DREQ for `id`, and asks
    /// for the port to be brought up again. Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] if the port was not taken down, or was brought up too early;
    /// [`Failure::PortDown`] if it was not brought up again; the error of `run`; the command was
    /// cancelled.
    pub(super) fn without_port(
        &self,
        case: Case,
        id: &CmId,
        run: impl FnOnce() -> Result<Seen, Failure>,
    ) -> Result<Seen, Failure> {
        let (number, name) = (self.session.id, case.as_str());
        let (device, timeout) = (self.device()?.name(), self.session.timeout());
        let device = device.as_str();
        pr_info!("{number}: neg {name}: take the port of {device} down, within {timeout} ms\n");
        if !self.await_port(false)? {
            return Err(Failure::Unsupported(
                "the port was not taken down within timeout=",
            ));
        }
        let seen = run();
        self.check_control()?;
        let stayed = !self.device()?.carries(true);
        if stayed {
            id.disconnect_regardless();
            self.wait(SENDING_MS, || Ok(false))?;
        }
        pr_info!("{number}: neg {name}: bring the port of {device} up, within {timeout} ms\n");
        if !self.await_port(true)? {
            return Err(Failure::PortDown);
        }
        match stayed {
            true => seen,
            false => Err(Failure::Unsupported(
                "the port was brought up before the log asked for it",
            )),
        }
    }

    /// Waits until the port carries packets, or does not if `up` is false. Returns false if this
    /// has not happened within `timeout=`. Sleeps.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    fn await_port(&self, up: bool) -> Result<bool, Failure> {
        self.wait(self.session.timeout(), || {
            Ok(self.device()?.carries(true) == up)
        })
    }

    /// Waits until `done` returns true. Returns false if it has not done so within `ms`
    /// milliseconds. Sleeps.
    ///
    /// # Errors
    ///
    /// The command was cancelled, the device was removed, or `done` failed.
    fn wait(&self, ms: u32, done: impl Fn() -> Result<bool, Failure>) -> Result<bool, Failure> {
        let deadline = Deadline::after_ms(ms);
        loop {
            self.check_control()?;
            if done()? {
                return Ok(true);
            }
            if deadline.passed() {
                return Ok(false);
            }
            let next = Deadline::after_ms(LOOK_MS).sooner(deadline);
            self.anchor.outcome().pause(next);
        }
    }
}
