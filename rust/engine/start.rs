// SPDX-License-Identifier: GPL-2.0

//! Starts the threads of a session: those of its client, its server or both.

#![forbid(unsafe_code)]

use super::{
    drive::failed,
    entry::Client,
    session::Session, //
};
use crate::{
    cm::addr::SocketAddress,
    kernel_ext::kthread::is_online,
    logic::{
        command::Role,
        failure::Failure, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

impl Session {
    /// Returns the address that the command names.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unknown interface.
    fn address(&self) -> Result<SocketAddress, Failure> {
        let addr = self.command.addr.as_ref();
        let addr = addr.ok_or_else(|| failed("finding the address")(EINVAL))?;
        SocketAddress::new(&self.net, addr, self.command.port)
    }

    /// Starts the threads. In the writer's context, as it opens files, binds and finds
    /// interfaces; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::NoCpu`]. What fails later is recorded.
    pub(super) fn start(self: &Arc<Self>) -> Result<(), Failure> {
        match self.workload.client {
            Client::Threads(start) => self.start_with(start),
            // It has begun otherwise; this is a server.
            Client::Kept(_) => self.start_with(|_, _| Ok(())),
        }
    }

    /// Starts the threads, a client's by `start`. In the writer's context; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::NoCpu`]. What fails later is recorded.
    pub(crate) fn start_with(
        self: &Arc<Self>,
        start: impl FnOnce(&Arc<Self>, SocketAddress) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Later is too late for a server that waits for clients.
        for cpu in self.command.cpus.cpus() {
            if !is_online(cpu) {
                return Err(Failure::NoCpu(cpu));
            }
        }
        let started = match (self.command.role, self.workload.listen) {
            (Role::Client, _) | (Role::Loopback, None) => {
                self.address().and_then(|addr| start(self, addr))
            }
            (Role::Loopback, Some(listen)) => listen(self).and_then(|addr| start(self, addr)),
            (Role::Server, Some(listen)) => listen(self).map(|_| ()),
            (Role::Server, None) => Err(Failure::Unsupported("there is no server for that")),
        };
        if let Err(failure) = started {
            // Some threads may run already: they end as well.
            self.abort(failure);
        }
        Ok(())
    }
}
