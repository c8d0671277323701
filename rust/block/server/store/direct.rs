// SPDX-License-Identifier: GPL-2.0

//! Direct I/O: reads and writes of a file past the page cache.
//!
//! A device takes such data from where it lies, and only if its address is aligned. Data that came
//! in a message is not aligned: it is copied to a buffer that is.

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

/// The size of the buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// The alignment that a file's direct I/O needs, and a buffer that has it.
pub(super) struct Direct {
    /// The alignment of addresses, in bytes.
    memory: usize,
    /// The alignment of positions and lengths, in bytes.
    positions: u32,
    /// For one thread at a time: only what is small comes in messages.
    buffer: Pin<KBox<Mutex<Contiguous>>>,
}

impl Direct {
    /// Sets `file` to direct I/O. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`OpenFile::go_direct`]; `ENOMEM`.
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

    /// Reads `len` bytes at `from` of `file` to `offset` of `memory`, and returns how many there
    /// were. Sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`OpenFile::read`].
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
            let part = BUFFER.min(len.saturating_sub(done));
            let count = file.read(&buffer, 0, part, from.saturating_add(done as u64))?;
            buffer.copy_to(0, memory, offset.saturating_add(done), count)?;
            done = done.saturating_add(count);
            if count < part {
                break;
            }
        }
        Ok(done)
    }

    /// Writes `len` bytes at `offset` of `memory` to `to` of `file`. Sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`OpenFile::write`].
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
            let part = BUFFER.min(len.saturating_sub(done));
            memory.copy_to(offset.saturating_add(done), &buffer, 0, part)?;
            file.write(&buffer, 0, part, to.saturating_add(done as u64))?;
            done = done.saturating_add(part);
        }
        Ok(())
    }

    fn is_aligned(&self, memory: &Contiguous, offset: usize) -> bool {
        let address = memory.as_ptr().addr().wrapping_add(offset);
        address.checked_rem(self.memory).unwrap_or(0) == 0
    }
}
