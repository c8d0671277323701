// SPDX-License-Identifier: GPL-2.0

//! Generates the data that is sent, and checks the data that came back.
//!
//! Every byte follows from the pattern, the iteration, the size of the data and the byte's offset.
//! Data is generated and compared in place, word by word. A device or a peer may change that memory
//! at any time, so no code borrows its bytes: the memory is a slice of [`Cell`]s.
//!
//! ```text
//! let data = Data::new(pattern, iteration, size);
//! data.fill(&source);
//! data.check(&sink)?;
//! ```

use super::crc::Crc32;
use core::fmt;

/// The kind of pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternKind {
    /// The text of the C krping and of rping: `rdma-ping-N: `, then the letters and signs from `A`
    /// to `z` repeated, starting one further in each iteration, and a NUL as the last byte. Where
    /// the size is too small, the text before the NUL is cut.
    Text,
    /// Pseudo-random bytes. With a size of eight or more, the last four bytes are the CRC-32 of the
    /// bytes before them, big-endian.
    Binary,
}

impl PatternKind {
    /// Returns the name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }
}

/// The pattern of the data that a session sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The kind.
    pub(crate) kind: PatternKind,
    /// The seed of [`PatternKind::Binary`]; text ignores it.
    pub(crate) seed: u32,
}

/// Eight bytes of memory that others may change at any time.
pub(crate) trait Cell {
    /// Returns the present content as a little-endian word.
    fn get(&self) -> u64;

    /// Replaces all eight bytes with `word`, little-endian.
    fn set(&self, word: u64);
}

/// Memory that data is generated in, or that is checked.
pub(crate) trait Cells {
    /// The type of its words.
    type Cell: Cell;

    /// Returns all words. The last one may reach beyond the data.
    fn cells(&self) -> &[Self::Cell];

    /// Returns the CRC-32 of the first `words` words.
    fn crc(&self, words: usize) -> u32;
}

/// The number of bytes in a word.
const WORD: usize = size_of::<u64>();

/// The number of words that a loop handles at a time, so that its overhead is small.
const STEP: usize = 8;

/// Returns the mask of the first `bytes` bytes of a word.
const fn first(bytes: usize) -> u64 {
    match WORD.checked_sub(bytes) {
        Some(WORD) => 0,
        Some(others) => u64::MAX >> (others * 8),
        None => u64::MAX,
    }
}

/// The data of one iteration.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    source: Source,
    iteration: u64,
    size: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Text(Text),
    Binary(Binary),
    Numbered(Numbered),
}

impl Data {
    /// Creates the data of that iteration, of `size` bytes.
    pub(crate) fn new(pattern: Pattern, iteration: u64, size: usize) -> Self {
        let source = match pattern.kind {
            PatternKind::Text => Source::Text(Text::new(iteration)),
            PatternKind::Binary => Source::Binary(Binary::new(pattern.seed, iteration)),
        };
        Self {
            source,
            iteration,
            size,
        }
    }

    /// Creates the data of message `number` of a run with `seed`, of `size` bytes. The first byte
    /// of each word differs from that of the 255 messages before and after it.
    pub(crate) fn numbered(seed: u32, number: u64, size: usize) -> Self {
        Self {
            source: Source::Numbered(Numbered::new(seed, number)),
            iteration: number,
            size,
        }
    }

    /// Writes the data to the beginning of `place`, cut to its size. The bytes of the last word
    /// behind the data become 0.
    pub(crate) fn fill(&self, place: &impl Cells) {
        let crc = |words| place.crc(words);
        self.each(place.cells(), crc, |cell, word| {
            cell.set(word);
            0
        });
    }

    /// Compares the beginning of `found` with the data.
    ///
    /// # Errors
    ///
    /// The [`Mismatch`] where they differ, or `found` is too small for the data.
    pub(crate) fn check(&self, found: &impl Cells) -> Result<(), Mismatch> {
        let cells = found.cells();
        let crc = |words| found.crc(words);
        let differs = self.each(cells, crc, |cell, word| cell.get() ^ word) != 0;
        if differs || cells.len() < self.words() {
            return self.mismatch(cells);
        }
        Ok(())
    }

