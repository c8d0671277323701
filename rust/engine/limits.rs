// SPDX-License-Identifier: GPL-2.0

//! Limits that a device sets for a connection.

#![forbid(unsafe_code)]

use super::{
    peer_log::Level,
    quirks::repeats_local_operations,
    session::Session, //
};
use crate::{
    cm::{
        CmId,
        ReadLimits, //
    },
    logic::{
        command::MemMode,
        device::caps,
        failure::Failure, //
    },
    rdma::{
        device::Device,
        qp::DRAIN_REQUESTS, //
    }, //
};
use kernel::prelude::*;

/// Long ACK timeout: 4.3 s, in the logarithmic form of the CM.
pub(crate) const PATIENT_ACK_TIMEOUT: u8 = 20;

/// Number of RDMA READs that a test has outstanding on one connection.
pub(crate) const READS: u8 = 4;

/// Least number of receives that a workload keeps posted for messages: one for the message that is
/// due, and one to tell a message out of turn from a missing receive.
pub(crate) const RECEIVES: usize = 2;

/// Limits of a connection's queues.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueLimits {
    /// `txdepth=`, lowered to the device's limit.
    pub(crate) txdepth: u32,
    /// Most work requests in either queue.
    pub(crate) requests: u32,
    /// Most completions in the completion queue that both queues share.
    pub(crate) completions: u32,
}

/// Returns the limits of the queues of a connection on `device`. Lowers a `txdepth=` beyond them,
/// and logs that.
pub(crate) fn queue_limits(session: &Session, device: &Device<'_>) -> QueueLimits {
    let txdepth = session.command.txdepth;
    let completions = device.max_cqe().saturating_sub(2 * DRAIN_REQUESTS);
    let requests = device
        .max_qp_wr()
        .saturating_sub(DRAIN_REQUESTS)
        .min(completions.saturating_sub(RECEIVES as u32));
    if txdepth > requests {
        // Clients of a server decide how many connections there are.
        session.peer_log.say(
            Level::Warning,
            fmt!(
                "txdepth={} lowered to {}, the device's limit",
                txdepth,
                requests
            ),
        );
    }
    QueueLimits {
        txdepth: txdepth.min(requests),
        requests,
        completions,
    }
}

/// Returns the READ limits to propose, or to agree to if the peer proposes `peer`. Neither limit
/// exceeds `most`.
pub(crate) fn read_limits(device: &Device<'_>, peer: Option<ReadLimits>, most: u8) -> ReadLimits {
    let own = ReadLimits {
        responder_resources: device.max_qp_rd_atom().min(most),
        initiator_depth: device.max_qp_init_rd_atom().min(most),
    };
    match peer {
        None => own,
        Some(peer) => ReadLimits {
            responder_resources: own.responder_resources.min(peer.responder_resources),
            initiator_depth: own.initiator_depth.min(peer.initiator_depth),
        },
    }
}

/// Raises the ACK timeout for `mem_mode=reg` on a device whose retransmits break registrations, so
/// that only a lost packet causes a retransmit.
pub(crate) fn adapt_ack_timeout(id: &CmId, device: &Device<'_>, mode: MemMode) {
    if mode == MemMode::Reg && repeats_local_operations(device) {
        id.set_ack_timeout(PATIENT_ACK_TIMEOUT);
    }
}

/// Checks that `device` can register a buffer of `size` bytes.
///
/// # Errors
///
/// [`Failure::TooLarge`] with the largest possible size; [`Failure::Unsupported`] if the device
/// cannot register memory.
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
