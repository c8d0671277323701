// SPDX-License-Identifier: GPL-2.0

//! The places of messages that are all compared: each message under way has one of its own.
//!
//! Both sides compute them from the size alone, so that a sender knows where a message belongs.

/// Bytes that the places of one side take together: what devices cover with one region.
const AREA: u32 = 1 << 20;

/// The most places that there are.
const MOST: u32 = 64;

/// The fewest: messages under way, as many that have arrived, and control messages.
const LEAST: u32 = 8;

/// The largest message that there are enough places for.
pub(crate) const LARGEST: u32 = AREA / LEAST;

/// The places of messages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// The number of places.
    pub(crate) count: u32,
    /// Bytes from one place to the next; 0 where there is one.
    pub(crate) stride: u32,
}

impl Slots {
    /// The one place of messages that are not all compared.
    pub(crate) const ONE: Self = Self {
        count: 1,
        stride: 0,
    };

    /// Returns the places of messages of `size` bytes, at most [`LARGEST`].
    pub(crate) fn of(size: u32) -> Self {
        // A cache line, so that neighbours share none.
        let stride = size.clamp(1, LARGEST).next_multiple_of(64);
        Self {
            count: (AREA / stride).clamp(LEAST, MOST),
            stride,
        }
    }

    /// Returns the number of the place of message number `number`.
    pub(crate) fn place(&self, number: u64) -> u64 {
        number.checked_rem(u64::from(self.count)).unwrap_or(0)
    }

    /// Returns the offset of the place of message number `number`.
    pub(crate) fn offset(&self, number: u64) -> usize {
        // Less than the area.
        self.place(number) as usize * self.stride as usize
    }

    /// Returns the bytes of all places, for messages of `size` bytes.
    pub(crate) fn bytes(&self, size: u32) -> usize {
        self.receives() as usize * self.stride as usize + size as usize
    }

    /// Returns the number of messages that may be under way.
    pub(crate) fn under_way(&self) -> u32 {
        self.count / 2
    }

    /// Returns the number of receives for messages that may be posted: a message finds one only
    /// once its place has been compared.
    pub(crate) fn receives(&self) -> u32 {
        self.count.saturating_sub(1)
    }

    /// Returns the number of messages of which one asks for a completion, where a command does not
    /// say it.
    pub(crate) fn signal_every(&self) -> u16 {
        // At most a quarter of the most places.
        (self.count / 4) as u16
    }
}
