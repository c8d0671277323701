// SPDX-License-Identifier: GPL-2.0

//! Workloads: the parts of krping that completions drive.

#![forbid(unsafe_code)]

use super::queue::Queue;
use crate::{
    engine::completion::WorkCompletion,
    logic::failure::{
        Failure,
        Operation, //
    },
    rdma::{
        cq::NextEvent,
        qp::Settle, //
    }, //
};

/// A part of krping that completions drive.
pub(crate) trait Workload: Send + 'static {
    /// Work that a completion leaves to be done after the lock is released.
    type Done: Settle;

    /// The operations that the workload posts. Others are refused.
    const OPERATIONS: &'static [Operation];

    /// Takes a successful completion and posts what follows from it.
    ///
    /// Called with bottom halves off, from a softirq or the polling thread: it must not sleep or
    /// allocate.
    fn completed(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<Self::Done, Failure>;

    /// Returns the iteration that is under way, for reports.
    fn iteration(&self) -> u64;

    /// Returns the completions that the workload waits for, where its thread sleeps until an event.
    fn next_event(&self) -> NextEvent {
        NextEvent::Any
    }

    /// Returns true where the workload is to [`look`](Self::look) at all.
    fn watches(&self) -> bool {
        false
    }

    /// Looks for events that no completion tells of, and returns true where there was one.
    /// Called by the thread that polls, over and over, with bottom halves off.
    fn look(&mut self, _: &mut Queue<'_>) -> Result<bool, Failure> {
        Ok(false)
    }
}
