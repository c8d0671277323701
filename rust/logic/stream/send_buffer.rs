// SPDX-License-Identifier: GPL-2.0

//! The ring that a stream's data is sent from, which is given back in the order of its use.

/// A part of the send buffer: one piece, or two where it goes on at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first byte.
    pub(crate) offset: u32,
    /// The bytes from there on.
    pub(crate) len: u32,
    /// The bytes at the beginning of the buffer that follow.
    pub(crate) rest: u32,
}

/// The space of a send buffer.
///
/// # Invariants
///
/// - `taken - freed`, modulo 2^32, is at most `size`.
/// - `next` is below `size`, or 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer {
    size: u32,
    next: u32,
    /// The bytes that were ever taken, modulo 2^32.
    taken: u32,
    /// The bytes that were ever given back, modulo 2^32.
    freed: u32,
}

impl SendBuffer {
    /// Creates a buffer of `size` bytes.
    pub(crate) const fn new(size: u32) -> Self {
        Self {
            size,
            next: 0,
            taken: 0,
            freed: 0,
        }
    }

    /// Returns the number of bytes that are free.
    pub(crate) const fn free(&self) -> u32 {
        self.size.saturating_sub(self.in_use())
    }

    /// Returns the number of bytes that are in use.
    pub(crate) const fn in_use(&self) -> u32 {
        self.taken.wrapping_sub(self.freed)
    }

    /// Returns the number of bytes that are free and lie together, from the next one on.
    pub(crate) fn contiguous(&self) -> u32 {
        self.free().min(self.size.saturating_sub(self.next))
    }

    /// Takes the next `len` bytes, or as many as are free.
    pub(crate) fn take(&mut self, len: u32) -> Place {
        let len = len.min(self.free());
        let first = len.min(self.size.saturating_sub(self.next));
        let place = Place {
            offset: self.next,
            len: first,
            rest: len.saturating_sub(first),
        };
        let end = self.next.saturating_add(first);
        self.next = match end == self.size {
            true => place.rest,
            false => end,
        };
        self.taken = self.taken.wrapping_add(len);
        place
    }

    /// Returns the mark up to which bytes are in use after those that were taken so far.
    pub(crate) const fn mark(&self) -> u32 {
        self.taken
    }

    /// Gives back all bytes before a [`mark`](Self::mark). One that was never reached, or has been
    /// passed, is ignored.
    pub(crate) fn free_to(&mut self, mark: u32) {
        if mark.wrapping_sub(self.freed) <= self.in_use() {
            self.freed = mark;
        }
    }
}
