// SPDX-License-Identifier: GPL-2.0

//! Waiting for a workload that completions drive, and what both sides of a
//! connection need for it.

#![forbid(unsafe_code)]

use super::{
    session::Session,
    worker::Worker, //
};
use crate::{
    cm::{
        CmId,
        ReadLimits, //
    },
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::time::{
        give_way,
        others_wait,
        relax,
        Deadline, //
    },
    logic::{
        command::{
            Command,
            Load,
            MemMode,
            Test, //
        },
        device::caps,
        failure::Failure, //
    },
    rdma::{
        cq::PollMode,
        device::{
            Device,
            Transport, //
        },
        qp::{
            QueuePair,
            Workload,
            DRAINS, //
        }, //
    },
    workloads::{
        exchange::RECEIVES,
        microbench::plan::Room, //
    }, //
};
use kernel::prelude::*;

/// Completions handled at a time by a thread that polls.
const POLL_BUDGET: u16 = 16;

/// Rounds of polling between two looks at what need not be looked at each time.
const SLOW_ROUNDS: u32 = 64;

/// 4.3 s, in the logarithmic form of the CM.
pub(crate) const PATIENT_ACK_TIMEOUT: u8 = 20;

/// RDMA READs under way on one connection of a test.
pub(crate) const READS: u8 = 4;

/// Turns an errno into a failure that says what was being done.
pub(crate) fn failed(what: &'static str) -> impl Fn(kernel::error::Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// What a drive waits for.
const WHAT: &str = "waiting for the peer";

/// Waits until all workloads have come as far as `goal`, or the outcome of one has
/// failed, at most `timeout` ms without a sign of life. Where completion queues are polled,
/// this is the thread that does it. Every `beat` ms, `beaten` is called.
///
/// # Errors
///
/// The failure, [`Failure::TimedOut`], or what `beaten` returns.
pub(crate) fn drive<'a, W: Workload>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    poll: PollMode,
    timeout: Option<u32>,
    beat: Option<u32>,
    mut beaten: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let outcomes = queue_pairs
        .clone()
        .map(|queue_pair| &**queue_pair.outcome());
    outcomes.clone().for_each(Outcome::touch);
    if poll == PollMode::Direct {
        spin(queue_pairs, goal, timeout, beat, &mut beaten)?;
    }
    Outcome::wait_all(outcomes, goal, WHAT, timeout, beat, beaten)
}

/// Polls until all have ended or come as far as `goal`, or one has failed.
fn spin<'a, W: Workload>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    timeout: Option<u32>,
    beat: Option<u32>,
    beaten: &mut impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut next = Deadline::after(beat);
    let watches = queue_pairs.clone().any(QueuePair::watches);
    let mut grace = None;
    let mut rounds = 0u32;
    loop {
        let (mut running, mut moved) = (false, false);
        for queue_pair in queue_pairs.clone() {
            let outcome = queue_pair.outcome();
            if outcome.ended() {
                if outcome.reached(Progress::Finished) {
                    continue;
                }
                // The completion that tells the cause may have to be polled for.
                let until = *grace.get_or_insert_with(Outcome::grace);
                if outcome.settled() || until.passed() {
                    return Ok(());
                }
            }
            running |= goal == Progress::Finished || !outcome.reached(goal);
            moved |= watches && queue_pair.look();
            moved |= queue_pair.poll(POLL_BUDGET) > 0;
        }
        if !running {
            return Ok(());
        }
        // What is waited for may need this very CPU.
        if !moved && others_wait() {
            give_way();
        }
        rounds = rounds.wrapping_add(1);
        if rounds % SLOW_ROUNDS == 0 {
            // Whatever waits for each thread to have switched, as RCU's tasks do.
            give_way();
            for queue_pair in queue_pairs.clone() {
                let outcome = queue_pair.outcome();
                if !outcome.ended() {
                    outcome.check_deadline(WHAT, timeout)?;
                }
            }
            if next.passed() {
                beaten()?;
                next = Deadline::after(beat);
            }
        }
        relax();
    }
}

/// How long the end of a run waits for the peer to notice: a peer that is there
/// answers at once, unless the request or the answer got lost.
pub(crate) fn patience(session: &Session, result: &Result<(), Failure>) -> Deadline {
    Deadline::after_ms(match result {
        Ok(()) => session.timeout(),
        Err(_) => session.timeout().min(500),
    })
}

/// How a command wants completions to be found.
pub(crate) fn poll_mode(command: &Command) -> PollMode {
    if command.poll {
        PollMode::Direct
    } else {
        PollMode::Event
    }
}

/// What the queues of a connection on `device` can have. A `txdepth=` beyond that
/// is lowered, which is logged.
pub(crate) fn room(session: &Session, device: &Device<'_>) -> Room {
    let txdepth = session.command.txdepth;
    let completions = device.max_completions().saturating_sub(2 * DRAINS);
    let requests = device
        .max_work_requests()
        .saturating_sub(DRAINS)
        .min(completions.saturating_sub(RECEIVES as u32));
    if txdepth > requests {
        pr_warn!(
            "{}: txdepth={} lowered to {}, the device's limit\n",
            session.id,
            txdepth,
            requests
        );
    }
    Room {
        txdepth: txdepth.min(requests),
        requests,
        completions,
    }
}

/// The READ limits to propose, or to agree to where the peer wants `peer`; no more
/// than `most`.
pub(crate) fn read_limits(device: &Device<'_>, peer: Option<ReadLimits>, most: u8) -> ReadLimits {
    let own = ReadLimits {
        responder_resources: device.max_reads_served().min(most),
        initiator_depth: device.max_reads_started().min(most),
    };
    match peer {
        None => own,
        Some(peer) => ReadLimits {
            responder_resources: own.responder_resources.min(peer.responder_resources),
            initiator_depth: own.initiator_depth.min(peer.initiator_depth),
        },
    }
}

/// Has a device on which a repetition breaks registrations wait longer for an
/// ACK: so long that only a loss brings a repetition about.
pub(crate) fn adapt_ack_timeout(id: &CmId, device: &Device<'_>, mode: MemMode) {
    if mode == MemMode::Reg && device.repeats_local_operations() {
        id.set_ack_timeout(PATIENT_ACK_TIMEOUT);
    }
}

/// The largest buffer that a session may ask of a device.
///
/// # Errors
///
/// [`Failure::TooLarge`] where `size` is above it; [`Failure::Unsupported`] for a
/// device that registers nothing.
pub(crate) fn check_size(device: &Device<'_>, size: u32) -> Result<(), Failure> {
    let most = u32::try_from(device.max_buffer()).unwrap_or(u32::MAX);
    if most == 0 {
        return Err(Failure::Unsupported(caps::NO_REGISTRATION));
    }
    if size > most {
        return Err(Failure::TooLarge(most));
    }
    Ok(())
}

/// Whether `device` can post as `load` says.
///
/// # Errors
///
/// [`Failure::Unsupported`].
pub(crate) fn check_load(device: &Device<'_>, test: Test, load: &Load) -> Result<(), Failure> {
    let reads = matches!(test, Test::ReadLatency | Test::ReadBandwidth);
    if u32::from(load.sge) > device.max_pieces(reads) {
        return Err(Failure::Unsupported(
            "sge: the device takes fewer scatter/gather elements in a request",
        ));
    }
    if load.imm && device.transport() == Transport::Iwarp {
        return Err(Failure::Unsupported(caps::NO_IMM));
    }
    Ok(())
}

/// Says on which device a thread works.
pub(crate) fn note_device(worker: &Worker, device: &Device<'_>) {
    worker.set_device(device.name());
}
