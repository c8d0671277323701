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

/// Bytes of a buffer, as words.
pub(crate) struct Words<'a> {
    pages: &'a Contiguous,
    /// The offset of the first word in the pages.
    offset: usize,
    words: &'a [Word],
}

impl<'a> Words<'a> {
    /// Returns the words of `len` bytes at `offset`, a multiple of eight.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the pages have less, or the offset is none of a word.
    fn of(pages: &'a Contiguous, offset: usize, len: usize) -> Result<Self> {
        let end = offset.checked_add(len).ok_or(EINVAL)?;
        if offset % size_of::<Word>() != 0 {
            return Err(EINVAL);
        }
        let words = pages.words(end)?;
        Ok(Self {
            pages,
            offset,
            words: words.get(offset / size_of::<Word>()..).ok_or(EINVAL)?,
        })
    }
}

impl Cells for Words<'_> {
    type Cell = Word;

    fn cells(&self) -> &[Word] {
        self.words
    }

    fn crc(&self, words: usize) -> u32 {
        let bytes = words.min(self.words.len()) * size_of::<Word>();
        // Whole words of the data are within the memory.
        self.pages.crc32(self.offset, bytes).unwrap_or(0)
    }
}

/// Has `make` write to the first `len` bytes of `pages`, which no device uses. Any context.
///
/// # Errors
///
/// `EINVAL` where there are less.
pub(crate) fn fill_pages(pages: &Contiguous, len: usize, make: impl FnOnce(&Words<'_>)) -> Result {
    make(&Words::of(pages, 0, len)?);
    Ok(())
}

/// Shows `look` the first `len` bytes of `pages`, which no device uses. Any context.
///
/// # Errors
///
/// `EINVAL` where there are less.
pub(crate) fn inspect_pages<R>(
    pages: &Contiguous,
    len: usize,
    look: impl FnOnce(&Words<'_>) -> R,
) -> Result<R> {
    Ok(look(&Words::of(pages, 0, len)?))
}

/// Has `make` write to `len` bytes at `offset` of a buffer, for the device to see. Any context.
///
/// # Errors
///
/// `EINVAL` where the buffer has less, or `offset` is no multiple of eight; nothing is written.
pub(crate) fn fill(
    memory: &Memory,
    buffer: BufferId,
    offset: usize,
    len: usize,
    make: impl FnOnce(&Words<'_>),
) -> Result {
    make(&Words::of(memory.pages(buffer)?, offset, len)?);
    memory.sync_for_device(buffer, offset, len)
}

/// Shows `look` what the device has put into `len` bytes at `offset` of a buffer. Any context.
///
/// # Errors
///
/// `EINVAL` where the buffer has less, or `offset` is no multiple of eight.
pub(crate) fn inspect<R>(
    memory: &Memory,
    buffer: BufferId,
    offset: usize,
    len: usize,
    look: impl FnOnce(&Words<'_>) -> R,
) -> Result<R> {
    let words = Words::of(memory.pages(buffer)?, offset, len)?;
    memory.sync_for_cpu(buffer, offset, len)?;
    let seen = look(&words);
    memory.sync_for_device(buffer, offset, len)?;
    Ok(seen)
}
