// SPDX-License-Identifier: GPL-2.0

//! The data that has arrived in a microbenchmark, compared with the pattern: each message when it
//! comes, or the last at the end.

#![forbid(unsafe_code)]

use super::{
    verb,
    Microbench, //
};
use crate::{
    engine::{
        queue::Queue,
        workload::Workload, //
    },
    logic::{
        data::pattern::Mismatch,
        failure::Failure, //
    },
    mr::BufferId,
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Most bytes that are compared at the end, which other work of the CPU waits for: those of the
/// largest buffer.
const MOST_COMPARED: u32 = 4 << 20;

impl Microbench {
    /// Checks the data that has arrived here, if that was requested and any has: what is at each
    /// place that was taken.
    pub(super) fn check(&self, queue: &Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let plan = &self.plan;
        let (buffer, offset) = if !plan.validate || plan.load.full {
            // Nobody wants to know, or all data has been compared when it came.
            return Ok(None);
        } else if let Some(messages) = self.messages.as_ref().filter(|_| plan.is_received()) {
            (messages.data(), messages.offset())
        } else if self.messages.is_some() && self.arrivals == 0 {
            // All has been lost.
            return Ok(None);
        } else if plan.is_received() {
            (self.channel.data(), 0)
        } else if !plan.fetches() && self.peer.is_none() {
            // The peer's WRITEs are known to have arrived only when the peer says that it is done.
            return Ok(None);
        } else {
            return self.check_places(queue);
        };
        match buffer {
            Some(buffer) => self.check_at(queue, (buffer, offset), 0),
            None => Ok(None),
        }
    }

    /// Checks the places of the sink that operations have brought data to, up to
    /// [`MOST_COMPARED`] bytes.
    fn check_places(&self, queue: &Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let operations = match self.peer.filter(|_| !self.plan.fetches()) {
            Some((iterations, _)) => iterations.saturating_add(self.plan.warmup()),
            None => self.iteration(),
        };
        if self.buffers.sink().is_none() {
            // Data goes to the other side only.
            return Ok(None);
        }
        let most = MOST_COMPARED
            .checked_div(self.plan.size)
            .unwrap_or(1)
            .max(1);
        for number in 0..self.plan.places().taken(operations).min(most) {
            let number = u64::from(number);
            let at = self.buffers.in_sink(self.plan.place(number));
            let at = at.ok_or_else(|| memory_failed(EINVAL))?;
            let found = self.check_at(queue, at, number)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Checks what operation number `number` has brought to an offset of a buffer.
    fn check_at(
        &self,
        queue: &Queue<'_>,
        at: (BufferId, usize),
        number: u64,
    ) -> Result<Option<Mismatch>, Failure> {
        let plan = &self.plan;
        let data = plan.data_of(number);
        let found = verb::compare(plan.verb, &data, queue, at, self.iteration())?;
        self.compared(found.as_ref());
        Ok(found)
    }

    /// Counts a message that has been compared, with the difference that was found, if any.
    pub(super) fn compared(&self, found: Option<&Mismatch>) {
        if found.is_none() {
            self.channel.traffic().validated(self.plan.size);
        }
    }

    /// Compares the message that has just arrived in buffer number `slot` of the receives, or at
    /// its place in the sink.
    pub(super) fn compare_arrived(
        &mut self,
        queue: &Queue<'_>,
        slot: usize,
    ) -> Result<(), Failure> {
        let Some(numbered) = self.plan.numbered().filter(|_| self.mismatch.is_none()) else {
            return Ok(());
        };
        let number = self.arrivals;
        self.mismatch = if self.plan.is_received() {
            let buffer = self.channel.buffer(slot);
            let buffer = buffer.ok_or_else(|| memory_failed(EINVAL))?;
            numbered.compare_at(queue, buffer, 0, number)?
        } else {
            let sink = self.buffers.sink().ok_or_else(|| memory_failed(EINVAL))?;
            numbered.compare(queue, sink, number)?
        };
        self.compared(self.mismatch.as_ref());
        Ok(())
    }
}
