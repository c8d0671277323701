// SPDX-License-Identifier: GPL-2.0

//! Posting of operations: lists of equal requests, as far as the send queue has room.

#![forbid(unsafe_code)]

use super::{
    numbered::Numbered,
    verb, //
};
use crate::{
    engine::{
        queue::Queue,
        traffic::Traffic, //
    },
    logic::{
        data::pattern::Mismatch,
        failure::Failure,
        measure::window::Window,
        spec::tests::Verb, //
    },
    mr::BufferId,
    rdma::wr::prepared::{
        PreparedList,
        Template, //
    }, //
};
use kernel::sync::Arc;

/// Posts lists of equal requests, and counts operations, lists and completions.
pub(crate) struct Poster {
    list: PreparedList,
    /// Operations that were posted and done.
    pub(crate) window: Window,
    verb: Verb,
    size: u32,
    traffic: Arc<Traffic>,
    completions: u64,
    posts: u64,
    /// The numbers of messages that are all compared, and the buffer that they are taken from, or
    /// brought to.
    numbered: Option<(Numbered, BufferId)>,
    /// The queue pair has each request complete, so none asks for it.
    sig_all: bool,
}

impl Poster {
    /// Creates a poster of operations of `size` bytes, limited by `window`, by way of `list`, which
    /// is to be [filled](Self::fill) before.
    pub(crate) fn new(
        window: Window,
        list: PreparedList,
        verb: Verb,
        size: u32,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            list,
            window,
            verb,
            size,
            traffic,
            completions: 0,
            posts: 0,
            numbered: None,
            sig_all: false,
        }
    }

    /// Has no request ask for a completion, if the queue pair has each complete.
    pub(super) fn sig_all(self, sig_all: bool) -> Self {
        Self { sig_all, ..self }
    }

    /// Has each message be numbered, and its data be in `buffer`.
    pub(super) fn number(self, numbered: Option<Numbered>, buffer: Option<BufferId>) -> Self {
        Self {
            numbered: numbered.zip(buffer),
            ..self
        }
    }

    /// Returns true if the operations bring data to this side.
    pub(crate) fn fetches(&self) -> bool {
        verb::fetches(self.verb)
    }

    /// Writes the requests that are posted.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that was done before, or for an operand outside its buffer.
    pub(crate) fn fill(
        &mut self,
        queue: &mut Queue<'_>,
        template: &Template,
    ) -> Result<(), Failure> {
        queue.fill_list(&mut self.list, template)
    }

    /// Posts one list. Returns false if `window` has no room for it.
    pub(crate) fn post(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let count = self.window.room();
        if count == 0 {
            return Ok(false);
        }
        let window = &self.window;
        if let Some((numbered, source)) = self.numbered.filter(|_| !self.fetches()) {
            numbered.prepare(queue, source, window.posted(), count)?;
        }
        let asks = !self.sig_all;
        queue.post_list(&mut self.list, count, |ahead| {
            asks && window.signaled(ahead)
        })?;
        self.window.post(count);
        self.posts = self.posts.wrapping_add(1);
        // A READ has not moved any data yet.
        if !self.fetches() {
            self.traffic
                .moved(verb::operation(self.verb), count, self.size);
        }
        Ok(true)
    }

    /// Counts a completion, and the operations that it reports as done. Returns the first
    /// difference of numbered data that they have brought, if any.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let before = self.window.done();
        let count = self.window.completed();
        self.completions = self.completions.wrapping_add(1);
        if !self.fetches() {
            return Ok(None);
        }
        self.traffic
            .moved(verb::operation(self.verb), count, self.size);
        let mut first = None;
        if let Some((numbered, sink)) = self.numbered {
            for number in before..self.window.done() {
                let found = numbered.compare_read(queue, sink, number)?;
                first = first.or(found);
            }
        }
        Ok(first)
    }

    /// Returns the number of completions.
    pub(crate) fn completions(&self) -> u64 {
        self.completions
    }

    /// Returns the number of lists that were posted.
    pub(crate) fn posts(&self) -> u64 {
        self.posts
    }
}
