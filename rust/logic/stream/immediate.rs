// SPDX-License-Identifier: GPL-2.0

//! The messages of a stream: an operation in the upper 3 of 32 bits, and its value in the others.

use super::{
    violation::Violation,
    ByteOrder, //
};

/// The number of bits of a value.
const VALUE_BITS: u32 = 29;

/// The largest value.
const MOST_VALUE: u32 = (1 << VALUE_BITS) - 1;

/// A grant has 16 bits. Those of rsocket are a sum of two numbers of 16 bits, with the carry.
const GRANT_BITS: u32 = 17;

/// A message, which is the immediate data of an RDMA WRITE, or a SEND of 4 bytes on iWARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// So many bytes have been written to the next place in the receiver's ring.
    Data(u32),
    /// The number of the message up to which its receiver has credits. The list may have a new
    /// entry.
    Grant(u16),
    /// The mapping of this index was written.
    Mapped(u16),
    /// The sender neither sends nor receives any more.
    Disconnect,
    /// Nothing but a sign of life.
    Keepalive,
    /// The sender sends no more data.
    Shutdown,
}

impl Message {
    /// The number of bytes of a SEND.
    pub(crate) const LEN: u32 = 4;

    /// The most bytes that one data message tells of.
    pub(crate) const MOST_DATA: u32 = MOST_VALUE;

    const DATA: u32 = 0;
    const GRANT: u32 = 4;
    const MAPPED: u32 = 6;
    const CONTROL: u32 = 7;

    const DISCONNECT: u32 = 0;
    const KEEPALIVE: u32 = 1;
    const SHUTDOWN: u32 = 2;

    /// Returns the immediate data. Data beyond [`MOST_DATA`](Self::MOST_DATA) is cut to that.
    pub(crate) const fn encode(self) -> u32 {
        let (op, value) = match self {
            Self::Data(bytes) => (Self::DATA, bytes),
            Self::Grant(limit) => (Self::GRANT, limit as u32),
            Self::Mapped(index) => (Self::MAPPED, index as u32),
            Self::Disconnect => (Self::CONTROL, Self::DISCONNECT),
            Self::Keepalive => (Self::CONTROL, Self::KEEPALIVE),
            Self::Shutdown => (Self::CONTROL, Self::SHUTDOWN),
        };
        let value = if value > MOST_VALUE {
            MOST_VALUE
        } else {
            value
        };
        op << VALUE_BITS | value
    }

    /// Decodes immediate data.
    ///
    /// # Errors
    ///
    /// [`Violation::Operation`], [`Violation::Control`], [`Violation::Empty`] or
    /// [`Violation::Grant`] for a message that a peer does not send, and [`Violation::Mapping`] for
    /// an index that no list has.
    pub(crate) const fn decode(immediate: u32) -> Result<Self, Violation> {
        let value = immediate & MOST_VALUE;
        Ok(match immediate >> VALUE_BITS {
            Self::DATA if value == 0 => return Err(Violation::Empty),
            Self::DATA => Self::Data(value),
            Self::GRANT if value >> GRANT_BITS != 0 => return Err(Violation::Grant(value)),
            // The carry says nothing.
            Self::GRANT => Self::Grant(value as u16),
            Self::MAPPED if value > u16::MAX as u32 => return Err(Violation::Mapping(value, 0)),
            Self::MAPPED => Self::Mapped(value as u16),
            Self::CONTROL => match value {
                Self::DISCONNECT => Self::Disconnect,
                Self::KEEPALIVE => Self::Keepalive,
                Self::SHUTDOWN => Self::Shutdown,
                _ => return Err(Violation::Control(value)),
            },
            op => return Err(Violation::Operation(op)),
        })
    }

    /// Returns the bytes of a SEND of a side whose memory has that order.
    pub(crate) const fn encode_send(self, order: ByteOrder) -> [u8; Self::LEN as usize] {
        order.u32_bytes(self.encode())
    }

    /// Decodes a SEND of `len` bytes, which `bytes` begins with, from a side whose memory has that
    /// order.
    ///
    /// # Errors
    ///
    /// [`Violation::Length`] for another length, and those of [`decode`](Self::decode).
    pub(crate) const fn decode_send(
        bytes: [u8; Self::LEN as usize],
        len: u32,
        order: ByteOrder,
    ) -> Result<Self, Violation> {
        if len != Self::LEN {
            return Err(Violation::Length(len));
        }
        Self::decode(order.u32_of(bytes))
    }
}
