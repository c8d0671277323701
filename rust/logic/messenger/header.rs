// SPDX-License-Identifier: GPL-2.0

//! The header of a message.

use super::violation::Violation;
use crate::logic::wire::{
    pack,
    Fields, //
};

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing comes back.
    OneWay,
    /// A reply of the same length is to come back.
    Request,
    /// It is that.
    Reply,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::OneWay => 1,
            Self::Request => 2,
            Self::Reply => 3,
        }
    }

    const fn of_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::OneWay),
            2 => Some(Self::Request),
            3 => Some(Self::Reply),
            _ => None,
        }
    }

    /// Returns the position in the data from which on the bytes of message `number` are: those of a
    /// reply differ from those of its request, and all from those of the message before.
    pub(crate) const fn position(self, number: u64) -> u64 {
        match self {
            Self::OneWay | Self::Request => number,
            Self::Reply => number.wrapping_add(128),
        }
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The kind of the message.
    pub(crate) kind: Kind,
    /// Bytes of the message behind the header.
    pub(crate) len: u32,
    /// The number of the message among those of its direction, from 0.
    pub(crate) number: u64,
}

impl Header {
    /// The number of bytes on the wire.
    pub(crate) const LEN: usize = 16;

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        pack(
            [self.kind.number(), 0, 0, 0]
                .into_iter()
                .chain(self.len.to_be_bytes())
                .chain(self.number.to_be_bytes()),
        )
    }

    /// Decodes a header.
    ///
    /// # Errors
    ///
    /// [`Violation::Kind`] where it begins with anything but a kind and zeroes.
    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Result<Self, Violation> {
        let mut fields = Fields(bytes);
        let beginning: [u8; 4] = fields.take();
        let kind = match beginning {
            [kind, 0, 0, 0] => Kind::of_number(kind),
            _ => None,
        };
        Ok(Self {
            kind: kind.ok_or(Violation::Kind(u32::from_be_bytes(beginning)))?,
            len: u32::from_be_bytes(fields.take()),
            number: u64::from_be_bytes(fields.take()),
        })
    }
}
