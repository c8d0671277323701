// SPDX-License-Identifier: GPL-2.0

//! Socket addresses, as the RDMA CM takes them.

use crate::{
    bindings,
    kernel_ext::net::Netns,
    logic::{
        command::addr::Addr,
        failure::Failure, //
    }, //
};
use core::net::{
    IpAddr,
    Ipv4Addr,
    Ipv6Addr, //
};
use kernel::prelude::*;

const AF_INET: u16 = bindings::AF_INET as u16;
const AF_INET6: u16 = bindings::AF_INET6 as u16;

/// An IPv4 or IPv6 address with a port and, for link-local ones, an interface.
///
/// # Invariants
///
/// `storage` holds a `sockaddr_in`, a `sockaddr_in6`, or a family of 0.
#[derive(Clone, Copy)]
pub(crate) struct SocketAddress {
    storage: Storage,
}

/// The bytes of a `sockaddr`, with the alignment of the largest.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Storage([u8; 28]);

impl SocketAddress {
    /// The address `addr` with `port`; a scope is looked up in namespace `net`.
    ///
    /// # Errors
    ///
    /// `ENODEV` where `net` has no interface of the scope's name.
    pub(crate) fn new(net: &Netns, addr: &Addr, port: u16) -> Result<Self, Failure> {
        Ok(match addr {
            Addr::V4(ip) => Self::v4(*ip, port),
            Addr::V6 { addr, scope } => {
                let index = match scope {
                    None => 0,
                    Some(name) => net
                        .interface_index(name.as_str())
                        .map_err(|e| Failure::Kernel("finding the interface", e.to_errno()))?,
                };
                Self::v6(*addr, port, index)
            }
        })
    }

    /// Every local address of IPv4.
    pub(crate) fn any(port: u16) -> Self {
        Self::v4([0; 4], port)
    }

    fn v4(ip: [u8; 4], port: u16) -> Self {
        let mut bytes = [0; 28];
        bytes[0..2].copy_from_slice(&AF_INET.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[4..8].copy_from_slice(&ip);
        // INVARIANT: Family, port and address where `sockaddr_in` has them.
        Self {
            storage: Storage(bytes),
        }
    }

    fn v6(ip: [u8; 16], port: u16, scope: u32) -> Self {
        let mut bytes = [0; 28];
        bytes[0..2].copy_from_slice(&AF_INET6.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[8..24].copy_from_slice(&ip);
        bytes[24..28].copy_from_slice(&scope.to_ne_bytes());
        // INVARIANT: Each field where `sockaddr_in6` has it.
        Self {
            storage: Storage(bytes),
        }
    }

    /// Copies the address that the CM keeps.
    ///
    /// # Safety
    ///
    /// `raw` points to a `sockaddr_storage` that nobody writes meanwhile.
    pub(crate) unsafe fn from_raw(raw: *const bindings::__kernel_sockaddr_storage) -> Self {
        // SAFETY: A `sockaddr_storage` has 128 bytes, of which 28 are read, and
        // the same alignment.
        let storage = unsafe { *raw.cast::<Storage>() };
        // INVARIANT: The CM keeps IPv4 and IPv6 addresses, and 0 before.
        Self { storage }
    }

    /// A pointer for the CM's functions, which read it by its family.
    pub(super) fn as_ptr(&self) -> *const bindings::sockaddr {
        core::ptr::from_ref(&self.storage).cast()
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        u16::from_be_bytes([self.storage.0[2], self.storage.0[3]])
    }

    /// The same address with another port.
    pub(crate) fn with_port(mut self, port: u16) -> Self {
        self.storage.0[2..4].copy_from_slice(&port.to_be_bytes());
        self
    }

    /// The IP address, for print; `None` for other families.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        let bytes = &self.storage.0;
        match u16::from_ne_bytes([bytes[0], bytes[1]]) {
            AF_INET => {
                let ip: [u8; 4] = bytes[4..8].try_into().ok()?;
                Some(IpAddr::V4(Ipv4Addr::from(ip)))
            }
            AF_INET6 => {
                let ip: [u8; 16] = bytes[8..24].try_into().ok()?;
                Some(IpAddr::V6(Ipv6Addr::from(ip)))
            }
            _ => None,
        }
    }
}
