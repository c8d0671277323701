// SPDX-License-Identifier: GPL-2.0

//! The listening thread of a server of disks or taps.
//!
//! A client survives connection loss: a lost connection ends only itself, and the client may come
//! back. So the listening thread stays until all clients that it has to serve are gone, and gives
//! up those that do not come back in time.

#![forbid(unsafe_code)]

use super::serving::run;
use crate::{
    block::server::export::{
        give_up,
        Export, //
    },
    cm::{
        addr::SocketAddress,
        listener::Request, //
    },
    engine::{
        drive::failed,
        management,
        outcome::{
            new_wait_queue,
            Outcome, //
        },
        peer_log::Level,
        reopening_listener::ReopeningListener,
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

/// Starts the session's listening thread, and returns the address that it is bound to. An error of
/// binding is returned to the caller, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` or another error of binding; those of
/// [`Store::open`](super::store::Store::open).
pub(crate) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let no_memory = failed(STARTING);
    let wait_queue = new_wait_queue().map_err(&no_memory)?;
    let outcome = Outcome::new(&wait_queue).map_err(&no_memory)?;
    let export = Export::open(session, &outcome)?;
    // The server survives the loss of its listener, so the listener reports to an outcome of its
    // own.
    let reports = Outcome::new(&wait_queue).map_err(&no_memory)?;
    start_listening(
        session,
        addr,
        reports,
        outcome,
        move |session, listener, local, outcome| {
            listen(
                session,
                ReopeningListener::new(listener, local, wait_queue),
                outcome,
                &export,
            )
        },
    )
}

/// Starts a thread for each connection, until all clients are gone. The body of the listening
/// thread.
///
/// # Errors
///
/// The failure of the listener, or a signal; [`Failure::TimedOut`] if no client comes in time.
fn listen(
    session: &Arc<Session>,
    mut listener: ReopeningListener,
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
        if let Some(failure) = listener.take_failure() {
            if clients.is_idle() && !session.command.persist {
                return Err(failure);
            }
            pr_warn!(
                "{}: not listening any more: {}; listening again as soon as the address is back\n",
                session.id,
                failure
            );
        }
        listener.revive(session);
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
        if let Some(request) = listener.take() {
            if is_allowed(session, &request) {
                session.reap();
                admit(session, request, export)?;
            }
            continue;
        }
        let mut wake_up = clients.next_deadline().sooner(listener.next_deadline());
        if clients.is_idle() {
            if let (true, Some(ms)) = (limit_ends.passed(), limit) {
                return Err(Failure::TimedOut(what, ms));
            }
            wake_up = wake_up.sooner(limit_ends);
        }
        outcome.pause(wake_up);
    }
}

/// Returns the timeout for the first client, in ms; `None` if it may take forever. A loopback
/// always has one; other servers only if the command sets `timeout_ms` and does not persist.
fn first_client(session: &Session) -> Option<u32> {
    let command = &session.command;
    match command.role {
        Role::Loopback => Some(management::client_comes_within(session)),
        Role::Client | Role::Server => command.timeout_ms.filter(|_| !command.persist),
    }
}

/// Starts the thread of a connection.
fn admit(session: &Arc<Session>, request: Request, export: &Arc<Export>) -> Result<(), Failure> {
    // The session's threads include the listening thread, and the one of a loopback's disk.
    if session.running() > MAX_CLIENTS + 1 {
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
