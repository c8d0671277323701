// SPDX-License-Identifier: GPL-2.0

//! A store in memory.
//!
//! It is made of chunks that are contiguous each, so that a device can read and
//! write them. All are there from the beginning: nothing is allocated while requests
//! are served, and none fails for want of memory.

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

/// The size of a chunk, in bytes: a power of two, small enough to be found in
/// memory that is in use, and large enough that a request needs few of them.
pub(crate) const CHUNK: u32 = 256 * 1024;

/// How many chunks are allocated between two looks at what else there is to do.
const ROUND: usize = 64;

/// Blocks in memory, zeroes at first.
pub(crate) struct Ram {
    chunks: KVVec<Arc<Contiguous>>,
}

/// A part of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of the chunk.
    pub(crate) chunk: usize,
    /// Where in it.
    pub(crate) offset: u32,
    /// How many bytes.
    pub(crate) len: u32,
}

impl Ram {
    /// Allocates at least `bytes` bytes. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, before others feel the lack; `EINTR` where a signal comes.
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

    /// The chunks, in their order.
    pub(crate) fn chunks(&self) -> &[Arc<Contiguous>] {
        &self.chunks
    }
}

/// What `len` bytes at `offset` of a store consist of, in their order. Any context.
pub(crate) fn pieces(offset: u64, len: u32) -> impl Iterator<Item = Piece> {
    let mut chunk = (offset / u64::from(CHUNK)) as usize;
    let mut start = (offset % u64::from(CHUNK)) as u32;
    let mut left = len;
    core::iter::from_fn(move || {
        let piece = Piece {
            chunk,
            offset: start,
            len: left.min(CHUNK.wrapping_sub(start)),
        };
        left = left.wrapping_sub(piece.len);
        chunk = chunk.wrapping_add(1);
        start = 0;
        (piece.len > 0).then_some(piece)
    })
}
