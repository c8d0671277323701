// SPDX-License-Identifier: GPL-2.0

//! A listener that comes back when its device does.
//!
//! What is bound to an address is bound to the device that has it, and goes with it.
//! A server of disks has clients that hold their requests until they can connect
//! again, so it listens anew as soon as the address is on a device again.

#![forbid(unsafe_code)]

use super::session::Session;
use crate::{
    cm::{
        addr::SocketAddress,
        listener::{
            Listener,
            Request, //
        }, //
    },
    engine::outcome::{
        Bell,
        Outcome, //
    },
    kernel_ext::time::Deadline,
    logic::failure::Failure, //
};
use kernel::prelude::*;

/// Between two attempts to listen, in ms.
const PAUSE_MS: u32 = 200;

/// A listener, as long as there is one.
pub(crate) struct Ear {
    listener: Option<Listener>,
    addr: SocketAddress,
    /// What reports ring.
    bell: Bell,
    /// When to try again.
    next: Deadline,
}

impl Ear {
    /// Wraps what listens on `addr`, whose reports ring `bell`.
    pub(crate) fn new(listener: Listener, addr: SocketAddress, bell: Bell) -> Self {
        Self {
            listener: Some(listener),
            addr,
            bell,
            next: Deadline::never(),
        }
    }

    /// Why it does not listen any more; once for each time. May sleep.
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        let failure = self.listener.as_ref()?.outcome().failure()?;
        // The device waits for it.
        self.listener = None;
        self.next = Deadline::after_ms(PAUSE_MS);
        Some(failure)
    }

    /// Listens again where it is time to try. May sleep.
    pub(crate) fn revive(&mut self, session: &Session) {
        if self.listener.is_some() || !self.next.passed() {
            return;
        }
        self.next = Deadline::after_ms(PAUSE_MS);
        let Ok(reports) = Outcome::new(&self.bell) else {
            return;
        };
        if let Ok(listener) = Listener::new(&session.net, &self.addr, reports) {
            pr_info!("{}: listening again\n", session.id);
            self.listener = Some(listener);
            self.next = Deadline::never();
        }
    }

    /// Until when there is nothing to be done for it.
    pub(crate) fn patience(&self) -> Deadline {
        self.next
    }

    /// The next connection request.
    pub(crate) fn take(&self) -> Option<Request> {
        self.listener.as_ref()?.take()
    }
}
