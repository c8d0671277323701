// SPDX-License-Identifier: GPL-2.0

//! The text of the C krping and of rping.

use super::{
    first,
    Cell,
    STEP,
    WORD, //
};

const FIRST: u8 = b'A';
const LETTERS: usize = (b'z' - FIRST) as usize + 1;

/// The number of words in a block. A block is a multiple of the period of the letters, so that each
/// block begins with the same letter.
const BLOCK: usize = 2 * LETTERS;

/// The letters repeated, long enough for a block that begins with any of them.
static ROLLING: [u8; BLOCK * WORD + LETTERS] = {
    let mut rolling = [0; BLOCK * WORD + LETTERS];
    let mut i = 0;
    while i < rolling.len() {
        rolling[i] = FIRST + (i % LETTERS) as u8;
        i += 1;
    }
    rolling
};

/// Returns the word that `bytes` begin with; 0 where there are fewer than eight.
fn word_of(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |word| u64::from_le_bytes(*word))
}

/// Calls `f` with each of `cells`, at most a block, and its word of `letters`. Returns the OR of
/// the results.
fn each_letters<C: Cell>(cells: &[C], letters: &[u8], f: &mut impl FnMut(&C, u64) -> u64) -> u64 {
    let mut answered = 0;
    let mut hand = |cells: &[C], letters: &[u8]| {
        for (cell, letters) in cells.iter().zip(letters.chunks_exact(WORD)) {
            answered |= f(cell, word_of(letters));
        }
    };
    let steps = cells.chunks_exact(STEP);
    let rest = steps.remainder();
    let behind = cells.len().wrapping_sub(rest.len()).wrapping_mul(WORD);
    for (cells, letters) in steps.zip(letters.chunks_exact(STEP * WORD)) {
        hand(cells, letters);
    }
    hand(rest, letters.get(behind..).unwrap_or_default());
    answered
}

/// The words of the text of one iteration.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// The prefix, and then letters at least up to the end of a word.
    head: [u8; Self::HEAD],
    /// The number of words that the prefix occupies, wholly or in part.
    head_words: usize,
    /// The index of the letter that follows these words.
    start: usize,
}

impl Text {
    /// Room for `rdma-ping-`, the digits of any iteration, and `: `, in whole words.
    const HEAD: usize = (10 + Self::DIGITS + 2).next_multiple_of(WORD);
    const DIGITS: usize = 20;

    /// Creates the text of that iteration.
    pub(super) fn new(iteration: u64) -> Self {
        let mut digits = [0; Self::DIGITS];
        let mut zeros = Self::DIGITS;
        let mut rest = iteration;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' | (rest % 10) as u8;
            rest /= 10;
            zeros = zeros.saturating_sub(1);
            if rest == 0 {
                break;
            }
        }
        let first = (iteration % LETTERS as u64) as usize;
        let text = b"rdma-ping-".iter();
        let text = text.chain(digits.iter().skip(zeros)).chain(b": ");
        let prefix = Self::DIGITS.wrapping_sub(zeros).wrapping_add(12);
        let letters = ROLLING.get(first..).unwrap_or_default();

        let mut head = [0; Self::HEAD];
        for (byte, letter) in head.iter_mut().zip(text.chain(letters)) {
            *byte = *letter;
        }
        let head_words = prefix.div_ceil(WORD);
        let letters = head_words.wrapping_mul(WORD).wrapping_sub(prefix);
        Self {
            head,
            head_words,
            start: first.wrapping_add(letters) % LETTERS,
        }
    }

    /// Calls `f` with each of `cells` and its word of `size` bytes of text. Returns the OR of the
    /// results, without the bits behind the end.
    pub(super) fn each<C: Cell>(
        &self,
        size: usize,
        cells: &[C],
        mut f: impl FnMut(&C, u64) -> u64,
    ) -> u64 {
        let Some((last, before)) = cells.split_last() else {
            return 0;
        };
        let mut answered = 0;
        let head = self.head.chunks_exact(WORD).take(self.head_words);
        for (cell, letters) in before.iter().zip(head) {
            answered |= f(cell, word_of(letters));
        }
        let letters = ROLLING.get(self.start..).unwrap_or_default();
        let body = before.get(self.head_words..).unwrap_or_default();
        for block in body.chunks(BLOCK) {
            answered |= each_letters(block, letters, &mut f);
        }

        let behind = before.len().wrapping_mul(WORD);
        let rest = match before.len().checked_sub(self.head_words) {
            None => self.head.get(behind..),
            Some(words) => letters.get(words.wrapping_mul(WORD) % LETTERS..),
        };
        let left = size.saturating_sub(behind);
        // The last byte is the NUL.
        let word = word_of(rest.unwrap_or_default()) & first(left.saturating_sub(1));
        answered | (f(last, word) & first(left))
    }
}
