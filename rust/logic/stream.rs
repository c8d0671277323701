// SPDX-License-Identifier: GPL-2.0

//! Byte streams over RDMA, as rsocket of rdma-core speaks them.
//!
//! A side has a ring for the bytes that arrive, and tells its peer of one half of it after the
//! other. The peer writes into these by RDMA WRITE with immediate data, and each message takes a
//! credit. `docs/stream.md` has the protocol.
//!
//! - [`hello`] - the private data that both sides exchange while they connect
//! - [`immediate`] - the 32 bits that come with each message
//! - [`sender`], [`send_buffer`] - the direction to the peer, and the memory that it sends from
//! - [`receiver`] - the direction from the peer
//! - [`control`] - the ends of both directions, and the requests of messages without data
//! - [`iomap`] - memory that a peer writes to directly
//! - [`writes`] - the writes of a side that sends
//! - [`turns`] - direct writes of both sides in turn
//! - [`endpoint`] - all of a side
//! - [`figures`] - bytes, messages, and where the time goes
//! - [`violation`] - messages that break the protocol
//!
//! Nothing here does I/O: methods say what to post, and are told of what has come.

pub(crate) mod control;
pub(crate) mod endpoint;
pub(crate) mod figures;
pub(crate) mod hello;
pub(crate) mod immediate;
pub(crate) mod iomap;
pub(crate) mod receiver;
pub(crate) mod send_buffer;
pub(crate) mod sender;
pub(crate) mod turns;
pub(crate) mod violation;
pub(crate) mod writes;

use super::wire::{
    pack,
    Fields, //
};

/// The order of the bytes in numbers that are written into the memory of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// The least significant byte comes first.
    Little,
    /// The most significant byte comes first: network order.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub(crate) const HOST: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };

    /// Returns the bytes of a number of 32 bits.
    pub(crate) const fn u32_bytes(self, number: u32) -> [u8; 4] {
        match self {
            Self::Little => number.to_le_bytes(),
            Self::Big => number.to_be_bytes(),
        }
    }

    /// Returns the bytes of a number of 64 bits.
    pub(crate) const fn u64_bytes(self, number: u64) -> [u8; 8] {
        match self {
            Self::Little => number.to_le_bytes(),
            Self::Big => number.to_be_bytes(),
        }
    }

    /// Returns the number that these bytes are.
    pub(crate) const fn u32_of(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Returns the number that these bytes are.
    pub(crate) const fn u64_of(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// The way that messages take to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The immediate data of an RDMA WRITE.
    Immediate,
    /// A SEND of 4 bytes behind the RDMA WRITE, on iWARP, which has no immediate data.
    Send,
}

impl Carrier {
    /// Returns the number of requests that a message with data takes.
    pub(crate) const fn requests(self) -> u32 {
        match self {
            Self::Immediate => 1,
            Self::Send => 2,
        }
    }
}

/// A part of a side's memory that its peer may write to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The address of the first byte.
    pub(crate) addr: u64,
    /// The rkey.
    pub(crate) rkey: u32,
    /// The number of bytes, or of entries where it is a list.
    pub(crate) len: u32,
}

impl Segment {
    /// The number of bytes on the wire.
    pub(crate) const LEN: usize = 16;

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self, order: ByteOrder) -> [u8; Self::LEN] {
        pack(
            order
                .u64_bytes(self.addr)
                .into_iter()
                .chain(order.u32_bytes(self.rkey))
                .chain(order.u32_bytes(self.len)),
        )
    }

    /// Decodes a segment; any bytes are one.
    pub(crate) fn decode(bytes: &[u8; Self::LEN], order: ByteOrder) -> Self {
        Self::take(&mut Fields(bytes), order)
    }

    /// Takes the segment that the fields go on with.
    fn take(fields: &mut Fields<'_>, order: ByteOrder) -> Self {
        Self {
            addr: order.u64_of(fields.take()),
            rkey: order.u32_of(fields.take()),
            len: order.u32_of(fields.take()),
        }
    }

    /// Returns true where the segment, of that many bytes, ends beyond the last address.
    const fn wraps(&self, bytes: u64) -> bool {
        self.addr.checked_add(bytes).is_none()
    }
}
