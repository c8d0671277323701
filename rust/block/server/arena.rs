// SPDX-License-Identifier: GPL-2.0

//! Memory of a connection that data passes through on its way between the client and
//! a store that the device cannot work on.
//!
//! It is given out in the order of the requests, round and round, and taken back in
//! that order: a part that is free already waits for those before it. A part never
//! crosses the end of a buffer.

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

/// The size of a buffer: that of the largest request.
const SIZE: u64 = MAX_BYTES as u64;

/// How many buffers there are. A request of the largest size finds room where two of
/// them hold what others still have, and the end of a third is too short.
const BUFFERS: usize = 4;

/// Where parts begin, in bytes: two of them share no line of a cache.
const ALIGN: u64 = 64;

/// A part that has been given out.
#[derive(Clone, Copy)]
struct Given {
    /// Where the next part may begin, on the way round.
    end: u64,
    /// The request in the send queue after which it is free; `None` while its user
    /// has not said.
    until: Option<u64>,
}

/// A part, as its user sees it.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its number.
    number: u64,
    /// The number of its buffer.
    pub(super) index: usize,
    /// That buffer, for work requests.
    pub(super) buffer: BufferId,
    /// Where in it.
    pub(super) offset: u32,
}

/// The buffers, and what of them has been given out.
pub(super) struct Arena {
    buffers: [(BufferId, Arc<Contiguous>); BUFFERS],
    given: Fifo<Given>,
    /// The number of the first of `given`.
    first: u64,
    /// Where the memory in use begins, on the way round; so far it is all free.
    start: u64,
    /// Where it ends.
    end: u64,
    /// How much has been given out whose end no completion has been asked for.
    silent: u64,
}

impl Arena {
    /// Allocates it in `memory`, to be given out in at most `parts` parts. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// Gives out `len` bytes; `None` where they are not free at present.
    pub(super) fn take(&mut self, len: u32) -> Option<Part> {
        let len = u64::from(len).checked_next_multiple_of(ALIGN)?;
        let left = SIZE.wrapping_sub(self.end % SIZE);
        let at = if len > left {
            self.end.wrapping_add(left)
        } else {
            self.end
        };
        let end = at.wrapping_add(len);
        if len > SIZE || end.wrapping_sub(self.start) > SIZE.wrapping_mul(BUFFERS as u64) {
            return None;
        }
        let number = self.first.wrapping_add(self.given.len() as u64);
        self.given.push(Given { end, until: None }).ok()?;
        self.end = end;
        let index = ((at / SIZE) % BUFFERS as u64) as usize;
        Some(Part {
            number,
            index,
            buffer: self.buffers.get(index)?.0,
            offset: (at % SIZE) as u32,
        })
    }

    /// The memory of buffer `index`.
    pub(super) fn buffer(&self, index: usize) -> Option<&Arc<Contiguous>> {
        self.buffers.get(index).map(|(_, pages)| pages)
    }

    /// Whether the end of the use of `len` bytes should be asked for: what nobody
    /// asks for is not known to be free.
    pub(super) fn must_ask(&self, len: u32) -> bool {
        self.silent.saturating_add(u64::from(len)) >= SIZE / 2
    }

    /// Notes that requests have been posted whose end is that of the use of `len`
    /// bytes, and whether that was `asked` for.
    pub(super) fn posted(&mut self, len: u32, asked: bool) {
        self.silent = if asked {
            0
        } else {
            self.silent.saturating_add(u64::from(len))
        };
    }

    /// Says that `part` is free once request `until` in the send queue is done; 0 is
    /// done already.
    pub(super) fn give_back(&mut self, part: &Part, until: u64) {
        let index = usize::try_from(part.number.wrapping_sub(self.first));
        if let Some(given) = index.ok().and_then(|index| self.given.get_mut(index)) {
            given.until = Some(until);
        }
    }

    /// Takes back what is free now that the requests up to `done` are.
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
            self.first = self.first.wrapping_add(1);
            self.start = end;
        }
    }
}
