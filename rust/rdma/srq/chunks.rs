// SPDX-License-Identifier: GPL-2.0

//! Sending from the buffers of a shared receive queue, which is one pool of chunks for both then.

use super::SharedReceiveQueue;
use crate::rdma::memory::BufferId;
use kernel::prelude::*;

/// A buffer of a shared receive queue that is not posted, and that nobody else has.
///
/// The queue has one buffer less until it is [given back](SharedReceiveQueue::release).
#[must_use]
#[derive(Debug)]
pub(crate) struct Chunk {
    receive: u32,
    buffer: BufferId,
}

impl Chunk {
    /// Returns the buffer, which requests of the queue pairs name that share the queue.
    pub(crate) fn buffer(&self) -> BufferId {
        self.buffer
    }
}

#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
impl SharedReceiveQueue {
    /// Takes the buffer of a receive that is not posted. `None` where all are, or `most` are taken.
    /// Any context but hard interrupts.
    pub(crate) fn claim(&self, most: u32) -> Option<Chunk> {
        let mut idle = self.idle.lock();
        if idle.claimed >= most as usize {
            return None;
        }
        let receive = idle.pop()?;
        match self.buffer(receive) {
            Ok(buffer) => {
                idle.claimed += 1;
                Some(Chunk { receive, buffer })
            }
            Err(_) => None,
        }
    }

    /// Gives a buffer back, of which no request is under way. Any context but hard interrupts.
    ///
    /// # Errors
    ///
    /// The chunk, where it is another queue's.
    pub(crate) fn release(&self, chunk: Chunk) -> core::result::Result<(), Chunk> {
        if !self.memory.has(chunk.buffer) {
            return Err(chunk);
        }
        let mut idle = self.idle.lock();
        idle.claimed = idle.claimed.saturating_sub(1);
        idle.push(chunk.receive);
        Ok(())
    }

    /// Copies into a chunk, of which no request is under way, for the device to see. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within it; nothing is copied.
    pub(crate) fn write(&self, chunk: &Chunk, offset: usize, from: &[u8]) -> Result {
        self.memory.pages(chunk.buffer)?.write(offset, from)?;
        self.memory
            .sync_for_device(chunk.buffer, offset, from.len())
    }

    /// Posts receives again as [`refill`](SharedReceiveQueue::refill) does, while fewer than
    /// `count` are [posted](SharedReceiveQueue::posted). Any context but hard interrupts.
    ///
    /// # Errors
    ///
    /// The driver's; what is not posted then waits for the next call.
    pub(crate) fn refill_to(&self, count: u32) -> Result {
        let missing = count.saturating_sub(self.posted());
        if missing > 0 {
            self.refill(missing)?;
        }
        Ok(())
    }

    /// Returns the number of receives that are posted, or have completed and are being handled. Any
    /// context but hard interrupts.
    pub(crate) fn posted(&self) -> u32 {
        let idle = self.idle.lock();
        let others = idle.count.saturating_add(idle.claimed);
        self.receives().saturating_sub(others as u32)
    }

    /// Returns the number of buffers that are taken. Any context but hard interrupts.
    pub(crate) fn claimed(&self) -> u32 {
        self.idle.lock().claimed as u32
    }
}
