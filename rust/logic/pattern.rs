// SPDX-License-Identifier: GPL-2.0

//! The data that is sent, and the check of what came back.
//!
//! Every byte follows from the pattern, the iteration, the size of the data and its place in it, so
//! that either side can make or check any amount piece by piece without holding all of it:
//!
//! ```text
//! let mut fill = Fill::new(pattern, iteration, size);
//! for piece in buffer.chunks_mut(512) {
//!     fill.next(piece);
//! }
//!
//! let mut check = Check::new(pattern, iteration, size);
//! for piece in buffer.chunks(512) {
//!     check.feed(piece);
//! }
//! check.finish()?;
//! ```

use super::crc::Crc32;
use core::fmt;

/// What data looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternKind {
    /// That of the C krping and of rping: `rdma-ping-N: `, then the letters and signs from `A` to
    /// `z` over and over, beginning one further in each iteration, and a NUL as the last byte. A
    /// size too short for all that cuts it, but for the NUL.
    Text,
    /// Bytes that look random, and in the last four of at least eight the CRC-32, big-endian, of
    /// those before.
    Binary,
}

impl PatternKind {
    /// Its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }
}

/// What data a session sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// What it looks like.
    pub(crate) kind: PatternKind,
    /// Where [`PatternKind::Binary`] begins; text has none.
    pub(crate) seed: u32,
}

/// Makes the data of one iteration, piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    source: Source,
    size: usize,
    /// How many bytes were made.
    at: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Text(Text),
    Binary(Binary),
}

impl Fill {
    /// Begins the data of that iteration, of `size` bytes.
    pub(crate) fn new(pattern: Pattern, iteration: u64, size: usize) -> Self {
        let source = match pattern.kind {
            PatternKind::Text => Source::Text(Text::new(iteration)),
            PatternKind::Binary => Source::Binary(Binary::new(pattern.seed, iteration)),
        };
        Self {
            source,
            size,
            at: 0,
        }
    }

    /// Makes the next bytes, all of `out`; after the size come zeros.
    pub(crate) fn next(&mut self, out: &mut [u8]) {
        let (at, size) = (self.at, self.size);
        self.at = at.saturating_add(out.len());

        let (data, after) = split(out, size.saturating_sub(at));
        match &mut self.source {
            Source::Text(text) => text.make(at, size, data),
            Source::Binary(binary) => binary.make(at, size, data),
        }
        after.fill(0);
    }
}

const FIRST: u8 = b'A';
const LETTERS: usize = (b'z' - FIRST) as usize + 1;

/// The most that is copied at once: a multiple of the period, so that each copy begins alike.
const COPY: usize = 9 * LETTERS;

/// The letters over and over, long enough to copy from any of them.
static ROLLING: [u8; COPY + LETTERS] = {
    let mut rolling = [0; COPY + LETTERS];
    let mut i = 0;
    while i < rolling.len() {
        rolling[i] = FIRST + (i % LETTERS) as u8;
        i += 1;
    }
    rolling
};

#[derive(Clone, Debug)]
struct Text {
    prefix: [u8; Self::PREFIX],
    prefix_len: usize,
    /// Which letter follows the prefix.
    start: usize,
}

impl Text {
    /// Room for `rdma-ping-`, the digits of any iteration, and `: `.
    const PREFIX: usize = 10 + Self::DIGITS + 2;
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
        let text = b"rdma-ping-".iter();
        let text = text.chain(digits.iter().skip(zeros)).chain(b": ");

        let mut prefix = [0; Self::PREFIX];
        let mut prefix_len = 0usize;
        for (byte, letter) in prefix.iter_mut().zip(text) {
            *byte = *letter;
            prefix_len = prefix_len.saturating_add(1);
        }
        Self {
            prefix,
            prefix_len,
            start: (iteration % LETTERS as u64) as usize,
        }
    }

    fn make(&self, at: usize, size: usize, out: &mut [u8]) {
        let is_last = at.saturating_add(out.len()) == size;

        let prefix = self.prefix.get(at..self.prefix_len).unwrap_or_default();
        let (head, body) = split(out, prefix.len());
        copy(head, prefix);

        let rolled = at.saturating_sub(self.prefix_len);
        let phase = (self.start.wrapping_add(rolled % LETTERS)) % LETTERS;
        let letters = ROLLING.get(phase..).unwrap_or_default();
        for piece in body.chunks_mut(COPY) {
            copy(piece, letters);
        }
        if let (Some(last), true) = (out.last_mut(), is_last) {
            *last = 0;
        }
    }
}

