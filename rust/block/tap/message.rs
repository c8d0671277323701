// SPDX-License-Identifier: GPL-2.0

//! The send buffers of a tap: one for each message, and one for the data of a part.

#![forbid(unsafe_code)]

use super::part::Part;
use crate::{
    kernel_ext::pages::Contiguous,
    logic::block::{
        Action,
        Request, //
    },
    mr::{
        BufferId,
        Memory,
        RegionId, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Size of a message in bytes: a request, and the data of a small write.
const MESSAGE: usize = Request::LEN + Request::INLINE as usize;

/// The memory that was claimed for the data of a part that is about to be sent.
pub(crate) struct Claim {
    /// Number of the slot.
    pub(super) slot: usize,
    /// The memory for the data.
    pub(crate) memory: Arc<Contiguous>,
    /// Offset of the data in the memory.
    pub(crate) offset: usize,
}

/// A buffer for the data of a part, open to the server.
pub(super) struct Data {
    pub(super) buffer: BufferId,
    memory: Arc<Contiguous>,
    pub(super) region: RegionId,
}

impl Data {
    /// Allocates `size` bytes in `memory`. May sleep.
    pub(super) fn new(memory: &mut Memory, size: u32) -> Result<Self> {
        let (buffer, pages) = memory.add_shared(size as usize)?;
        Ok(Self {
            buffer,
            memory: pages,
            region: memory.add_region(buffer)?,
        })
    }
}

/// The buffers of one message and its data, and the state of the message.
pub(super) struct PartMessage {
    pub(super) message: BufferId,
    message_memory: Arc<Contiguous>,
    /// The data buffer; `None` for the slot of control messages.
    pub(super) data: Option<Data>,
    /// Number of messages sent. The answer that is due carries the number of the last one.
    pub(super) seq: u32,
    /// The device may still read the message.
    pub(super) sending: bool,
    /// The message that has not been answered.
    pub(super) sent: Option<Sent>,
    /// The slot is claimed for a part that is about to be sent.
    pub(super) claimed: bool,
}

/// The kind of a message that was sent.
#[derive(Clone, Copy)]
pub(super) enum Sent {
    Part(Part),
    Control(Action),
}

impl PartMessage {
    /// Allocates the message's buffer in `memory`. May sleep.
    pub(super) fn new(memory: &mut Memory, data: Option<Data>) -> Result<Self> {
        let (message, message_memory) = memory.add_shared(MESSAGE)?;
        Ok(Self {
            message,
            message_memory,
            data,
            seq: 0,
            sending: false,
            sent: None,
            claimed: false,
        })
    }

    /// Returns true if the slot can be used for a new message.
    pub(super) fn is_free(&self) -> bool {
        !self.sending && !self.claimed && self.sent.is_none()
    }

    /// Returns the part that has not been answered, if there is one.
    pub(super) fn part(&self) -> Option<&Part> {
        match &self.sent {
            Some(Sent::Part(part)) => Some(part),
            _ => None,
        }
    }

    /// Claims this slot, which has number `slot`. Inline data goes into the message, other data
    /// into the data buffer. Returns `None` if the slot lacks the buffer.
    pub(super) fn claim(&mut self, slot: usize, inline: bool) -> Option<Claim> {
        let (memory, offset) = if inline {
            (&self.message_memory, Request::LEN)
        } else {
            (&self.data.as_ref()?.memory, 0)
        };
        let claim = Claim {
            slot,
            memory: memory.clone(),
            offset,
        };
        self.claimed = true;
        Some(claim)
    }
}
