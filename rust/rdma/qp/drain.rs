// SPDX-License-Identifier: GPL-2.0

//! Draining a queue pair: the last request of each queue completes when all others have.
//!
//! The core's own way to do so waits for ever for a device that does not flush a queue, and
//! looks at a queue that is polled only ten times a second.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_drain_qp()`)

use super::entry::{
    Callback,
    Entry, //
};
use crate::{
    bindings,
    kernel_ext::{
        completion::Completion,
        time::{
            yield_cpu,
            Deadline, //
        }, //
    },
    rdma::cq::CompletionQueue, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Both queues have been drained.
const BOTH: u32 = 3;

/// Completions handled at a time.
const BUDGET: u16 = 64;

/// The last requests of a queue pair.
pub(super) struct Drain {
    entries: [Entry<()>; 2],
    /// Bits of `entries` that have completed.
    done: Atomic<u32>,
    changed: Arc<Completion>,
}

impl Drain {
    /// Makes the last requests of the queue pair at `owner`, whose completions call `callback`.
    /// May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(owner: *const c_void, callback: Callback) -> Result<Self> {
        Ok(Self {
            entries: [0, 1].map(|index| Entry::new(callback, owner, index, ())),
            done: Atomic::new(0),
            changed: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
        })
    }

    /// Notes that the request with entry `index` has completed. In the context of completions.
    pub(super) fn done(&self, index: u32) {
        // The completions of a queue are handled one after the other.
        self.done
            .store(self.done.load(Relaxed) | 1 << index, Relaxed);
        self.changed.complete();
    }

    /// Puts `raw`, a queue pair that is alive, into error.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn modify_to_error(&self, raw: NonNull<bindings::ib_qp>) -> Result {
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

    /// Puts `raw` into error, and waits until all its requests have completed, at most
    /// `timeout_ms`; a driver that has a way of its own to find that out takes its time.
    /// Process context; sleeps, or gives the CPU away where `cq` is polled.
    ///
    /// # Errors
    ///
    /// The driver's; `ETIMEDOUT` where it does not flush its queues.
    pub(super) fn flush(
        &self,
        raw: NonNull<bindings::ib_qp>,
        cq: &CompletionQueue,
        timeout_ms: u32,
    ) -> Result {
        // SAFETY: Its owner, who calls, keeps the queue pair alive, and posts no more.
        unsafe {
            if !cq.is_polled() && bindings::rust_helper_drains_itself(raw.as_ptr()) {
                bindings::ib_drain_qp(raw.as_ptr());
                return Ok(());
            }
        }
        self.post(raw)?;
        let deadline = Deadline::after_ms(timeout_ms);
        while self.done.load(Relaxed) != BOTH {
            if deadline.passed() {
                return Err(ETIMEDOUT);
            }
            if !cq.is_polled() {
                self.changed.wait(deadline);
            } else if cq.poll(BUDGET) == 0 {
                yield_cpu();
            }
        }
        Ok(())
    }

    /// Puts `raw` into error, and posts the last requests.
    fn post(&self, raw: NonNull<bindings::ib_qp>) -> Result {
        let [receive, send] = &self.entries;
        self.done.store(0, Relaxed);
        self.modify_to_error(raw)?;
        let mut last = bindings::ib_recv_wr::default();
        let mut write = bindings::ib_rdma_wr::default();
        write.wr.opcode = bindings::ib_wr_opcode_IB_WR_RDMA_WRITE;
        write.wr.send_flags = bindings::ib_send_flags_IB_SEND_SIGNALED;
        // SAFETY: Every bit pattern is valid for either member of these unions. The
        // queue pair is alive, and the entries stay until both have completed, or until
        // the queue pair is destroyed and its completion queue is freed.
        unsafe {
            *last.__bindgen_anon_1.wr_cqe.as_mut() = receive.cqe();
            *write.wr.__bindgen_anon_1.wr_cqe.as_mut() = send.cqe();
            to_result(bindings::rust_helper_post_recv(raw.as_ptr(), &last))?;
            to_result(bindings::rust_helper_post_send(raw.as_ptr(), &write.wr))
        }
    }
}
