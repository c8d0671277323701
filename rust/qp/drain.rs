// SPDX-License-Identifier: GPL-2.0

//! Draining a queue pair whose completions are polled for: the last request of each
//! queue completes when all others have.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_drain_qp()`)

use super::Entry;
use crate::{
    bindings,
    cq::CompletionQueue,
    kernel_ext::time::{give_way, Deadline},
    logic::failure::Operation,
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

/// Requests in each queue that drain it: one by polling and, where that fails, one of
/// the core's.
pub(crate) const DRAINS: u32 = 2;

/// How long a device may take to flush its queues, in ms.
const PATIENCE_MS: u32 = 2000;

/// Completions handled at a time.
const BUDGET: u16 = 64;

/// The last requests of a queue pair.
pub(super) struct Drain {
    entries: [Entry; 2],
    /// Bits of `entries` that have completed.
    done: Atomic<u32>,
}

impl Drain {
    /// Those of the queue pair `owner`, whose completions call `handler`.
    pub(super) fn new(
        owner: *const c_void,
        handler: unsafe extern "C" fn(*mut bindings::ib_cq, *mut bindings::ib_wc),
    ) -> Self {
        Self {
            entries: core::array::from_fn(|slot| Entry {
                raw: bindings::ib_cqe {
                    done: Some(handler),
                },
                owner,
                op: Operation::Control,
                slot,
            }),
            done: Atomic::new(0),
        }
    }

    /// Notes that the request of `slot` has completed.
    pub(super) fn done(&self, slot: usize) {
        let bit = if slot == 0 { 1 } else { 2 };
        // Only the thread that polls comes here.
        self.done.store(self.done.load(Relaxed) | bit, Relaxed);
    }

    /// Puts `raw`, a queue pair that is alive, into error.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn enter_error(&self, raw: NonNull<bindings::ib_qp>) -> Result {
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_ERR,
            ..Default::default()
        };
        // SAFETY: Its owner, who calls, keeps the queue pair alive.
        to_result(unsafe {
            bindings::ib_modify_qp(
                raw.as_ptr(),
                &mut attr,
                bindings::ib_qp_attr_mask_IB_QP_STATE as i32,
            )
        })
    }

    /// Puts `raw` into error, and polls `cq` until all its requests have completed.
    /// Sleeps not, but gives the CPU away.
    ///
    /// # Errors
    ///
    /// What the device says; `ETIMEDOUT` where it does not flush its queues.
    pub(super) fn by_polling(&self, raw: NonNull<bindings::ib_qp>, cq: &CompletionQueue) -> Result {
        let [receive, send] = &self.entries;
        let cqe = |entry: &Entry| core::ptr::from_ref(entry).cast_mut().cast();
        self.done.store(0, Relaxed);
        self.enter_error(raw)?;
        let mut last = bindings::ib_recv_wr::default();
        let mut write = bindings::ib_rdma_wr::default();
        write.wr.opcode = bindings::ib_wr_opcode_IB_WR_RDMA_WRITE;
        write.wr.send_flags = bindings::ib_send_flags_IB_SEND_SIGNALED;
        // SAFETY: Every bit pattern is valid for either member of these unions. The
        // queue pair is alive, and so are the entries until both have completed, or
        // until the core has drained the queues.
        unsafe {
            *last.__bindgen_anon_1.wr_cqe.as_mut() = cqe(receive);
            *write.wr.__bindgen_anon_1.wr_cqe.as_mut() = cqe(send);
            to_result(bindings::krping_post_recv(raw.as_ptr(), &last))?;
            to_result(bindings::krping_post_send(raw.as_ptr(), &write.wr))?;
        }
        let deadline = Deadline::after_ms(PATIENCE_MS);
        while self.done.load(Relaxed) != 3 {
            if cq.poll(BUDGET) == 0 {
                if deadline.passed() {
                    return Err(ETIMEDOUT);
                }
                give_way();
            }
        }
        Ok(())
    }
}
