// SPDX-License-Identifier: GPL-2.0

//! What a device's limits leave for a connection.

#![forbid(unsafe_code)]

use super::session::Session;
use crate::{
    cm::{
        CmId,
        ReadLimits, //
    },
    logic::{
        command::{
            Load,
            MemMode,
            Test, //
        },
        device::caps,
        failure::Failure, //
    },
    rdma::{
        device::{
            Device,
            Transport, //
        },
        qp::DRAINS, //
    }, //
};
use kernel::prelude::*;

/// 4.3 s, in the logarithmic form of the CM.
pub(crate) const PATIENT_ACK_TIMEOUT: u8 = 20;

/// RDMA READs under way on one connection of a test.
pub(crate) const READS: u8 = 4;

/// Receives that a workload keeps posted for messages at the least: one for the message that is
/// due, and one to tell a message out of turn from a missing receive.
pub(crate) const RECEIVES: usize = 2;

/// What the queues of a connection can have.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueLimits {
    /// `txdepth=`, as far as the device goes.
    pub(crate) txdepth: u32,
    /// The most requests in either queue.
    pub(crate) requests: u32,
    /// The most completions in the queue that both share.
    pub(crate) completions: u32,
}

/// Returns what the queues of a connection on `device` can have. A `txdepth=` beyond that
/// is lowered, which is logged.
pub(crate) fn queue_limits(session: &Session, device: &Device<'_>) -> QueueLimits {
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
    QueueLimits {
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
    if u32::from(load.sge) > device.max_pieces(test.reads()) {
        return Err(Failure::Unsupported(
            "sge: the device takes fewer scatter/gather elements in a request",
        ));
    }
    if load.imm && device.transport() == Transport::Iwarp {
        return Err(Failure::Unsupported(caps::NO_IMM));
    }
    Ok(())
}
