// SPDX-License-Identifier: GPL-2.0

//! The export of a server of disks or taps: its store, and the clients that have it.

#![forbid(unsafe_code)]

use super::{
    clients::Clients,
    store::{
        ledger::Ledgers,
        Store, //
    }, //
};
use crate::{
    engine::{
        drive::failed,
        outcome::Outcome,
        registry::State,
        server::STARTING,
        session::Session, //
    },
    logic::failure::Failure, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Creates the ledgers of store failures, which servers share until the module is unloaded.
pub(crate) fn new_ledgers() -> Result<State> {
    Ok(KBox::new(Ledgers::new()?, GFP_KERNEL)?)
}

/// The store that is served, and all its clients. Fields are in drop order: the store flushes what
/// it has for clients that may come back.
pub(super) struct Export {
    /// Its clients.
    pub(super) clients: Arc<Clients>,
    /// The store.
    pub(super) store: Arc<Store>,
}

impl Export {
    /// Opens the store that the session's command names. The listening thread waits on `listener`.
    /// Process context of the writer; sleeps.
    pub(super) fn open(session: &Session, listener: &Arc<Outcome>) -> Result<Arc<Self>, Failure> {
        let no_memory = failed(STARTING);
        let command = &session.command;
        let ledgers = session.registry.state::<Arc<Ledgers>>();
        let ledgers = ledgers.ok_or_else(|| no_memory(EINVAL))?;
        let store = Store::open(&command.block, ledgers, session.registry.module())?;
        let most = (!command.persist).then_some(command.threads);
        let clients = Clients::new(
            most,
            session.timeout(),
            listener.clone(),
            store.ledger().cloned(),
        )
        .map_err(&no_memory)?;
        let store = Arc::new(store, GFP_KERNEL).map_err(|e| no_memory(e.into()))?;
        Arc::new(Self { clients, store }, GFP_KERNEL).map_err(|e| no_memory(e.into()))
    }
}

/// Records the failure of a client as that of the session, unless the session persists.
pub(super) fn give_up(session: &Session, failure: Failure) {
    if !session.command.persist {
        session.record(failure);
    }
}
