// SPDX-License-Identifier: GPL-2.0

//! The port of a server, which it tells the clients of its tests.
//!
//! It stands behind the private data of the answer, where older clients do not look. Transports pad
//! private data, so it begins with a mark.

use super::{
    pack,
    Fields,
    PrivateData, //
};
use crate::logic::text::json::Object;
use core::fmt;

/// The port of a server's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerPort {
    /// Bytes of data in a packet that the port takes.
    pub(crate) active_mtu: u16,
    /// Bytes of data in the largest packet that it could take.
    pub(crate) max_mtu: u16,
    /// The rate in Mbit/s; 0 where it is not known.
    pub(crate) rate: u32,
}

impl ServerPort {
    /// Bytes of private data with it.
    pub(crate) const END: usize = PrivateData::LEN + 10;

    const MARK: [u8; 2] = *b"+p";

    /// Returns `private` with the port behind it.
    pub(crate) fn encode(self, private: [u8; PrivateData::LEN]) -> [u8; Self::END] {
        pack(
            private
                .into_iter()
                .chain(Self::MARK)
                .chain(self.active_mtu.to_be_bytes())
                .chain(self.max_mtu.to_be_bytes())
                .chain(self.rate.to_be_bytes()),
        )
    }

    /// Decodes the port of the server whose private data is `bytes`; `None` from one that does not
    /// tell of it, or whose MTUs are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes.get(PrivateData::LEN..Self::END)?);
        if fields.take() != Self::MARK {
            return None;
        }
        let port = Self {
            active_mtu: u16::from_be_bytes(fields.take()),
            max_mtu: u16::from_be_bytes(fields.take()),
            rate: u32::from_be_bytes(fields.take()),
        };
        let is_mtu = |bytes: u16| matches!(bytes, 256 | 512 | 1024 | 2048 | 4096);
        (is_mtu(port.active_mtu) && is_mtu(port.max_mtu)).then_some(port)
    }

    /// Writes it as a member of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut port = object.object("server_port")?;
        port.num("active_mtu_bytes", self.active_mtu)?
            .num("max_mtu_bytes", self.max_mtu)?
            .num("rate_mbit_per_s", self.rate)?;
        port.finish()
    }
}
