// SPDX-License-Identifier: GPL-2.0

//! Work requests to the send queue, and receives.
//!
//! A [`WorkRequest`] names memory by its ids in the queue pair's own [`Memory`], so it cannot
//! outlive what it names. [`Chain`] turns a list of them into the linked C structures of one
//! post; a [`PreparedList`](prepared::PreparedList) does so once, for lists of equal requests.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_post_send()`, `ib_post_recv()`)

pub(crate) mod atomic;
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
use core::mem::{
    ManuallyDrop,
    MaybeUninit, //
};
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
    memory: &Memory<F>,
    cqe: *mut bindings::ib_cqe,
    post: impl FnOnce(*const bindings::ib_recv_wr) -> Result,
) -> Result {
    let mut sge = local.sge(memory)?;
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

/// The state that regions must be in for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// Regions are registered while they are invalid, and invalidated while they are valid.
    State,
    /// The device is to find out. Regions are over buffers, so it cannot do harm.
    None,
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

/// A request in C's form. All variants begin with an `ib_send_wr`.
#[repr(C)]
union Raw {
    rdma: ManuallyDrop<bindings::ib_rdma_wr>,
    reg: ManuallyDrop<bindings::ib_reg_wr>,
}

/// A list of requests in the form that `ib_post_send()` takes.
///
/// The parts of the C structures point at each other, so a chain is built and
/// posted in one place and never moved.
pub(super) struct Chain {
    requests: [MaybeUninit<Raw>; MAX_CHAIN],
    sges: [MaybeUninit<[bindings::ib_sge; MAX_PARTS]>; MAX_CHAIN],
}

impl Chain {
    /// Room for a list.
    pub(super) const fn new() -> Self {
        Self {
            requests: [const { MaybeUninit::uninit() }; MAX_CHAIN],
            sges: [const { MaybeUninit::uninit() }; MAX_CHAIN],
        }
    }

    /// Translates `list`, whose memory is `memory`'s, and hands its head to `post`. `cqe_of`
    /// gives each request its completion entry, and the number of that. Regions are noted as
    /// valid or invalid as the list will make them: it is as good as posted.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an empty or too long list, an operand outside its buffer, or a region in
    /// the wrong state; otherwise the error of `cqe_of` or `post`.
    pub(super) fn build<F: ForeignMemory>(
        &mut self,
        list: &[WorkRequest],
        memory: &mut Memory<F>,
        checks: Checks,
        cqe_of: impl Fn(&WorkRequest) -> Result<(*mut bindings::ib_cqe, u32)>,
        post: impl FnOnce(*const bindings::ib_send_wr) -> Result,
    ) -> Result {
        if list.is_empty() || list.len() > MAX_CHAIN {
            return Err(EINVAL);
        }
        let mut head: *mut bindings::ib_send_wr = core::ptr::null_mut();
        let mut last = head;
        for ((request, slot), sge) in list.iter().zip(&mut self.requests).zip(&mut self.sges) {
            let raw = request.translate(memory, checks, cqe_of(request)?, slot, sge)?;
            // Every variant begins with the common part.
            let wr = core::ptr::from_mut(raw).cast::<bindings::ib_send_wr>();
            if last.is_null() {
                head = wr;
            } else {
                // SAFETY: `last` is in `self`, written in the round before.
                unsafe { (*last).next = wr };
            }
            last = wr;
        }
        post(head)
    }
}

impl Local {
    /// Writes the scatter/gather element of this operand.
    fn write_sge<'a, F: ForeignMemory>(
        &self,
        memory: &Memory<F>,
        slot: &'a mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
    ) -> Result<&'a mut bindings::ib_sge> {
        let [first, _] = slot.write([self.sge(memory)?, bindings::ib_sge::default()]);
        Ok(first)
    }

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

/// The common part of a request.
fn header(
    opcode: bindings::ib_wr_opcode,
    cqe: *mut bindings::ib_cqe,
    fence: bool,
    signaled: bool,
) -> bindings::ib_send_wr {
    let mut wr = bindings::ib_send_wr {
        opcode,
        ..Default::default()
    };
    // SAFETY: Every bit pattern is valid for either member of this union.
    *unsafe { wr.__bindgen_anon_1.wr_cqe.as_mut() } = cqe;
    wr.send_flags = flag(fence, bindings::ib_send_flags_IB_SEND_FENCE)
        | flag(signaled, bindings::ib_send_flags_IB_SEND_SIGNALED);
    wr
}

/// Returns `flag` where it is set.
fn flag(set: bool, flag: bindings::ib_send_flags) -> bindings::ib_send_flags {
    if set {
        flag
    } else {
        0
    }
}

fn set_operand(wr: &mut bindings::ib_send_wr, sge: &mut bindings::ib_sge) {
    wr.sg_list = sge;
    wr.num_sge = 1;
}

/// Makes one or two parts the operand of a request; `slot` has their elements.
fn set_parts<F: ForeignMemory>(
    wr: &mut bindings::ib_send_wr,
    first: Local,
    second: Option<Local>,
    memory: &Memory<F>,
    slot: &mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
) -> Result {
    let rest = second.map(|local| local.sge(memory)).transpose()?;
    wr.num_sge = if rest.is_some() { 2 } else { 1 };
    let elements = slot.write([first.sge(memory)?, rest.unwrap_or_default()]);
    wr.sg_list = elements.as_mut_ptr();
    Ok(())
}

