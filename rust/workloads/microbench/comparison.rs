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
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

impl Microbench {
    /// Checks the data that has arrived here, if that was requested and any has.
    pub(super) fn check(&self, queue: &Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let plan = &self.plan;
        let mut offset = 0;
        let buffer = if !plan.validate || plan.load.full {
            // Nobody wants to know, or all data has been compared when it came.
            None
        } else if let Some(messages) = self.messages.as_ref().filter(|_| plan.is_received()) {
            offset = messages.offset();
            messages.data()
        } else if self.messages.is_some() && self.arrivals == 0 {
            // All has been lost.
            None
        } else if plan.is_received() {
            self.channel.data()
        } else if !plan.fetches() && self.peer.is_none() {
            // The peer's WRITEs are known to have arrived only when the peer says that it is done.
            None
        } else {
            self.buffers.sink
        };
        let Some(buffer) = buffer else {
            return Ok(None);
        };
        let place = (buffer, offset);
        let found = verb::compare(plan.verb, &plan.data(), queue, place, self.iteration())?;
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
            let sink = self.buffers.sink.ok_or_else(|| memory_failed(EINVAL))?;
            numbered.compare(queue, sink, number)?
        };
        self.compared(self.mismatch.as_ref());
        Ok(())
    }
}
