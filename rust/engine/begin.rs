// SPDX-License-Identifier: GPL-2.0

//! Begins commands: the entrance of the engine.

#![forbid(unsafe_code)]

use super::{
    detached::{
        self,
        DetachedServer, //
    },
    entry::{
        workload,
        Client,
        Entry,
        Workloads, //
    },
    registry::{
        Registry,
        State, //
    },
    restart::Waiting,
    session::{
        not_begun,
        Session, //
    }, //
};
use crate::{
    kernel_ext::module::ModuleRef,
    logic::{
        command::{
            Command,
            Role, //
        },
        failure::Failure, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Creates the registry of `module` with these `workloads`, and what they keep. May sleep.
pub(crate) fn new_registry(
    module: &'static ThisModule,
    workloads: &'static [&'static Entry],
) -> Result<Arc<Registry>> {
    let mut states: KVec<State> = KVec::new();
    let own = KBox::new(Workloads(workloads), GFP_KERNEL)?;
    states.push(own, GFP_KERNEL)?;
    states.push(detached::state()?, GFP_KERNEL)?;
    for make in workloads.iter().flat_map(|workload| workload.states) {
        states.push(make()?, GFP_KERNEL)?;
    }
    Registry::new(states, module)
}

/// Begins `command`. Process context of the writer, which then waits for the returned value; may
/// sleep. `in_use` keeps the module loaded.
///
/// # Errors
///
/// The errno of the failure. The log has the reason.
pub(crate) fn begin(
    registry: &Arc<Registry>,
    command: KBox<Command>,
    in_use: &ModuleRef,
) -> Result<Waiting> {
    let workload = workload(registry, command.test.spec().family)?;
    match workload.client {
        Client::Kept(begin) if command.role != Role::Server => {
            return begin(registry, command, in_use);
        }
        Client::Kept(_) | Client::Threads(_) => {}
    }
    let id = registry.next_id();
    let session = Session::new(registry, id, command, None).map_err(not_begun(registry, id))?;
    match session.start(workload) {
        Ok(()) if session.goes_on() => Ok(leave(session, in_use)),
        Ok(()) => Ok(Some(session)),
        Err(failure) => Err(session.conclude(Err(failure)).err().unwrap_or(EIO)),
    }
}

/// Detaches the server of `session` from its writer, and returns what the writer still has to wait
/// for.
fn leave(session: Arc<Session>, in_use: &ModuleRef) -> Waiting {
    match DetachedServer::keep(&session, in_use) {
        Ok(()) => {
            let (id, port) = (session.id, session.command.port);
            pr_info!("{id}: listens; stop=server:{port} ends it, as stop=command:{id} does\n");
            None
        }
        Err(error) => {
            session.abort(Failure::Kernel("detaching the server", error.to_errno()));
            Some(session)
        }
    }
}
