// SPDX-License-Identifier: GPL-2.0

//! Resolves the path to a server, in the steps that all clients share.

#![forbid(unsafe_code)]

use super::{
    drive::{
        failed,
        note_device, //
    },
    endpoint::Endpoint,
    session::Session,
    worker::Worker, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        CmId,
        CREATING, //
    },
    engine::{
        outcome::Outcome,
        results::Report, //
    },
    logic::failure::Failure,
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
/// The error of the kernel: `ENETUNREACH`, `EHOSTUNREACH`, `ENODEV` if no RDMA device leads to the
/// address, `ETIMEDOUT`.
pub(crate) fn dial(
    session: &Session,
    worker: &Worker,
    outcome: Arc<Outcome>,
    addr: &SocketAddress,
    timeout: u32,
    report: &mut Report<'_>,
    adapt: impl FnOnce(&CmId, &Device<'_>),
) -> Result<Arc<CmId>, Failure> {
    let ends = (None, addr);
    dial_from(session, worker, outcome, ends, timeout, report, adapt)
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
    id.set_short_rnr_timer();
    id.resolve_route(timeout)?;
    note_device(worker, &device);
    report.endpoint = Some(Endpoint::of(&id)?);
    Ok(id)
}
