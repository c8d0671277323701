// SPDX-License-Identifier: GPL-2.0

//! Queues of fixed capacity, for completion handlers: all memory is allocated at the start.

#![forbid(unsafe_code)]

use kernel::prelude::*;

/// A queue of fixed capacity.
///
/// # Invariants
///
/// The length of `items` is a power of two, and `len` is at most that length. The items are at
/// `head` and the places after it, wrapping around at the end.
pub(super) struct Fifo<T: Copy> {
    items: KVVec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy> Fifo<T> {
    /// Creates an empty queue for at least `capacity` items. `filler` fills the unused places. May
    /// sleep.
    pub(super) fn new(capacity: usize, filler: T) -> Result<Self> {
        let places = capacity.checked_next_power_of_two().ok_or(ENOMEM)?;
        Ok(Self {
            items: KVVec::from_elem(filler, places, GFP_KERNEL)?,
            head: 0,
            len: 0,
        })
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, index: usize) -> usize {
        // The length is a power of two, by the type invariant.
        self.head.wrapping_add(index) & self.items.len().wrapping_sub(1)
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if the queue is full.
    pub(super) fn push(&mut self, item: T) -> Result {
        let place = self.place(self.len);
        if self.len >= self.items.len() {
            return Err(ENOSPC);
        }
        *self.items.get_mut(place).ok_or(ENOSPC)? = item;
        self.len += 1;
        Ok(())
    }

    /// Removes and returns the first item.
    pub(super) fn pop(&mut self) -> Option<T> {
        let item = self.get(0)?;
        self.head = self.place(1);
        self.len -= 1;
        Some(item)
    }

    /// Returns the item with `index` items before it.
    pub(super) fn get(&self, index: usize) -> Option<T> {
        self.items
            .get(self.place(index))
            .filter(|_| index < self.len)
            .copied()
    }

    /// Returns a mutable reference to the item with `index` items before it.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        let len = self.len;
        self.items.get_mut(place).filter(|_| index < len)
    }
}
