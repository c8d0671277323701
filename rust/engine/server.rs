// SPDX-License-Identifier: GPL-2.0

//! A server's listening thread, which starts one to serve each client.

#![forbid(unsafe_code)]

use super::{
    drive::failed,
    management,
    peer_log::Level,
    serving,
    session::Session, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        listener::{
            Listener,
            Request, //
        }, //
    },
    engine::{
        outcome::{
            new_bell,
            Outcome, //
        },
        print::Plain, //
    },
    logic::{
        command::Role,
        failure::Failure,
        wire::{
            PrivateData,
            Reject,
            RejectReason, //
        }, //
    }, //
};
use core::net::Ipv4Addr;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What fails where a server does not come up.
pub(crate) const STARTING: &str = "starting the server";

/// Clients served at a time; more are rejected as busy.
pub(crate) const MAX_CLIENTS: usize = 1024;

/// Returns the address at which the session's command is to listen.
///
/// # Errors
///
/// `ENODEV` for an unknown interface.
pub(crate) fn listening_address(session: &Session) -> Result<SocketAddress, Failure> {
    let command = &session.command;
    match &command.addr {
        Some(addr) => SocketAddress::new(&session.net, addr, command.port),
        None => Ok(SocketAddress::any(command.port)),
    }
}

/// Starts the session's listening thread, and returns the address it is bound
/// to. Failures to bind are the caller's, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` and what else binding reports.
pub(crate) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let outcome = new_bell()
        .and_then(|bell| Outcome::new(&bell))
        .map_err(failed(STARTING))?;
    start_listening(
        session,
        addr,
        outcome.clone(),
        outcome,
        |session, listener, _, outcome| listen(session, &listener, outcome),
    )
}

/// Binds a listener to `addr`, which reports to `reports`, and starts the session's listening
/// thread. That waits on `outcome`, and does `listen` with the listener and the address that it is
/// bound to, which is returned.
///
/// # Errors
///
/// What binding reports; `ENOMEM`.
pub(crate) fn start_listening(
    session: &Arc<Session>,
    addr: SocketAddress,
    reports: Arc<Outcome>,
    outcome: Arc<Outcome>,
    listen: impl FnOnce(&Arc<Session>, Listener, SocketAddress, &Outcome) -> Result<(), Failure>
        + Send
        + 'static,
) -> Result<SocketAddress, Failure> {
    let listener = Listener::new(&session.net, &addr, reports)?;
    let local = addr.with_port(listener.local().port());
    session.spawn(move |session, worker| {
        let listened = worker
            .attach(&outcome)
            .map_err(failed(STARTING))
            .and_then(|()| listen(session, listener, local, &outcome));
        if let Err(failure) = listened {
            session.abort(failure);
        }
    })?;
    Ok(local)
}

fn listen(session: &Arc<Session>, listener: &Listener, outcome: &Outcome) -> Result<(), Failure> {
    let command = &session.command;
    // The clients of a loopback are threads of the session, too.
    let most = match command.role {
        Role::Loopback => MAX_CLIENTS.saturating_add(command.threads as usize),
        _ => MAX_CLIENTS,
    };
    // Where there is an end: connections to serve.
    let mut left = (!command.persist).then_some(command.threads);
    // A person starts the client: only loopback knows that one must come.
    let timeout = match command.role {
        Role::Loopback => Some(management::client_comes_within(session)),
        _ => command.timeout_ms.filter(|_| !command.persist),
    };
    // Of them, further ones of clients that have begun to connect.
    let mut missing = 0u32;
    while left != Some(0) {
        // A client that has begun to connect is soon done with it.
        let timeout = if missing > 0 {
            Some(session.timeout())
        } else {
            timeout
        };
        let Some(request) = next_request(session, listener, outcome, timeout)? else {
            continue;
        };
        session.reap();
        if session.running() > most {
            request.id.reject(&Reject {
                reason: RejectReason::Busy,
                value: MAX_CLIENTS as u32,
            });
            continue;
        }
        let (later, more) = more_connections(request.data.as_slice());
        match session.spawn(move |session, worker| serving::run(session, worker, request)) {
            // Dropping the request has rejected it.
            Err(failure) if command.persist => {
                session
                    .peer_log
                    .say(Level::Error, fmt!("a client was not served: {}", failure));
            }
            started => started?,
        }
        if let Some(left) = &mut left {
            *left = left.saturating_sub(1).saturating_add(more);
            missing = missing.saturating_add(more);
            if later {
                missing = missing.saturating_sub(1);
            }
        }
    }
    Ok(())
}

/// Waits for a request from an address that the server accepts. The rejection of others does not
/// extend `timeout`.
///
/// # Errors
///
/// As [`Outcome::wait_until`].
fn next_request(
    session: &Session,
    listener: &Listener,
    outcome: &Outcome,
    timeout: Option<u32>,
) -> Result<Option<Request>, Failure> {
    let mut next = None;
    outcome.wait_until("waiting for a client", timeout, || {
        next = listener.take();
        if next
            .as_ref()
            .is_some_and(|request| !is_allowed(session, request))
        {
            next = None;
            // Look at the queue again after the checks of the wait.
            outcome.wake();
        }
        next.is_some()
    })?;
    Ok(next)
}

/// Returns whether the client of `request` has an address that the server accepts. Rejects it
/// otherwise, and does nothing else for it.
pub(crate) fn is_allowed(session: &Session, request: &Request) -> bool {
    let ip = request.id.peer().ip();
    if session.command.allow.is_all() || ip.is_some_and(|ip| session.command.allow.allows(ip)) {
        return true;
    }
    request.id.reject(&Reject {
        reason: RejectReason::NotAllowed,
        value: 0,
    });
    session.peer_log.say(
        Level::Warning,
        fmt!(
            "a client at {} was refused: not within allow=",
            Plain(ip.unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
        ),
    );
    false
}

/// Whether this is a further connection of a client, and how many come after it:
/// its first one tells.
fn more_connections(data: &[u8]) -> (bool, u32) {
    match PrivateData::decode(data) {
        Ok(Some(peer)) if peer.index == 0 => (false, u32::from(peer.load.qps).saturating_sub(1)),
        Ok(Some(_)) => (true, 0),
        _ => (false, 0),
    }
}
