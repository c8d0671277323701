// SPDX-License-Identifier: GPL-2.0

//! What a server does for a ping/pong's client, and what it tells one that it
//! does not serve.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        command::{
            Command,
            Test, //
        },
        data::pattern::Pattern,
        device::caps,
        failure::Failure,
        wire::{
            PrivateData,
            PrivateDataError,
            Reject,
            RejectReason, //
        }, //
    },
    rdma::device::Device,
    workloads::pingpong::server::Service, //
};

/// The least buffer for a client that does not announce its size: what `rping`
/// can be told to use.
const LEGACY_BUFFER: u32 = 64 * 1024;

/// What this server does for a client that announced `peer`, or nothing.
///
/// # Errors
///
/// [`Failure::Unsupported`] for what the device cannot do.
pub(crate) fn service(
    command: &Command,
    peer: Option<&PrivateData>,
    device: &Device<'_>,
) -> Result<Service, Failure> {
    let read_inv = peer.map_or(command.read_inv, |peer| peer.read_inv);
    if read_inv && !device.can_read_with_invalidate() {
        return Err(Failure::Unsupported(caps::NO_READ_INV));
    }
    Ok(match peer {
        Some(peer) => Service {
            size: peer.size,
            count: match peer.test {
                Test::FastReg => 0,
                _ => peer.count,
            },
            mem_mode: peer.mem_mode,
            server_inv: peer.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            check: peer.validate.then_some(Pattern {
                kind: peer.pattern,
                seed: peer.seed,
            }),
            verbose: command.verbose,
            silent: peer.test == Test::FastReg,
        },
        None => Service {
            size: command.size.max(LEGACY_BUFFER),
            count: 0,
            mem_mode: command.mem_mode,
            server_inv: command.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            check: None,
            verbose: command.verbose,
            silent: false,
        },
    })
}

/// What to tell a client that is not served because of `failure`.
pub(crate) fn rejection(failure: &Failure) -> Reject {
    let (reason, value) = match *failure {
        Failure::PrivateData(PrivateDataError::Version(_)) => {
            (RejectReason::Version, u32::from(PrivateData::VERSION))
        }
        Failure::TooLarge(most) => (RejectReason::TooLarge, most),
        Failure::PrivateData(_) | Failure::Unsupported(_) | Failure::Protocol(..) => {
            (RejectReason::Test, 0)
        }
        Failure::Busy(_) => (RejectReason::Busy, 0),
        Failure::OldWork => (RejectReason::OldWork, 0),
        Failure::Interrupted | Failure::Replaced => (RejectReason::Stopping, 0),
        _ => (RejectReason::Resources, 0),
    };
    Reject { reason, value }
}
