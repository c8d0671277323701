// SPDX-License-Identifier: GPL-2.0

//! Starts the threads of a session: its client threads, its server threads or both.

#![forbid(unsafe_code)]

use super::{
    drive::failed,
    entry::{
        Client,
        Entry, //
    },
    session::Session, //
};
use crate::{
    cm::addr::{
        socket_address,
        SocketAddress, //
    },
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
    /// `ENODEV` if the interface does not exist.
    fn address(&self) -> Result<SocketAddress, Failure> {
        let addr = self.command.addr.as_ref();
        let addr = addr.ok_or_else(|| failed("finding the address")(EINVAL))?;
        socket_address(&self.net, addr, self.command.port)
    }

    /// Starts the threads of `workload`. Must be called in the writer's context, because it opens
    /// files, binds and looks up interfaces; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::NoCpu`], [`Failure::NoNode`]. Later failures are recorded in the session.
    pub(super) fn start(self: &Arc<Self>, workload: &Entry) -> Result<(), Failure> {
        match workload.client {
            Client::Threads(start) => self.start_with(workload, start),
            // The client was started another way; this is a server.
            Client::Kept(_) => self.start_with(workload, |_, _| Ok(())),
        }
    }

    /// Starts the threads of `workload`, with `start` for those of a client. In the writer's
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::NoCpu`], [`Failure::NoNode`]. Later failures are recorded in the session.
    pub(crate) fn start_with(
        self: &Arc<Self>,
        workload: &Entry,
        start: impl FnOnce(&Arc<Self>, SocketAddress) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Check early: a server that waits for clients would notice too late.
        for cpu in self.command.cpus.cpus() {
            if !is_online(cpu) {
                return Err(Failure::NoCpu(cpu));
            }
        }
        self.allowance.check_node(&self.command)?;
        let started = match (self.command.role, workload.listen) {
            (Role::Client, _) | (Role::Loopback, None) => {
                self.address().and_then(|addr| start(self, addr))
            }
            (Role::Loopback, Some(listen)) => listen(self).and_then(|addr| start(self, addr)),
            (Role::Server, Some(listen)) => listen(self).map(|_| ()),
            (Role::Server, None) => Err(Failure::Unsupported("there is no server for that")),
        };
        if let Err(failure) = started {
            // Some threads may run already; they end as well.
            self.abort(failure);
        }
        Ok(())
    }
}
