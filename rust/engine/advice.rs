// SPDX-License-Identifier: GPL-2.0

//! Advice behind the sentence of a failure: what the command could have had instead.

#![forbid(unsafe_code)]

use super::session::Session;
use crate::{
    cm::own_addresses::OwnAddresses,
    logic::failure::{
        packets::Packets,
        Failure, //
    }, //
};
use kernel::fmt;

/// Advice about a failed command. Its `Display` is the end of a sentence.
pub(super) enum Advice {
    /// Addresses that it could have.
    Addresses(OwnAddresses),
    /// Packets of its connections that do not arrive.
    Packets(Packets),
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses(addresses) => fmt::Display::fmt(addresses, f),
            Self::Packets(packets) => fmt::Display::fmt(packets, f),
        }
    }
}

impl Session {
    /// Returns the advice where `failure` has ended the session. Sleeps.
    pub(super) fn advice(&self, failure: Failure) -> Option<Advice> {
        if failure.needs_another_address() {
            return OwnAddresses::find(&self.net).ok().map(Advice::Addresses);
        }
        let packets = self.packets().filter(|_| Packets::explain(&failure));
        packets.map(Advice::Packets)
    }
}
