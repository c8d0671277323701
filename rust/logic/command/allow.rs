// SPDX-License-Identifier: GPL-2.0

//! Client addresses that a server accepts.

use crate::logic::text::number::{
    integer,
    Number, //
};
use core::{
    fmt,
    net::{
        IpAddr,
        Ipv6Addr, //
    }, //
};

/// The most networks that a list holds.
pub(crate) const NETWORKS: usize = 8;

/// The addresses that share the first `prefix` bits of `addr`.
///
/// # Invariants
///
/// - `prefix` is at most the number of bits of `addr`.
/// - `addr` is not an IPv4 address mapped into IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    addr: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network in unused places of a list.
    const UNUSED: Self = Self {
        addr: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        prefix: 128,
    };

    /// Parses an address, which `/` and the length of a prefix may follow.
    fn parse(text: &str) -> Option<Self> {
        let (addr, prefix) = match text.split_once('/') {
            Some((addr, prefix)) => (addr, Some(prefix)),
            None => (text, None),
        };
        let addr: IpAddr = addr.parse().ok()?;
        // `allows` compares these as IPv4, so that such a network would contain none.
        if addr.to_canonical() != addr {
            return None;
        }
        let most = bits(&addr);
        let prefix = match prefix.map(integer) {
            None => most,
            Some(Number::Value(n)) => u8::try_from(n).ok().filter(|n| *n <= most)?,
            Some(Number::Huge | Number::None) => return None,
        };
        // INVARIANT: Both were checked above.
        Some(Self { addr, prefix })
    }

    /// Returns whether `addr`, in canonical form, is in the network.
    fn contains(&self, addr: &IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let rest = width.saturating_sub(u32::from(self.prefix));
            (a ^ b).checked_shr(rest).unwrap_or(0) == 0
        };
        match (self.addr, addr) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                same(u32::from(a).into(), u32::from(*b).into(), u32::BITS)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => same(u128::from(a), u128::from(*b), u128::BITS),
            _ => false,
        }
    }
}

/// The number of bits of an address.
const fn bits(addr: &IpAddr) -> u8 {
    match addr {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Networks whose addresses are accepted, as `192.0.2.1+2001:db8::/32`. An empty list accepts all.
///
/// # Invariants
///
/// The networks from `len` on are [`Network::UNUSED`], and `len` is at most `NETWORKS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllowList {
    networks: [Network; NETWORKS],
    len: usize,
}

impl AllowList {
    /// Accepts every address.
    pub(crate) const ALL: Self = Self {
        networks: [Network::UNUSED; NETWORKS],
        len: 0,
    };

    /// Parses addresses and networks with `+` between them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut list = Self::ALL;
        let mut rest = Some(text);
        while let Some(text) = rest {
            let network = match text.split_once('+') {
                Some((network, more)) => {
                    rest = Some(more);
                    network
                }
                None => {
                    rest = None;
                    text
                }
            };
            // INVARIANT: There is a place at `len`, so that `len` was less than `NETWORKS`.
            *list.networks.get_mut(list.len)? = Network::parse(network)?;
            list.len = list.len.saturating_add(1);
        }
        Some(list)
    }

    /// Returns whether every address is accepted.
    pub(crate) fn is_all(&self) -> bool {
        self.len == 0
    }

    /// Returns whether a client at `addr` is accepted.
    pub(crate) fn allows(&self, addr: IpAddr) -> bool {
        // A listener on `::` reports IPv4 addresses as mapped ones.
        let addr = addr.to_canonical();
        self.is_all() || self.iter().any(|network| network.contains(&addr))
    }

    fn iter(&self) -> impl Iterator<Item = &Network> {
        self.networks.iter().take(self.len)
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Network { addr, prefix }) in self.iter().enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            write!(f, "{addr}")?;
            if *prefix < bits(addr) {
                write!(f, "/{prefix}")?;
            }
        }
        Ok(())
    }
}
