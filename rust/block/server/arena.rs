// SPDX-License-Identifier: GPL-2.0

//! Bounce memory of a connection: data passes through it between the client and a store that the
//! device cannot work on directly.
//!
//! The memory is a ring. Parts are taken in the order of the requests, and reclaimed in the same
//! order: a part that is already free waits for the parts before it. A part never crosses the end
//! of a buffer.

#![forbid(unsafe_code)]

use super::fifo::Fifo;
use crate::{
    block::MAX_BYTES,
    kernel_ext::pages::Contiguous,
    mr::{
        BufferId,
        Memory, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Size of a buffer, in bytes: that of the largest request.
const SIZE: u64 = MAX_BYTES as u64;

/// Number of buffers. A request of the largest size finds room even if earlier requests occupy two
/// buffers and the rest of a third is too short.
const BUFFERS: usize = 4;

/// Alignment of parts, in bytes. It keeps two parts from sharing a cache line.
const ALIGN: u64 = 64;

/// A part in use.
#[derive(Clone, Copy)]
struct Given {
    /// End of the part, as a position in the ring that never wraps.
    end: u64,
    /// Number of the work request in the send queue after which the part is free; `None` while its
    /// user has not said.
    until: Option<u64>,
}

/// A part, from its user's point of view.
#[derive(Clone, Copy)]
pub(super) struct ArenaPart {
    /// Number of the part.
    number: u64,
    /// Index of its buffer.
    pub(super) index: usize,
    /// The buffer, for work requests.
    pub(super) buffer: BufferId,
    /// Offset in the buffer, in bytes.
    pub(super) offset: u32,
}

/// The buffers, and the parts in use.
pub(super) struct Arena {
    buffers: [(BufferId, Arc<Contiguous>); BUFFERS],
    given: Fifo<Given>,
    /// Number of the first part in `given`.
    first: u64,
    /// Position where the memory in use begins. Positions never wrap; everything before this one is
    /// free.
    start: u64,
    /// Position where the memory in use ends.
    end: u64,
    /// Number of bytes sent since the last answer that asked for a completion.
    silent: u64,
}

impl Arena {
    /// Allocates the buffers in `memory`, for at least `parts` parts in use at a time. May sleep.
    pub(super) fn new(memory: &mut Memory, parts: usize) -> Result<Self> {
        let mut buffer = || memory.add_shared(SIZE as usize);
        Ok(Self {
            buffers: [buffer()?, buffer()?, buffer()?, buffer()?],
            given: Fifo::new(
                parts,
                Given {
                    end: 0,
                    until: None,
                },
            )?,
            first: 0,
            start: 0,
            end: 0,
            silent: 0,
        })
    }

    /// Takes a part of `len` bytes; `None` if that much is not free at present.
    pub(super) fn take(&mut self, len: u32) -> Option<ArenaPart> {
        let len = u64::from(len).checked_next_multiple_of(ALIGN)?;
        let left = SIZE - self.end % SIZE;
        let at = if len > left {
            self.end + left
        } else {
            self.end
        };
        let end = at + len;
        if len > SIZE || end - self.start > SIZE * BUFFERS as u64 {
            return None;
        }
        let number = self.first + self.given.len() as u64;
        self.given.push(Given { end, until: None }).ok()?;
        self.end = end;
        let index = ((at / SIZE) % BUFFERS as u64) as usize;
        Some(ArenaPart {
            number,
            index,
            buffer: self.buffers.get(index)?.0,
            offset: (at % SIZE) as u32,
        })
    }

    /// Returns the memory of buffer `index`.
    pub(super) fn buffer(&self, index: usize) -> Option<&Arc<Contiguous>> {
        self.buffers.get(index).map(|(_, pages)| pages)
    }

    /// Returns true if the work request that sends `len` bytes should ask for a completion. Without
    /// completions, parts are not known to be free.
    pub(super) fn must_ask(&self, len: u32) -> bool {
        self.silent.saturating_add(u64::from(len)) >= SIZE / 2
    }

    /// Records that work requests which send `len` bytes have been posted. `asked` is true if the
    /// last one asked for a completion.
    pub(super) fn posted(&mut self, len: u32, asked: bool) {
        self.silent = if asked {
            0
        } else {
            self.silent.saturating_add(u64::from(len))
        };
    }

    /// Gives `part` back, to be free once work request `until` in the send queue is done. With 0 it
    /// is free at once.
    pub(super) fn give_back(&mut self, part: &ArenaPart, until: u64) {
        let index = usize::try_from(part.number.wrapping_sub(self.first));
        if let Some(given) = index.ok().and_then(|index| self.given.get_mut(index)) {
            given.until = Some(until);
        }
    }

    /// Reclaims the parts that are free, given that the work requests up to `done` are done.
    pub(super) fn reclaim(&mut self, done: u64) {
        while let Some(Given {
            end,
            until: Some(until),
        }) = self.given.get(0)
        {
            if until > done {
                return;
            }
            self.given.pop();
            self.first += 1;
            self.start = end;
        }
    }
}
