// SPDX-License-Identifier: GPL-2.0

//! The sends of a connection that are under way.

#![forbid(unsafe_code)]

use crate::rdma::srq::Chunk;
use kernel::prelude::*;

/// A send that is under way.
pub(super) struct Send {
    /// `None` of the end.
    pub(super) chunk: Option<Chunk>,
    /// A message is sent with it.
    pub(super) is_last: bool,
}

/// The sends of a connection that are under way, in a ring: they complete in their order.
pub(super) struct Sends {
    ring: KVVec<Option<Send>>,
    first: usize,
    count: usize,
}

impl Sends {
    /// Makes room for `most`. May sleep.
    pub(super) fn new(most: u32) -> Result<Self> {
        let mut ring = KVVec::with_capacity(most as usize, GFP_KERNEL)?;
        for _ in 0..most {
            ring.push_within_capacity(None).map_err(|_| ENOMEM)?;
        }
        Ok(Self {
            ring,
            first: 0,
            count: 0,
        })
    }

    /// Returns true where none is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of those that are under way.
    pub(super) fn count(&self) -> u32 {
        self.count as u32
    }

    /// Returns true where there is room for one, and for the end behind it.
    pub(super) fn has_room(&self) -> bool {
        self.count + 1 < self.ring.len()
    }

    /// Adds the newest, for which there is room.
    pub(super) fn push(&mut self, send: Send) {
        let place = self.place(self.count);
        if let Some(place) = self.ring.get_mut(place) {
            *place = Some(send);
            self.count += 1;
        }
    }

    /// Takes the oldest, if there is one.
    pub(super) fn pop(&mut self) -> Option<Send> {
        let send = self.ring.get_mut(self.first)?.take()?;
        self.first = self.place(1);
        self.count -= 1;
        Some(send)
    }

    /// Returns the place that is so many behind the first.
    fn place(&self, behind: usize) -> usize {
        match self.first.wrapping_add(behind) {
            place if place < self.ring.len() => place,
            place => place.wrapping_sub(self.ring.len()),
        }
    }
}
