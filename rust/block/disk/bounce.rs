// SPDX-License-Identifier: GPL-2.0

//! Bounce buffers that are registered once, for devices on which per-request registration fails.
//!
//! Soft-RoCE repeats registrations together with lost packets, which breaks the connection
//! ([`repeats_local_operations`]). A disk to which that has happened copies its data
//! through these buffers: a lost packet then only costs a retransmission.
//!
//! [`repeats_local_operations`]: crate::engine::quirks::repeats_local_operations

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    kernel_ext::{
        blk::request::{
            Direction,
            Request, //
        },
        pages::Contiguous, //
    },
    logic::{
        failure::Failure,
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::wr::WorkRequest, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Number of buffers per hardware queue. Further requests wait.
const BUFFERS: usize = 16;

/// Size of a buffer: the largest request, in bytes.
pub(super) const BUFFER: usize = crate::block::MAX_BYTES as usize;

struct Entry {
    memory: Arc<Contiguous>,
    buffer: BufferId,
    region: RegionId,
}

/// The bounce buffers of one hardware queue.
pub(super) struct Bounce {
    entries: KVec<Entry>,
    /// Indices of the buffers that no request uses.
    free: KVec<usize>,
}

impl Bounce {
    /// Allocates the buffers in `memory`. May sleep.
    pub(super) fn new(memory: &mut Memory) -> Result<Self> {
        let mut this = Self {
            entries: KVec::with_capacity(BUFFERS, GFP_KERNEL)?,
            free: KVec::with_capacity(BUFFERS, GFP_KERNEL)?,
        };
        for index in 0..BUFFERS {
            let (buffer, pages) = memory.add_shared(BUFFER)?;
            let region = memory.add_region(buffer)?;
            let entry = Entry {
                memory: pages,
                buffer,
                region,
            };
            this.entries.push(entry, GFP_KERNEL)?;
            this.free.push(index, GFP_KERNEL)?;
        }
        Ok(this)
    }

    /// Registers all buffers. To be called once connected, before anything else is posted.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for entry in &self.entries {
            queue.post(&[WorkRequest::Register {
                region: entry.region,
                access: Access::Remote,
                renew_key: true,
                signaled: false,
            }])?;
        }
        Ok(())
    }

    /// Takes a free buffer for `request` and copies the data of a write into it. Returns the
    /// index of the buffer and its advertisement.
    ///
    /// # Errors
    ///
    /// `EBUSY` if no buffer is free; `EINVAL` if the request is too large.
    pub(super) fn take(
        &mut self,
        queue: &mut Queue<'_>,
        request: &Request,
    ) -> Result<(usize, Advertisement)> {
        let index = *self.free.last().ok_or(EBUSY)?;
        let entry = self.entries.get(index).ok_or(EINVAL)?;
        if request.bytes() as usize > BUFFER {
            return Err(EINVAL);
        }
        if request.direction() == Some(Direction::Out) {
            request.copy_to(&entry.memory, 0)?;
            let bytes = request.bytes() as usize;
            queue.memory().sync_for_device(entry.buffer, 0, bytes)?;
        }
        let remote = Advertisement {
            size: request.bytes(),
            ..queue.memory().remote(entry.region)?.into()
        };
        let _ = self.free.pop();
        Ok((index, remote))
    }

    /// Returns buffer `index` to the pool. If `request` is a read, its data is copied out of the
    /// buffer.
    pub(super) fn give_back(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        request: &Request,
    ) -> Result {
        // The vector has capacity for all buffers.
        let _ = self.free.push_within_capacity(index);
        let entry = self.entries.get(index).ok_or(EINVAL)?;
        if request.direction() == Some(Direction::In) {
            let bytes = request.bytes() as usize;
            queue.memory().sync_for_cpu(entry.buffer, 0, bytes)?;
            request.copy_from(&entry.memory, 0)?;
        }
        Ok(())
    }
}
