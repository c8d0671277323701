// SPDX-License-Identifier: GPL-2.0

//! Servers that survive the `write()` of their command (`detach`).
//!
//! A server has started once it listens, so its writer still gets every error that could prevent
//! that. From then on a thread of its own owns the session: it waits for the last of the server's
//! threads, and logs how the server ended. The session keeps the network namespace and the
//! credentials of the writer. Where no process is in the namespace any more and nothing names it,
//! the server ends: nobody could reach it, nor stop it by its port.

#![forbid(unsafe_code)]

use super::{
    registry::{
        Registry,
        State, //
    },
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
    engine::{
        print::Plain,
        worker::{
            Connections,
            ThreadName, //
        }, //
    },
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
        time::{
            nap,
            Deadline, //
        }, //
    },
    logic::{
        command::order::Target,
        failure::Failure, //
    }, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// Time in ms between two looks at the network namespace.
const LOOK_MS: u32 = 1000;

/// Time in ns between two looks at connections that have ended.
const LEAVING_NS: u64 = 2_000_000;

/// The detached servers of the module.
#[pin_data]
struct Servers {
    #[pin]
    running: Mutex<KVec<Arc<DetachedServer>>>,
}

impl Servers {
    /// Returns those that `registry` keeps.
    fn of(registry: &Registry) -> Result<&Arc<Self>> {
        registry.state::<Arc<Self>>().ok_or(EINVAL)
    }

    /// Adds a server. May sleep.
    fn add(&self, server: &Arc<DetachedServer>) -> Result {
        Ok(self.running.lock().push(server.clone(), GFP_KERNEL)?)
    }

    /// Removes a server. May sleep.
    fn remove(&self, server: &DetachedServer) {
        let mut running = self.running.lock();
        running.retain(|each| !core::ptr::eq(&raw const **each, server));
    }

    /// Returns the servers that `target` means to a writer in `net`. May sleep.
    fn find(&self, target: Target, net: &Netns) -> Result<KVec<Arc<DetachedServer>>> {
        let mut found = KVec::new();
        for server in self.running.lock().iter() {
            if server.is_meant(target, net) {
                found.push(server.clone(), GFP_KERNEL)?;
            }
        }
        Ok(found)
    }
}

/// Returns the detached servers, none yet, for a registry to keep. May sleep.
pub(super) fn state() -> Result<State> {
    let servers = Arc::pin_init(
        pin_init!(Servers {
            running <- new_mutex!(KVec::new(), "krping_servers"),
        }),
        GFP_KERNEL,
    )?;
    Ok(KBox::new(servers, GFP_KERNEL)?)
}

/// A server that continues to run without its writer.
#[pin_data]
pub(crate) struct DetachedServer {
    session: Arc<Session>,
    /// True once the server has been told to end.
    stopped: Atomic<bool>,
    /// Completed when nothing of the server is left.
    #[pin]
    gone: Completion,
}

impl DetachedServer {
    /// Hands the listening server of `session` over to a thread of its own. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: the server continues to run, and belongs to the caller.
    pub(crate) fn keep(session: &Arc<Session>, in_use: &ModuleRef) -> Result {
        let server = Arc::pin_init(
            pin_init!(Self {
                session: session.clone(),
                stopped: Atomic::new(false),
                gone <- Completion::new(),
            }),
            GFP_KERNEL,
        )?;
        let servers = Servers::of(&session.registry)?;
        servers.add(&server)?;
        let kept = server.clone();
        in_use
            .another()
            .and_then(|module| {
                run_detached(fmt!("{}", ThreadName(session.id)), module, move || {
                    kept.run()
                })
            })
            .inspect_err(|_| servers.remove(&server))
    }

    /// Waits for the end of the server and logs it. The body of the thread.
    fn run(&self) {
        let session = &self.session;
        while !session.wait_for_threads(Deadline::after_ms(LOOK_MS)) {
            if !session.net.is_in_use() {
                session.cancel(Failure::NamespaceGone);
            }
        }
        let result = match session.join() {
            Err(Failure::Interrupted) if self.stopped.load(Relaxed) => Ok(()),
            other => other,
        };
        if let Ok(servers) = Servers::of(&session.registry) {
            servers.remove(self);
        }
        // No writer is left to return the error to; it is in the log.
        let _ = session.conclude(result);
        self.gone.complete_all();
    }

    /// Returns true if `target` means the server to a writer in `net`.
    fn is_meant(&self, target: Target, net: &Netns) -> bool {
        match target {
            Target::Server(port) => self.session.command.port == port && self.session.net == *net,
            Target::Command(id) => self.session.id == id,
            Target::Disk(_) => false,
        }
    }

    /// Waits a moment for connections that have ended to be gone, whose clients may have succeeded
    /// before, and returns the number of the others. May sleep.
    fn connections(&self) -> usize {
        let deadline = Deadline::after_ms(GOING_MS);
        loop {
            let Connections { up, ended } = self.session.connections();
            if up > 0 || ended == 0 || deadline.passed() {
                return up;
            }
            nap(LEAVING_NS);
        }
    }

    /// Tells the server and its connections to end. May sleep.
    fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.session.cancel(Failure::Interrupted);
    }
}

/// Detached servers that have been told to end.
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

    /// Waits a moment longer after a signal. May sleep.
    ///
    /// # Errors
    ///
    /// `EINTR` if the servers take longer; they end all the same.
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

/// Ends the detached servers that `target` means: those on a port of the writer's network
/// namespace, or that of a command, wherever it is. Process context of the writer, which then waits
/// on the result until they have ended; may sleep.
///
/// # Errors
///
/// `ENOENT` if there is none; `EBUSY` if one serves connections and `force` is not set; `EPERM` for
/// a server of disks or taps without `CAP_SYS_ADMIN`; `ENOMEM`.
pub(crate) fn stop(registry: &Registry, target: Target, force: bool) -> Result<Waiting> {
    let net = Netns::current().ok_or(ESRCH)?;
    let servers = Servers::of(registry)?.find(target, &net)?;
    let refused = |error, why: fmt::Arguments<'_>| {
        let errors = registry.errors();
        Err(errors.not_stopped(Plain(target), error, why))
    };
    if servers.is_empty() {
        return match target {
            Target::Server(port) => {
                refused(ENOENT, fmt!("there is no detached server on port {}", port))
            }
            Target::Command(id) | Target::Disk(id) => refused(
                ENOENT,
                fmt!("there is no detached server with the number {}", id),
            ),
        };
    }
    let is_block = |server: &Arc<DetachedServer>| server.session.command.test.is_block();
    if servers.iter().any(is_block) && !capable_sys_admin() {
        let why = "to end a server of disks or taps needs CAP_SYS_ADMIN";
        return refused(EPERM, fmt!("{}", why));
    }
    let connections: usize = servers.iter().map(|server| server.connections()).sum();
    if connections > 0 && !force {
        return refused(
            EBUSY,
            fmt!(
                "the server on port {} serves {} connection(s): end these, or add force",
                servers
                    .first()
                    .map_or(0, |server| server.session.command.port),
                connections
            ),
        );
    }
    let ending = Arc::new(Ending(servers), GFP_KERNEL)?;
    for server in &ending.0 {
        server.stop();
    }
    Ok(Some(ending))
}
