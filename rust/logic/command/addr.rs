// SPDX-License-Identifier: GPL-2.0

//! The addresses of `addr=` and `addr6=`.

use crate::logic::text::{
    DeviceName,
    IfName, //
};
use core::{
    fmt,
    net::{
        Ipv4Addr,
        Ipv6Addr, //
    }, //
};

/// An IP address. A link-local IPv6 address has the interface that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addr {
    /// An IPv4 address, in network order, from `addr=`.
    V4([u8; 4]),
    /// An IPv6 address from `addr6=`.
    V6 {
        /// The address, in network order.
        addr: [u8; 16],
        /// The interface after `%`.
        scope: Option<IfName>,
    },
}

/// The end of this host that a client connects from: `src=` or `dev=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// This address.
    Address(Addr),
    /// An address of this RDMA device, of the server's family.
    Device(DeviceName),
}

/// The reason why a text is not a valid value of `addr6=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum V6Error {
    /// The address before any `%` does not parse.
    Address,
    /// The text after `%` cannot be the name of an interface.
    Interface,
    /// The address is link-local, which is ambiguous without an interface.
    NoInterface,
}

impl Addr {
    /// Returns true where both are of the same family.
    pub(crate) fn is_of_family_of(&self, other: &Self) -> bool {
        matches!(self, Self::V4(_)) == matches!(other, Self::V4(_))
    }

    /// Parses an IPv4 address in dotted-decimal notation.
    pub(crate) fn parse_v4(text: &str) -> Option<Self> {
        let addr: Ipv4Addr = text.parse().ok()?;
        Some(Self::V4(addr.octets()))
    }

    /// Parses an IPv6 address, which `%` and the name of an interface may follow.
    pub(crate) fn parse_v6(text: &str) -> Result<Self, V6Error> {
        let (addr, scope) = match text.split_once('%') {
            Some((addr, name)) => (addr, Some(interface(name).ok_or(V6Error::Interface)?)),
            None => (text, None),
        };
        let addr: Ipv6Addr = addr.parse().map_err(|_| V6Error::Address)?;
        if scope.is_none() && is_link_local(&addr) {
            return Err(V6Error::NoInterface);
        }
        Ok(Self::V6 {
            addr: addr.octets(),
            scope,
        })
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(addr) => write!(f, "{}", Ipv4Addr::from(*addr)),
            Self::V6 { addr, scope } => {
                write!(f, "{}", Ipv6Addr::from(*addr))?;
                match scope {
                    Some(name) => write!(f, "%{name}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Returns true where `addr` is in fe80::/10.
fn is_link_local(addr: &Ipv6Addr) -> bool {
    let [first, second, ..] = addr.octets();
    first == 0xfe && second & 0xc0 == 0x80
}

/// Returns the name of an interface; `None` where the kernel would not accept it.
fn interface(name: &str) -> Option<IfName> {
    let fits =
        !matches!(name, "" | "." | "..") && !name.bytes().any(|b| matches!(b, b'/' | b':' | b' '));
    if fits {
        IfName::new(name)
    } else {
        None
    }
}
