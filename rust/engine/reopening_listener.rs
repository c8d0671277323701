// SPDX-License-Identifier: GPL-2.0

//! Listener that listens again once its device is back.
//!
//! A listener is bound to the device that has its address, and is lost with that device. The
//! clients of a disk server hold their requests until they can connect again, so the server listens
//! anew as soon as a device has the address again.

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
        Outcome, //
        WaitQueue,
    },
    kernel_ext::time::Deadline,
    logic::failure::Failure, //
};
use kernel::prelude::*;

/// Pause between two attempts to listen, in ms.
const PAUSE_MS: u32 = 200;

/// A listener that is recreated after a failure.
pub(crate) struct ReopeningListener {
    listener: Option<Listener>,
    addr: SocketAddress,
    /// Wait queue that the reports wake.
    wait_queue: WaitQueue,
    /// Time of the next attempt to listen.
    next: Deadline,
}

impl ReopeningListener {
    /// Wraps `listener` on `addr`, whose reports wake `wait_queue`.
    pub(crate) fn new(listener: Listener, addr: SocketAddress, wait_queue: WaitQueue) -> Self {
        Self {
            listener: Some(listener),
            addr,
            wait_queue,
            next: Deadline::never(),
        }
    }

    /// Takes the error that stopped the listener. Each failure is reported once. May sleep.
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        let failure = self.listener.as_ref()?.outcome().failure()?;
        // The removal of the device waits for the listener to go.
        self.listener = None;
        self.next = Deadline::after_ms(PAUSE_MS);
        Some(failure)
    }

    /// Tries to listen again if the next attempt is due. May sleep.
    pub(crate) fn revive(&mut self, session: &Session) {
        if self.listener.is_some() || !self.next.passed() {
            return;
        }
        self.next = Deadline::after_ms(PAUSE_MS);
        let Ok(reports) = Outcome::new(&self.wait_queue) else {
            return;
        };
        if let Ok(listener) = Listener::new(&session.net, &self.addr, reports) {
            pr_info!("{}: listening again\n", session.id);
            self.listener = Some(listener);
            self.next = Deadline::never();
        }
    }

    /// Returns the time of the next attempt to listen.
    pub(crate) fn next_deadline(&self) -> Deadline {
        self.next
    }

    /// Takes the next connection request.
    pub(crate) fn take(&self) -> Option<Request> {
        self.listener.as_ref()?.take()
    }
}
