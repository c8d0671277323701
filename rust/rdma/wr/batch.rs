// SPDX-License-Identifier: GPL-2.0

//! Requests that are translated once and posted many times.
//!
//! A microbenchmark posts the same request over and over. Its [`Batch`] holds so
//! many copies of it as one list has, in the form that `ib_post_send()` takes;
//! each post only says how many of them, and which ask for a completion.

use super::header;
use crate::{
    bindings,
    logic::{
        failure::Operation,
        wire::Advertisement, //
    },
    mr::{
        BufferId,
        Memory,
        RegionId, //
    }, //
};
use kernel::prelude::*;

/// What the requests of a batch do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// SEND.
    Send,
    /// RDMA WRITE to what the peer advertised, at will with an immediate.
    Write(Advertisement, Immediate),
    /// RDMA READ of what the peer advertised.
    Read(Advertisement),
}

/// Whether a WRITE raises a completion at the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Immediate {
    /// It does, as it carries an immediate.
    Sent,
    /// It does not.
    None,
}

impl Kind {
    /// The operation, as its completion names it.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Self::Send => Operation::Send,
            Self::Write(..) => Operation::Write,
            Self::Read(_) => Operation::Read,
        }
    }

    fn opcode(self) -> bindings::ib_wr_opcode {
        match self {
            Self::Send => bindings::ib_wr_opcode_IB_WR_SEND,
            Self::Write(_, Immediate::None) => bindings::ib_wr_opcode_IB_WR_RDMA_WRITE,
            Self::Write(_, Immediate::Sent) => bindings::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM,
            Self::Read(_) => bindings::ib_wr_opcode_IB_WR_RDMA_READ,
        }
    }

    fn remote(self) -> Option<Advertisement> {
        match self {
            Self::Send => None,
            Self::Write(remote, _) | Self::Read(remote) => Some(remote),
        }
    }
}

/// The request that a batch repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    /// What it does.
    pub(crate) kind: Kind,
    /// The local buffer.
    pub(crate) buffer: BufferId,
    /// The region whose key gives access; `None` for the local DMA lkey.
    pub(crate) region: Option<RegionId>,
    /// How many bytes of it, from its start.
    pub(crate) len: u32,
    /// Copy the data into the request when it is posted.
    pub(crate) inline: bool,
}

/// Room for the requests of one list, and the requests once they are known.
///
/// # Invariants
///
/// The requests and their elements are written in place by [`Batch::fill`] and
/// never moved: neither vector grows after [`Batch::new`].
pub(crate) struct Batch {
    requests: KVec<bindings::ib_rdma_wr>,
    elements: KVec<bindings::ib_sge>,
    capacity: usize,
    /// Elements of each request.
    pieces: usize,
}

// SAFETY: The pointers in the requests are to what the batch itself owns, and to
// entries and memory of the queue pair that owns the batch.
unsafe impl Send for Batch {}

impl Batch {
    /// Room for lists of up to `capacity` requests with `pieces` scatter/gather
    /// elements each. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ERANGE` for more than can be counted.
    pub(crate) fn new(capacity: usize, pieces: usize) -> Result<Self> {
        let elements = capacity.checked_mul(pieces).ok_or(ERANGE)?;
        Ok(Self {
            requests: KVec::with_capacity(capacity, GFP_KERNEL)?,
            elements: KVec::with_capacity(elements, GFP_KERNEL)?,
            capacity,
            pieces,
        })
    }

    /// Writes the requests. `cqe` is where their completions find their callback.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the operand is not within its buffer, or the batch has been
    /// filled before.
    pub(crate) fn fill(
        &mut self,
        template: &Template,
        memory: &Memory,
        cqe: *mut bindings::ib_cqe,
    ) -> Result {
        if !self.requests.is_empty() {
            return Err(EINVAL);
        }
        let start = if template.inline {
            memory.cpu_address(template.buffer, template.len as usize)?
        } else {
            memory.dma(template.buffer, 0, template.len as usize)?
        };
        let lkey = memory.lkey(template.region)?;
        let pieces = u32::try_from(self.pieces).map_err(|_| ERANGE)?;
        let piece = template.len.checked_div(pieces).ok_or(EINVAL)?;
        let last = template
            .len
            .saturating_sub(piece.saturating_mul(pieces.saturating_sub(1)));
        for _ in 0..self.capacity {
            for index in 0..pieces {
                let element = bindings::ib_sge {
                    addr: start.wrapping_add(u64::from(index).wrapping_mul(u64::from(piece))),
                    length: if index.wrapping_add(1) == pieces {
                        last
                    } else {
                        piece
                    },
                    lkey,
                };
                self.elements
                    .push_within_capacity(element)
                    .map_err(|_| EINVAL)?;
            }
        }
        let remote = template.kind.remote();
        // All are there now, so that nothing moves or borrows them any more.
        let mut elements = self.elements.as_mut_ptr();
        for _ in 0..self.capacity {
            let mut wr = header(template.kind.opcode(), cqe, false, false);
            wr.sg_list = elements;
            wr.num_sge = i32::try_from(self.pieces).map_err(|_| ERANGE)?;
            elements = elements.wrapping_add(self.pieces);
            if template.inline {
                wr.send_flags |= bindings::ib_send_flags_IB_SEND_INLINE;
            }
            self.requests
                .push_within_capacity(bindings::ib_rdma_wr {
                    wr,
                    remote_addr: remote.map_or(0, |remote| remote.addr),
                    rkey: remote.map_or(0, |remote| remote.rkey),
                })
                .map_err(|_| EINVAL)?;
        }
        Ok(())
    }

    /// Links the first `count` requests to a list, of which those ask for a
    /// completion that `signaled` says, and returns its head.
    ///
    /// # Errors
    ///
    /// `EINVAL` for no requests, or more than there are.
    pub(crate) fn list(
        &mut self,
        count: usize,
        signaled: impl Fn(u32) -> bool,
    ) -> Result<*const bindings::ib_send_wr> {
        const SIGNALED: bindings::ib_send_flags = bindings::ib_send_flags_IB_SEND_SIGNALED;
        let mut next: *const bindings::ib_send_wr = core::ptr::null();
        let requests = self.requests.get_mut(..count).ok_or(EINVAL)?;
        for (index, request) in requests.iter_mut().enumerate().rev() {
            if signaled(index as u32) {
                request.wr.send_flags |= SIGNALED;
            } else {
                request.wr.send_flags &= !SIGNALED;
            }
            request.wr.next = next.cast_mut();
            // The common part is the first field.
            next = core::ptr::from_mut(request).cast();
        }
        if next.is_null() {
            return Err(EINVAL);
        }
        Ok(next)
    }
}