#[derive(Clone, Debug)]
struct Binary {
    key: u64,
    crc: Crc32,
}

impl Binary {
    const CRC: usize = 4;

    fn new(seed: u32, iteration: u64) -> Self {
        Self {
            key: mix(mix(u64::from(seed)) ^ iteration),
            crc: Crc32::new(),
        }
    }

    fn make(&mut self, at: usize, size: usize, out: &mut [u8]) {
        let body = match size.checked_sub(Self::CRC) {
            Some(body) if body >= Self::CRC => body,
            _ => {
                self.seeded(at, out);
                return;
            }
        };
        let (bytes, crc) = split(out, body.saturating_sub(at));
        self.seeded(at, bytes);
        self.crc.update(bytes);
        let sum = self.crc.finish().to_be_bytes();
        let made = at.saturating_sub(body);
        copy(crc, sum.get(made..).unwrap_or_default());
    }

    /// The bytes from place `at` on, before there is a CRC.
    fn seeded(&self, at: usize, out: &mut [u8]) {
        const WORD: usize = size_of::<u64>();

        let word = |i: usize| mix(self.key.wrapping_add(i as u64)).to_le_bytes();
        let (mut i, within) = (at / WORD, at % WORD);
        let mut rest = out;
        if within != 0 {
            let (head, after) = split(rest, WORD.wrapping_sub(within));
            copy(head, word(i).get(within..).unwrap_or_default());
            i = i.wrapping_add(1);
            rest = after;
        }
        for piece in rest.chunks_mut(WORD) {
            copy(piece, &word(i));
            i = i.wrapping_add(1);
        }
    }
}

/// Spreads every bit of `x` over all of the result (the output function of SplitMix64).
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The first `at` bytes, or all where there are fewer, and the rest.
fn split(bytes: &mut [u8], at: usize) -> (&mut [u8], &mut [u8]) {
    let at = at.min(bytes.len());
    bytes.split_at_mut_checked(at).unwrap_or_default()
}

/// Fills `out` from the first bytes of `from`, as far as these go.
fn copy(out: &mut [u8], from: &[u8]) {
    let len = out.len().min(from.len());
    if let (Some(out), Some(from)) = (out.get_mut(..len), from.get(..len)) {
        out.copy_from_slice(from);
    }
}

/// Compares data that came back with what was sent, piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    fill: Fill,
    iteration: u64,
    mismatch: Option<Mismatch>,
}

/// How data differs from what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The place of the first byte that differs.
    pub(crate) offset: u64,
    /// What it should be.
    pub(crate) expected: u8,
    /// What it is; 0 where it never came.
    pub(crate) found: u8,
    /// The iteration.
    pub(crate) iteration: u64,
    /// How many bytes differ, did not come, or came after the size and are not 0.
    pub(crate) wrong: u64,
}

impl Check {
    /// Begins the check of that iteration's data, of `size` bytes.
    pub(crate) fn new(pattern: Pattern, iteration: u64, size: usize) -> Self {
        Self {
            fill: Fill::new(pattern, iteration, size),
            iteration,
            mismatch: None,
        }
    }

    /// Takes the next bytes that were found.
    pub(crate) fn feed(&mut self, found: &[u8]) {
        let mut room = [0; 512];
        for found in found.chunks(room.len()) {
            let at = self.fill.at;
            let (expected, _) = split(&mut room, found.len());
            self.fill.next(expected);
            if expected != found {
                self.compare(at, expected, found);
            }
        }
    }

    /// Says whether all that was found is what was sent.
    pub(crate) fn finish(mut self) -> Result<(), Mismatch> {
        while self.fill.at < self.fill.size {
            let at = self.fill.at;
            let mut expected = [0];
            self.fill.next(&mut expected);
            self.wrong(at, expected[0], 0);
        }
        self.mismatch.map_or(Ok(()), Err)
    }

    /// Notes each difference of a piece that begins at `at`.
    fn compare(&mut self, at: usize, expected: &[u8], found: &[u8]) {
        let mut offset = at;
        for (expected, found) in expected.iter().zip(found) {
            if expected != found {
                self.wrong(offset, *expected, *found);
            }
            offset = offset.saturating_add(1);
        }
    }

    fn wrong(&mut self, offset: usize, expected: u8, found: u8) {
        let first = Mismatch {
            offset: offset as u64,
            expected,
            found,
            iteration: self.iteration,
            wrong: 0,
        };
        let mismatch = self.mismatch.get_or_insert(first);
        mismatch.wrong = mismatch.wrong.saturating_add(1);
    }
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
