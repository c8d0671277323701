// SPDX-License-Identifier: GPL-2.0

//! A server's threads: one listens, and one serves each client.

#![forbid(unsafe_code)]

use super::{
    drive::{
        adapt_ack_timeout, check_size, depths, drive, failed, note_device, patience, poll_mode,
        read_limits,
    },
    worker::Worker,
    Session,
};
use crate::{
    cm::{
        addr::SocketAddress,
        listener::{Listener, Request},
        CmId,
    },
    device::{Device, Transport},
    logic::{
        command::{Command, PatternKind, Role, Test},
        failure::Failure,
        pattern::Pattern,
        protocol::{check_request, Violation},
        wire::{PeerRole, PrivateData, PrivateDataError, Reject, RejectReason},
    },
    mr::Memory,
    outcome::{Outcome, Progress},
    qp::QueuePair,
    results::Report,
    test::{
        exchange::RECEIVES,
        pingpong_server::{PingPongServer, Service},
    },
};
use kernel::{prelude::*, sync::Arc};

/// The least buffer for a client that does not announce its size: what `rping`
/// can be told to use.
const LEGACY_BUFFER: u32 = 64 * 1024;

/// Clients served at a time; more are rejected as busy.
const MAX_CLIENTS: usize = 1024;

/// Starts the session's listening thread, and returns the address it is bound
/// to. Failures to bind are the caller's, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` and what else binding reports.
pub(super) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let command = &session.command;
    let addr = match &command.addr {
        Some(addr) => SocketAddress::new(&session.net, addr, command.port)?,
        None => SocketAddress::any(command.port),
    };
    let outcome =
        Arc::pin_init(Outcome::new(), GFP_KERNEL).map_err(failed("starting the server"))?;
    let listener = Listener::new(&session.net, &addr, outcome.clone())?;
    let local = addr.with_port(listener.local().port());
    session.spawn(move |session, worker| {
        worker.attach(&outcome);
        if let Err(failure) = listen(session, &listener, &outcome) {
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
    let clients = if command.persist {
        u32::MAX
    } else {
        command.threads
    };
    // A person starts the client: only loopback knows that one must come.
    let timeout = match command.role {
        Role::Loopback => Some(session.timeout()),
        _ => command.timeout_ms.filter(|_| !command.persist),
    };
    let mut served = 0;
    while served < clients {
        outcome.wait_until("waiting for a client", timeout, || listener.has_request())?;
        let Some(request) = listener.take() else {
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
        match session.spawn(move |session, worker| run(session, worker, request)) {
            // Dropping the request has rejected it.
            Err(failure) if command.persist => {
                pr_err!("{}: a client was not served: {}\n", session.id, failure);
            }
            started => started?,
        }
        if !command.persist {
            served += 1;
        }
    }
    Ok(())
}

fn run(session: &Arc<Session>, worker: &Arc<Worker>, request: Request) {
    let mut report = Report::new(session.id, worker, "server", &session.command);
    let result = serve(session, worker, request, &mut report);
    report.failure = result.err();
    session.report(&report);
    if let Some(failure) = report.failure.filter(|_| session.command.persist) {
        pr_err!(
            "{}: a client was not served to its end: {}\n",
            session.id,
            failure
        );
    }
}

/// Reports a failure of one client: the end of the session, unless it persists.
fn give_up(session: &Session, failure: Failure) -> Failure {
    if !session.command.persist {
        session.abort(failure);
    }
    failure
}

fn serve(
    session: &Arc<Session>,
    worker: &Worker,
    request: Request,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    worker.attach(request.id.outcome());
    let Request { id, data, limits } = request;
    report.peer = Some(id.peer());
    let id = Arc::new(id, GFP_KERNEL)
        .map_err(|e| give_up(session, failed("serving a client")(e.into())))?;

    let prepared = id
        .device()
        .map_err(failed("finding the device"))
        .and_then(|device| {
            note_device(worker, &device);
            report.device = Some((device.name(), device.transport()));
            let peer = PrivateData::decode(data.as_slice()).map_err(Failure::PrivateData)?;
            report.legacy = Some(peer.is_none());
            if let Some(peer) = &peer {
                check_request(peer).map_err(|violation| Failure::Protocol(violation, 0))?;
            }
            if device.max_reads_started() == 0 {
                return Err(Failure::Unsupported("the device starts no RDMA READ"));
            }
            let limits = read_limits(&device, Some(limits));
            if limits.initiator_depth == 0 {
                return Err(Failure::Protocol(Violation::NoReads, 0));
            }
            let service = service(&session.command, peer.as_ref(), &device)?;
            check_size(&device, service.size)?;
            report.size = service.size;
            adapt_ack_timeout(&id, &device, service.mem_mode);
            let queue_pair = prepare(session, worker, &id, &device, service)?;
            Ok((queue_pair, peer, service, limits))
        });
    let (queue_pair, peer, service, limits) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            let failure = id.outcome().cause_of(failure);
            id.reject(&rejection(&failure));
            return Err(give_up(session, failure));
        }
    };

    let answer = PrivateData {
        role: PeerRole::Server,
        test: peer.map_or(Test::PingPong, |peer| peer.test),
        mem_mode: service.mem_mode,
        server_inv: service.server_inv,
        read_inv: service.read_inv,
        validate: service.check.is_some(),
        pattern: peer.map_or(PatternKind::Text, |peer| peer.pattern),
        size: service.size,
        count: service.count,
        seed: 0,
        max_size: service.size,
    }
    .encode();
    // A legacy client does not expect private data.
    let answer = if peer.is_some() { &answer[..] } else { &[] };
    // Fast registration needs nothing of its server, which hears nothing of it.
    let timeout = match peer {
        Some(peer) if peer.test == Test::FastReg => None,
        _ => Some(session.timeout()),
    };
    let result = id
        .accept(answer, limits)
        .map_err(failed("accepting the connection"))
        .and_then(|()| {
            let outcome = id.outcome();
            outcome.wait_for(Progress::Established, "accepting", Some(session.timeout()))?;
            let poll = poll_mode(&session.command);
            drive(&queue_pair, outcome, poll, timeout)
        });
    finish(session, &id, queue_pair, result, report)
}

/// Tells the client's leaving from its breaking off, and takes all down.
fn finish(
    session: &Session,
    id: &CmId,
    queue_pair: Pin<KBox<QueuePair<PingPongServer>>>,
    result: Result<(), Failure>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let state = queue_pair.with(|server, _| (server.may_end(), server.served_all()));
    let (may_end, served_all) = state.unwrap_or_default();
    let result = match result {
        Err(Failure::Disconnected) if may_end => Ok(()),
        // All was done, and only the client's farewell got lost.
        Err(Failure::TimedOut(..)) if served_all => Ok(()),
        other => other.map_err(|failure| match id.outcome().cause_of(failure) {
            // The client takes its own request back.
            Failure::Rejected(..) => Failure::Disconnected,
            cause => cause,
        }),
    };
    let result = result.map_err(|failure| give_up(session, failure));
    if let Some(server) = queue_pair.stop() {
        (report.iterations, report.elapsed_ns) = server.summary();
    }
    id.disconnect(patience(session, &result));
    drop(queue_pair);
    result
}

fn prepare(
    session: &Session,
    worker: &Worker,
    id: &Arc<CmId>,
    device: &Device<'_>,
    service: Service,
) -> Result<Pin<KBox<QueuePair<PingPongServer>>>, Failure> {
    let mut memory = Memory::new(id, false).map_err(failed("allocating a protection domain"))?;
    let server = PingPongServer::new(service, &mut memory, worker.traffic.clone())
        .map_err(failed("allocating and registering buffers"))?;
    let depths = depths(session, device, PingPongServer::SEND_DEPTH, RECEIVES as u32);
    let queue_pair =
        QueuePair::new(memory, depths, server).map_err(failed("creating the queue pair"))?;
    queue_pair
        .with(|server, queue| server.prepare(queue))
        .ok_or(Failure::Interrupted)??;
    Ok(queue_pair)
}

/// What this server does for a client that announced `peer`, or nothing.
///
/// # Errors
///
/// [`Failure::Unsupported`] for what the device cannot do.
fn service(
    command: &Command,
    peer: Option<&PrivateData>,
    device: &Device<'_>,
) -> Result<Service, Failure> {
    let read_inv = peer.map_or(command.read_inv, |peer| peer.read_inv);
    if read_inv && !device.can_read_with_invalidate() {
        return Err(Failure::Unsupported(
            "read_inv: only iWARP devices have READ_WITH_INV, and this is none",
        ));
    }
    let read_needs_rkey = device.transport() == Transport::Iwarp;
    Ok(match peer {
        Some(peer) => Service {
            size: peer.size,
            count: match peer.test {
                Test::PingPong => peer.count,
                Test::FastReg => 0,
            },
            mem_mode: peer.mem_mode,
            server_inv: peer.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            read_needs_rkey,
            check: peer.validate.then_some(Pattern {
                kind: peer.pattern,
                seed: peer.seed,
            }),
            verbose: command.verbose,
        },
        None => Service {
            size: command.size.max(LEGACY_BUFFER),
            count: 0,
            mem_mode: command.mem_mode,
            server_inv: command.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            read_needs_rkey,
            check: None,
            verbose: command.verbose,
        },
    })
}

/// What to tell a client that is not served because of `failure`.
fn rejection(failure: &Failure) -> Reject {
    let (reason, value) = match *failure {
        Failure::PrivateData(PrivateDataError::Version(_)) => {
            (RejectReason::Version, u32::from(PrivateData::VERSION))
        }
        Failure::TooLarge(most) => (RejectReason::TooLarge, most),
        Failure::PrivateData(_) | Failure::Unsupported(_) | Failure::Protocol(..) => {
            (RejectReason::Test, 0)
        }
        Failure::Interrupted => (RejectReason::Stopping, 0),
        _ => (RejectReason::Resources, 0),
    };
    Reject { reason, value }
}
