// SPDX-License-Identifier: GPL-2.0

//! Direct writes that take turns, as those of `riostream` do: the last byte of each is its number.

/// The bytes that each side sends as a stream before the first direct write, when it has told of
/// its mapping.
pub(crate) const GREETING: u32 = 16;

/// Direct writes of the same size of both sides in turn, the client's first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    size: u32,
    /// The number of the next write, from 0 on.
    number: u64,
}

impl Turns {
    /// The last byte of the memory that is written to before the first write: the number of none
    /// that is near.
    pub(crate) const BEFORE: u8 = 0xff;

    /// Creates the turns of writes of `size` bytes, at least one.
    pub(crate) const fn new(size: u32) -> Self {
        Self { size, number: 0 }
    }

    /// Returns the number of the next write.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the last byte of the next write.
    pub(crate) const fn mark(&self) -> u8 {
        self.number as u8
    }

    /// Returns the offset of that byte, which is also the number of the bytes before it.
    pub(crate) const fn content(&self) -> u32 {
        self.size.saturating_sub(1)
    }

    /// Returns the position of the next write's first byte among those of its side that were
    /// written before, without the last byte of each.
    pub(crate) const fn position(&self) -> u64 {
        (self.number >> 1).wrapping_mul(self.content() as u64)
    }

    /// Goes on to the turn of the other side.
    pub(crate) fn pass(&mut self) {
        self.number = self.number.wrapping_add(1);
    }
}
