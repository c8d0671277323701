// SPDX-License-Identifier: GPL-2.0

//! What a queue pair's completions drive.

#![forbid(unsafe_code)]

use super::Queue;
use crate::{
    logic::failure::Failure,
    rdma::cq::{
        RawCompletion,
        WorkCompletion, //
    }, //
};

/// What is left to do after a completion, without the queue pair's lock.
pub(crate) trait Settle {
    /// Does it. In the context of the completion: must not sleep.
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

/// What completions drive.
pub(crate) trait Workload: Send + 'static {
    /// What a completion leaves to be done after the lock is released.
    type Done: Settle;

    /// Takes a successful completion and posts what follows from it.
    ///
    /// Called with bottom halves off, from a softirq or the polling
    /// thread: it must not sleep or allocate.
    ///
    /// # Errors
    ///
    /// The failure that ends the run.
    fn completed(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion,
    ) -> Result<Self::Done, Failure>;

    /// The iteration that is under way, for reports.
    fn iteration(&self) -> u64;

    /// Whether it is to [`look`](Self::look) at all.
    fn watches(&self) -> bool {
        false
    }

    /// How long the end waits until the device has flushed all requests, in ms. The queue
    /// pair is destroyed all the same where it has not.
    const PATIENCE_MS: u32 = 10_000;

    /// Is shown each completion first, good or not, and says whether that is all that
    /// is to be done about it. As [`Self::completed`].
    fn takes(&mut self, _: &RawCompletion) -> bool {
        false
    }

    /// Looks for what no completion tells, and returns whether there was any. In
    /// the thread that polls, over and over, as [`Self::completed`].
    ///
    /// # Errors
    ///
    /// The failure that ends the run.
    fn look(&mut self, _: &mut Queue<'_>) -> Result<bool, Failure> {
        Ok(false)
    }
}
