// SPDX-License-Identifier: GPL-2.0

//! A client's thread: connect, lead, report.

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
    cm::{addr::SocketAddress, CmId},
    logic::{
        command::{PatternKind, Test},
        failure::Failure,
        pattern::Pattern,
        protocol::check_answer,
        wire::{PeerRole, PrivateData},
    },
    mr::Memory,
    outcome::Outcome,
    qp::QueuePair,
    results::Report,
    test::{exchange::RECEIVES, fastreg::FastReg, pingpong_client::PingPongClient, Lead},
};
use kernel::{prelude::*, sync::Arc};

/// Starts the session's client threads, to the address of its command.
///
/// # Errors
///
/// `ENODEV` for an unknown interface; `ENOMEM`.
pub(super) fn start(session: &Arc<Session>) -> Result<(), Failure> {
    let addr = session
        .command
        .addr
        .as_ref()
        .ok_or_else(|| failed("finding the address")(EINVAL))?;
    let addr = SocketAddress::new(&session.net, addr, session.command.port)?;
    start_to(session, addr)
}

/// Starts the session's client threads, to `addr`.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn start_to(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    for _ in 0..session.command.threads {
        session.spawn(move |session, worker| run(session, worker, &addr))?;
    }
    Ok(())
}

fn run(session: &Arc<Session>, worker: &Arc<Worker>, addr: &SocketAddress) {
    let mut report = Report::new(session.id, worker, "client", &session.command);
    report.peer = Some(*addr);
    let result = Arc::pin_init(Outcome::new(), GFP_KERNEL)
        .map_err(failed("starting the client"))
        .and_then(|outcome| {
            worker.attach(&outcome);
            connect(session, worker, addr, outcome.clone(), &mut report)
                .map_err(|failure| outcome.cause_of(failure))
        });
    if let Err(failure) = result {
        session.abort(failure);
        report.failure = Some(failure);
        session.report(&report);
    }
}

fn connect(
    session: &Arc<Session>,
    worker: &Worker,
    addr: &SocketAddress,
    outcome: Arc<Outcome>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let command = &session.command;
    let id = CmId::new(&session.net, outcome)
        .and_then(|id| Ok(Arc::new(id, GFP_KERNEL)?))
        .map_err(failed("creating a CM identifier"))?;
    if let Some(tos) = command.tos {
        id.set_tos(tos);
    }
    id.resolve_address(addr, session.timeout())?;
    let device = id.device().map_err(failed("finding the device"))?;
    adapt_ack_timeout(&id, &device, command.mem_mode);
    id.resolve_route(session.timeout())?;
    note_device(worker, &device);
    report.device = Some((device.name(), device.transport()));
    check_size(&device, command.size)?;
    if command.read_inv && !device.can_read_with_invalidate() {
        return Err(Failure::Unsupported(
            "read_inv: only iWARP devices have READ_WITH_INV, and this is none",
        ));
    }

    let pattern = Pattern {
        kind: command.pattern,
        seed: session.id,
    };
    let mut memory = Memory::new(&id, command.unsafe_global_rkey)
        .map_err(failed("allocating a protection domain"))?;
    let no_buffers = failed("allocating and registering buffers");
    match command.test {
        Test::PingPong => {
            let traffic = worker.traffic.clone();
            let lead =
                PingPongClient::new(command, pattern, &mut memory, traffic).map_err(no_buffers)?;
            lead_connection(session, &id, memory, lead, pattern, report)
        }
        Test::FastReg => {
            let lead = FastReg::new(command, &mut memory).map_err(no_buffers)?;
            lead_connection(session, &id, memory, lead, pattern, report)
        }
    }
}

/// Connects, runs the workload to its end, disconnects, and reports.
fn lead_connection<W: Lead>(
    session: &Session,
    id: &Arc<CmId>,
    memory: Memory,
    lead: W,
    pattern: Pattern,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let device = id.device().map_err(failed("finding the device"))?;
    let depths = depths(session, &device, W::SEND_DEPTH, RECEIVES as u32);
    let queue_pair =
        QueuePair::new(memory, depths, lead).map_err(failed("creating the queue pair"))?;
    let result = converse(session, id, &queue_pair, pattern, report)
        .map_err(|failure| id.outcome().cause_of(failure));
    if let Err(failure) = result {
        // Before the peer notices: what it then reports is a consequence.
        session.abort(failure);
    }
    let lead = queue_pair.stop();
    id.disconnect(patience(session, &result));
    drop(queue_pair);
    if let Some(lead) = &lead {
        let summary = lead.summary();
        session.report(&Report {
            iterations: summary.iterations,
            elapsed_ns: summary.elapsed_ns,
            histogram: summary.histogram,
            failure: result.err(),
            ..*report
        });
    }
    Ok(())
}

fn converse<W: Lead>(
    session: &Session,
    id: &CmId,
    queue_pair: &QueuePair<W>,
    pattern: Pattern,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let stopped = || Failure::Interrupted;
    queue_pair
        .with(|lead, queue| lead.prepare(queue))
        .ok_or_else(stopped)??;
    let device = id.device().map_err(failed("finding the device"))?;
    let command = &session.command;
    let data = PrivateData {
        role: PeerRole::Client,
        test: command.test,
        mem_mode: command.mem_mode,
        server_inv: command.server_inv,
        read_inv: command.read_inv,
        validate: command.validate,
        pattern: pattern.kind,
        size: command.size,
        count: command.count,
        seed: pattern.seed,
        max_size: command.size,
    };
    id.connect(
        &data.encode(),
        read_limits(&device, None),
        session.timeout(),
    )?;
    match PrivateData::decode(id.peer_data().as_slice()).map_err(Failure::PrivateData)? {
        Some(answer) => {
            report.legacy = Some(false);
            check_answer(&data, &answer).map_err(|violation| Failure::Protocol(violation, 0))?;
        }
        None => {
            report.legacy = Some(true);
            if pattern.kind == PatternKind::Binary {
                return Err(Failure::Unsupported(
                    "pattern=binary: the server is not this krping, and returns text only",
                ));
            }
        }
    }
    queue_pair
        .with(|lead, queue| lead.start(queue))
        .ok_or_else(stopped)??;
    drive(
        queue_pair,
        id.outcome(),
        poll_mode(command),
        Some(session.timeout()),
    )
}
