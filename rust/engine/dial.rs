// SPDX-License-Identifier: GPL-2.0

//! Resolves the path to a server, in the steps that all clients share.

#![forbid(unsafe_code)]

use super::{
    drive::{
        failed,
        note_device, //
    },
    endpoint::Endpoint,
    retransmission::set_timers,
    session::Session,
    worker::Worker, //
};
use crate::{
    cm::{
        addr::{
            socket_address,
            SocketAddress, //
        },
        own_addresses::OwnAddresses,
        CmId,
        CREATING, //
    },
    engine::{
        outcome::Outcome,
        results::Report, //
    },
    logic::{
        command::Source,
        failure::Failure, //
    },
    rdma::device::Device, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Creates a CM identifier that reports to `outcome`, and resolves `addr` and the route to it, each
/// within `timeout` ms. `adapt` sets device-dependent parameters that must be set before the route
/// is resolved. Records the device. Sleeps.
///
/// # Errors
///
/// Those of [`source`] and of [`set_timers`], and the error of the kernel: `ENETUNREACH`,
/// `EHOSTUNREACH`, `ENODEV` if no RDMA device leads to the address, `ETIMEDOUT`.
pub(crate) fn dial(
    session: &Session,
    worker: &Worker,
    outcome: Arc<Outcome>,
    addr: &SocketAddress,
    timeout: u32,
    report: &mut Report<'_>,
    adapt: impl FnOnce(&CmId, &Device<'_>),
) -> Result<Arc<CmId>, Failure> {
    let own = source(session, addr)?;
    let ends = (own.as_ref(), addr);
    dial_from(session, worker, outcome, ends, timeout, report, adapt)
}

/// Returns the address that the command has its client connect from, if it names one. Sleeps.
///
/// # Errors
///
/// [`Failure::NoAddressOfDevice`]; `ENODEV` where there is no interface of a scope's name.
fn source(session: &Session, addr: &SocketAddress) -> Result<Option<SocketAddress>, Failure> {
    match &session.command.source {
        None => Ok(None),
        Some(Source::Address(own)) => socket_address(&session.net, own, 0).map(Some),
        Some(Source::Device(name)) => {
            let own = OwnAddresses::of_device(&session.net, name.as_str(), addr)
                .map_err(failed("finding the device's addresses"))?;
            own.ok_or(Failure::NoAddressOfDevice).map(Some)
        }
    }
}

/// Does the same as [`dial`], from this side's address if one is given beside the peer's.
///
/// # Errors
///
/// As there.
pub(crate) fn dial_from(
    session: &Session,
    worker: &Worker,
    outcome: Arc<Outcome>,
    (own, addr): (Option<&SocketAddress>, &SocketAddress),
    timeout: u32,
    report: &mut Report<'_>,
    adapt: impl FnOnce(&CmId, &Device<'_>),
) -> Result<Arc<CmId>, Failure> {
    let id = match own {
        Some(own) => CmId::new_at(&session.net, outcome, own)?,
        None => CmId::new(&session.net, outcome).map_err(failed(CREATING))?,
    };
    let id = Arc::new(id, GFP_KERNEL).map_err(|error| failed(CREATING)(error.into()))?;
    if let Some(tos) = session.command.tos {
        id.set_tos(tos);
    }
    id.resolve_address(addr, timeout)?;
    let device = id.device().map_err(failed("finding the device"))?;
    adapt(&id, &device);
    set_timers(&id, &device, &session.command)?;
    id.resolve_route(timeout)?;
    note_device(worker, &device);
    report.endpoint = Some(Endpoint::of(&id)?);
    Ok(id)
}
