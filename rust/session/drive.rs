// SPDX-License-Identifier: GPL-2.0

//! Waiting for a workload that completions drive, and what both sides of a
//! connection need for it.

#![forbid(unsafe_code)]

use super::{worker::Worker, Session};
use crate::{
    cm::{CmId, ReadLimits},
    cq::PollMode,
    device::Device,
    kernel_ext::time::{give_way, relax},
    logic::{
        command::{Command, MemMode},
        failure::Failure,
    },
    outcome::{Outcome, Progress},
    qp::{Depths, QueuePair, Workload},
};
use kernel::prelude::*;

/// Completions handled at a time by a thread that polls.
const POLL_BUDGET: u16 = 16;

/// Polls in vain between two offers of the CPU to other threads.
const IDLE_POLLS: u32 = 32;

/// 4.3 s, in the logarithmic form of the CM.
const PATIENT_ACK_TIMEOUT: u8 = 20;

/// RDMA READs under way on one connection.
const READS: u8 = 4;

/// Turns an errno into a failure that says what was being done.
pub(super) fn failed(what: &'static str) -> impl Fn(kernel::error::Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// Waits until the workload has finished, or its outcome has failed. Where the
/// completion queue is polled, this is the thread that does it.
///
/// # Errors
///
/// The failure, or [`Failure::TimedOut`] where nothing moved for `timeout` ms,
/// if that is limited.
pub(super) fn drive<W: Workload>(
    queue_pair: &QueuePair<W>,
    outcome: &Outcome,
    poll: PollMode,
    timeout: Option<u32>,
) -> Result<(), Failure> {
    const WHAT: &str = "waiting for the peer";
    if poll == PollMode::Direct {
        outcome.touch();
        let mut idle = 0u32;
        while !outcome.ended() {
            if queue_pair.poll(POLL_BUDGET) == 0 {
                outcome.check_deadline(WHAT, timeout)?;
                idle = idle.wrapping_add(1);
                // What is waited for may need this very CPU.
                if idle % IDLE_POLLS == 0 {
                    give_way();
                }
            }
            relax();
        }
    }
    outcome.wait_for(Progress::Finished, WHAT, timeout)
}

/// How long the end of a run waits for the peer to notice, in ms: a peer that is
/// there answers at once, unless the request or the answer got lost.
pub(super) fn patience(session: &Session, result: &Result<(), Failure>) -> u32 {
    match result {
        Ok(()) => session.timeout(),
        Err(_) => session.timeout().min(500),
    }
}

/// How a command wants completions to be found.
pub(super) fn poll_mode(command: &Command) -> PollMode {
    if command.poll {
        PollMode::Direct
    } else {
        PollMode::Event
    }
}

/// The depths of a queue pair that needs `least` requests in its send queue. A
/// `txdepth=` beyond the device is lowered, which is logged.
pub(super) fn depths(session: &Session, device: &Device<'_>, least: u32, receive: u32) -> Depths {
    let wanted = session.command.txdepth.max(least);
    // Each queue has one more to be drained, and all share a completion queue.
    let completions = device
        .max_completions()
        .saturating_sub(receive)
        .saturating_sub(2);
    let most = device
        .max_work_requests()
        .saturating_sub(1)
        .min(completions);
    let send = wanted.min(most.max(least));
    if send < wanted {
        pr_warn!(
            "{}: txdepth={} lowered to {}, the device's limit\n",
            session.id,
            wanted,
            send
        );
    }
    Depths {
        send,
        receive,
        poll: poll_mode(&session.command),
    }
}

/// The READ limits to propose, or to agree to where the peer wants `peer`.
pub(super) fn read_limits(device: &Device<'_>, peer: Option<ReadLimits>) -> ReadLimits {
    let own = ReadLimits {
        responder_resources: device.max_reads_served().min(READS),
        initiator_depth: device.max_reads_started().min(READS),
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
pub(super) fn adapt_ack_timeout(id: &CmId, device: &Device<'_>, mode: MemMode) {
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
pub(super) fn check_size(device: &Device<'_>, size: u32) -> Result<(), Failure> {
    let most = u32::try_from(device.max_buffer()).unwrap_or(u32::MAX);
    if most == 0 {
        return Err(Failure::Unsupported("the device has no fast registration"));
    }
    if size > most {
        return Err(Failure::TooLarge(most));
    }
    Ok(())
}

/// Says on which device a thread works.
pub(super) fn note_device(worker: &Worker, device: &Device<'_>) {
    worker.set_device(device.name());
}
