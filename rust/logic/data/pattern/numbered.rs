// SPDX-License-Identifier: GPL-2.0

//! Words that tell messages apart.

use super::{
    first,
    Cell,
    STEP,
    WORD, //
};
use crate::logic::data::mix::{
    mix,
    GOLDEN, //
};

/// Words that depend on the number of a message and on their place in it. They cost two additions,
/// as each message of a bandwidth test is made and compared.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    key: u64,
}

impl Numbered {
    /// The difference between a word and the next one. It is odd, as is [`GOLDEN`], so that the
    /// first bytes of 256 words, or messages, in a row are all different.
    const STEP: u64 = 0xd1b5_4a32_d192_ed03;

    /// Creates the words of message `number` of a run with `seed`.
    pub(super) fn new(seed: u32, number: u64) -> Self {
        Self {
            key: mix(u64::from(seed)).wrapping_add(number.wrapping_mul(GOLDEN)),
        }
    }

    /// Calls `f` with each of `cells` and its word of a message of `size` bytes. Returns the OR of
    /// the results, without the bits behind the end.
    pub(super) fn each<C: Cell>(
        &self,
        size: usize,
        cells: &[C],
        mut f: impl FnMut(&C, u64) -> u64,
    ) -> u64 {
        let Some((last, before)) = cells.split_last() else {
            return 0;
        };
        let (mut answered, mut word) = (0, self.key);
        let mut hand = |cells: &[C]| {
            for cell in cells {
                answered |= f(cell, word);
                word = word.wrapping_add(Self::STEP);
            }
        };
        let steps = before.chunks_exact(STEP);
        let rest = steps.remainder();
        for cells in steps {
            hand(cells);
        }
        hand(rest);
        let bits = first(size.saturating_sub(before.len().wrapping_mul(WORD)));
        answered | (f(last, word & bits) & bits)
    }
}
