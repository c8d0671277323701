// SPDX-License-Identifier: GPL-2.0

//! A store in memory.
//!
//! It consists of contiguous chunks, so that a device can read and write them. All are allocated at
//! the start: no memory is allocated while requests are served, and no request fails for lack of
//! it.

#![forbid(unsafe_code)]

use crate::kernel_ext::{
    pages::{
        available,
        Contiguous, //
    },
    time::relax, //
};
use kernel::{
    current,
    prelude::*,
    sync::Arc, //
};

/// Size of a chunk, in bytes: a power of two, small enough that contiguous memory is found on a
/// busy system, and large enough that a request needs few chunks.
pub(crate) const CHUNK: u32 = 256 * 1024;

/// Number of chunks allocated between two chances to reschedule and to notice a signal.
const ROUND: usize = 64;

/// Blocks in memory, initially zero.
pub(crate) struct Ram {
    chunks: KVVec<Arc<Contiguous>>,
}

/// A part of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Index of the chunk.
    pub(crate) chunk: usize,
    /// Offset in the chunk, in bytes.
    pub(crate) offset: u32,
    /// Length in bytes.
    pub(crate) len: u32,
}

impl Ram {
    /// Allocates at least `bytes` bytes. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, before the rest of the system runs out of memory; `EINTR` if a signal arrives.
    pub(crate) fn new(bytes: u64) -> Result<Self> {
        if bytes > available() {
            return Err(ENOMEM);
        }
        let count = usize::try_from(bytes.div_ceil(u64::from(CHUNK))).map_err(|_| ENOMEM)?;
        let mut chunks = KVVec::with_capacity(count, GFP_KERNEL)?;
        for number in 0..count {
            let chunk = Arc::new(Contiguous::new(CHUNK as usize)?, GFP_KERNEL)?;
            chunks.push_within_capacity(chunk).map_err(|_| ENOMEM)?;
            if number % ROUND == 0 {
                relax();
                if current!().signal_pending() {
                    return Err(EINTR);
                }
            }
        }
        Ok(Self { chunks })
    }

    /// Returns the chunks in order.
    pub(crate) fn chunks(&self) -> &[Arc<Contiguous>] {
        &self.chunks
    }
}

/// Splits `len` bytes at `offset` of a store into parts of chunks, in order. Any context.
pub(crate) fn pieces(offset: u64, len: u32) -> impl Iterator<Item = Piece> {
    let mut chunk = (offset / u64::from(CHUNK)) as usize;
    let mut start = (offset % u64::from(CHUNK)) as u32;
    let mut left = len;
    core::iter::from_fn(move || {
        let piece = Piece {
            chunk,
            offset: start,
            len: left.min(CHUNK - start),
        };
        left -= piece.len;
        chunk += 1;
        start = 0;
        (piece.len > 0).then_some(piece)
    })
}
