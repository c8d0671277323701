// SPDX-License-Identifier: GPL-2.0

//! The private data of a stream's two sides, the same in the connection request and in its answer.

use super::{
    iomap::Mapping,
    ByteOrder,
    Segment, //
};
use crate::logic::wire::{
    pack,
    Fields, //
};
use core::fmt;

/// The fewest entries of a list: the first renewal goes to the second entry.
const LEAST_ENTRIES: u32 = 2;

/// The side's memory has big-endian numbers.
const BIG: u8 = 1 << 0;

/// The list of segments is followed by one of mappings.
const MAPPINGS: u8 = 1 << 1;

/// A count of mappings up to this is sent as it is.
const PLAIN_MAPPINGS: u8 = 1 << 7;

/// The private data of one side of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The order of numbers in the side's memory.
    pub(crate) order: ByteOrder,
    /// The number of receives, and of messages with data that may come before a grant.
    pub(crate) credits: u16,
    /// The number of entries in the side's list of mappings.
    pub(crate) mappings: u16,
    /// The side's list of segments, whose length is its number of entries.
    pub(crate) list: Segment,
    /// The first part of the side's ring.
    pub(crate) ring: Segment,
}

impl Hello {
    /// The number of bytes on the wire.
    pub(crate) const LEN: usize = 40;

    /// The version of the protocol, which is the first byte.
    pub(crate) const VERSION: u8 = 1;

    /// The number of entries in the list of this side, and in that of rsocket.
    pub(crate) const ENTRIES: u32 = LEAST_ENTRIES;

    /// Returns true where private data begins as that of a stream. Private data of krping's own
    /// begins with another byte.
    pub(crate) const fn may_be(bytes: &[u8]) -> bool {
        matches!(bytes, [Self::VERSION, ..])
    }

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let big = match self.order {
            ByteOrder::Little => 0,
            ByteOrder::Big => BIG,
        };
        pack(
            [Self::VERSION, MAPPINGS | big]
                .into_iter()
                .chain(self.credits.to_be_bytes())
                .chain([0, 0, 0, scale(self.mappings)])
                .chain(self.list.encode(ByteOrder::Big))
                .chain(self.ring.encode(ByteOrder::Big)),
        )
    }

    /// Decodes a peer's private data. Bytes after [`LEN`](Self::LEN) are ignored, and so are
    /// reserved bytes and unknown flags, as rsocket does.
    ///
    /// # Errors
    ///
    /// The reason why no stream can be had with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, HelloError> {
        let mut fields = match bytes.first_chunk::<{ Self::LEN }>() {
            Some(bytes) => Fields(bytes),
            None => return Err(HelloError::Length(bytes.len())),
        };
        let [version, flags] = fields.take();
        if version != Self::VERSION {
            return Err(HelloError::Version(version));
        }
        let credits = u16::from_be_bytes(fields.take());
        let [_, _, _, scaled] = fields.take();
        let hello = Self {
            order: match flags & BIG {
                0 => ByteOrder::Little,
                _ => ByteOrder::Big,
            },
            credits,
            mappings: match flags & MAPPINGS {
                0 => 0,
                _ => unscale(scaled),
            },
            list: Segment::take(&mut fields, ByteOrder::Big),
            ring: Segment::take(&mut fields, ByteOrder::Big),
        };
        hello.check()?;
        Ok(hello)
    }

    /// Checks that each field is one that a stream can be had with.
    fn check(&self) -> Result<(), HelloError> {
        if self.credits == 0 {
            return Err(HelloError::Credits);
        }
        if self.list.len < LEAST_ENTRIES {
            return Err(HelloError::Entries(self.list.len));
        }
        let entries = size_of_list(self.list.len, Segment::LEN);
        let mappings = size_of_list(self.mappings.into(), Mapping::LEN);
        if self.list.wraps(entries.saturating_add(mappings)) {
            return Err(HelloError::List(self.list.addr));
        }
        if self.ring.len == 0 {
            return Err(HelloError::Ring);
        }
        if self.ring.wraps(self.ring.len.into()) {
            return Err(HelloError::RingAddress(self.ring.addr));
        }
        Ok(())
    }

    /// Returns the address of an entry of the list. Of a number beyond, it is that of entry 0.
    pub(crate) fn entry(&self, index: u32) -> u64 {
        let index = if index < self.list.len { index } else { 0 };
        self.list
            .addr
            .wrapping_add(size_of_list(index, Segment::LEN))
    }

    /// Returns the address of a mapping, `None` where there are fewer.
    pub(crate) fn mapping(&self, index: u16) -> Option<u64> {
        let before = size_of_list(self.list.len, Segment::LEN);
        let before = before.wrapping_add(size_of_list(index.into(), Mapping::LEN));
        (index < self.mappings).then(|| self.list.addr.wrapping_add(before))
    }
}

/// Returns the bytes of a list. No list of 2^32 entries has more than 2^37 of them.
fn size_of_list(entries: u32, entry: usize) -> u64 {
    u64::from(entries).wrapping_mul(entry as u64)
}

/// Returns the byte that a number of mappings is sent as: above 128 a number of 256s.
fn scale(mappings: u16) -> u8 {
    match u8::try_from(mappings) {
        Ok(plain) if plain <= PLAIN_MAPPINGS => plain,
        // 7 bits remain of the upper 8.
        _ => PLAIN_MAPPINGS | (mappings >> 8) as u8,
    }
}

/// Returns the number of mappings that a byte stands for.
fn unscale(byte: u8) -> u16 {
    match byte <= PLAIN_MAPPINGS {
        true => byte.into(),
        false => u16::from(byte & !PLAIN_MAPPINGS) << 8,
    }
}

/// The reason why no stream can be had with private data. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelloError {
    /// There are only so many bytes.
    Length(usize),
    /// It is of another version.
    Version(u8),
    /// There is no credit, so nothing can be sent.
    Credits,
    /// The list of segments has too few entries for a renewal.
    Entries(u32),
    /// The lists end beyond the last address.
    List(u64),
    /// The ring has no byte.
    Ring,
    /// The ring ends beyond the last address.
    RingAddress(u64),
}

impl fmt::Display for HelloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(bytes) => write!(
                f,
                "private data of {bytes} bytes, where a stream's has {}",
                Hello::LEN
            ),
            Self::Version(0) => f.write_str(
                "no private data of rsocket's protocol: it is no socket program of rdma-core, but \
                 perhaps rping, which a server without stream serves",
            ),
            Self::Version(version) => write!(
                f,
                "private data of version {version} of rsocket's protocol, and this side has \
                 version {}",
                Hello::VERSION
            ),
            Self::Credits => f.write_str("private data of a stream that grants no credit"),
            Self::Entries(entries) => write!(
                f,
                "private data of a stream whose list has {entries} entries, where it needs \
                 {LEAST_ENTRIES}"
            ),
            Self::List(addr) => write!(
                f,
                "private data of a stream whose list at {addr:#x} ends beyond the last address"
            ),
            Self::Ring => f.write_str("private data of a stream whose ring has no byte"),
            Self::RingAddress(addr) => write!(
                f,
                "private data of a stream whose ring at {addr:#x} ends beyond the last address"
            ),
        }
    }
}
