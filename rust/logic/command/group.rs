// SPDX-License-Identifier: GPL-2.0

//! The multicast groups of `mcast=`.

use crate::logic::data::crc::Crc32;
use core::{
    fmt,
    net::{
        IpAddr,
        Ipv4Addr, //
    }, //
};

/// The address of a multicast group, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MulticastGroup {
    /// One of IPv4, in 224.0.0.0/4.
    V4([u8; 4]),
    /// One of IPv6, in ff00::/8.
    V6([u8; 16]),
}

impl MulticastGroup {
    /// Parses the address of either family; `None` for one that is not of a group.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let addr: IpAddr = text.parse().ok()?;
        addr.is_multicast().then_some(match addr {
            IpAddr::V4(addr) => Self::V4(addr.octets()),
            IpAddr::V6(addr) => Self::V6(addr.octets()),
        })
    }

    /// Returns the number that tells the peer which group it is: the CRC-32 of the address, of IPv4
    /// in its IPv6 form.
    pub(crate) fn number(&self) -> u32 {
        let octets = match *self {
            Self::V4(addr) => Ipv4Addr::from(addr).to_ipv6_mapped().octets(),
            Self::V6(addr) => addr,
        };
        let mut crc = Crc32::new();
        crc.update(&octets);
        crc.finish()
    }
}

impl fmt::Display for MulticastGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(addr) => write!(f, "{}", IpAddr::from(addr)),
            Self::V6(addr) => write!(f, "{}", IpAddr::from(addr)),
        }
    }
}
