// SPDX-License-Identifier: GPL-2.0

//! Work requests: what a queue pair is asked to do.
//!
//! A [`WorkRequest`] names memory by its place in the queue pair's own
//! [`Memory`], so it cannot outlive what it names. [`Chain`] turns a list of
//! them into the linked C structures of one post; a [`batch`] does so once, for
//! lists of equal requests.

pub(crate) mod batch;
pub(crate) mod probe;

use crate::{
    bindings,
    logic::{
        failure::Operation,
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory,
        RegionId, //
    }, //
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

/// A part of a buffer, as a local operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    /// The buffer.
    pub(crate) buffer: BufferId,
    /// Where in it.
    pub(crate) offset: u32,
    /// How many bytes of it.
    pub(crate) len: u32,
    /// The region whose key gives access; `None` for the local DMA lkey.
    pub(crate) region: Option<RegionId>,
}

/// One request to the send queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkRequest {
    /// SEND, or SEND_WITH_INV of the peer's key.
    Send {
        /// What to send.
        local: Local,
        /// The peer's key that its arrival invalidates.
        invalidate: Option<u32>,
        /// Wait for READs before it.
        fence: bool,
        /// Complete on success too.
        signaled: bool,
        /// Complete as [`Operation::Control`], apart from SENDs of data.
        control: bool,
    },
    /// SEND with an immediate.
    SendImmediate {
        /// What to send; the second part may be missing.
        parts: (Local, Option<Local>),
        /// What the peer's completion carries.
        immediate: u32,
        /// Complete on success too.
        signaled: bool,
    },
    /// RDMA READ.
    Read {
        /// Where the data goes.
        local: Local,
        /// What the peer advertised.
        remote: Advertisement,
        /// READ_WITH_INV of the local region.
        invalidate_local: bool,
        /// Complete on success too.
        signaled: bool,
    },
    /// READ_WITH_INV into all that a region of this side is mapped over.
    ReadInto {
        /// The sink, which must be valid, and stays so for this side until
        /// [`Memory::read_into`] has seen the READ's completion.
        region: RegionId,
        /// What the peer advertised.
        remote: Advertisement,
    },
    /// RDMA WRITE.
    Write {
        /// Where the data comes from.
        local: Local,
        /// What the peer advertised.
        remote: Advertisement,
        /// Complete on success too.
        signaled: bool,
    },
    /// REG_MR.
    Register {
        /// The region, which must not be valid.
        region: RegionId,
        /// What the peer may do.
        access: Access,
        /// Give the region a new key first; without, it has been given one.
        renew_key: bool,
    },
    /// LOCAL_INV.
    Invalidate {
        /// The region, over a buffer, which must be valid.
        region: RegionId,
        /// Wait for READs before it.
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

    /// Translates `list`, whose memory is `memory`'s and whose completions carry `number`,
    /// and hands its head to `post`. Regions are noted as valid or invalid as the list will make
    /// them: it is as good as posted.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an empty or too long list, an operand outside its buffer,
    /// or a region in the wrong state; otherwise what `post` returns.
    pub(super) fn build(
        &mut self,
        list: &[WorkRequest],
        memory: &mut Memory,
        number: usize,
        cqe_of: impl Fn(Operation) -> *mut bindings::ib_cqe,
        post: impl FnOnce(*const bindings::ib_send_wr) -> Result,
    ) -> Result {
        if list.is_empty() || list.len() > MAX_CHAIN {
            return Err(EINVAL);
        }
        let mut head: *mut bindings::ib_send_wr = core::ptr::null_mut();
        let mut last = head;
        for ((request, slot), sge) in list.iter().zip(&mut self.requests).zip(&mut self.sges) {
            let raw = slot.write(request.translate(memory, number, &cqe_of, sge)?);
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
    /// Writes the scatter/gather element for this operand.
    fn sge<'a>(
        &self,
        memory: &Memory,
        slot: &'a mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
    ) -> Result<&'a mut bindings::ib_sge> {
        let [first, _] = slot.write([self.raw(memory)?, bindings::ib_sge::default()]);
        Ok(first)
    }

    /// The scatter/gather element for this operand.
    pub(crate) fn raw(&self, memory: &Memory) -> Result<bindings::ib_sge> {
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
    if fence {
        wr.send_flags |= bindings::ib_send_flags_IB_SEND_FENCE;
    }
    if signaled {
        wr.send_flags |= bindings::ib_send_flags_IB_SEND_SIGNALED;
    }
    wr
}

fn set_operand(wr: &mut bindings::ib_send_wr, sge: &mut bindings::ib_sge) {
    wr.sg_list = sge;
    wr.num_sge = 1;
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
    fn translate(
        &self,
        memory: &mut Memory,
        number: usize,
        cqe_of: &impl Fn(Operation) -> *mut bindings::ib_cqe,
        slot: &mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
    ) -> Result<Raw> {
        Ok(match *self {
            Self::Send {
                local,
                invalidate,
                fence,
                signaled,
                control,
            } => {
                let opcode = match invalidate {
                    None => bindings::ib_wr_opcode_IB_WR_SEND,
                    Some(_) => bindings::ib_wr_opcode_IB_WR_SEND_WITH_INV,
                };
                let op = if control {
                    Operation::Control
                } else {
                    Operation::Send
                };
                let mut wr = header(opcode, cqe_of(op), fence, signaled);
                set_operand(&mut wr, local.sge(memory, slot)?);
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
                let mut wr = header(opcode, cqe_of(Operation::Send), false, signaled);
                let rest = second.map(|local| local.raw(memory)).transpose()?;
                let count = if rest.is_some() { 2 } else { 1 };
                let elements = slot.write([first.raw(memory)?, rest.unwrap_or_default()]);
                wr.sg_list = elements.as_mut_ptr();
                wr.num_sge = count;
                // SAFETY: Every bit pattern is valid for either member of this union.
                *unsafe { wr.ex.imm_data.as_mut() } = immediate.to_be();
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
                let mut wr = header(opcode, cqe_of(Operation::Read), false, signaled);
                let sge = local.sge(memory, slot)?;
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
                memory.reading(region, number)?;
                let opcode = bindings::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV;
                let mut wr = header(opcode, cqe_of(Operation::Read), false, true);
                let sink = memory.advertise(region)?;
                let key = memory.lkey(Some(region))?;
                let [sge, _] = slot.write([
                    bindings::ib_sge {
                        addr: sink.addr,
                        length: sink.size,
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
                let mut wr = header(opcode, cqe_of(Operation::Write), false, signaled);
                set_operand(&mut wr, local.sge(memory, slot)?);
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::Register {
                region,
                access,
                renew_key,
            } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_REG_MR;
                if renew_key {
                    memory.renew_key(region)?;
                }
                let key = memory.registered(region)?;
                Raw {
                    reg: ManuallyDrop::new(bindings::ib_reg_wr {
                        wr: header(opcode, cqe_of(Operation::Register), false, false),
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
                if !memory.is_valid(region) {
                    return Err(EINVAL);
                }
                let opcode = bindings::ib_wr_opcode_IB_WR_LOCAL_INV;
                let mut wr = header(opcode, cqe_of(Operation::Invalidate), fence, signaled);
                set_invalidate(&mut wr, memory.key(region)?);
                memory.invalidating(region)?;
                Raw::plain(wr)
            }
        })
    }
}
