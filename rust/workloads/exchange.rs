// SPDX-License-Identifier: GPL-2.0

//! The 16-byte messages that every workload starts its steps with: their
//! buffers, and how they are sent and received.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        limits::RECEIVES,
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
    rdma::{
        cq::WorkCompletion,
        qp::Queue,
        wr::{
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A receive buffer's size: larger than a message, so that a longer one is
/// recognised as such.
const RECEIVE_SIZE: u32 = 64;

const MESSAGE_SIZE: u32 = Advertisement::LEN as u32;

/// Turns the error of a memory operation that cannot fail into a failure.
pub(crate) fn memory_failed(error: Error) -> Failure {
    Failure::Kernel("using a buffer", error.to_errno())
}

/// One message buffer to send from and a few to receive into.
pub(crate) struct Exchange {
    outgoing: BufferId,
    incoming: [BufferId; RECEIVES],
    traffic: Arc<Traffic>,
}

impl Exchange {
    /// Adds the buffers to `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// Posts all receives, before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for (slot, buffer) in self.incoming.iter().enumerate() {
            queue.post_receive(slot, *buffer, RECEIVE_SIZE)?;
        }
        Ok(())
    }

    /// Takes a message out of the receive that completed, and posts it again.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn receive(
        &self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion,
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
        self.traffic.received(wc.bytes);
        Ok(Message {
            len: wc.bytes,
            bytes,
            invalidated: wc.invalidated,
            has_immediate: wc.immediate.is_some(),
        })
    }

    /// Writes `advertisement` where the next SEND takes it from.
    ///
    /// # Errors
    ///
    /// None that a caller could cause.
    pub(crate) fn fill(
        &self,
        queue: &mut Queue<'_>,
        advertisement: &Advertisement,
    ) -> Result<(), Failure> {
        queue
            .write(self.outgoing, 0, &advertisement.encode())
            .map_err(memory_failed)
    }

    /// The SEND of the message, for a list that is about to be posted.
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
            control: false,
        }
    }

    /// Counts a message that has been posted.
    pub(crate) fn count_sent(&self) {
        self.traffic.sent(MESSAGE_SIZE);
    }

    /// What the connection has moved.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
