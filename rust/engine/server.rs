// SPDX-License-Identifier: GPL-2.0

//! Listening thread of a server, which starts a thread for each connection.

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
        addr::{
            socket_address,
            SocketAddress, //
        },
        listener::{
            Listener,
            Request, //
        }, //
    },
    engine::{
        outcome::{
            new_wait_queue,
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
use core::net::{
    IpAddr,
    Ipv4Addr, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Name of the setup step, for failures to start a server.
pub(crate) const STARTING: &str = "starting the server";

/// Name of the step in which a server waits for a client, for failures to get one in time.
pub(crate) const WAITING: &str = "waiting for a client";

/// Maximum number of clients served at a time; more are rejected as busy.
pub(crate) const MAX_CLIENTS: usize = 1024;

/// Returns the address that the session's command listens on.
///
/// # Errors
///
/// `ENODEV` if the interface does not exist.
pub(crate) fn listening_address(session: &Session) -> Result<SocketAddress, Failure> {
    let command = &session.command;
    match &command.addr {
        Some(addr) => socket_address(&session.net, addr, command.port),
        None => Ok(SocketAddress::any(command.port)),
    }
}

/// Starts the session's listening thread, and returns the address that it is bound to. An error of
/// binding is returned to the caller, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` or another error of binding.
pub(crate) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let outcome = new_wait_queue()
        .and_then(|wait_queue| Outcome::new(&wait_queue))
        .map_err(failed(STARTING))?;
    start_listening(
        session,
        addr,
        outcome.clone(),
        outcome,
        |session, listener, _, outcome| listen(session, &listener, outcome),
    )
}

/// Binds a listener to `addr` and starts the session's listening thread. The listener reports to
/// `reports`. The thread waits on `outcome`, and calls `listen` with the listener and the address
/// that it is bound to. Returns that address.
///
/// # Errors
///
/// The error of binding; `ENOMEM`.
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
        Role::Loopback => MAX_CLIENTS + command.threads as usize,
        Role::Client | Role::Server => MAX_CLIENTS,
    };
    // Number of connections still to serve; `None` for a server that persists.
    let mut left = (!command.persist).then_some(command.threads);
    let timeout = client_timeout(session);
    // Number of further connections expected from clients that have begun to connect.
    let mut missing = 0u32;
    // True for a server that ends without clients, once it had one; and while there was one since
    // it was last looked.
    let (mut ends, mut busy) = (false, false);
    while left != Some(0) {
        // A client that has begun to connect soon makes the rest of its connections.
        let timeout = if missing > 0 {
            Some(session.timeout())
        } else if ends {
            command.idle_ms
        } else {
            timeout
        };
        let request = match next_request(session, listener, outcome, timeout) {
            Err(Failure::TimedOut(..)) if ends && missing == 0 => {
                let serves = session.running() > 1;
                if !serves && !busy {
                    break;
                }
                busy = serves;
                continue;
            }
            request => request?,
        };
        let Some(request) = request else {
            continue;
        };
        (ends, busy) = (command.idle_ms.is_some(), true);
        session.reap();
        if session.running() > most {
            reject_as_busy(&request);
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

/// Returns the time in ms for which a server waits for a client; `None` for as long as it takes.
pub(crate) fn client_timeout(session: &Session) -> Option<u32> {
    let command = &session.command;
    // A person starts the client. Only a loopback knows that one must come.
    match command.role {
        Role::Loopback => Some(management::client_comes_within(session)),
        Role::Client | Role::Server => command.timeout_ms.filter(|_| !command.persist),
    }
}

/// Rejects a request beyond [`MAX_CLIENTS`]. May sleep.
pub(crate) fn reject_as_busy(request: &Request) {
    request.id.reject(&Reject {
        reason: RejectReason::Busy,
        value: MAX_CLIENTS as u32,
    });
}

/// Logs the failure of a client of a server that persists. May sleep.
pub(crate) fn say_not_served(session: &Session, failure: Failure) {
    session.peer_log.say(
        Level::Error,
        fmt!("a client was not served to its end: {}", failure),
    );
}

/// Waits for a request from an address that the server accepts. Rejecting others does not extend
/// `timeout`.
pub(crate) fn next_request(
    session: &Session,
    listener: &Listener,
    outcome: &Outcome,
    timeout: Option<u32>,
) -> Result<Option<Request>, Failure> {
    let mut next = None;
    outcome.wait_until(WAITING, timeout, || {
        next = listener.take();
        if next
            .as_ref()
            .is_some_and(|request| !is_allowed(session, request))
        {
            next = None;
            // Check the queue again after the checks of the wait.
            outcome.wake();
        }
        next.is_some()
    })?;
    Ok(next)
}

/// Returns true if the server accepts the address of the client of `request`. Otherwise rejects the
/// request, and does nothing else for it.
pub(crate) fn is_allowed(session: &Session, request: &Request) -> bool {
    if allows(session, request.id.peer().ip()) {
        return true;
    }
    request.id.reject(&Reject {
        reason: RejectReason::NotAllowed,
        value: 0,
    });
    false
}

/// Returns true if the server accepts clients at `ip`. Otherwise logs that one was refused.
pub(crate) fn allows(session: &Session, ip: Option<IpAddr>) -> bool {
    if session.command.allow.is_all() || ip.is_some_and(|ip| session.command.allow.allows(ip)) {
        return true;
    }
    session.peer_log.say(
        Level::Warning,
        fmt!(
            "a client at {} was refused: not within allow=",
            Plain(ip.unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
        ),
    );
    false
}

/// Returns true for a further connection of a client, and the number of connections still to come,
/// which is announced with the first one.
fn more_connections(data: &[u8]) -> (bool, u32) {
    match PrivateData::decode(data) {
        Ok(Some(peer)) if peer.index == 0 => (false, u32::from(peer.load.qps).saturating_sub(1)),
        Ok(Some(_)) => (true, 0),
        _ => (false, 0),
    }
}
