// SPDX-License-Identifier: GPL-2.0

//! The sizes of operations that are a mix of several (`sizes=`).

use core::fmt;

/// The most sizes of a mix.
pub(crate) const MOST: usize = 8;

/// The most that the weights of a mix are together.
pub(crate) const MOST_WEIGHT: u32 = 1000;

/// Sizes of operations, each with its weight.
///
/// # Invariants
///
/// The first `len` of `parts` have sizes and weights above 0, which are at most [`MOST_WEIGHT`]
/// together; the others are 0. `len` is at most [`MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    parts: [(u32, u16); MOST],
    len: usize,
}

impl Sizes {
    /// No mix: all operations have one size.
    pub(crate) const NONE: Self = Self {
        parts: [(0, 0); MOST],
        len: 0,
    };

    /// Adds a size with its weight; `None` where there is no room, or either is 0.
    pub(crate) fn push(&mut self, size: u32, weight: u16) -> Option<()> {
        let together = self.weight().saturating_add(weight.into());
        if size == 0 || weight == 0 || together > MOST_WEIGHT {
            return None;
        }
        *self.parts.get_mut(self.len)? = (size, weight);
        // INVARIANT: All of it was checked, and there was room.
        self.len = self.len.saturating_add(1);
        Some(())
    }

    /// Returns true where all operations have one size.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the sizes, in the order in which they were given.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().take(self.len).map(|(size, _)| *size)
    }

    /// Returns the sum of the weights.
    pub(crate) fn weight(&self) -> u32 {
        self.parts
            .iter()
            .map(|(_, weight)| u32::from(*weight))
            .sum()
    }

    /// Returns the size of operation number `rank` of `count` that are sorted by size as it was
    /// given: as many have each as its weight is part of all, but for rounding.
    pub(crate) fn at(&self, rank: u32, count: u32) -> u32 {
        let scaled = u64::from(rank) * u64::from(self.weight());
        let target = scaled.checked_div(count.into()).unwrap_or(0);
        let mut weight = 0;
        let parts = self.parts.iter().take(self.len);
        let found = parts.copied().find(|(_, part)| {
            weight += u64::from(*part);
            target < weight
        });
        found.map_or(0, |(size, _)| size)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (size, weight)) in self.parts.iter().take(self.len).enumerate() {
            let sign = if number == 0 { "" } else { "+" };
            write!(f, "{sign}{size}:{weight}")?;
        }
        Ok(())
    }
}
