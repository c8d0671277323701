// SPDX-License-Identifier: GPL-2.0

//! This side's end of a connection, as results show it: the device with its driver and port, the
//! GIDs of the path, and the path MTU.

#![forbid(unsafe_code)]

use super::drive::failed;
use crate::{
    cm::CmId,
    logic::{
        failure::Failure,
        text::json::Object, //
    },
    rdma::device::{
        DeviceName,
        DriverName,
        Transport, //
    }, //
};
use core::{
    fmt,
    net::Ipv6Addr, //
};

/// This side's end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    device: DeviceName,
    transport: Transport,
    driver: DriverName,
    port: u32,
    /// This side's and the peer's GID; `None` where connections have no path, as on iWARP.
    gids: Option<(Ipv6Addr, Ipv6Addr)>,
    /// The flow label of the path; `None` where it has none.
    flow_label: Option<u32>,
    /// Bytes of data in a packet; `None` as above.
    path_mtu: Option<u16>,
}

impl Endpoint {
    /// Returns the end of the connection of `id`, whose route is resolved or whose peer has asked
    /// for the connection. Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the device is gone.
    pub(crate) fn of(id: &CmId) -> Result<Self, Failure> {
        let device = id.device().map_err(failed("finding the device"))?;
        let own = id.rdma().lid_and_gid().ok().map(|(_, gid)| gid);
        let gids = own.zip(id.rdma().peer_gid().ok());
        Ok(Self {
            device: device.name(),
            transport: device.transport(),
            driver: device.driver_name(),
            port: device.port(),
            gids: gids.map(|(own, peer)| (own.into(), peer.into())),
            flow_label: id.rdma().flow_label().ok().filter(|label| *label != 0),
            path_mtu: id
                .rdma()
                .path_mtu()
                .and_then(|bytes| u16::try_from(bytes).ok()),
        })
    }

    /// Returns the bytes of data in a packet; `None` where connections have no path.
    pub(super) fn path_mtu(&self) -> Option<u16> {
        self.path_mtu
    }

    /// Writes the end as members of `object`.
    pub(super) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        object
            .str("device", self.device.as_str())?
            .str("transport", self.transport.as_str())?;
        if !self.driver.as_str().is_empty() {
            object.str("driver", self.driver.as_str())?;
        }
        object.num("port", self.port)?;
        if let Some((own, peer)) = self.gids {
            object.str("gid", own)?.str("peer_gid", peer)?;
        }
        if let Some(label) = self.flow_label {
            object.num("flow_label", label)?;
        }
        if let Some(bytes) = self.path_mtu {
            object.num("path_mtu_bytes", bytes)?;
        }
        Ok(())
    }
}
