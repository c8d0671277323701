// SPDX-License-Identifier: GPL-2.0

//! Mappings: memory that a peer has opened for direct writes, by offsets that it has chosen.

use super::{
    violation::Violation,
    ByteOrder,
    Segment, //
};
use crate::logic::wire::{
    pack,
    Fields, //
};

/// A part of the address space of offsets, and the memory that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The offset of the first byte.
    pub(crate) offset: u64,
    /// The memory.
    pub(crate) memory: Segment,
}

impl Mapping {
    /// The number of bytes on the wire.
    pub(crate) const LEN: usize = 24;

    /// Returns the bytes on the wire, for memory of that order.
    pub(crate) fn encode(&self, order: ByteOrder) -> [u8; Self::LEN] {
        pack(
            order
                .u64_bytes(self.offset)
                .into_iter()
                .chain(self.memory.encode(order)),
        )
    }

    /// Decodes an entry of a list in memory of that order.
    ///
    /// # Errors
    ///
    /// [`Violation::Segment`] and [`Violation::MappingRange`] where the memory or the offsets end
    /// beyond the last one that there is.
    pub(crate) fn decode(bytes: &[u8; Self::LEN], order: ByteOrder) -> Result<Self, Violation> {
        let mut fields = Fields(bytes);
        let offset = order.u64_of(fields.take());
        let memory = Segment::take(&mut fields, order);
        if memory.wraps(memory.len.into()) {
            return Err(Violation::Segment(memory.addr, memory.len));
        }
        if offset.checked_add(memory.len.into()).is_none() {
            return Err(Violation::MappingRange(offset, memory.len));
        }
        Ok(Self { offset, memory })
    }

    /// Returns the part of the memory that the offsets from `offset` on stand for, up to `left`
    /// bytes of it; `None` where this is no offset of the mapping. The part is never empty, so that
    /// a write which goes on behind it comes to an end.
    pub(crate) fn part(&self, offset: u64, left: u32) -> Option<Segment> {
        let ahead = offset.checked_sub(self.offset)?;
        let len = u64::from(self.memory.len).checked_sub(ahead)?;
        // It is at most a length of 32 bits.
        let len = (len as u32).min(left);
        (len != 0).then(|| Segment {
            addr: self.memory.addr.wrapping_add(ahead),
            rkey: self.memory.rkey,
            len,
        })
    }
}

/// The mappings of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mappings {
    /// The number of entries that the peer was told of.
    count: u16,
    entries: [Option<Mapping>; Self::MOST as usize],
}

impl Mappings {
    /// The most entries that there is room for.
    pub(crate) const MOST: u16 = 8;

    /// Creates a list of `count` entries, at most [`MOST`](Self::MOST), none of which is set.
    pub(crate) fn new(count: u16) -> Self {
        Self {
            count: count.min(Self::MOST),
            entries: [None; Self::MOST as usize],
        }
    }

    /// Checks the index of an entry that a peer says it has written.
    ///
    /// # Errors
    ///
    /// [`Violation::Mapping`] for an entry beyond the list.
    pub(crate) fn check(&self, index: u16) -> Result<(), Violation> {
        match index < self.count {
            true => Ok(()),
            false => Err(Violation::Mapping(index.into(), self.count.into())),
        }
    }

    /// Sets an entry. One beyond the list is ignored.
    pub(crate) fn set(&mut self, index: u16, mapping: Mapping) {
        if index < self.count {
            if let Some(entry) = self.entries.get_mut(usize::from(index)) {
                *entry = Some(mapping);
            }
        }
    }

    /// Returns the memory for up to `left` bytes from `offset` on, of the first mapping that has
    /// the offset; `None` where none has.
    pub(crate) fn find(&self, offset: u64, left: u32) -> Option<Segment> {
        self.entries
            .iter()
            .flatten()
            .find_map(|mapping| mapping.part(offset, left))
    }
}
