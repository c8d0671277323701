// SPDX-License-Identifier: GPL-2.0

//! Work requests to the send queue, and receives.
//!
//! A [`WorkRequest`] names memory by its ids in the queue pair's own [`Memory`], so it cannot
//! outlive what it names. A [`Chain`](chain::Chain) turns a list of them into the linked C
//! structures of one post; a [`PreparedList`](prepared::PreparedList) does so once, for lists
//! of requests of one kind.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_post_send()`, `ib_post_recv()`)

pub(crate) mod atomic;
pub(in crate::rdma) mod chain;
pub(crate) mod prepared;

use super::{
    memory::{
        BufferId,
        ForeignMemory,
        Memory,
        RegionId, //
    },
    mr::Access, //
};
use crate::{
    bindings,
    rdma::mr::Remote, //
};
use core::mem::MaybeUninit;
use kernel::prelude::*;

/// The most requests in one post.
pub(crate) const MAX_CHAIN: usize = 8;

/// The most scatter/gather elements of a request in a list.
const MAX_PARTS: usize = 2;

/// A part of a buffer, as the local operand of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    /// The buffer.
    pub(crate) buffer: BufferId,
    /// The first byte.
    pub(crate) offset: u32,
    /// The number of bytes.
    pub(crate) len: u32,
    /// The region whose key gives access; `None` for the local DMA lkey.
    pub(crate) region: Option<RegionId>,
}

/// Calls `post` with a receive into `local`, a part of a buffer of `memory`, whose completion has
/// entry `cqe`. The request is valid during the call only.
///
/// # Errors
///
/// `EINVAL` for an operand outside its buffer; the error of `post`.
pub(super) fn build_receive<F: ForeignMemory>(
    local: &Local,
    flipped: u32,
    memory: &Memory<F>,
    cqe: *mut bindings::ib_cqe,
    post: impl FnOnce(*const bindings::ib_recv_wr) -> Result,
) -> Result {
    let mut sge = local.sge(memory)?;
    sge.lkey ^= flipped;
    let mut wr = bindings::ib_recv_wr {
        sg_list: &mut sge,
        num_sge: 1,
        ..Default::default()
    };
    // SAFETY: Every bit pattern is valid for either member of this union.
    *unsafe { wr.__bindgen_anon_1.wr_cqe.as_mut() } = cqe;
    post(&wr)
}

/// One request to the send queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkRequest {
    /// SEND, or SEND_WITH_INV of the peer's key.
    Send {
        /// The message. One of no bytes has no operand.
        local: Local,
        /// The peer's key that its arrival invalidates.
        invalidate: Option<u32>,
        /// Wait for the READs before it.
        fence: bool,
        /// Complete on success too.
        signaled: bool,
        /// Raise an event at a peer that waits for those of solicited messages only.
        solicited: bool,
    },
    /// SEND with immediate data.
    SendImmediate {
        /// The message; the second part may be missing.
        parts: (Local, Option<Local>),
        /// The immediate data, which the peer's completion carries.
        immediate: u32,
        /// Complete on success too.
        signaled: bool,
    },
    /// RDMA READ.
    Read {
        /// The place of the data.
        local: Local,
        /// The peer's memory.
        remote: Remote,
        /// READ_WITH_INV of the local region.
        invalidate_local: bool,
        /// Complete on success too.
        signaled: bool,
    },
    /// READ_WITH_INV into all that a sink of this side is mapped over.
    ReadInto {
        /// The sink, which must be valid, and stays so for this side until
        /// [`Memory::read_completed`] has seen the READ's completion.
        region: RegionId,
        /// The peer's memory.
        remote: Remote,
    },
    /// RDMA WRITE. One of no bytes has no operand.
    Write {
        /// The data.
        local: Local,
        /// The peer's memory.
        remote: Remote,
        /// Complete on success too.
        signaled: bool,
    },
    /// RDMA WRITE with immediate data.
    WriteImmediate {
        /// The data, of which the second part may be missing; `None` for a WRITE of no bytes.
        parts: Option<(Local, Option<Local>)>,
        /// The peer's memory, which means nothing where there is no data.
        remote: Remote,
        /// The immediate data, which the peer's completion carries.
        immediate: u32,
        /// Complete on success too.
        signaled: bool,
    },
    /// REG_MR.
    Register {
        /// The region, which must not be valid.
        region: RegionId,
        /// The operations that the key permits.
        access: Access,
        /// Give the region a new key first; otherwise it has been given one.
        renew_key: bool,
        /// Complete on success too.
        signaled: bool,
    },
    /// LOCAL_INV.
    Invalidate {
        /// The region, over a buffer, which must be valid.
        region: RegionId,
        /// Wait for the READs before it.
        fence: bool,
        /// Complete on success too.
        signaled: bool,
    },
}

/// A list of requests that is being put together, in place.
///
/// # Invariants
///
/// The first `len` requests, or all where there are fewer, have been written.
pub(crate) struct List {
    requests: [MaybeUninit<WorkRequest>; MAX_CHAIN],
    len: usize,
}

impl List {
    /// Creates an empty list.
    pub(crate) fn new() -> Self {
        let mut list = MaybeUninit::<Self>::uninit();
        // The only write: an array of unwritten requests beside the length would make a
        // constant of the whole, which is then copied for each list.
        //
        // SAFETY: The field is within the allocation.
        unsafe { (&raw mut (*list.as_mut_ptr()).len).write(0) };
        // INVARIANT: None of no requests has been written.
        //
        // SAFETY: The length has been written, and a request need not be.
        unsafe { list.assume_init() }
    }

    /// Adds a request. One too many makes the list too long to be posted.
    pub(crate) fn push(&mut self, request: WorkRequest) {
        if let Some(slot) = self.requests.get_mut(self.len) {
            slot.write(request);
        }
        // INVARIANT: The request behind those before has been written, if there is one.
        self.len = self.len.saturating_add(1);
    }

    /// The requests; none where there were too many, which no post takes.
    pub(crate) fn as_slice(&self) -> &[WorkRequest] {
        let requests = self.requests.get(..self.len).unwrap_or(&[]);
        // SAFETY: By the type invariant all of them have been written, and a `MaybeUninit`
        // is laid out as what it holds.
        unsafe { core::slice::from_raw_parts(requests.as_ptr().cast(), requests.len()) }
    }
}

impl Local {
    /// Returns the scatter/gather element of this operand.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is not within its buffer, or of another memory.
    pub(super) fn sge<F: ForeignMemory>(&self, memory: &Memory<F>) -> Result<bindings::ib_sge> {
        Ok(bindings::ib_sge {
            addr: memory.dma(self.buffer, self.offset as usize, self.len as usize)?,
            length: self.len,
            lkey: memory.lkey(self.region)?,
        })
    }
}
