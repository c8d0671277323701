// SPDX-License-Identifier: GPL-2.0

//! Direct I/O: reads and writes of a file that bypass the page cache.
//!
//! A device transfers such data directly to or from memory, whose address must be aligned. Data
//! that arrived in a message is not aligned, so it is copied through an aligned buffer.

#![forbid(unsafe_code)]

use crate::kernel_ext::{
    file::OpenFile,
    pages::Contiguous, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Size of the buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// Alignment requirements of a file's direct I/O, and an aligned buffer.
pub(super) struct Direct {
    /// Alignment of memory addresses, in bytes.
    memory: usize,
    /// Alignment of positions and lengths, in bytes.
    positions: u32,
    /// Aligned buffer. One thread uses it at a time, which is enough: only small data arrives in
    /// messages.
    buffer: Pin<KBox<Mutex<Contiguous>>>,
}

impl Direct {
    /// Sets `file` to direct I/O. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// See [`OpenFile::go_direct`]; `ENOMEM`.
    pub(super) fn of(file: &mut OpenFile) -> Result<Self> {
        let (memory, positions) = file.go_direct()?;
        let buffer = Contiguous::new(BUFFER)?;
        Ok(Self {
            memory: memory as usize,
            positions,
            buffer: KBox::pin_init(new_mutex!(buffer, "krping_direct"), GFP_KERNEL)?,
        })
    }

    /// Returns the alignment of positions and lengths, in bytes.
    pub(super) fn positions(&self) -> u32 {
        self.positions
    }

    /// Reads `len` bytes at position `from` of `file` to `offset` of `memory`. Returns the number
    /// of bytes read, which is less at the end of the file. Sleeps.
    pub(super) fn read(
        &self,
        file: &OpenFile,
        memory: &Contiguous,
        offset: usize,
        len: usize,
        from: u64,
    ) -> Result<usize> {
        if self.is_aligned(memory, offset) {
            return file.read(memory, offset, len, from);
        }
        let buffer = self.buffer.lock();
        let mut done = 0usize;
        while done < len {
            let part = BUFFER.min(len - done);
            let count = file.read(&buffer, 0, part, from.saturating_add(done as u64))?;
            buffer.copy_to(0, memory, offset.saturating_add(done), count)?;
            done += count;
            if count < part {
                break;
            }
        }
        Ok(done)
    }

    /// Writes `len` bytes at `offset` of `memory` to position `to` of `file`. Sleeps.
    pub(super) fn write(
        &self,
        file: &OpenFile,
        memory: &Contiguous,
        offset: usize,
        len: usize,
        to: u64,
    ) -> Result {
        if self.is_aligned(memory, offset) {
            return file.write(memory, offset, len, to);
        }
        let buffer = self.buffer.lock();
        let mut done = 0usize;
        while done < len {
            let part = BUFFER.min(len - done);
            memory.copy_to(offset.saturating_add(done), &buffer, 0, part)?;
            file.write(&buffer, 0, part, to.saturating_add(done as u64))?;
            done += part;
        }
        Ok(())
    }

    fn is_aligned(&self, memory: &Contiguous, offset: usize) -> bool {
        let address = memory.as_ptr().addr().wrapping_add(offset);
        address.checked_rem(self.memory).unwrap_or(0) == 0
    }
}
