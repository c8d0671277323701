// SPDX-License-Identifier: GPL-2.0

//! Tests the connection management of a device with a connection request from the device to itself,
//! which is rejected.
//!
//! A device with a broken management queue pair reports no error: what it sends is dropped, and so
//! is what arrives. To a connecting client this looks like a peer that does not answer. So if there
//! was no answer, the device is asked to answer itself, which needs no peer and takes some
//! milliseconds. This request takes the same path as every other: through the CM, the management
//! queue pair and back.

#![forbid(unsafe_code)]

use super::{
    destroying::destroy,
    drive::failed,
    session::Session,
    worker::Worker, //
};
use crate::{
    cm::{
        listener::Listener,
        CmId,
        ReadLimits,
        Retries, //
    },
    engine::outcome::{
        new_wait_queue,
        Outcome, //
    },
    kernel_ext::time::Deadline,
    logic::{
        failure::{
            Failure,
            OVER_TCP, //
        },
        wire::PrivateData, //
    },
    rdma::device::Transport, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Timeout in ms for a device to answer itself: the CM retransmits a lost request after a second.
const PATIENCE_MS: u32 = 3000;

const ASKING: &str = "asking the device's connection management";

/// Returns `failure` of connecting by `id`, or [`Failure::ManagementDead`] if the device's own
/// connection management is the cause. Sleeps, for at most twice [`PATIENCE_MS`] in that case.
pub(crate) fn diagnose(session: &Session, worker: &Worker, id: &CmId, failure: Failure) -> Failure {
    if !failure.is_unanswered() {
        return failure;
    }
    match ask(session, worker, id) {
        Err(Failure::ManagementDead) => Failure::ManagementDead,
        _ => failure,
    }
}

/// Returns the timeout in ms for the client of a loopback to arrive. It covers resolving the
/// address, waiting for the port and for an answer, and asking why there is none. A client that
/// does not arrive therefore reports its own failure first, which says more.
pub(crate) fn client_comes_within(session: &Session) -> u32 {
    session
        .timeout()
        .saturating_mul(4)
        .saturating_add(3 * PATIENCE_MS)
}

/// Tests the connection management of the device that `id` is bound to. Sleeps, for at most
/// [`PATIENCE_MS`], and as long once more where it does not let go of the request.
///
/// # Errors
///
/// [`Failure::ManagementDead`] if it does not answer; [`Failure::PortDown`] if the port is down;
/// [`Failure::Unsupported`] for iWARP, which connects over TCP.
pub(crate) fn ask(session: &Session, worker: &Worker, id: &CmId) -> Result<(), Failure> {
    let device = id.device().map_err(failed(ASKING))?;
    if device.transport() == Transport::Iwarp {
        return Err(Failure::Unsupported(OVER_TCP));
    }
    let wait_queue = new_wait_queue().map_err(failed(ASKING))?;
    let outcome = Outcome::new(&wait_queue).map_err(failed(ASKING))?;
    let reports = Outcome::new(&wait_queue).map_err(failed(ASKING))?;
    worker.attach(&outcome).map_err(failed(ASKING))?;
    let answered = Listener::new(&session.net, &id.local().with_port(0), reports)
        .and_then(|listener| hear(session, &listener, outcome.clone()))
        .map_err(|failure| {
            // A device that is being removed rejects the request before it reports the removal.
            outcome.await_failure();
            outcome.cause_of(failure)
        });
    worker.detach(&outcome);
    answered
}

/// Sends a request to `listener`, rejects it, and waits for the rejection.
fn hear(session: &Session, listener: &Listener, outcome: Arc<Outcome>) -> Result<(), Failure> {
    let id = CmId::new(&session.net, outcome.clone()).map_err(failed(ASKING))?;
    let answer = answer(&id, listener, &outcome);
    // A CM that does not answer may not let go of it either.
    destroy(session, id, PATIENCE_MS);
    answer
}

/// Sends a request by `id` to `listener`, and waits for the rejection.
fn answer(id: &CmId, listener: &Listener, outcome: &Outcome) -> Result<(), Failure> {
    id.resolve_address(&listener.local(), PATIENCE_MS)?;
    id.resolve_route(PATIENCE_MS)?;
    let limits = ReadLimits {
        responder_resources: 1,
        initiator_depth: 1,
    };
    id.begin_connect(&[0; PrivateData::LEN], limits, Retries::MOST, 0)?;
    let deadline = Deadline::after_ms(PATIENCE_MS);
    loop {
        // Dropping a request rejects it.
        while listener.take().is_some() {}
        match outcome.failure() {
            Some(Failure::Rejected(..)) => return Ok(()),
            Some(Failure::Unreachable(_)) => return Err(Failure::ManagementDead),
            Some(failure) => return Err(failure),
            // A port that has gone down in the meantime answers nobody.
            None if deadline.passed() => return Err(id.or_port_down(Failure::ManagementDead)),
            None => outcome.pause(deadline),
        }
    }
}
