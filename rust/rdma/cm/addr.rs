// SPDX-License-Identifier: GPL-2.0

//! Socket addresses, as the RDMA CM takes and gives them.
//!
//! C header: `include/linux/socket.h`

use crate::bindings;
use core::net::{
    IpAddr,
    Ipv4Addr,
    Ipv6Addr,
    SocketAddr,
    SocketAddrV6, //
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
    /// Returns an address of no family, as an identifier has before it is bound.
    const fn unspecified() -> Self {
        // INVARIANT: The family is 0.
        Self {
            storage: Storage([0; 28]),
        }
    }

    /// Returns every local address of IPv4, with `port`.
    pub(crate) fn any(port: u16) -> Self {
        Self::v4([0; 4], port)
    }

    /// Returns the IPv4 address `ip` with `port`.
    pub(crate) fn v4(ip: [u8; 4], port: u16) -> Self {
        let mut bytes = [0; 28];
        bytes[0..2].copy_from_slice(&AF_INET.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[4..8].copy_from_slice(&ip);
        // INVARIANT: Family, port and address where `sockaddr_in` has them.
        Self {
            storage: Storage(bytes),
        }
    }

    /// Returns the IPv6 address `ip` with `port`. `scope_id` is the index of the interface of a
    /// link-local address, and 0 for others.
    pub(crate) fn v6(ip: [u8; 16], port: u16, scope_id: u32) -> Self {
        let mut bytes = [0; 28];
        bytes[0..2].copy_from_slice(&AF_INET6.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[8..24].copy_from_slice(&ip);
        bytes[24..28].copy_from_slice(&scope_id.to_ne_bytes());
        // INVARIANT: Each field where `sockaddr_in6` has it.
        Self {
            storage: Storage(bytes),
        }
    }

    /// Copies an address that the CM keeps; one of another family becomes one of none. An
    /// address that the CM is writing may be copied in part.
    ///
    /// # Safety
    ///
    /// `raw` points to a `sockaddr_storage` that nobody but the CM writes.
    pub(super) unsafe fn from_raw(raw: *const bindings::__kernel_sockaddr_storage) -> Self {
        // SAFETY: A `sockaddr_storage` has 128 bytes, of which 28 are read, and the same
        // alignment. Any bytes are a valid `Storage`, so a copy in part is one, too; as it may
        // be, the read is volatile.
        let storage = unsafe { raw.cast::<Storage>().read_volatile() };
        match u16::from_ne_bytes([storage.0[0], storage.0[1]]) {
            // INVARIANT: The families of the two.
            AF_INET | AF_INET6 => Self { storage },
            // Such as that of InfiniBand, which is longer.
            _ => Self::unspecified(),
        }
    }

    /// Returns a pointer for the CM's functions, which read as much as the family says, and
    /// copy it.
    pub(super) fn as_ptr(&self) -> *const bindings::sockaddr {
        core::ptr::from_ref(&self.storage).cast()
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        u16::from_be_bytes([self.storage.0[2], self.storage.0[3]])
    }

    /// Returns the same address with another port.
    pub(crate) fn with_port(mut self, port: u16) -> Self {
        self.storage.0[2..4].copy_from_slice(&port.to_be_bytes());
        self
    }

    /// Returns the IP address; `None` for other families.
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

impl From<SocketAddr> for SocketAddress {
    /// Returns the same address, without flow information.
    fn from(addr: SocketAddr) -> Self {
        match addr {
            SocketAddr::V4(addr) => Self::v4(addr.ip().octets(), addr.port()),
            SocketAddr::V6(addr) => Self::v6(addr.ip().octets(), addr.port(), addr.scope_id()),
        }
    }
}

impl TryFrom<SocketAddress> for SocketAddr {
    type Error = Error;

    /// Returns the same address.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one of no family.
    fn try_from(addr: SocketAddress) -> Result<Self> {
        let bytes = &addr.storage.0;
        Ok(match addr.ip().ok_or(EINVAL)? {
            IpAddr::V4(ip) => Self::new(IpAddr::V4(ip), addr.port()),
            IpAddr::V6(ip) => {
                let scope_id = u32::from_ne_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
                Self::V6(SocketAddrV6::new(ip, addr.port(), 0, scope_id))
            }
        })
    }
}
