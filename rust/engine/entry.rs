// SPDX-License-Identifier: GPL-2.0

//! Entry points of a workload, through which the engine runs it.

#![forbid(unsafe_code)]

use super::{
    accept::Accepting,
    asked::Asked,
    registry::{
        Registry,
        State, //
    },
    restart::Waiting,
    results::Report,
    session::Session, //
};
use crate::{
    cm::addr::SocketAddress,
    engine::depths::Depths,
    kernel_ext::module::ModuleRef,
    logic::{
        command::Command,
        failure::Failure,
        spec::tests::Family, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Starts the threads of a client of the server at an address. In the writer's context; may sleep.
pub(crate) type Start = fn(&Arc<Session>, SocketAddress) -> Result<(), Failure>;

/// Starts the threads of a server and returns the address that it is bound to. In the writer's
/// context; may sleep.
pub(crate) type Listen = fn(&Arc<Session>) -> Result<SocketAddress, Failure>;

/// Serves an admitted client and reports the result. The body of a thread.
pub(crate) type Serve = fn(&Accepting<'_>, Asked, &mut Report<'_>) -> Result<(), Failure>;

/// Starts a command. In the writer's context; may sleep.
pub(crate) type Begin = fn(&Arc<Registry>, KBox<Command>, &ModuleRef) -> Result<Waiting>;

/// The client side of a workload.
pub(crate) enum Client {
    /// Threads of a session, for which the writer waits.
    Threads(Start),
    /// A command that survives its writer.
    Kept(Begin),
}

/// A workload and its entry points.
pub(crate) struct Entry {
    /// Test families that belong to the workload.
    pub(crate) families: &'static [Family],
    /// Client; a loopback runs it too.
    pub(crate) client: Client,
    /// Server; `None` if the client needs no server command.
    pub(crate) listen: Option<Listen>,
    /// Serves one client of the engine's [`server`](super::server); `None` if that server does not
    /// serve this workload.
    pub(crate) serve: Option<Serve>,
    /// Returns the queue pair size for a number of outstanding requests, for workloads with
    /// `depth=`.
    pub(crate) depths: Option<fn(u16) -> Depths>,
    /// Constructors of the state that is kept for as long as the module is loaded, see
    /// [`Registry::state`].
    pub(crate) states: &'static [fn() -> Result<State>],
}

/// The workloads of the module, which its registry keeps.
pub(super) struct Workloads(pub(super) &'static [&'static Entry]);

/// Returns the workload of `family`, of those that `registry` keeps. Any context.
///
/// # Errors
///
/// `EINVAL` if there is none.
pub(crate) fn workload(registry: &Registry, family: Family) -> Result<&'static Entry> {
    let workloads = registry.state::<Workloads>().ok_or(EINVAL)?;
    let mut all = workloads.0.iter();
    let found = all.find(|entry| entry.families.contains(&family));
    found.copied().ok_or(EINVAL)
}
