// SPDX-License-Identifier: GPL-2.0

//! Buffers that are registered once, for devices that cannot register each request.
//!
//! Soft-RoCE repeats registrations together with what was lost, which breaks the
//! connection ([`Device::repeats_local_operations`]). A disk that has met that copies
//! its data through these: a loss then only costs a repetition.
//!
//! [`Device::repeats_local_operations`]: crate::rdma::device::Device::repeats_local_operations

#![forbid(unsafe_code)]

use crate::{
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
    rdma::{
        qp::Queue,
        wr::WorkRequest, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How many there are for each hardware queue; requests beyond wait.
const BUFFERS: usize = 16;

/// The largest request.
pub(super) const BUFFER: usize = crate::block::MAX_BYTES as usize;

struct Entry {
    memory: Arc<Contiguous>,
    buffer: BufferId,
    region: RegionId,
}

/// The buffers of one hardware queue.
pub(super) struct Bounce {
    entries: KVec<Entry>,
    /// Those that no request has.
    free: KVec<usize>,
}

impl Bounce {
    /// Allocates them. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
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

    /// Registers them all, once connected and before anything else is posted.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for entry in &self.entries {
            queue.post(&[WorkRequest::Register {
                region: entry.region,
                access: Access::Remote,
                renew_key: true,
            }])?;
        }
        Ok(())
    }

    /// Takes a buffer for `request`, and copies what it writes. Returns its number
    /// and what to advertise.
    ///
    /// # Errors
    ///
    /// `EBUSY` where none is free; `EINVAL` for a request that is too large.
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
            ..queue.memory().advertise(entry.region)?
        };
        let _ = self.free.pop();
        Ok((index, remote))
    }

    /// Takes a buffer back, and copies from it what the request reads.
    ///
    /// # Errors
    ///
    /// None that a request of [`take`](Self::take) could cause.
    pub(super) fn give_back(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        request: &Request,
    ) -> Result {
        // Room for all was made at the start.
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
