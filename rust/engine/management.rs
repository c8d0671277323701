// SPDX-License-Identifier: GPL-2.0

//! Whether the connection management of a device answers: a connection request from the device
//! to itself, which is refused.
//!
//! A device whose management queue pair is broken says nothing: what is sent is dropped, and
//! what arrives is, too. For whoever connects that looks like a peer that does not answer. So
//! where none has, the device is asked for its own answer, which takes no peer and some
//! milliseconds. It goes the way of every other request: through the CM, the queue pair for
//! management and back.

#![forbid(unsafe_code)]

use super::{
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
        new_bell,
        Outcome, //
    },
    kernel_ext::time::Deadline,
    logic::{
        failure::Failure,
        wire::PrivateData, //
    },
    rdma::device::Transport, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How long a device may take to answer itself, in ms: the CM repeats a request that was lost
/// after a second.
const PATIENCE_MS: u32 = 3000;

/// Why there is no connection management to ask or to break.
pub(crate) const OVER_TCP: &str = "iWARP connects over TCP";

const ASKING: &str = "asking the device's connection management";

/// Returns `failure` of connecting by `id`, or the device's own where that is the cause.
/// Sleeps, [`PATIENCE_MS`] at most where it is.
pub(crate) fn diagnose(session: &Session, worker: &Worker, id: &CmId, failure: Failure) -> Failure {
    if !failure.is_unanswered() {
        return failure;
    }
    match ask(session, worker, id) {
        Err(Failure::ManagementDead) => Failure::ManagementDead,
        _ => failure,
    }
}

/// Returns how long the client of a loopback may take to come, in ms: to resolve the address,
/// to wait for the port and for an answer, and to ask why there is none. Where it does not
/// come, its own failure is first, and says more.
pub(crate) fn client_comes_within(session: &Session) -> u32 {
    session
        .timeout()
        .saturating_mul(4)
        .saturating_add(2 * PATIENCE_MS)
}

/// Asks the connection management of the device that `id` is bound to. Sleeps,
/// [`PATIENCE_MS`] at most.
///
/// # Errors
///
/// [`Failure::ManagementDead`] where it does not answer; [`Failure::PortDown`] where it
/// cannot be asked; [`Failure::Unsupported`] for iWARP, whose connections TCP makes.
pub(crate) fn ask(session: &Session, worker: &Worker, id: &CmId) -> Result<(), Failure> {
    let device = id.device().map_err(failed(ASKING))?;
    if device.transport() == Transport::Iwarp {
        return Err(Failure::Unsupported(OVER_TCP));
    }
    let bell = new_bell().map_err(failed(ASKING))?;
    let outcome = Outcome::new(&bell).map_err(failed(ASKING))?;
    let ear = Outcome::new(&bell).map_err(failed(ASKING))?;
    worker.attach(&outcome).map_err(failed(ASKING))?;
    let answered = Listener::new(&session.net, &id.local().with_port(0), ear)
        .and_then(|listener| hear(session, &listener, outcome.clone()))
        .map_err(|failure| {
            // A device that is being removed refuses before it says why.
            outcome.await_failure();
            outcome.cause_of(failure)
        });
    worker.detach(&outcome);
    answered
}

/// Sends a request to `listener`, has it refused, and waits for that.
fn hear(session: &Session, listener: &Listener, outcome: Arc<Outcome>) -> Result<(), Failure> {
    let id = CmId::new(&session.net, outcome.clone()).map_err(failed(ASKING))?;
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
            // A port that is down meanwhile answers nobody.
            None if deadline.passed() => return Err(id.or_port_down(Failure::ManagementDead)),
            None => outcome.pause(deadline),
        }
    }
}
