// SPDX-License-Identifier: GPL-2.0

//! Socket addresses, as the kernel takes and gives them.
//!
//! C header: `include/linux/socket.h`

use crate::bindings;
use core::net::{
    Ipv4Addr,
    Ipv6Addr,
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6, //
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

const AF_INET: u16 = bindings::AF_INET as u16;
const AF_INET6: u16 = bindings::AF_INET6 as u16;

/// Sizes of `struct sockaddr_in` and `struct sockaddr_in6`.
const SIZE_V4: c_int = 16;
const SIZE_V6: c_int = 28;

/// A socket address as C has it: a family and a port first, whichever the family. The zeroes at the
/// end of `struct sockaddr_in` are where `struct sockaddr_in6` has the first half of its address.
#[derive(Clone)]
#[repr(C, align(8))]
pub(crate) struct RawAddress {
    family: u16,
    port: [u8; 2],
    /// The address of IPv4, the flow information of IPv6.
    v4_or_flow: [u8; 4],
    v6: [u8; 16],
    scope_id: u32,
    /// The rest of `struct sockaddr_storage`.
    rest: [u8; 100],
}

const _: () = assert!(size_of::<RawAddress>() == 128);

impl RawAddress {
    /// An address of no family, with room for any.
    pub(crate) const EMPTY: Self = Self {
        family: 0,
        port: [0; 2],
        v4_or_flow: [0; 4],
        v6: [0; 16],
        scope_id: 0,
        rest: [0; 100],
    };

    /// Returns `addr` as the kernel takes it.
    pub(super) fn new(addr: &SocketAddr) -> Self {
        let port = addr.port().to_be_bytes();
        match addr {
            SocketAddr::V4(addr) => Self {
                family: AF_INET,
                port,
                v4_or_flow: addr.ip().octets(),
                ..Self::EMPTY
            },
            SocketAddr::V6(addr) => Self {
                family: AF_INET6,
                port,
                v4_or_flow: addr.flowinfo().to_ne_bytes(),
                v6: addr.ip().octets(),
                scope_id: addr.scope_id(),
                ..Self::EMPTY
            },
        }
    }

    /// Returns the family, such as `AF_INET`.
    pub(super) fn family(&self) -> u16 {
        self.family
    }

    /// Returns the size that the kernel is told of.
    pub(super) fn size(&self) -> c_int {
        match self.family {
            AF_INET => SIZE_V4,
            _ => SIZE_V6,
        }
    }

    /// Returns the address that the kernel has written.
    ///
    /// # Errors
    ///
    /// `EAFNOSUPPORT` for another family.
    pub(crate) fn decode(&self) -> Result<SocketAddr> {
        let port = u16::from_be_bytes(self.port);
        match self.family {
            AF_INET => {
                let ip = Ipv4Addr::from(self.v4_or_flow);
                Ok(SocketAddr::V4(SocketAddrV4::new(ip, port)))
            }
            AF_INET6 => {
                let ip = Ipv6Addr::from(self.v6);
                let flow = u32::from_ne_bytes(self.v4_or_flow);
                let addr = SocketAddrV6::new(ip, port, flow, self.scope_id);
                Ok(SocketAddr::V6(addr))
            }
            _ => Err(Error::from_errno(-(bindings::EAFNOSUPPORT as c_int))),
        }
    }
}
