// SPDX-License-Identifier: GPL-2.0

//! Receive buffers of a connection. Each receive has room for a request and the data that may
//! follow it, or for an answer.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    kernel_ext::pages::Contiguous,
    logic::{
        block::Request,
        failure::Failure, //
    },
    mr::{
        BufferId,
        Memory, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Size of the longest message, in bytes.
const MESSAGE: usize = Request::LEN + Request::INLINE as usize;

/// Bytes per receive, rounded up so that no two receives share a cache line.
const ROOM: usize = MESSAGE.next_multiple_of(64);

/// Number of receives in one 64 KiB buffer.
const GROUP: usize = 64 * 1024 / ROOM;

/// The receive buffers of a connection. Receives are numbered from 0.
pub(super) struct Receives {
    groups: KVec<(BufferId, Arc<Contiguous>)>,
}

impl Receives {
    /// Allocates the buffers of `count` receives in `memory`. May sleep.
    pub(super) fn new(memory: &mut Memory, count: usize) -> Result<Self> {
        let mut groups = KVec::new();
        for _ in 0..count.div_ceil(GROUP) {
            groups.push(memory.add_shared(GROUP * ROOM)?, GFP_KERNEL)?;
        }
        Ok(Self { groups })
    }

    /// Returns the buffer of receive `slot`, and the offset of the message in it.
    fn place(&self, slot: usize) -> Result<(&(BufferId, Arc<Contiguous>), usize)> {
        let group = self.groups.get(slot / GROUP).ok_or(EINVAL)?;
        Ok((group, slot % GROUP * ROOM))
    }

    /// Posts receive `slot`.
    pub(super) fn post(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let ((buffer, _), offset) = self.place(slot).map_err(failed)?;
        queue.post_receive_at(slot, *buffer, offset as u32, MESSAGE as u32)
    }

    /// Reads the first `LEN` bytes of the message in receive `slot`.
    pub(super) fn header<const LEN: usize>(
        &self,
        queue: &Queue<'_>,
        slot: usize,
    ) -> Result<[u8; LEN], Failure> {
        self.piece(queue, slot, 0)
    }

    /// Reads `LEN` bytes of the message in receive `slot`, after `before` pieces of the same
    /// length.
    pub(super) fn piece<const LEN: usize>(
        &self,
        queue: &Queue<'_>,
        slot: usize,
        before: usize,
    ) -> Result<[u8; LEN], Failure> {
        let mut piece = [0; LEN];
        let skip = before.saturating_mul(LEN);
        self.place(slot)
            .and_then(|((buffer, _), offset)| {
                let at = offset.saturating_add(skip);
                queue.memory().read(*buffer, at, &mut piece)
            })
            .map_err(failed)?;
        Ok(piece)
    }

    /// Returns the memory that holds the message in receive `slot`, and the offset of the
    /// message. The CPU may read its first `len` bytes until the receive is posted again.
    pub(super) fn message(
        &self,
        queue: &Queue<'_>,
        slot: usize,
        len: u32,
    ) -> Result<(&Arc<Contiguous>, usize), Failure> {
        let ((buffer, pages), offset) = self.place(slot).map_err(failed)?;
        queue
            .memory()
            .sync_for_cpu(*buffer, offset, len as usize)
            .map_err(failed)?;
        Ok((pages, offset))
    }

    /// Returns the memory that holds the data after the request in receive `slot`, and the offset
    /// of the data. The CPU may read `len` bytes of it until the receive is posted again.
    pub(super) fn data(
        &self,
        queue: &Queue<'_>,
        slot: usize,
        len: u32,
    ) -> Result<(&Arc<Contiguous>, usize), Failure> {
        let ((buffer, pages), offset) = self.place(slot).map_err(failed)?;
        let offset = offset + Request::LEN;
        queue
            .memory()
            .sync_for_cpu(*buffer, offset, len as usize)
            .map_err(failed)?;
        Ok((pages, offset))
    }
}

fn failed(error: Error) -> Failure {
    Failure::Kernel("using a receive", error.to_errno())
}
