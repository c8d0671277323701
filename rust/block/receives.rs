// SPDX-License-Identifier: GPL-2.0

//! The receives of a connection, each with room for a request and the data that may
//! follow it, or for an answer.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::pages::Contiguous,
    logic::{
        block::Request,
        failure::Failure, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::qp::Queue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The longest message, in bytes.
const MESSAGE: usize = Request::LEN + Request::INLINE as usize;

/// Bytes of a receive: no two of them share a line of a cache.
const ROOM: usize = MESSAGE.next_multiple_of(64);

/// Receives in one buffer: what 64 KiB have room for.
const GROUP: usize = 64 * 1024 / ROOM;

/// The buffers, for receives that are numbered from 0.
pub(super) struct Receives {
    groups: KVec<(BufferId, Arc<Contiguous>)>,
}

impl Receives {
    /// Allocates those of `count` receives in `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(memory: &mut Memory, count: usize) -> Result<Self> {
        let mut groups = KVec::new();
        for _ in 0..count.div_ceil(GROUP) {
            groups.push(memory.add_shared(GROUP * ROOM)?, GFP_KERNEL)?;
        }
        Ok(Self { groups })
    }

    /// The buffer of receive `slot`, and where in it the message is.
    fn place(&self, slot: usize) -> Result<(&(BufferId, Arc<Contiguous>), usize)> {
        let group = self.groups.get(slot / GROUP).ok_or(EINVAL)?;
        Ok((group, (slot % GROUP).wrapping_mul(ROOM)))
    }

    /// Posts receive `slot`.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn post(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let ((buffer, _), offset) = self.place(slot).map_err(failed)?;
        queue.post_receive_at(slot, *buffer, offset as u32, MESSAGE as u32)
    }

    /// How the message in receive `slot` begins.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn header<const LEN: usize>(
        &self,
        queue: &Queue<'_>,
        slot: usize,
    ) -> Result<[u8; LEN], Failure> {
        self.piece(queue, slot, 0)
    }

    /// The `LEN` bytes of the message in receive `slot` that have so many pieces of that
    /// length `before` them.
    ///
    /// # Errors
    ///
    /// None that a peer could cause.
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

    /// Where the first `len` bytes of the message in receive `slot` are, for the CPU to
    /// read until it is posted again.
    ///
    /// # Errors
    ///
    /// None that a peer could cause.
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

    /// Where the `len` bytes are that follow the request in receive `slot`, for the
    /// CPU to read until it is posted again.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn data(
        &self,
        queue: &Queue<'_>,
        slot: usize,
        len: u32,
    ) -> Result<(&Arc<Contiguous>, usize), Failure> {
        let ((buffer, pages), offset) = self.place(slot).map_err(failed)?;
        let offset = offset.saturating_add(Request::LEN);
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
