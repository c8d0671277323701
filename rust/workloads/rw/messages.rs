// SPDX-License-Identifier: GPL-2.0

//! Requests and answers: the buffers that they are sent from and received into.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue,
        traffic::Traffic, //
    },
    logic::{
        failure::Failure,
        pingpong::Message,
        wire::Advertisement, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::wr::{
        Local,
        WorkRequest, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Size of a message, in bytes.
const SIZE: u32 = Advertisement::LEN as u32;

/// Size of the place of a receive, in bytes: larger than a message, so that a longer one is
/// recognised.
const ROOM: u32 = 64;

/// Message buffers of one side.
pub(super) struct Messages {
    outgoing: BufferId,
    incoming: BufferId,
    receives: u32,
    traffic: Arc<Traffic>,
}

impl Messages {
    /// Adds the buffers for `sends` messages that are under way and `receives` receives to
    /// `memory`. May sleep.
    pub(super) fn new(
        memory: &mut Memory,
        sends: u32,
        receives: u32,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        Ok(Self {
            outgoing: memory.add_buffer(sends as usize * SIZE as usize)?,
            incoming: memory.add_buffer(receives as usize * ROOM as usize)?,
            receives,
            traffic,
        })
    }

    /// Posts all receives.
    pub(super) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        (0..self.receives).try_for_each(|slot| self.post_receive(queue, slot as usize))
    }

    /// Posts the receive `slot`, whose message has been read.
    pub(super) fn post_receive(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        queue.post_receive_at(slot, self.incoming, slot as u32 * ROOM, ROOM)
    }

    /// Reads the message of a completed receive.
    pub(super) fn read(
        &self,
        queue: &Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<Message, Failure> {
        let mut bytes = [0; Advertisement::LEN];
        queue
            .memory()
            .read(self.incoming, wc.slot * ROOM as usize, &mut bytes)
            .map_err(memory_failed)?;
        self.traffic.received(wc.bytes());
        Ok(Message {
            len: wc.bytes(),
            bytes,
            invalidated: wc.invalidated(),
            has_immediate: wc.immediate().is_some(),
        })
    }

    /// Writes message `slot`, and returns its SEND, which counts as posted.
    pub(super) fn send(
        &self,
        queue: &mut Queue<'_>,
        slot: usize,
        message: &Advertisement,
    ) -> Result<WorkRequest, Failure> {
        let offset = slot as u32 * SIZE;
        queue
            .write(self.outgoing, offset as usize, &message.encode())
            .map_err(memory_failed)?;
        self.traffic.sent(SIZE);
        Ok(WorkRequest::Send {
            local: Local {
                buffer: self.outgoing,
                offset,
                len: SIZE,
                region: None,
            },
            invalidate: None,
            fence: false,
            signaled: true,
            solicited: false,
        })
    }

    /// Returns the connection's traffic counters.
    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
