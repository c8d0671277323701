// SPDX-License-Identifier: GPL-2.0

//! The buffers in which a tap sends: those of one message and of its data.

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

/// The size of a message: a request, and the data of a small write.
const MESSAGE: usize = Request::LEN + Request::INLINE as usize;

/// Where the data of a part is to be put, before it is sent.
pub(crate) struct Claim {
    /// The slot's number.
    pub(super) slot: usize,
    /// The memory.
    pub(crate) memory: Arc<Contiguous>,
    /// Where in it.
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
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
    pub(super) fn new(memory: &mut Memory, size: u32) -> Result<Self> {
        let (buffer, pages) = memory.add_shared(size as usize)?;
        Ok(Self {
            buffer,
            memory: pages,
            region: memory.add_region(buffer)?,
        })
    }
}

/// The buffers of one message and its data, and what has been sent in them.
pub(super) struct Slot {
    pub(super) message: BufferId,
    message_memory: Arc<Contiguous>,
    /// For parts only.
    pub(super) data: Option<Data>,
    /// Messages sent; the answer that is due has the number of the last.
    pub(super) seq: u32,
    /// The device may still read the message.
    pub(super) sending: bool,
    /// What has not been answered.
    pub(super) sent: Option<Sent>,
    /// Promised to a part that is about to be sent.
    pub(super) claimed: bool,
}

/// What a message was about.
#[derive(Clone, Copy)]
pub(super) enum Sent {
    Part(Part),
    Control(Action),
}

impl Slot {
    /// Allocates the message's buffer in `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// Whether it can be used.
    pub(super) fn is_free(&self) -> bool {
        !self.sending && !self.claimed && self.sent.is_none()
    }

    /// The part that has not been answered, if it has one.
    pub(super) fn part(&self) -> Option<&Part> {
        match &self.sent {
            Some(Sent::Part(part)) => Some(part),
            _ => None,
        }
    }

    /// Promises it, as number `slot`, to a part whose data is `inline` or not.
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
