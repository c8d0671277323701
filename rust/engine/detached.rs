// SPDX-License-Identifier: GPL-2.0

//! Servers that outlive the `write()` of their command, as `detach` asks for.
//!
//! A server has started when it listens, so its writer can be told of all that could keep it
//! from that. From then on a thread of its own keeps the session, which belongs to no writer:
//! it waits for the last of the server's threads, and says in the log how it ended. The network
//! namespace of the writer, and its credentials, are the session's.

#![forbid(unsafe_code)]

use super::{
    registry::Registry,
    restart::{
        Awaited,
        Waiting, //
    },
    session::{
        Session,
        GOING_MS, //
    }, //
};
use crate::{
    kernel_ext::{
        completion::{
            Completion,
            Waited, //
        },
        kthread::run_detached,
        module::ModuleRef,
        net::Netns,
        procfs::capable_sys_admin,
        signal::Disturbance,
        time::Deadline, //
    },
    logic::failure::Failure, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// A server that goes on without its writer.
#[pin_data]
pub(crate) struct DetachedServer {
    session: Arc<Session>,
    /// It has been told to end.
    stopped: Atomic<bool>,
    /// Nothing of it is left.
    #[pin]
    gone: Completion,
}

impl DetachedServer {
    /// Leaves the server of `session`, which listens, to a thread of its own. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the server goes on, and belongs to the caller.
    pub(crate) fn keep(session: &Arc<Session>, in_use: &ModuleRef) -> Result {
        let server = Arc::pin_init(
            pin_init!(Self {
                session: session.clone(),
                stopped: Atomic::new(false),
                gone <- Completion::new(),
            }),
            GFP_KERNEL,
        )?;
        let registry = &session.registry;
        registry.add_server(&server)?;
        let kept = server.clone();
        in_use
            .another()
            .and_then(|module| run_detached(session.id, module, move || kept.run()))
            .inspect_err(|_| registry.remove_server(&server))
    }

    /// Keeps it until its end. The body of the thread.
    fn run(&self) {
        let session = &self.session;
        while !session.wait_for_threads() {}
        let result = match session.join() {
            Err(Failure::Interrupted) if self.stopped.load(Relaxed) => Ok(()),
            other => other,
        };
        session.registry.remove_server(self);
        // Nobody is there to hear it; the log has it.
        let _ = session.conclude(result);
        self.gone.complete_all();
    }

    /// Whether it listens on `port` of `net`.
    pub(crate) fn is_at(&self, port: u16, net: &Netns) -> bool {
        self.session.command.port == port && self.session.net == *net
    }

    /// How many connections it serves.
    fn connections(&self) -> usize {
        // One thread listens.
        self.session.running().saturating_sub(1)
    }

    /// Has it end, with what it serves. May sleep.
    fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.session.cancel(Failure::Interrupted);
    }
}

/// Servers that have been told to end.
struct Ending(KVec<Arc<DetachedServer>>);

impl Awaited for Ending {
    fn wait(&self) -> Option<Result> {
        for server in self.0.iter() {
            if server.gone.wait_interruptible(Deadline::never()) == Waited::Interrupted {
                return None;
            }
        }
        Some(Ok(()))
    }

    /// Waits a moment longer where there was a signal. May sleep.
    ///
    /// # Errors
    ///
    /// `EINTR` where it takes longer: they end all the same.
    fn interrupt(&self, _: Disturbance) -> Result {
        let deadline = Deadline::after_ms(GOING_MS);
        for server in self.0.iter() {
            if server.gone.wait(deadline) != Waited::Completed {
                return Err(EINTR);
            }
        }
        Ok(())
    }
}

/// Has the detached servers on `port` of the writer's network namespace end. Process context of
/// the writer, which then waits until they have; may sleep.
///
/// # Errors
///
/// `ENOENT` where there is none; `EBUSY` where one serves connections and `force` is not set;
/// `EPERM` for a server of disks or taps without `CAP_SYS_ADMIN`; `ENOMEM`.
pub(crate) fn stop(registry: &Registry, port: u16, force: bool) -> Result<Waiting> {
    let net = Netns::current().ok_or(ESRCH)?;
    let servers = registry.servers(port, &net)?;
    if servers.is_empty() {
        pr_err!("stop: there is no detached server on port {}\n", port);
        return Err(ENOENT);
    }
    let is_block = |server: &Arc<DetachedServer>| server.session.command.test.is_block();
    if servers.iter().any(is_block) && !capable_sys_admin() {
        pr_err!("stop: to end a server of disks or taps needs CAP_SYS_ADMIN\n");
        return Err(EPERM);
    }
    let connections: usize = servers.iter().map(|server| server.connections()).sum();
    if connections > 0 && !force {
        pr_err!(
            "stop: the server on port {} serves {} connection(s): end these, or add force\n",
            port,
            connections
        );
        return Err(EBUSY);
    }
    let ending = Arc::new(Ending(servers), GFP_KERNEL)?;
    for server in &ending.0 {
        server.stop();
    }
    Ok(Some(ending))
}
