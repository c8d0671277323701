// SPDX-License-Identifier: GPL-2.0

//! Buffers of the 16-byte messages of the ping/pong, and the requests that send and receive them.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        completion::WorkCompletion,
        limits::RECEIVES,
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
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Size of a receive buffer, in bytes: larger than a message, so that a longer message is
/// recognised.
const RECEIVE_SIZE: u32 = 64;

const MESSAGE_SIZE: u32 = Advertisement::LEN as u32;

/// Converts the error of a memory operation that cannot fail for a correct caller.
pub(crate) fn memory_failed(error: Error) -> Failure {
    Failure::Kernel("using a buffer", error.to_errno())
}

/// Message buffers of one side: one to send from, and [`RECEIVES`] to receive into.
pub(crate) struct Exchange {
    outgoing: BufferId,
    incoming: [BufferId; RECEIVES],
    traffic: Arc<Traffic>,
}

impl Exchange {
    /// Adds the buffers to `memory`. May sleep.
    pub(crate) fn new(memory: &mut Memory, traffic: Arc<Traffic>) -> Result<Self> {
        Ok(Self {
            outgoing: memory.add_buffer(MESSAGE_SIZE as usize)?,
            incoming: [
                memory.add_buffer(RECEIVE_SIZE as usize)?,
                memory.add_buffer(RECEIVE_SIZE as usize)?,
            ],
            traffic,
        })
    }

    /// Posts all receives. Must be called before the connection is made.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for (slot, buffer) in self.incoming.iter().enumerate() {
            queue.post_receive(slot, *buffer, RECEIVE_SIZE)?;
        }
        Ok(())
    }

    /// Reads the message of a completed receive, and posts the receive again.
    pub(crate) fn receive(
        &self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<Message, Failure> {
        let buffer = *self
            .incoming
            .get(wc.slot)
            .ok_or_else(|| memory_failed(EINVAL))?;
        let mut bytes = [0; Advertisement::LEN];
        queue
            .memory()
            .read(buffer, 0, &mut bytes)
            .map_err(memory_failed)?;
        queue.post_receive(wc.slot, buffer, RECEIVE_SIZE)?;
        self.traffic.received(wc.bytes());
        Ok(Message {
            len: wc.bytes(),
            bytes,
            invalidated: wc.invalidated(),
            has_immediate: wc.immediate().is_some(),
        })
    }

    /// Writes `advertisement` to the buffer that the next SEND is posted from.
    pub(crate) fn fill(
        &self,
        queue: &mut Queue<'_>,
        advertisement: &Advertisement,
    ) -> Result<(), Failure> {
        queue
            .write(self.outgoing, 0, &advertisement.encode())
            .map_err(memory_failed)
    }

    /// Returns the SEND of the message, to be added to a list.
    pub(crate) fn send(&self, invalidate: Option<u32>, fence: bool, signaled: bool) -> WorkRequest {
        WorkRequest::Send {
            local: Local {
                offset: 0,
                buffer: self.outgoing,
                len: MESSAGE_SIZE,
                region: None,
            },
            invalidate,
            fence,
            signaled,
            solicited: false,
        }
    }

    /// Counts a message that has been posted.
    pub(crate) fn count_sent(&self) {
        self.traffic.sent(MESSAGE_SIZE);
    }

    /// Returns the connection's traffic counters.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
