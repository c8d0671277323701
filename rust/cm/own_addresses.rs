// SPDX-License-Identifier: GPL-2.0

//! Own addresses, and the RDMA device of each: for sentences about an address that has none.
//!
//! The CM is asked for the device of each address by binding an identifier to it, as for a command.

#![forbid(unsafe_code)]

use crate::{
    engine::print::Plain,
    kernel_ext::net::Netns,
    rdma::{
        cm::{
            self,
            ListenHandler,
            PortSpace,
            SocketAddress, //
        },
        device::DeviceName,
        qp_type::QpType, //
    }, //
};
use core::net::IpAddr;
use kernel::{
    fmt,
    prelude::*,
    sync::Arc, //
};

/// Number of addresses that are looked at.
const MOST: usize = 128;

/// Number of addresses that a sentence has room for.
const SHOWN: usize = 8;

/// The handler of identifiers that do not listen.
struct Nobody;

impl ListenHandler for Nobody {
    fn request(&self, _: cm::Request<'_>) -> Result {
        Err(EINVAL)
    }

    fn device_removed(&self) {}
}

/// Addresses that RDMA devices have, with the names of the devices. Its `Display` is the end of a
/// sentence.
pub(crate) struct OwnAddresses {
    found: KVec<(IpAddr, DeviceName)>,
    /// Number of further ones.
    more: usize,
}

impl OwnAddresses {
    /// Finds those of namespace `net`. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn find(net: &Netns) -> Result<Self> {
        let mut found = KVec::with_capacity(SHOWN, GFP_KERNEL)?;
        let mut more = 0;
        each(net, |addr, device| {
            if let Some(ip) = addr.ip() {
                if found.push_within_capacity((ip, device)).is_err() {
                    more += 1;
                }
            }
            false
        })?;
        Ok(Self { found, more })
    }

    /// Returns the first address in `net` of the device of this `name` that is of the family of
    /// `peer`: a link-local one where that is, too. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_device(
        net: &Netns,
        name: &str,
        peer: &SocketAddress,
    ) -> Result<Option<SocketAddress>> {
        let mut found = None;
        each(net, |addr, device| {
            if device.as_str() == name && suits(addr.ip(), peer.ip()) {
                found = Some(addr);
            }
            found.is_some()
        })?;
        Ok(found)
    }
}

/// Calls `is_found` for each address of `net` that an RDMA device has, until it returns true.
fn each(net: &Netns, mut is_found: impl FnMut(SocketAddress, DeviceName) -> bool) -> Result {
    let nobody = Arc::new(Nobody, GFP_KERNEL)?;
    for addr in net.addresses(MOST)? {
        let addr = SocketAddress::from(addr);
        let mut id = cm::Listener::new(net, PortSpace::Tcp, QpType::Rc, nobody.clone())?;
        // No device has it, or it has gone meanwhile.
        if id.bind(&addr).is_err() {
            continue;
        }
        let Ok(device) = id.device() else {
            continue;
        };
        if is_found(addr, device.name()) {
            break;
        }
    }
    Ok(())
}

/// Returns true where a peer at `peer` can be reached from `own`, as far as the addresses say.
fn suits(own: Option<IpAddr>, peer: Option<IpAddr>) -> bool {
    match (own, peer) {
        (Some(IpAddr::V4(_)), Some(IpAddr::V4(_))) => true,
        (Some(IpAddr::V6(own)), Some(IpAddr::V6(peer))) => {
            own.is_unicast_link_local() == peer.is_unicast_link_local()
        }
        _ => false,
    }
}

impl fmt::Display for OwnAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            return f.write_str(
                "no address of this host has an RDMA device: see 'rdma link' and 'ip address'",
            );
        }
        f.write_str("addresses with an RDMA device are ")?;
        for (i, (ip, device)) in self.found.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            f.write_fmt(fmt!("{}{} ({})", separator, Plain(ip), device.as_str()))?;
        }
        match self.more {
            0 => Ok(()),
            more => f.write_fmt(fmt!(" and {} more", more)),
        }
    }
}
