// SPDX-License-Identifier: GPL-2.0

//! Requests that a thread works on for a connection, one after the other in the order of
//! their arrival.
//!
//! Completions start a job: they find a place for its data to pass through, and fetch
//! the data of a write. So that goes on while the thread works on jobs before it. The
//! thread takes the first job once its data is there.

#![forbid(unsafe_code)]

use super::{
    fifo::Fifo,
    link::Link,
    slot::Place,
    store::Work, //
};
use crate::{
    engine::outcome::Bell,
    logic::{
        block::{
            Action,
            Request,
            Status, //
        },
        failure::Failure, //
    },
    rdma::qp::Queue, //
};
use kernel::prelude::*;

/// A request in its slot, and what has been found wrong with it.
type Job = (usize, Status);

/// The jobs of one connection.
pub(super) struct Jobs {
    order: Fifo<Job>,
    /// How many of them, the first ones, have been started.
    started: usize,
    /// Whether the thread has found nothing to do, and so sleeps or is about to.
    idle: bool,
    /// What it sleeps on.
    bell: Bell,
}

impl Jobs {
    /// None, with room for `count`, for a thread that sleeps on `bell`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(count: usize, bell: Bell) -> Result<Self> {
        Ok(Self {
            order: Fifo::new(count, (0, Status::Ok))?,
            started: 0,
            idle: false,
            bell,
        })
    }

    /// Adds the request in `slot`.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn push(&mut self, slot: usize, status: Status) -> Result<(), Failure> {
        self.order
            .push((slot, status))
            .map_err(|e| Failure::Kernel("adding a job", e.to_errno()))
    }

    /// Starts as many as there is memory for, and wakes the thread where it can go on.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn start(&mut self, queue: &mut Queue<'_>, link: &mut Link) -> Result<(), Failure> {
        while let Some((slot, status)) = self.order.get(self.started) {
            let request = link.slot(slot)?.request;
            if status == Status::Ok && passes_data(&request) {
                if !link.make_place(slot)? {
                    break;
                }
                if request.action == Action::Write {
                    link.fetch(queue, slot)?;
                }
            }
            self.started = self.started.wrapping_add(1);
        }
        if self.idle && self.has_work(link) {
            self.idle = false;
            self.bell.complete();
        }
        Ok(())
    }

    fn has_work(&self, link: &Link) -> bool {
        let ready = |(slot, _): Job| link.slot(slot).is_ok_and(|slot| !slot.is_fetching());
        self.started > 0 && self.order.get(0).is_some_and(ready)
    }

    /// Whether there is something to do for the thread, which is woken otherwise when
    /// there is.
    pub(super) fn look(&mut self, link: &Link) -> bool {
        self.idle = !self.has_work(link);
        !self.idle
    }

    /// Takes out what is to be done next, if there is something.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn take(&mut self, queue: &Queue<'_>, link: &Link) -> Result<Option<Work>, Failure> {
        let Some((slot, status)) = self.order.get(0).filter(|_| self.has_work(link)) else {
            return Ok(None);
        };
        self.order.pop();
        self.started = self.started.saturating_sub(1);
        let job = link.slot(slot)?;
        let data = match job.place {
            _ if job.request.inline && job.request.action == Action::Write => {
                Some(link.message_data(queue, slot)?)
            }
            Place::Arena(part) => link.memory_of(&part),
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

/// Whether data of `request` passes through memory of its own.
fn passes_data(request: &Request) -> bool {
    match request.action {
        Action::Read => true,
        Action::Write => !request.inline,
        _ => false,
    }
}
