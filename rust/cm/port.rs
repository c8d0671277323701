// SPDX-License-Identifier: GPL-2.0

//! The state of the port that an identifier is bound to, by which the CM's messages leave.
//!
//! A message that the CM sends over a port that is not active is lost, at best. Soft-RoCE
//! (seen with 7.2) finds no route for it and puts its queue pair for management, QP1, into
//! error, which nothing takes out again: from then on no connection comes up on the device, for
//! anybody, until it is made anew. The same goes for a message from an address that the
//! device has lost. So what has the CM send asks here first.

#![forbid(unsafe_code)]

use super::CmId;
use crate::{
    engine::{
        outcome::Progress,
        quirks::loses_management, //
    },
    kernel_ext::time::Deadline,
    logic::failure::Failure,
    rdma::{
        cm::Id,
        device::Transport, //
    }, //
};

/// Milliseconds between two looks at a port that is awaited.
pub(crate) const LOOK_MS: u32 = 50;

/// The fate of a message that the CM would send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It would leave.
    Open,
    /// The port is not active.
    PortDown,
    /// The device has lost the address that it would come from.
    AddressGone,
}

/// Returns how a message of the CM's for `id` would fare, once the address is resolved. May
/// sleep.
pub(super) fn way_of(id: &Id) -> Way {
    let Ok(device) = id.device() else {
        // Nothing is sent without a device.
        return Way::Open;
    };
    // TCP sends for the CM of iWARP, and takes care of that itself.
    if !matches!(device.transport(), Transport::InfiniBand | Transport::Roce) {
        return Way::Open;
    }
    let within = id.source().ip() == id.destination().ip();
    if !device.carries(within) {
        return Way::PortDown;
    }
    if loses_management(&device) && id.source_is_gone() {
        return Way::AddressGone;
    }
    Way::Open
}

impl CmId {
    /// Disconnects as [`disconnect`](Self::disconnect) does, without a look at the port. By
    /// itself this is for the conformance test of what a device does with a message that cannot
    /// leave: soft-RoCE's connection management does not survive it. May sleep.
    pub(crate) fn disconnect_regardless(&self) -> bool {
        // A failure means that there is no connection to end.
        let ends =
            self.rdma().disconnect().is_ok() && self.outcome().reached(Progress::Established);
        if ends {
            // All that the CM does from here on is to repeat that, which the drop ends.
            self.events.set_speaking(false);
        }
        ends
    }

    /// Returns how a message of the CM's would fare now, once the address is resolved. May sleep.
    pub(super) fn way(&self) -> Way {
        way_of(self.rdma())
    }

    /// Waits until the CM's messages can leave, `timeout` ms at most. Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`]; [`Failure::AddressGone`]; what has been reported.
    pub(super) fn await_port(&self, timeout: u32) -> Result<(), Failure> {
        let deadline = Deadline::after_ms(timeout);
        loop {
            match self.way() {
                Way::Open => return Ok(()),
                Way::AddressGone => return Err(Failure::AddressGone),
                Way::PortDown if deadline.passed() => return Err(Failure::PortDown),
                Way::PortDown => {}
            }
            if let Some(failure) = self.outcome().failure() {
                return Err(failure);
            }
            self.outcome()
                .pause(Deadline::after_ms(LOOK_MS).sooner(deadline));
        }
    }

    /// Waits until the peer knows of the end of the connection, until `deadline` at most:
    /// destroying the identifier before would cancel the repetition of a request that was lost.
    /// Where the port goes down that is what is wanted. Sleeps.
    pub(crate) fn wait_disconnected(&self, deadline: Deadline) {
        let outcome = self.outcome();
        while !outcome.is_released() && !deadline.passed() && self.way() == Way::Open {
            outcome.pause(Deadline::after_ms(LOOK_MS).sooner(deadline));
        }
    }
}
