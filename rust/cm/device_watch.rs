// SPDX-License-Identifier: GPL-2.0

//! Notice of the removal of a device, for a server that the CM does not listen for.

#![forbid(unsafe_code)]

use super::listener::bind;
use crate::{
    engine::outcome::Outcome,
    kernel_ext::net::Netns,
    logic::failure::{
        Failure,
        BINDING, //
    },
    rdma::{
        cm::{
            self,
            ListenHandler,
            PortSpace,
            SocketAddress, //
        },
        qp_type::QpType, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The one who is told.
struct Told(Arc<Outcome>);

impl ListenHandler for Told {
    fn request(&self, _: cm::Request<'_>) -> Result {
        // It does not listen.
        Err(EINVAL)
    }

    fn device_removed(&self) {
        self.0.fail(Failure::DeviceRemoved);
    }
}

/// An identifier that is bound to the device of an address. The removal of the device waits until
/// this is dropped, which sleeps.
pub(crate) struct DeviceWatch {
    _id: cm::Listener<Told>,
}

impl DeviceWatch {
    /// Has `outcome` learn of the removal of the device that has the address `addr` in namespace
    /// `net`. Returns `None` where `addr` is that of all devices. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` where no device has the address; `ENOMEM`.
    pub(crate) fn new(
        net: &Netns,
        addr: &SocketAddress,
        outcome: Arc<Outcome>,
    ) -> Result<Option<Self>, Failure> {
        let failed = |error: Error| Failure::Kernel(BINDING, error.to_errno());
        if addr.ip().is_none_or(|ip| ip.is_unspecified()) {
            return Ok(None);
        }
        let told = Arc::new(Told(outcome), GFP_KERNEL).map_err(|e| failed(e.into()))?;
        let mut id = cm::Listener::new(net, PortSpace::Tcp, QpType::Rc, told).map_err(failed)?;
        bind(&mut id, &addr.with_port(0)).map_err(failed)?;
        Ok(Some(Self { _id: id }))
    }
}
