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
/// Sizes above 0 come first, each with a weight above 0 at the same place; the others are 0. The
/// weights are at most [`MOST_WEIGHT`] together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    sizes: [u32; MOST],
    weights: [u16; MOST],
}

impl Sizes {
    /// No mix: all operations have one size.
    pub(crate) const NONE: Self = Self {
        sizes: [0; MOST],
        weights: [0; MOST],
    };

    /// Adds a size with its weight; `None` where there is no room, or either is 0.
    pub(crate) fn push(&mut self, size: u32, weight: u16) -> Option<()> {
        let together = self.weight().saturating_add(weight.into());
        if size == 0 || weight == 0 || together > MOST_WEIGHT {
            return None;
        }
        let mut places = self.sizes.iter_mut().zip(&mut self.weights);
        let place = places.find(|(size, _)| **size == 0)?;
        // INVARIANT: All of it was checked, and this is the first place that is free.
        (*place.0, *place.1) = (size, weight);
        Some(())
    }

    /// Returns true where all operations have one size.
    pub(crate) fn is_empty(&self) -> bool {
        self.sizes().next().is_none()
    }

    /// Returns the sizes, in the order in which they were given.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts().map(|(size, _)| size)
    }

    fn parts(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        let all = self.sizes.iter().copied().zip(self.weights);
        all.take_while(|(size, _)| *size != 0)
    }

    /// Returns the sum of the weights.
    pub(crate) fn weight(&self) -> u32 {
        self.weights.iter().map(|weight| u32::from(*weight)).sum()
    }

    /// Returns the size of operation number `rank` of `count` that are sorted by size as it was
    /// given: as many have each as its weight is part of all, but for rounding.
    pub(crate) fn at(&self, rank: u32, count: u32) -> u32 {
        let scaled = u64::from(rank) * u64::from(self.weight());
        let target = scaled.checked_div(count.into()).unwrap_or(0);
        let mut weight = 0;
        let found = self.parts().find(|(_, part)| {
            weight += u64::from(*part);
            target < weight
        });
        found.map_or(0, |(size, _)| size)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (size, weight)) in self.parts().enumerate() {
            let sign = if number == 0 { "" } else { "+" };
            write!(f, "{sign}{size}:{weight}")?;
        }
        Ok(())
    }
}
