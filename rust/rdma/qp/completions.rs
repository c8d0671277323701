// SPDX-License-Identifier: GPL-2.0

//! The handler of a queue pair's completions.

#![forbid(unsafe_code)]

use super::Queue;
use crate::rdma::{
    cq::WorkCompletion,
    memory::ForeignMemory, //
};
use kernel::error::Error;

/// Work that a completion leaves to be done without the queue pair's lock.
pub(crate) trait Settle {
    /// Does the work. In the context of the completion: must not sleep.
    fn settle(self);
}

impl Settle for () {
    fn settle(self) {}
}

impl<T: Settle> Settle for Option<T> {
    fn settle(self) {
        if let Some(rest) = self {
            rest.settle();
        }
    }
}

/// The handler of a queue pair's completions.
pub(crate) trait Completions: Send + 'static {
    /// Tells a request from others when it completes. A queue pair has an entry for each tag, and
    /// each request is posted with one.
    type Tag: Copy + Send + Sync + 'static;

    /// Memory of others that regions are mapped over; [`NoForeign`] for none.
    ///
    /// [`NoForeign`]: crate::rdma::memory::NoForeign
    type Foreign: ForeignMemory;

    /// Work that a completion leaves to be done after the lock is released.
    type Done: Settle;

    /// Time in ms for a device to flush all requests when the queue pair ends. It is destroyed
    /// all the same where it has not.
    const DRAIN_TIMEOUT_MS: u32 = 10_000;

    /// Takes a completion, successful or not, and posts what follows from it.
    ///
    /// Called with bottom halves off, from a softirq or the polling thread: it must not sleep or
    /// allocate.
    fn completed(
        &mut self,
        queue: &mut Queue<'_, Self::Tag, Self::Foreign>,
        tag: Self::Tag,
        wc: &WorkCompletion<'_>,
    ) -> Self::Done;

    /// Returns the tag of receive number `receive` of a shared receive queue; `None` for a handler
    /// that is not made for any.
    fn shared(_receive: u32) -> Option<Self::Tag> {
        None
    }

    /// Is told that the device did not flush all requests in time. Process context; may sleep.
    fn undrained(_: Error) {}
}
