// SPDX-License-Identifier: GPL-2.0

//! The case of a port that is down. Somebody must take it down, and up again: the log asks for
//! that, and the case waits.
//!
//! Everything else keeps the CM's messages back while they cannot leave
//! ([`cm::port`](crate::cm)); this case sends one, to see whether the device survives it.

#![forbid(unsafe_code)]

use super::Bench;
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

/// Milliseconds in which the CM's message leaves, or is dropped.
const SENDING_MS: u32 = 200;

impl Bench<'_> {
    /// Has the port taken down, does `run`, has the CM send a DREQ for `id`, and has the port
    /// brought up again. Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] where the port was not taken down; [`Failure::PortDown`] where
    /// it was not brought up again; what `run` returns; the command was cancelled.
    pub(super) fn without_port(
        &self,
        id: &CmId,
        run: impl FnOnce() -> Result<Seen, Failure>,
    ) -> Result<Seen, Failure> {
        let (number, name) = (self.session.id, Case::PortDown.as_str());
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

    /// Waits until the port carries packets or does not, as `up` says, and returns whether it
    /// came to that within `timeout=`. Sleeps.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    fn await_port(&self, up: bool) -> Result<bool, Failure> {
        self.wait(self.session.timeout(), || {
            Ok(self.device()?.carries(true) == up)
        })
    }

    /// Waits until `done` says so, and returns whether it did within `ms` milliseconds. Sleeps.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed; what `done` returns.
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
