// SPDX-License-Identifier: GPL-2.0

//! The beginning of a microbenchmark: each side tells the other that it is ready and where its
//! buffers are, reads the table of the other's regions if there are several, and writes its
//! requests.

#![forbid(unsafe_code)]

use super::{
    poster::TABLE,
    verb,
    Microbench,
    Phase,
    Work, //
};
use crate::{
    engine::queue::Queue,
    logic::{
        failure::Failure,
        pingpong::Violation,
        wire::{
            control::Control,
            Advertisement, //
        }, //
    },
    rdma::{
        mr::Remote,
        wr::prepared::{
            Form,
            Request, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

impl Microbench {
    /// Opens the buffers to the peer, and tells it that this side is ready and where they are.
    pub(super) fn say_ready(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let advertisement = self.buffers.advertise(queue)?;
        let list = self.buffers.register(queue)?;
        self.channel
            .send(queue, &Control::Ready(advertisement), list)
    }

    /// Handles the peer's report that it is ready, with its buffer at `remote`, or with a table of
    /// several there, which is read first.
    pub(super) fn ready(
        &mut self,
        queue: &mut Queue<'_>,
        remote: Advertisement,
    ) -> Result<(), Failure> {
        self.phase = Phase::Running;
        if !self.plan.reads_table() {
            self.buffers.take_peer(remote);
            return self.begin(queue);
        }
        let list = self.buffers.read_table(remote);
        let list = list.ok_or_else(|| self.broken(Violation::Control))?;
        queue.post_for(TABLE, list.as_slice())
    }

    /// Handles the completion of the READ of the peer's table.
    pub(super) fn table_came(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.buffers
            .take_table(queue.memory())
            .map_err(memory_failed)?;
        self.begin(queue)
    }

    /// Begins the operations of this side, if it has any, now that it knows where the peer's
    /// buffers are.
    fn begin(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let (plan, buffers) = (&self.plan, &self.buffers);
        if plan.posts() {
            let room = plan.region_bytes();
            let is_too_small = |peer: &Remote| (peer.len as usize) < room;
            if !plan.is_received() && buffers.peers().iter().any(is_too_small) {
                return Err(self.broken(Violation::Control));
            }
            let form = Form {
                inline: plan.load.inline,
                numbered: plan.numbers_messages(),
                ring: plan.takes_turns(),
            };
            let request = |number: usize| {
                let place = plan.place(number as u64);
                let remote = buffers.remote(place).ok_or(EINVAL)?;
                Ok(Request {
                    operation: verb::request(plan.verb, remote, plan.load.imm),
                    local: buffers.local(place, plan.size_of(number)).ok_or(EINVAL)?,
                })
            };
            match &mut self.work {
                Work::Latency(latency) => latency.poster.fill(queue, form, request)?,
                Work::Bandwidth(bandwidth) => bandwidth.poster.fill(queue, form, request)?,
                Work::Passive => {}
            }
        }
        self.knows_peer = true;
        if !self.plan.leading {
            self.say_ready(queue)?;
        }
        match &mut self.work {
            Work::Latency(latency) if self.plan.leading => latency.begin(queue),
            Work::Bandwidth(bandwidth) => bandwidth.post(queue),
            _ => Ok(()),
        }
    }
}
