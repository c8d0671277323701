// SPDX-License-Identifier: GPL-2.0

//! Queues of a fixed capacity, for completions: nothing is allocated after the start.

#![forbid(unsafe_code)]

use kernel::prelude::*;

/// A queue of at most so many items.
///
/// # Invariants
///
/// `items` has a power of two of places, and `len` is at most that many. The items
/// are at `head` and the places after it, around the end.
pub(super) struct Fifo<T: Copy> {
    items: KVVec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy> Fifo<T> {
    /// An empty queue for at least `capacity` items; `filler` is any of them. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(capacity: usize, filler: T) -> Result<Self> {
        let places = capacity.checked_next_power_of_two().ok_or(ENOMEM)?;
        Ok(Self {
            items: KVVec::from_elem(filler, places, GFP_KERNEL)?,
            head: 0,
            len: 0,
        })
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, index: usize) -> usize {
        // A power of two, by the type invariant.
        self.head.wrapping_add(index) & self.items.len().wrapping_sub(1)
    }

    /// Adds an item behind all others.
    ///
    /// # Errors
    ///
    /// `ENOSPC` where it is full.
    pub(super) fn push(&mut self, item: T) -> Result {
        let place = self.place(self.len);
        if self.len >= self.items.len() {
            return Err(ENOSPC);
        }
        *self.items.get_mut(place).ok_or(ENOSPC)? = item;
        self.len = self.len.wrapping_add(1);
        Ok(())
    }

    /// Takes the first item out.
    pub(super) fn pop(&mut self) -> Option<T> {
        let item = self.get(0)?;
        self.head = self.place(1);
        self.len = self.len.wrapping_sub(1);
        Some(item)
    }

    /// The item that has `index` before it.
    pub(super) fn get(&self, index: usize) -> Option<T> {
        self.items
            .get(self.place(index))
            .filter(|_| index < self.len)
            .copied()
    }

    /// [`get`](Self::get), to be changed.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        let len = self.len;
        self.items.get_mut(place).filter(|_| index < len)
    }
}
