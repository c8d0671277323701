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
//!
//! The words come from [`text`], [`binary`] or [`numbered`].

mod binary;
mod numbered;
mod text;

use binary::Binary;
use core::fmt;
use numbered::Numbered;
use text::Text;

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
