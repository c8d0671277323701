// SPDX-License-Identifier: GPL-2.0

//! Messages that each have a number and a place, and are all compared (`validate=full`).
//!
//! A sender fills the place of a message just before it is posted, and the receiver compares it
//! when it has arrived, before that place can be taken again. A reader cannot tell its peer which
//! READ is the next: each place has its own number there, and what has been compared is cleared.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    logic::{
        data::pattern::{
            Data,
            Mismatch, //
        },
        failure::Failure,
        measure::slots::Slots, //
    },
    mr::{
        self,
        BufferId,
        Memory, //
    },
    workloads::{
        exchange::memory_failed,
        pingpong::client, //
    }, //
};
use kernel::prelude::*;

/// The data and the places of numbered messages.
#[derive(Clone, Copy)]
pub(super) struct Numbered {
    seed: u32,
    size: u32,
    /// The places.
    pub(super) slots: Slots,
}

impl Numbered {
    /// Makes those of messages of `size` bytes.
    pub(super) fn new(seed: u32, size: u32) -> Self {
        Self {
            seed,
            size,
            slots: Slots::of(size),
        }
    }

    fn data(&self, number: u64) -> Data {
        Data::numbered(self.seed, number, self.size as usize)
    }

    /// Writes message `number` to its place in `buffer`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the buffer has less.
    fn fill(&self, memory: &Memory, buffer: BufferId, number: u64) -> Result {
        let data = self.data(number);
        let offset = self.slots.offset(number);
        mr::fill(memory, buffer, offset, data.size(), |words| {
            data.fill(words);
        })
    }

    /// Writes a message to each place of `buffer`: those with the numbers of the places.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the buffer has less.
    pub(super) fn fill_all(&self, memory: &Memory, buffer: BufferId) -> Result {
        (0..u64::from(self.slots.count)).try_for_each(|number| self.fill(memory, buffer, number))
    }

    /// Writes the `count` messages from `first` on, which are about to be posted.
    pub(super) fn prepare(
        &self,
        queue: &mut Queue<'_>,
        source: BufferId,
        first: u64,
        count: u32,
    ) -> Result<(), Failure> {
        (first..first + u64::from(count))
            .try_for_each(|number| self.fill(queue.memory(), source, number))
            .map_err(memory_failed)
    }

    /// Compares message `number`, which has arrived at `offset` of `buffer`.
    pub(super) fn compare_at(
        &self,
        queue: &Queue<'_>,
        buffer: BufferId,
        offset: usize,
        number: u64,
    ) -> Result<Option<Mismatch>, Failure> {
        match client::compare(queue, buffer, offset, &self.data(number)) {
            Ok(()) => Ok(None),
            Err(Failure::Mismatch(mismatch)) => Ok(Some(mismatch)),
            Err(failure) => Err(failure),
        }
    }

    /// Compares message `number`, which has arrived at its place in `buffer`.
    pub(super) fn compare(
        &self,
        queue: &Queue<'_>,
        buffer: BufferId,
        number: u64,
    ) -> Result<Option<Mismatch>, Failure> {
        self.compare_at(queue, buffer, self.slots.offset(number), number)
    }

    /// Compares what READ `number` has brought to its place in `sink`, and clears that.
    pub(super) fn compare_read(
        &self,
        queue: &mut Queue<'_>,
        sink: BufferId,
        number: u64,
    ) -> Result<Option<Mismatch>, Failure> {
        let place = self.slots.place(number);
        let found = self.compare(queue, sink, place)?;
        queue
            .clear(sink, self.slots.offset(number), self.size as usize)
            .map_err(memory_failed)?;
        // The one that was wrong, not the one that has the same data.
        Ok(found.map(|found| Mismatch {
            iteration: number,
            ..found
        }))
    }
}
