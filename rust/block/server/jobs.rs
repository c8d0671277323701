// SPDX-License-Identifier: GPL-2.0

//! The queue of requests that a thread works on for a connection, one at a time and in order of
//! arrival.
//!
//! Completion handlers start a job: they take memory for its data, and fetch the data of a write.
//! This goes on while the thread works on earlier jobs. The thread takes the first job once its
//! data has arrived.

#![forbid(unsafe_code)]

use super::{
    fifo::Fifo,
    pending::Place,
    store::Work, //
    transport::ServerTransport,
};
use crate::{
    engine::{
        outcome::WaitQueue,
        queue::Queue, //
    },
    logic::{
        block::{
            Action,
            Request,
            Status, //
        },
        failure::Failure, //
    }, //
};
use kernel::prelude::*;

/// A request: its slot, and the result of checking it against the limits.
type Job = (usize, Status);

/// The queue of jobs of one connection.
pub(super) struct Jobs {
    order: Fifo<Job>,
    /// Number of jobs that have been started, from the head of the queue.
    started: usize,
    /// True if the thread has found no work, and sleeps or is about to.
    idle: bool,
    /// Wait queue that the idle thread sleeps on.
    wait_queue: WaitQueue,
}

impl Jobs {
    /// Creates an empty queue for at least `count` jobs. The thread sleeps on `wait_queue`. May
    /// sleep.
    pub(super) fn new(count: usize, wait_queue: WaitQueue) -> Result<Self> {
        Ok(Self {
            order: Fifo::new(count, (0, Status::Ok))?,
            started: 0,
            idle: false,
            wait_queue,
        })
    }

    /// Adds the request in `slot`. `status` is the result of checking it.
    pub(super) fn push(&mut self, slot: usize, status: Status) -> Result<(), Failure> {
        self.order
            .push((slot, status))
            .map_err(|e| Failure::Kernel("adding a job", e.to_errno()))
    }

    /// Starts as many jobs as there is memory for, and wakes the idle thread if the first one is
    /// ready.
    pub(super) fn start(
        &mut self,
        queue: &mut Queue<'_>,
        transport: &mut ServerTransport,
    ) -> Result<(), Failure> {
        while let Some((slot, status)) = self.order.get(self.started) {
            let request = transport.slot(slot)?.request;
            if status == Status::Ok && passes_data(&request) {
                if !transport.make_place(slot)? {
                    break;
                }
                if request.action == Action::Write {
                    transport.fetch(queue, slot)?;
                }
            }
            self.started = self.started.wrapping_add(1);
        }
        if self.idle && self.has_work(transport) {
            self.idle = false;
            self.wait_queue.complete();
        }
        Ok(())
    }

    fn has_work(&self, transport: &ServerTransport) -> bool {
        let ready = |(slot, _): Job| transport.slot(slot).is_ok_and(|slot| !slot.is_fetching());
        self.started > 0 && self.order.get(0).is_some_and(ready)
    }

    /// Returns true if there is work for the thread. Otherwise the thread counts as idle, and is
    /// woken once there is.
    pub(super) fn look(&mut self, transport: &ServerTransport) -> bool {
        self.idle = !self.has_work(transport);
        !self.idle
    }

    /// Removes and returns the next job, if it is ready.
    pub(super) fn take(
        &mut self,
        queue: &Queue<'_>,
        transport: &ServerTransport,
    ) -> Result<Option<Work>, Failure> {
        let Some((slot, status)) = self.order.get(0).filter(|_| self.has_work(transport)) else {
            return Ok(None);
        };
        self.order.pop();
        self.started = self.started.saturating_sub(1);
        let job = transport.slot(slot)?;
        let data = match job.place {
            _ if job.request.inline && job.request.action == Action::Write => {
                Some(transport.message_data(queue, slot)?)
            }
            Place::Arena(part) => transport.memory_of(&part),
            Place::Message | Place::Chunks => None,
        };
        Ok(Some(Work {
            slot,
            request: job.request,
            status,
            data: data.map(|(memory, at)| (memory.clone(), at)),
            account: None,
        }))
    }
}

/// Returns true if the data of `request` needs arena memory.
fn passes_data(request: &Request) -> bool {
    match request.action {
        Action::Read => true,
        Action::Write => !request.inline,
        _ => false,
    }
}
