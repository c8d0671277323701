// SPDX-License-Identifier: GPL-2.0

//! Addresses as a command gives them.

use crate::logic::text::IfName;
use core::{
    fmt,
    net::{
        Ipv4Addr,
        Ipv6Addr, //
    }, //
};

/// An IP address, with the interface it is on where a link-local one needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addr {
    /// From `addr=`.
    V4([u8; 4]),
    /// From `addr6=`.
    V6 {
        /// The address, in network order.
        addr: [u8; 16],
        /// The interface after `%`.
        scope: Option<IfName>,
    },
}

/// Why a text is no address for `addr6=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum V6Error {
    /// The address itself does not parse.
    Address,
    /// What follows `%` cannot be the name of an interface.
    Interface,
    /// A link-local address without an interface says nothing about where it is.
    NoInterface,
}

impl Addr {
    /// Reads dotted-decimal IPv4.
    pub(crate) fn parse_v4(text: &str) -> Option<Self> {
        let addr: Ipv4Addr = text.parse().ok()?;
        Some(Self::V4(addr.octets()))
    }

    /// Reads IPv6, with an interface after `%`.
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

/// fe80::/10.
fn is_link_local(addr: &Ipv6Addr) -> bool {
    let [first, second, ..] = addr.octets();
    first == 0xfe && second & 0xc0 == 0x80
}

/// Takes what the kernel would take as the name of an interface.
fn interface(name: &str) -> Option<IfName> {
    let fits =
        !matches!(name, "" | "." | "..") && !name.bytes().any(|b| matches!(b, b'/' | b':' | b' '));
    if fits {
        IfName::new(name)
    } else {
        None
    }
}
