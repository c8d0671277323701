// SPDX-License-Identifier: GPL-2.0

//! Pseudo-random bytes that end in their CRC-32.

use super::{
    first,
    Cell,
    STEP,
    WORD, //
};
use crate::logic::data::{
    crc::Crc32,
    mix::{
        mix,
        scramble,
        GOLDEN, //
    }, //
};

/// The words of the pseudo-random data of one iteration.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    key: u64,
}

impl Binary {
    const CRC: usize = 4;

    /// Creates the data of that iteration of a run with `seed`.
    pub(super) fn new(seed: u32, iteration: u64) -> Self {
        Self {
            key: mix(mix(u64::from(seed)) ^ iteration),
        }
    }

    /// Returns word `i` of the pseudo-random bytes, which the CRC does not overwrite yet.
    fn word(&self, i: usize) -> u64 {
        mix(self.key.wrapping_add(i as u64))
    }

    /// Returns the CRC-32 of the first `words` words, which are generated for it.
    pub(super) fn crc(&self, words: usize) -> u32 {
        let mut crc = Crc32::new();
        for i in 0..words {
            crc.update(&self.word(i).to_le_bytes());
        }
        crc.finish()
    }

    /// Calls `f` with each of `cells` and its word of `size` bytes of data, whose last are the
    /// CRC-32 that `crc` returns of the first words. Returns the OR of the results, without the
    /// bits behind the end.
    pub(super) fn each<C: Cell>(
        &self,
        size: usize,
        cells: &[C],
        crc: impl FnOnce(usize) -> u32,
        mut f: impl FnMut(&C, u64) -> u64,
    ) -> u64 {
        let body = match size.checked_sub(Self::CRC) {
            Some(body) if body >= Self::CRC => body,
            // The data fits in one word, without a CRC.
            _ => {
                let bits = first(size);
                let word = self.word(0) & bits;
                return cells.first().map_or(0, |cell| f(cell, word) & bits);
            }
        };
        let words = body / WORD;
        let whole = cells.get(..words).unwrap_or(cells);
        let mut answered = self.each_seeded(whole, &mut f);

        let rest = cells.get(words..).unwrap_or_default();
        if rest.is_empty() {
            return answered;
        }
        // The remaining bytes, and then the CRC, which may begin at any byte of a word.
        let part = body % WORD;
        let left = self.word(words) & first(part);
        let mut sum = Crc32::after(crc(words));
        for byte in left.to_le_bytes().iter().take(part) {
            sum.update(&[*byte]);
        }
        let sum = u64::from(sum.finish().swap_bytes());
        let bits = (part as u32).wrapping_mul(u8::BITS);
        let over = sum.checked_shr(u64::BITS.wrapping_sub(bits)).unwrap_or(0);
        let mut bytes = part.wrapping_add(Self::CRC);
        for (cell, word) in rest.iter().zip([left | sum.wrapping_shl(bits), over]) {
            answered |= f(cell, word) & first(bytes);
            bytes = bytes.saturating_sub(WORD);
        }
        answered
    }

    /// Calls `f` with each of `cells` and its pseudo-random word. Returns the OR of the results.
    fn each_seeded<C: Cell>(&self, cells: &[C], f: &mut impl FnMut(&C, u64) -> u64) -> u64 {
        let mut answered = 0;
        let mut state = self.key.wrapping_mul(GOLDEN);
        let mut hand = |cells: &[C]| {
            for cell in cells {
                answered |= f(cell, scramble(state));
                state = state.wrapping_add(GOLDEN);
            }
        };
        let steps = cells.chunks_exact(STEP);
        let rest = steps.remainder();
        for cells in steps {
            hand(cells);
        }
        hand(rest);
        answered
    }
}
