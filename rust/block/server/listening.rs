// SPDX-License-Identifier: GPL-2.0

//! The listening thread of a server of disks or taps.
//!
//! A client outlives its connections. One that is lost ends nothing but itself: the
//! client may come back. So the listening thread stays until all clients that it was
//! to serve have gone, and gives up those that do not come back in time.

#![forbid(unsafe_code)]

use super::serving::run;
use crate::{
    block::server::{
        clients::Clients,
        store::{
            ledger::Ledgers,
            Store, //
        }, //
    },
    cm::{
        addr::SocketAddress,
        listener::Request, //
    },
    engine::{
        drive::failed,
        ear::Ear,
        entry::State,
        management,
        outcome::{
            new_bell,
            Outcome, //
        },
        peer_log::Level,
        server::{
            is_allowed,
            listening_address,
            start_listening,
            MAX_CLIENTS,
            STARTING, //
        },
        session::Session, //
    },
    kernel_ext::time::Deadline,
    logic::{
        command::Role,
        failure::Failure,
        wire::{
            Reject,
            RejectReason, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Makes what servers know of failed stores for as long as the module is loaded.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn new_ledgers() -> Result<State> {
    Ok(KBox::new(Ledgers::new()?, GFP_KERNEL)?)
}

/// What is served, to all clients.
pub(super) struct Export {
    /// The store.
    pub(super) store: Arc<Store>,
    /// Its clients.
    pub(super) clients: Arc<Clients>,
}

impl Export {
    /// Opens the store of the session's command, whose listening thread waits on
    /// `listener`. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`].
    fn open(session: &Session, listener: &Arc<Outcome>) -> Result<Arc<Self>, Failure> {
        let no_memory = failed(STARTING);
        let command = &session.command;
        let ledgers = session.registry.state::<Arc<Ledgers>>();
        let ledgers = ledgers.ok_or_else(|| no_memory(EINVAL))?;
        let store = Store::open(&command.block, ledgers)?;
        let most = (!command.persist).then_some(command.threads);
        let clients = Clients::new(
            most,
            session.timeout(),
            listener.clone(),
            store.ledger().cloned(),
        )
        .map_err(&no_memory)?;
        let store = Arc::new(store, GFP_KERNEL).map_err(|e| no_memory(e.into()))?;
        Arc::new(Self { store, clients }, GFP_KERNEL).map_err(|e| no_memory(e.into()))
    }
}

/// Starts the session's listening thread, and returns the address it is bound
/// to. Failures to bind are the caller's, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` and what else binding reports; those of
/// [`Store::open`].
pub(crate) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let no_memory = failed(STARTING);
    let bell = new_bell().map_err(&no_memory)?;
    let outcome = Outcome::new(&bell).map_err(&no_memory)?;
    let export = Export::open(session, &outcome)?;
    // The server outlives its listener.
    let reports = Outcome::new(&bell).map_err(&no_memory)?;
    start_listening(
        session,
        addr,
        reports,
        outcome,
        move |session, listener, local, outcome| {
            listen(session, Ear::new(listener, local, bell), outcome, &export)
        },
    )
}

/// Starts a thread for each connection, until all clients have gone. The body of the
/// listening thread.
///
/// # Errors
///
/// What the listener or a signal reports; [`Failure::TimedOut`] where no client comes
/// in time.
fn listen(
    session: &Arc<Session>,
    mut ear: Ear,
    outcome: &Outcome,
    export: &Arc<Export>,
) -> Result<(), Failure> {
    let clients = &export.clients;
    let (what, limit) = ("waiting for a client", first_client(session));
    let limit_ends = Deadline::after(limit);
    loop {
        if let Some(failure) = outcome.failure() {
            return Err(failure);
        }
        if let Some(failure) = ear.take_failure() {
            if clients.is_idle() && !session.command.persist {
                return Err(failure);
            }
            pr_warn!(
                "{}: not listening any more: {}; listening again as soon as the address is back\n",
                session.id,
                failure
            );
        }
        ear.revive(session);
        while let Some(disk) = clients.take_lost() {
            session.peer_log.say(
                Level::Error,
                fmt!(
                    "client {:016x} was lost, and has not come back in time",
                    disk
                ),
            );
            give_up(session, Failure::Disconnected);
        }
        if clients.all_gone() {
            return Ok(());
        }
        if let Some(request) = ear.take() {
            if is_allowed(session, &request) {
                session.reap();
                admit(session, request, export)?;
            }
            continue;
        }
        let mut wake_up = clients.patience().sooner(ear.patience());
        if clients.is_idle() {
            if let (true, Some(ms)) = (limit_ends.passed(), limit) {
                return Err(Failure::TimedOut(what, ms));
            }
            wake_up = wake_up.sooner(limit_ends);
        }
        outcome.pause(wake_up);
    }
}

/// How long the first client may take to come, in ms: only a loopback's must.
fn first_client(session: &Session) -> Option<u32> {
    let command = &session.command;
    match command.role {
        Role::Loopback => Some(management::client_comes_within(session)),
        _ => command.timeout_ms.filter(|_| !command.persist),
    }
}

/// Starts the thread of a connection.
fn admit(session: &Arc<Session>, request: Request, export: &Arc<Export>) -> Result<(), Failure> {
    // The threads that listen and that have the disk of a loopback are the session's, too.
    if session.running() > MAX_CLIENTS.saturating_add(1) {
        request.id.reject(&Reject {
            reason: RejectReason::Busy,
            value: MAX_CLIENTS as u32,
        });
        return Ok(());
    }
    let export = export.clone();
    match session.spawn(move |session, worker| run(session, worker, request, &export)) {
        // Dropping the request has rejected it.
        Err(failure) if session.command.persist => {
            session
                .peer_log
                .say(Level::Error, fmt!("a client was not served: {}", failure));
            Ok(())
        }
        started => started,
    }
}

/// Notes how a client has failed: that is how the session fails, unless it persists.
pub(super) fn give_up(session: &Session, failure: Failure) {
    if !session.command.persist {
        session.record(failure);
    }
}
