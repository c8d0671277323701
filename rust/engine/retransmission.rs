// SPDX-License-Identifier: GPL-2.0

//! Retransmission of a connection's requests: the choices of a command, and the attributes of the
//! queue pair that came of them, as results show them.

#![forbid(unsafe_code)]

use crate::{
    cm::{
        CmId,
        Retries,
        SHORT_RNR_TIMER, //
    },
    logic::{
        command::Command,
        device::caps,
        failure::Failure,
        text::json::Object, //
    },
    rdma::{
        device::{
            Device,
            Transport, //
        },
        qp::RetransmissionAttributes, //
    }, //
};
use core::fmt;

/// Sets when requests of the connection of `id` are repeated: as `command` says, and otherwise a
/// moment after a peer has found no receive here. Before the route is resolved or the request is
/// accepted, and after what the device itself needs.
///
/// # Errors
///
/// [`Failure::Unsupported`] where the command chooses what the transport does not have.
pub(crate) fn set_timers(id: &CmId, device: &Device<'_>, command: &Command) -> Result<(), Failure> {
    match device.transport() {
        Transport::Iwarp if command.sets_retries() => {
            return Err(Failure::Unsupported(caps::NO_RETRIES));
        }
        Transport::Iwarp | Transport::InfiniBand | Transport::Roce | Transport::Other => (),
    }
    if let Some(exponent) = command.ack_timeout {
        id.set_ack_timeout(exponent);
    }
    id.set_min_rnr_timer(command.min_rnr.unwrap_or(SHORT_RNR_TIMER));
    Ok(())
}

/// Returns the numbers of repetitions that `command` has this side ask for.
pub(crate) fn retries(command: &Command) -> Retries {
    Retries {
        lost: command.retry.unwrap_or(Retries::MOST.lost),
        rnr: command.rnr_retry.unwrap_or(Retries::MOST.rnr),
    }
}

/// Writes the attributes of a queue pair as a member of `object`, by the names that
/// `struct ib_qp_attr` has for them.
pub(super) fn write(attributes: &RetransmissionAttributes, object: &mut Object<'_>) -> fmt::Result {
    let mut member = object.object("qp_attr")?;
    member
        .num("timeout", attributes.timeout)?
        .num("retry_cnt", attributes.retry_cnt)?
        .num("rnr_retry", attributes.rnr_retry)?
        .num("min_rnr_timer", attributes.min_rnr_timer)?;
    member.finish()
}
