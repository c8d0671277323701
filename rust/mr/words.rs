// SPDX-License-Identifier: GPL-2.0

//! Buffers as words, for data that is made and compared in its place.

#![forbid(unsafe_code)]

use super::{
    BufferId,
    Memory, //
};
use crate::{
    kernel_ext::pages::{
        Contiguous,
        Word, //
    },
    logic::data::pattern::{
        Cell,
        Cells, //
    }, //
};
use kernel::prelude::*;

impl Cell for Word {
    fn get(&self) -> u64 {
        self.load()
    }

    fn set(&self, word: u64) {
        self.store(word);
    }
}

/// The first bytes of a buffer, as words.
pub(crate) struct Words<'a> {
    pages: &'a Contiguous,
    words: &'a [Word],
}

impl Cells for Words<'_> {
    type Cell = Word;

    fn cells(&self) -> &[Word] {
        self.words
    }

    fn crc(&self, words: usize) -> u32 {
        let bytes = words.min(self.words.len()) * size_of::<Word>();
        // Whole words of the data are within the memory.
        self.pages.crc32(bytes).unwrap_or(0)
    }
}

/// Has `make` write to the first `len` bytes of a buffer, for the device to see. Any context.
///
/// # Errors
///
/// `EINVAL` where the buffer has less; nothing is written.
pub(crate) fn fill(
    memory: &Memory,
    buffer: BufferId,
    len: usize,
    make: impl FnOnce(&Words<'_>),
) -> Result {
    let pages = memory.pages(buffer)?;
    let words = pages.words(len)?;
    make(&Words { pages, words });
    memory.sync_for_device(buffer, 0, len)
}

/// Shows `look` what the device has put into the first `len` bytes of a buffer. Any context.
///
/// # Errors
///
/// `EINVAL` where the buffer has less.
pub(crate) fn inspect<R>(
    memory: &Memory,
    buffer: BufferId,
    len: usize,
    look: impl FnOnce(&Words<'_>) -> R,
) -> Result<R> {
    let pages = memory.pages(buffer)?;
    let words = pages.words(len)?;
    memory.sync_for_cpu(buffer, 0, len)?;
    let seen = look(&Words { pages, words });
    memory.sync_for_device(buffer, 0, len)?;
    Ok(seen)
}
