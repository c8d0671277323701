// SPDX-License-Identifier: GPL-2.0

//! What the engine knows of a workload.

#![forbid(unsafe_code)]

use super::{
    accept::Accepting,
    registry::Registry,
    restart::Waiting,
    results::Report,
    serving::Asked,
    session::Session, //
};
use crate::{
    cm::addr::SocketAddress,
    kernel_ext::module::ModuleRef,
    logic::{
        command::Command,
        failure::Failure,
        spec::tests::Family, //
    },
    rdma::qp::Depths, //
};
use core::any::Any;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Starts the threads of a client, to the server at an address. In the writer's context; may sleep.
pub(crate) type Start = fn(&Arc<Session>, SocketAddress) -> Result<(), Failure>;

/// Starts the threads of a server, and returns the address that it is bound to. In the writer's
/// context; may sleep.
pub(crate) type Listen = fn(&Arc<Session>) -> Result<SocketAddress, Failure>;

/// Serves a client that has been admitted, and reports. The body of a thread.
pub(crate) type Serve = fn(&Accepting<'_>, Asked, &mut Report<'_>) -> Result<(), Failure>;

/// Something that a workload keeps for as long as the module is loaded.
pub(crate) type State = KBox<dyn Any + Send + Sync>;

/// Begins a command. In the writer's context; may sleep.
pub(crate) type Begin = fn(&Arc<Registry>, KBox<Command>, &ModuleRef) -> Result<Waiting>;

/// The client of a workload.
pub(crate) enum Client {
    /// Threads of a session that its writer waits for.
    Threads(Start),
    /// Something that outlives its writer.
    Kept(Begin),
}

/// A workload.
pub(crate) struct Entry {
    /// The kinds of tests that are its own.
    pub(crate) families: &'static [Family],
    /// Its client, which of a loopback is a part.
    pub(crate) client: Client,
    /// Its server; `None` where its client needs none that is a command.
    pub(crate) listen: Option<Listen>,
    /// Serves one client of the engine's [`server`](super::server); `None` where that has none.
    pub(crate) serve: Option<Serve>,
    /// How large its queue pairs are with so many requests under way, where `depth=` says how many.
    pub(crate) depths: Option<fn(u16) -> Depths>,
    /// Makes what it keeps for as long as the module is loaded, see [`Registry::state`].
    pub(crate) states: &'static [fn() -> Result<State>],
}