    /// Compares data that came back from a peer that has checked it too. Binary data, which is slow
    /// to generate, is first compared with `sent`, which this side has filled with it.
    ///
    /// # Errors
    ///
    /// The [`Mismatch`], as of [`check`](Self::check).
    pub(crate) fn check_echo(&self, found: &impl Cells, sent: &impl Cells) -> Result<(), Mismatch> {
        match self.source {
            Source::Binary(_) if same(found.cells(), sent.cells(), self.size) => Ok(()),
            _ => self.check(found),
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn words(&self) -> usize {
        self.size.div_ceil(WORD)
    }

    /// Calls `f` with each cell and its word of the data, in order. Returns the OR of the results,
    /// without the bits behind the end of the data. Calls `crc` for the CRC-32 of the first words
    /// after `f` has had them.
    fn each<C: Cell>(
        &self,
        cells: &[C],
        crc: impl FnOnce(usize) -> u32,
        f: impl FnMut(&C, u64) -> u64,
    ) -> u64 {
        let cells = cells.get(..self.words()).unwrap_or(cells);
        match &self.source {
            Source::Text(text) => text.each(self.size, cells, f),
            Source::Binary(binary) => binary.each(self.size, cells, crc, f),
            Source::Numbered(numbered) => numbered.each(self.size, cells, f),
        }
    }

    /// Counts all differences byte by byte, for the report of a mismatch that was found.
    #[cold]
    fn mismatch<C: Cell>(&self, cells: &[C]) -> Result<(), Mismatch> {
        let mut mismatch: Option<Mismatch> = None;
        let mut offset = 0usize;
        let mut wrong = |offset: usize, expected, found, bytes: usize| {
            let mismatch = mismatch.get_or_insert(Mismatch {
                offset: offset as u64,
                expected,
                found,
                iteration: self.iteration,
                wrong: 0,
            });
            mismatch.wrong = mismatch.wrong.saturating_add(bytes as u64);
        };
        let crc = |words| match &self.source {
            Source::Text(_) | Source::Numbered(_) => 0,
            Source::Binary(binary) => binary.crc(words),
        };
        self.each(cells, crc, |cell, word| {
            for (found, expected) in cell.get().to_le_bytes().into_iter().zip(word.to_le_bytes()) {
                if found != expected && offset < self.size {
                    wrong(offset, expected, found, 1);
                }
                offset = offset.saturating_add(1);
            }
            0
        });
        match self.size.checked_sub(offset) {
            Some(missing) if missing > 0 => wrong(offset, 0, 0, missing),
            _ => {}
        }
        mismatch.map_or(Ok(()), Err)
    }
}

/// Returns true where both places have `size` bytes, and these are the same.
fn same<A: Cell, B: Cell>(one: &[A], other: &[B], size: usize) -> bool {
    let words = size.div_ceil(WORD);
    let (Some(one), Some(other)) = (one.get(..words), other.get(..words)) else {
        return false;
    };
    let (Some((last, one)), Some((other_last, other))) = (one.split_last(), other.split_last())
    else {
        return true;
    };
    let behind = one.len().wrapping_mul(WORD);
    let mut differs = (last.get() ^ other_last.get()) & first(size.saturating_sub(behind));
    let mut compare = |one: &[A], other: &[B]| {
        for (one, other) in one.iter().zip(other) {
            differs |= one.get() ^ other.get();
        }
    };
    let (steps, other_steps) = (one.chunks_exact(STEP), other.chunks_exact(STEP));
    compare(steps.remainder(), other_steps.remainder());
    for (one, other) in steps.zip(other_steps) {
        compare(one, other);
    }
    differs == 0
}

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

#[derive(Clone, Debug)]
struct Text {
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

    fn new(iteration: u64) -> Self {
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

    fn each<C: Cell>(&self, size: usize, cells: &[C], mut f: impl FnMut(&C, u64) -> u64) -> u64 {
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

#[derive(Clone, Debug)]
struct Binary {
    key: u64,
}

impl Binary {
    const CRC: usize = 4;

    fn new(seed: u32, iteration: u64) -> Self {
        Self {
            key: mix(mix(u64::from(seed)) ^ iteration),
        }
    }

    /// Returns word `i` of the pseudo-random bytes, which the CRC does not overwrite yet.
    fn word(&self, i: usize) -> u64 {
        mix(self.key.wrapping_add(i as u64))
    }

    /// Returns the CRC-32 of the first `words` words, which are generated for it.
    fn crc(&self, words: usize) -> u32 {
        let mut crc = Crc32::new();
        for i in 0..words {
            crc.update(&self.word(i).to_le_bytes());
        }
        crc.finish()
    }

    fn each<C: Cell>(
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

/// Words that depend on the number of a message and on their place in it. They cost two additions,
/// as each message of a bandwidth test is made and compared.
#[derive(Clone, Debug)]
struct Numbered {
    key: u64,
}

impl Numbered {
    /// The difference between a word and the next one. It is odd, as is [`GOLDEN`], so that the
    /// first bytes of 256 words, or messages, in a row are all different.
    const STEP: u64 = 0xd1b5_4a32_d192_ed03;

    fn new(seed: u32, number: u64) -> Self {
        Self {
            key: mix(u64::from(seed)).wrapping_add(number.wrapping_mul(GOLDEN)),
        }
    }

    fn each<C: Cell>(&self, size: usize, cells: &[C], mut f: impl FnMut(&C, u64) -> u64) -> u64 {
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

/// The increment of the state of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the output of SplitMix64 for its state number `x`, in which each bit of `x` affects all
/// bits.
const fn mix(x: u64) -> u64 {
    scramble(x.wrapping_mul(GOLDEN))
}

/// The output function of SplitMix64.
const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The difference between the data found and the data that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The offset of the first byte that differs.
    pub(crate) offset: u64,
    /// The expected value of that byte.
    pub(crate) expected: u8,
    /// The value found. Both values are 0 where the memory ends before the byte.
    pub(crate) found: u8,
    /// The iteration.
    pub(crate) iteration: u64,
    /// The number of bytes that differ, or that the memory is too small for.
    pub(crate) wrong: u64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "data mismatch in iteration {}: byte {} is {:#04x} instead of {:#04x}, {} wrong in all",
            self.iteration, self.offset, self.found, self.expected, self.wrong
        )
    }
}