fn set_immediate(wr: &mut bindings::ib_send_wr, immediate: u32) {
    // SAFETY: Every bit pattern is valid for either member of this union.
    *unsafe { wr.ex.imm_data.as_mut() } = immediate.to_be();
}

fn set_invalidate(wr: &mut bindings::ib_send_wr, key: u32) {
    // SAFETY: Every bit pattern is valid for either member of this union.
    *unsafe { wr.ex.invalidate_rkey.as_mut() } = key;
}

impl Raw {
    fn plain(wr: bindings::ib_send_wr) -> Self {
        Self::rdma(wr, 0, 0)
    }

    fn rdma(wr: bindings::ib_send_wr, remote_addr: u64, rkey: u32) -> Self {
        Self {
            rdma: ManuallyDrop::new(bindings::ib_rdma_wr {
                wr,
                remote_addr,
                rkey,
            }),
        }
    }
}

impl WorkRequest {
    /// Writes the request in C's form to `raw`, and its elements to `slot`.
    fn translate<'a, F: ForeignMemory>(
        &self,
        memory: &mut Memory<F>,
        checks: Checks,
        (cqe, entry): (*mut bindings::ib_cqe, u32),
        raw: &'a mut MaybeUninit<Raw>,
        slot: &mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
    ) -> Result<&'a mut Raw> {
        Ok(raw.write(match *self {
            Self::Send {
                local,
                invalidate,
                fence,
                signaled,
                solicited,
            } => {
                let opcode = match invalidate {
                    None => bindings::ib_wr_opcode_IB_WR_SEND,
                    Some(_) => bindings::ib_wr_opcode_IB_WR_SEND_WITH_INV,
                };
                let mut wr = header(opcode, cqe, fence, signaled);
                wr.send_flags |= flag(solicited, bindings::ib_send_flags_IB_SEND_SOLICITED);
                if local.len > 0 {
                    set_operand(&mut wr, local.write_sge(memory, slot)?);
                }
                if let Some(key) = invalidate {
                    set_invalidate(&mut wr, key);
                }
                Raw::plain(wr)
            }
            Self::SendImmediate {
                parts: (first, second),
                immediate,
                signaled,
            } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_SEND_WITH_IMM;
                let mut wr = header(opcode, cqe, false, signaled);
                set_parts(&mut wr, first, second, memory, slot)?;
                set_immediate(&mut wr, immediate);
                Raw::plain(wr)
            }
            Self::Read {
                local,
                remote,
                invalidate_local,
                signaled,
            } => {
                let opcode = if invalidate_local {
                    bindings::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV
                } else {
                    bindings::ib_wr_opcode_IB_WR_RDMA_READ
                };
                let mut wr = header(opcode, cqe, false, signaled);
                let sge = local.write_sge(memory, slot)?;
                if invalidate_local {
                    set_invalidate(&mut wr, sge.lkey);
                }
                set_operand(&mut wr, sge);
                if let (true, Some(region)) = (invalidate_local, local.region) {
                    memory.invalidating(region)?;
                }
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::ReadInto { region, remote } => {
                memory.reading(region, entry)?;
                let opcode = bindings::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV;
                let mut wr = header(opcode, cqe, false, true);
                let sink = memory.remote(region)?;
                let key = memory.lkey(Some(region))?;
                let [sge, _] = slot.write([
                    bindings::ib_sge {
                        addr: sink.addr,
                        length: sink.len,
                        lkey: key,
                    },
                    bindings::ib_sge::default(),
                ]);
                set_operand(&mut wr, sge);
                set_invalidate(&mut wr, key);
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::Write {
                local,
                remote,
                signaled,
            } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_RDMA_WRITE;
                let mut wr = header(opcode, cqe, false, signaled);
                if local.len > 0 {
                    set_operand(&mut wr, local.write_sge(memory, slot)?);
                }
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::WriteImmediate {
                parts,
                remote,
                immediate,
                signaled,
            } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM;
                let mut wr = header(opcode, cqe, false, signaled);
                if let Some((first, second)) = parts {
                    set_parts(&mut wr, first, second, memory, slot)?;
                }
                set_immediate(&mut wr, immediate);
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::Register {
                region,
                access,
                renew_key,
                signaled,
            } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_REG_MR;
                if renew_key {
                    memory.renew_key(region)?;
                }
                let key = match checks {
                    Checks::State => memory.registering(region)?,
                    Checks::None => memory.registering_unchecked(region)?,
                };
                Raw {
                    reg: ManuallyDrop::new(bindings::ib_reg_wr {
                        wr: header(opcode, cqe, false, signaled),
                        mr: memory.mr(region)?,
                        key,
                        access: access.flags() as i32,
                    }),
                }
            }
            Self::Invalidate {
                region,
                fence,
                signaled,
            } => {
                if checks == Checks::State && !memory.is_valid(region) {
                    return Err(EINVAL);
                }
                let opcode = bindings::ib_wr_opcode_IB_WR_LOCAL_INV;
                let mut wr = header(opcode, cqe, fence, signaled);
                set_invalidate(&mut wr, memory.rkey(region)?);
                memory.invalidating(region)?;
                Raw::plain(wr)
            }
        }))
    }
}
