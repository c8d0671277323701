// SPDX-License-Identifier: GPL-2.0

//! Atomic operations on 8 bytes of a peer's memory.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct ib_atomic_wr`)

use super::{
    chain::{
        header,
        set_operand, //
    },
    Local, //
};
use crate::{
    bindings,
    rdma::{
        memory::{
            ForeignMemory,
            Memory, //
        },
        mr::Remote, //
    }, //
};
use core::mem::MaybeUninit;
use kernel::prelude::*;

/// The number of bytes that an atomic operation works on, and brings back.
#[allow(dead_code, reason = "for the users of the module")]
pub(crate) const ATOMIC_SIZE: u32 = 8;

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum AtomicOp {
    /// Adds a number.
    FetchAdd(u64),
    /// Puts the second number in the place of the first, where that is there.
    CompareSwap(u64, u64),
    /// Compares under a mask, and swaps under one where that is equal: here all of nothing.
    MaskedCompareSwap,
}

impl AtomicOp {
    pub(super) fn opcode(self) -> bindings::ib_wr_opcode {
        match self {
            Self::FetchAdd(_) => bindings::ib_wr_opcode_IB_WR_ATOMIC_FETCH_AND_ADD,
            Self::CompareSwap(..) => bindings::ib_wr_opcode_IB_WR_ATOMIC_CMP_AND_SWP,
            Self::MaskedCompareSwap => bindings::ib_wr_opcode_IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
        }
    }

    /// Returns the request in C's form.
    pub(super) fn request(
        self,
        wr: bindings::ib_send_wr,
        remote: &Remote,
    ) -> bindings::ib_atomic_wr {
        let (compare_add, swap) = match self {
            Self::FetchAdd(number) => (number, 0),
            Self::CompareSwap(expected, new) => (expected, new),
            Self::MaskedCompareSwap => (0, 0),
        };
        bindings::ib_atomic_wr {
            wr,
            remote_addr: remote.addr,
            rkey: remote.rkey,
            compare_add,
            swap,
            ..Default::default()
        }
    }
}

/// One atomic request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    /// The operation.
    pub(crate) op: AtomicOp,
    /// The place of the value that was there before, [`ATOMIC_SIZE`] bytes.
    pub(crate) local: Local,
    /// The peer's memory.
    pub(crate) remote: Remote,
    /// It completes on success too.
    pub(crate) signaled: bool,
    /// Bits that are changed in the key of the local memory, which the device is to find out.
    pub(crate) flipped: u32,
}

impl Atomic {
    /// Translates the request, and hands it to `post`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an operand outside its buffer; otherwise the error of `post`.
    pub(in crate::rdma) fn build<F: ForeignMemory>(
        &self,
        memory: &Memory<F>,
        cqe: *mut bindings::ib_cqe,
        post: impl FnOnce(*const bindings::ib_send_wr) -> Result,
    ) -> Result {
        let mut slot = MaybeUninit::uninit();
        let mut wr = header(self.op.opcode(), cqe, false, self.signaled);
        let sge = self.local.write_sge(memory, &mut slot)?;
        sge.lkey ^= self.flipped;
        set_operand(&mut wr, sge);
        let atomic = self.op.request(wr, &self.remote);
        // The common part is the first field.
        post(core::ptr::from_ref(&atomic).cast())
    }
}
