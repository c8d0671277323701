// SPDX-License-Identifier: GPL-2.0

//! Requests that try what a device does: nothing about them but local memory is
//! checked before they are posted, and each asks for a completion.
//!
//! A key may be any number, and a region in any state: the worst that a device may
//! make of it is an error. Local memory is always the queue pair's own.

use super::{
    header,
    set_invalidate,
    set_operand,
    Local, //
};
use crate::{
    bindings,
    logic::{
        failure::Operation,
        wire::Advertisement, //
    },
    mr::{
        Access,
        Memory,
        RegionId, //
    }, //
};
use core::mem::MaybeUninit;
use kernel::prelude::*;

/// One request that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probe {
    /// SEND, or SEND_WITH_INV of any key.
    Send {
        /// What to send.
        local: Local,
        /// The key that its arrival is to invalidate.
        invalidate: Option<u32>,
    },
    /// RDMA WRITE to any place.
    Write {
        /// Where the data comes from.
        local: Local,
        /// What is said to be the peer's.
        remote: Advertisement,
    },
    /// RDMA READ from any place.
    Read {
        /// Where the data goes.
        local: Local,
        /// What is said to be the peer's.
        remote: Advertisement,
    },
    /// An atomic compare-and-swap with masks.
    MaskedSwap {
        /// Where the old value goes, 8 bytes.
        local: Local,
        /// What is said to be the peer's.
        remote: Advertisement,
    },
    /// REG_MR, whatever state the region is in, with the key that it has.
    Register {
        /// The region.
        region: RegionId,
        /// What the peer may do.
        access: Access,
    },
    /// LOCAL_INV, whatever state the region is in.
    Invalidate {
        /// The region.
        region: RegionId,
    },
}

impl Probe {
    /// As what it completes.
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Send { .. } => Operation::Send,
            Self::Write { .. } => Operation::Write,
            Self::Read { .. } => Operation::Read,
            Self::MaskedSwap { .. } => Operation::Atomic,
            Self::Register { .. } => Operation::Register,
            Self::Invalidate { .. } => Operation::Invalidate,
        }
    }

    /// Hands the request in C's form to `post`. Regions are noted as valid or not as
    /// it is meant to make them.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an operand outside its buffer or a region that is not over a buffer;
    /// otherwise what `post` returns.
    pub(crate) fn build(
        &self,
        memory: &mut Memory,
        cqe: *mut bindings::ib_cqe,
        post: impl FnOnce(*const bindings::ib_send_wr) -> Result,
    ) -> Result {
        // Every form begins with the common part, so a pointer to it is one to that.
        let start = |opcode| header(opcode, cqe, false, true);
        let mut slot = MaybeUninit::uninit();
        match *self {
            Self::Send { local, invalidate } => {
                let mut wr = start(match invalidate {
                    None => bindings::ib_wr_opcode_IB_WR_SEND,
                    Some(_) => bindings::ib_wr_opcode_IB_WR_SEND_WITH_INV,
                });
                set_operand(&mut wr, local.sge(memory, &mut slot)?);
                if let Some(key) = invalidate {
                    set_invalidate(&mut wr, key);
                }
                post(&wr)
            }
            Self::Write { local, remote } => {
                let mut wr = start(bindings::ib_wr_opcode_IB_WR_RDMA_WRITE);
                // A request of nothing has no operand.
                if local.len > 0 {
                    set_operand(&mut wr, local.sge(memory, &mut slot)?);
                }
                post(core::ptr::from_ref(&rdma(wr, &remote)).cast())
            }
            Self::Read { local, remote } => {
                let mut wr = start(bindings::ib_wr_opcode_IB_WR_RDMA_READ);
                set_operand(&mut wr, local.sge(memory, &mut slot)?);
                post(core::ptr::from_ref(&rdma(wr, &remote)).cast())
            }
            Self::MaskedSwap { local, remote } => {
                let mut wr = start(bindings::ib_wr_opcode_IB_WR_MASKED_ATOMIC_CMP_AND_SWP);
                set_operand(&mut wr, local.sge(memory, &mut slot)?);
                let atomic = bindings::ib_atomic_wr {
                    wr,
                    remote_addr: remote.addr,
                    rkey: remote.rkey,
                    ..Default::default()
                };
                post(core::ptr::from_ref(&atomic).cast())
            }
            Self::Register { region, access } => {
                let reg = bindings::ib_reg_wr {
                    wr: start(bindings::ib_wr_opcode_IB_WR_REG_MR),
                    mr: memory.mr(region)?,
                    key: memory.forced(region)?,
                    access: access.flags() as i32,
                };
                post(core::ptr::from_ref(&reg).cast())
            }
            Self::Invalidate { region } => {
                let mut wr = start(bindings::ib_wr_opcode_IB_WR_LOCAL_INV);
                set_invalidate(&mut wr, memory.key(region)?);
                memory.invalidating(region)?;
                post(&wr)
            }
        }
    }
}

fn rdma(wr: bindings::ib_send_wr, remote: &Advertisement) -> bindings::ib_rdma_wr {
    bindings::ib_rdma_wr {
        wr,
        remote_addr: remote.addr,
        rkey: remote.rkey,
    }
}
