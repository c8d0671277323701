// SPDX-License-Identifier: GPL-2.0

//! The posting side of a microbenchmark: equal requests, as lists, as far as the
//! send queue has room.

#![forbid(unsafe_code)]

use crate::{
    engine::traffic::Traffic,
    logic::{
        failure::{
            Failure,
            Operation, //
        },
        measure::window::Window, //
    },
    rdma::qp::Queue, //
};
use kernel::sync::Arc;

/// Posts the batch of a queue pair, and counts.
pub(crate) struct Poster {
    /// What is posted and done.
    pub(crate) window: Window,
    operation: Operation,
    size: u32,
    traffic: Arc<Traffic>,
    completions: u64,
    posts: u64,
}

impl Poster {
    /// Posts operations of `size` bytes within `window`.
    pub(crate) fn new(
        window: Window,
        operation: Operation,
        size: u32,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            window,
            operation,
            size,
            traffic,
            completions: 0,
            posts: 0,
        }
    }

    /// What it posts, as completions name it.
    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// Posts one list, and returns whether there was room for it.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn post(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let count = self.window.room();
        if count == 0 {
            return Ok(false);
        }
        queue.post_batch(count, |ahead| self.window.signaled(ahead))?;
        self.window.post(count);
        self.posts = self.posts.wrapping_add(1);
        // A READ has moved nothing yet.
        if self.operation != Operation::Read {
            self.traffic.moved(self.operation, count, self.size);
        }
        Ok(true)
    }

    /// Takes a completion.
    pub(crate) fn completed(&mut self) {
        let count = self.window.completed();
        self.completions = self.completions.wrapping_add(1);
        if self.operation == Operation::Read {
            self.traffic.moved(self.operation, count, self.size);
        }
    }

    /// Completions that have come.
    pub(crate) fn completions(&self) -> u64 {
        self.completions
    }

    /// Lists that have been posted.
    pub(crate) fn posts(&self) -> u64 {
        self.posts
    }
}
