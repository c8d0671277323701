// SPDX-License-Identifier: GPL-2.0

//! The writes of a side that sends: the one under way, and those that wait behind it.

/// Writes of the same size, one after the other.
///
/// # Invariants
///
/// - `left` is at most `size`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes {
    size: u32,
    /// The number of writes; 0 for no end.
    count: u64,
    begun: u64,
    /// Bytes of the write under way that are not sent.
    left: u32,
}

impl Writes {
    /// Creates `count` writes of `size` bytes, none of them begun; 0 for no end.
    pub(crate) const fn new(size: u32, count: u64) -> Self {
        // INVARIANT: Nothing is left.
        Self {
            size,
            count,
            begun: 0,
            left: 0,
        }
    }

    /// Returns the bytes of the write under way that are not sent.
    pub(crate) const fn left(&self) -> u32 {
        self.left
    }

    /// Returns true where the last one has begun.
    pub(crate) const fn has_begun_all(&self) -> bool {
        self.count != 0 && self.begun >= self.count
    }

    /// Begins the next one.
    pub(crate) fn begin(&mut self) {
        self.begun = self.begun.wrapping_add(1);
        // INVARIANT: It is as much.
        self.left = self.size;
    }

    /// Returns the bytes that go together where those wait that a buffer with `room` free bytes
    /// takes: the rest of the write under way, and as many whole writes behind it as fit.
    pub(crate) fn together(&self, room: u32) -> u32 {
        let behind = match self.count {
            0 => u64::MAX,
            count => count.saturating_sub(self.begun),
        };
        let fit = room
            .saturating_sub(self.left)
            .checked_div(self.size)
            .unwrap_or(0);
        let fit = u32::try_from(behind).map_or(fit, |behind| fit.min(behind));
        self.left.saturating_add(fit.saturating_mul(self.size))
    }

    /// Notes that `bytes` were sent, at most as many as go [together](Self::together). Begins
    /// writes that they are of, and returns the number of writes of which nothing is left now.
    pub(crate) fn sent(&mut self, bytes: u32) -> u64 {
        if bytes < self.left {
            // INVARIANT: It is less than before.
            self.left -= bytes;
            return 0;
        }
        let behind = bytes - self.left;
        let whole = behind.checked_div(self.size).unwrap_or(0);
        let part = behind.checked_rem(self.size).unwrap_or(0);
        self.begun = self.begun.wrapping_add(whole.into());
        self.left = 0;
        if part > 0 {
            self.begin();
            // INVARIANT: `part` is below `size`.
            self.left = self.left.saturating_sub(part);
        }
        u64::from(whole).wrapping_add(1)
    }
}
