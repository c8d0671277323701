// SPDX-License-Identifier: GPL-2.0

//! Lists of requests in the form that `ib_post_send()` takes.

use super::{
    Local,
    WorkRequest,
    MAX_CHAIN,
    MAX_PARTS, //
};
use crate::{
    bindings,
    rdma::memory::{
        ForeignMemory,
        Key,
        Memory,
        RegionId, //
    }, //
};
use core::{
    mem::{
        ManuallyDrop,
        MaybeUninit, //
    },
    ops::Range,
    result::Result as CoreResult, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The state that regions must be in for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rdma) enum Checks {
    /// Regions are registered while they are invalid, and invalidated while they are valid.
    State,
    /// The device is to find out. Regions are over buffers, so it cannot do harm.
    None {
        /// Bits that are changed in the keys of local memory.
        flipped: u32,
    },
}

/// The error of a post, and the first request of the list that has not been posted.
pub(in crate::rdma) struct Refused {
    error: Error,
    first: *const bindings::ib_send_wr,
}

impl Refused {
    /// Makes that of a list of which nothing has been posted.
    pub(in crate::rdma) fn all(error: Error) -> Self {
        Self {
            error,
            first: core::ptr::null(),
        }
    }

    /// Returns the first request that has not been posted, null where none has.
    pub(in crate::rdma) fn first(&self) -> *const bindings::ib_send_wr {
        self.first
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// Posts the list of requests that begins with `head` to the send queue of `qp`. Any context.
///
/// # Errors
///
/// The driver's.
///
/// # Safety
///
/// The queue pair is alive. The list is valid, each request in the form that its opcode has on a
/// queue pair of this type. The entries and the memory that it names are valid until the queue pair
/// has been drained or destroyed.
#[inline]
pub(in crate::rdma) unsafe fn post_send(
    qp: *mut bindings::ib_qp,
    head: *const bindings::ib_send_wr,
) -> CoreResult<(), Refused> {
    let mut first = core::ptr::null();
    // SAFETY: By the function's requirements; the last is valid for a write.
    let posted = unsafe { bindings::rust_helper_post_send(qp, head, &mut first) };
    to_result(posted).map_err(|error| Refused { error, first })
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
pub(in crate::rdma) struct Chain {
    requests: [MaybeUninit<Raw>; MAX_CHAIN],
    sges: [MaybeUninit<[bindings::ib_sge; MAX_PARTS]>; MAX_CHAIN],
}

impl Chain {
    /// Room for a list.
    pub(in crate::rdma) const fn new() -> Self {
        Self {
            requests: [const { MaybeUninit::uninit() }; MAX_CHAIN],
            sges: [const { MaybeUninit::uninit() }; MAX_CHAIN],
        }
    }

    /// Translates `list`, whose memory is `memory`'s, and hands its head to `post`. `cqe_of`
    /// gives each request its completion entry, and the number of that. Regions are noted as
    /// valid or invalid as the requests that have been posted will make them.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an empty or too long list, an operand outside its buffer, or a region in
    /// the wrong state; otherwise the error of `cqe_of` or `post`.
    pub(in crate::rdma) fn build<F: ForeignMemory>(
        &mut self,
        list: &[WorkRequest],
        memory: &mut Memory<F>,
        checks: Checks,
        cqe_of: impl Fn(&WorkRequest) -> Result<(*mut bindings::ib_cqe, u32)>,
        post: impl FnOnce(*const bindings::ib_send_wr) -> CoreResult<(), Refused>,
    ) -> Result {
        if list.is_empty() || list.len() > MAX_CHAIN {
            return Err(EINVAL);
        }
        let mut head: *mut bindings::ib_send_wr = core::ptr::null_mut();
        let mut last = head;
        let slots = self.requests.iter_mut().zip(&mut self.sges);
        for (at, (request, (slot, sge))) in list.iter().zip(slots).enumerate() {
            let raw = cqe_of(request)
                .and_then(|entry| request.translate(memory, checks, entry, slot, sge))
                .inspect_err(|_| take_back(list, 0..at, memory, checks))?;
            // Every variant begins with the common part.
            let wr = core::ptr::from_mut(raw).cast::<bindings::ib_send_wr>();
            if let Checks::None { flipped } = checks {
                // SAFETY: The request was written just now, and has either no elements or those in
                // `sge`, of which the first is written then.
                unsafe {
                    if (*wr).num_sge > 0 {
                        (*(*wr).sg_list).lkey ^= flipped;
                    }
                }
            }
            if last.is_null() {
                head = wr;
            } else {
                // SAFETY: `last` is in `self`, written in the round before.
                unsafe { (*last).next = wr };
            }
            last = wr;
        }
        post(head).map_err(|refused| {
            let is_first = |slot: &MaybeUninit<Raw>| slot.as_ptr().cast() == refused.first;
            // One that is not here is before all of these.
            let posted = self.requests.iter().position(is_first).unwrap_or(0);
            take_back(list, posted..list.len(), memory, checks);
            refused.error
        })
    }
}

/// Notes that the requests of `list` in `range`, which have been translated last, have not been
/// posted, after all. What is posted without checks is for its caller to take back.
#[cold]
fn take_back<F: ForeignMemory>(
    list: &[WorkRequest],
    range: Range<usize>,
    memory: &mut Memory<F>,
    checks: Checks,
) {
    let requests = match checks {
        Checks::State => list.get(range).unwrap_or(&[]),
        Checks::None { .. } => &[],
    };
    // Each was checked to find the region in the one state that it changes.
    for request in requests.iter().rev() {
        match *request {
            WorkRequest::Register { region, .. } => memory.restore_key(region, Key::New),
            WorkRequest::ReadInto { region, .. } => memory.not_reading(region),
            _ => {
                if let Some(region) = request.changes() {
                    memory.restore_key(region, Key::Valid);
                }
            }
        }
    }
}

impl Local {
    /// Writes the scatter/gather element of this operand.
    pub(super) fn write_sge<'a, F: ForeignMemory>(
        &self,
        memory: &Memory<F>,
        slot: &'a mut MaybeUninit<[bindings::ib_sge; MAX_PARTS]>,
    ) -> Result<&'a mut bindings::ib_sge> {
        let [first, _] = slot.write([self.sge(memory)?, bindings::ib_sge::default()]);
        Ok(first)
    }
}

/// The common part of a request.
pub(super) fn header(
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
pub(super) fn flag(set: bool, flag: bindings::ib_send_flags) -> bindings::ib_send_flags {
    if set {
        flag
    } else {
        0
    }
}

pub(super) fn set_operand(wr: &mut bindings::ib_send_wr, sge: &mut bindings::ib_sge) {
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
    /// Returns the region whose key the request makes valid or invalid when it is posted.
    pub(in crate::rdma) fn changes(&self) -> Option<RegionId> {
        match *self {
            Self::Register { region, .. } | Self::Invalidate { region, .. } => Some(region),
            Self::Read {
                invalidate_local: true,
                local,
                ..
            } => local.region,
            _ => None,
        }
    }

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
                if invalidate_local {
                    set_invalidate(&mut wr, memory.lkey(local.region)?);
                }
                // An element of 0 bytes may mean as many as there are to a device.
                if local.len > 0 {
                    set_operand(&mut wr, local.write_sge(memory, slot)?);
                }
                if let (true, Some(region)) = (invalidate_local, local.region) {
                    if checks == Checks::State && !memory.is_valid(region) {
                        return Err(EINVAL);
                    }
                    memory.invalidating(region)?;
                }
                Raw::rdma(wr, remote.addr, remote.rkey)
            }
            Self::ReadInto { region, remote } => {
                let opcode = bindings::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV;
                let mut wr = header(opcode, cqe, false, true);
                let sink = memory.remote(region)?;
                let key = memory.lkey(Some(region))?;
                memory.reading(region, entry)?;
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
                let mr = memory.mr(region)?;
                let key = match checks {
                    Checks::State => memory.registering(region, access)?,
                    Checks::None { .. } => memory.registering_unchecked(region)?,
                };
                Raw {
                    reg: ManuallyDrop::new(bindings::ib_reg_wr {
                        wr: header(opcode, cqe, false, signaled),
                        mr,
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
