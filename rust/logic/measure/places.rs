// SPDX-License-Identifier: GPL-2.0

//! The places of the data of operations that take several buffers in turn (`buffers=`, `mrs=`).
//!
//! Both sides compute them from the numbers of buffers and regions and from the size, so that the
//! side that posts knows where a place of the other one is. Places are taken in an order that looks
//! random and repeats itself: each buffer is taken once before one is taken again.

use crate::logic::data::mix::{
    scramble,
    GOLDEN, //
};

/// Bytes of a cache line: neighbours share none.
const LINE: u32 = 64;

/// A place of the data of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of the region, from 0.
    pub(crate) region: u32,
    /// The offset in that, in bytes.
    pub(crate) offset: u32,
}

/// The places of the data of operations of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    count: u32,
    regions: u32,
    size: u32,
}

impl Places {
    /// Returns `buffers` places for `size` bytes each, in `mrs` regions, at most as many.
    pub(crate) fn new(buffers: u16, mrs: u16, size: u32) -> Self {
        let count = u32::from(buffers).max(1);
        Self {
            count,
            regions: u32::from(mrs).clamp(1, count),
            size,
        }
    }

    /// Returns the number of places.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of regions.
    pub(crate) fn regions(&self) -> u32 {
        self.regions
    }

    /// Returns the bytes of each region, `None` for more than 32 bits count.
    pub(crate) fn region_bytes(&self) -> Option<u32> {
        let most = self.count.div_ceil(self.regions.max(1));
        let behind = most.checked_sub(1)?.checked_mul(self.stride()?)?;
        behind.checked_add(self.size)
    }

    /// Returns the bytes from one place of a region to the next.
    fn stride(&self) -> Option<u32> {
        self.size.checked_next_multiple_of(LINE)
    }

    /// Returns the place of operation number `number`.
    pub(crate) fn place(&self, number: u64) -> Place {
        let turn = number.checked_rem(self.count.into()).unwrap_or(0) as u32;
        let place = shuffled(turn, self.count);
        let index = place.checked_div(self.regions).unwrap_or(0);
        Place {
            region: place.checked_rem(self.regions).unwrap_or(0),
            offset: index.wrapping_mul(self.stride().unwrap_or(0)),
        }
    }

    /// Returns the number of places that the first `operations` operations take.
    pub(crate) fn taken(&self, operations: u64) -> u32 {
        u64::from(self.count).min(operations) as u32
    }
}

/// The most requests of a list that has each place with each size.
const MOST_IN_TURN: u32 = 8192;

/// Returns the number of operations after which their places, of which there are `places`, and
/// their sizes, whose weights are `weight` together or 0 where there is one, repeat themselves.
/// Where that would be too many, the sizes are as near to their weights as a few turns of them
/// allow.
pub(crate) fn turn(places: u32, weight: u32) -> u32 {
    let (places, weight) = (places.max(1), weight.max(1));
    let (mut divisor, mut rest) = (places, weight);
    while let Some(next) = divisor.checked_rem(rest) {
        (divisor, rest) = (rest, next);
    }
    let all = places
        .checked_div(divisor)
        .unwrap_or(places)
        .checked_mul(weight);
    match all {
        Some(all) if all <= MOST_IN_TURN => all,
        _ => weight
            .saturating_mul(4)
            .div_ceil(places)
            .saturating_mul(places),
    }
}

/// Returns the number at place `index` of the numbers below `count`, shuffled. Neither is above
/// 2^16.
pub(crate) fn shuffled(index: u32, count: u32) -> u32 {
    // A Feistel network permutes the numbers of an even number of bits; from one that is not below
    // `count` it goes on, and comes to one that is, as it would come back to `index` otherwise.
    let half = (u32::BITS - count.saturating_sub(1).leading_zeros())
        .div_ceil(2)
        .min(8);
    let mask = (1u32 << half) - 1;
    let mut number = index;
    loop {
        let (mut left, mut right) = (number >> half, number & mask);
        for round in 1..=ROUNDS {
            let key = scramble(GOLDEN.wrapping_mul(round) ^ u64::from(right));
            (left, right) = (right, left ^ key as u32 & mask);
        }
        number = left << half | right;
        if number < count || number == index {
            return number;
        }
    }
}

/// Rounds after which no order is seen any more.
const ROUNDS: u64 = 4;
